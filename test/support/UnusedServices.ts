import { Effect, Layer } from "effect"
import { NotFound } from "../../src/domain/errors/Terminal.ts"
import { BeneficiaryBook } from "../../src/services/BeneficiaryBook.ts"
import { CodeFlow } from "../../src/services/collections/CodeFlow.ts"
import { CodeRequests } from "../../src/services/collections/CodeRequests.ts"
import { Exchanges } from "../../src/services/exchanges/Exchanges.ts"
import { Capabilities } from "../../src/services/reference/Capabilities.ts"
import { Reference as ReferenceReads } from "../../src/services/reference/Reference.ts"
import { Webhooks } from "../../src/services/webhooks/Webhooks.ts"

/** What a test of the edge never comes to. */
export const unused = (name: string) => Effect.die(new Error(`${name} is not part of this test`))

/** The services behind endpoints that no test of the edge asks. */
export const unusedServices = Layer.mergeAll(
  Layer.succeed(
    BeneficiaryBook,
    BeneficiaryBook.of({ page: () => unused("page"), find: () => unused("find"), purge: () => unused("purge") })
  ),
  Layer.succeed(Capabilities, Capabilities.of({ rows: () => unused("rows") })),
  Layer.succeed(
    ReferenceReads,
    ReferenceReads.of({
      corridors: () => unused("corridors"),
      banks: () => unused("banks"),
      resolve: () => unused("resolve"),
      countries: () => unused("countries"),
      balances: () => unused("balances")
    })
  ),
  Layer.succeed(
    Exchanges,
    Exchanges.of({ quote: () => unused("quote"), create: () => unused("exchange"), find: () => Effect.fail(new NotFound()) })
  ),
  Layer.succeed(CodeFlow, CodeFlow.of({ authorize: () => unused("authorize") })),
  Layer.succeed(CodeRequests, CodeRequests.of({ send: () => unused("send") })),
  Layer.succeed(
    Webhooks,
    Webhooks.of({
      endpoint: () => unused("endpoint"),
      setEndpoint: () => unused("setEndpoint"),
      removeEndpoint: () => unused("removeEndpoint"),
      rotateSecret: () => unused("rotateSecret"),
      test: () => unused("test"),
      deliveries: () => unused("deliveries"),
      redeliver: () => unused("redeliver"),
      recover: () => unused("recover")
    })
  )
)
