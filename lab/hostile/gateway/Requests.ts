import { Context, Effect, Option } from "effect"
import type { Currency } from "../../../src/domain/Currency.ts"
import type { Adapter } from "../../../src/services/ports/Provider.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { collectionsOf, payoutsOf } from "../../../test/providers/contract/Fixture.ts"
import { askOrder, newReference, payerOf } from "../../../test/providers/contract/Orders.ts"
import { callerOf } from "../../simulation/Client.ts"
import { request } from "../../simulation/NodeServices.ts"
import { refusalIn } from "../../simulation/Seen.ts"
import type { Ready } from "../../simulation/Testbed.ts"
import { type Case, exchangeBody, type Operation, withCode } from "./Case.ts"
import type { Gateway } from "./Gateway.ts"
import { tenantOf } from "./Ground.ts"
import type { Plan } from "./Plan.ts"

// What tenants ask of the gateway, and what they are answered.

/** Sends an operation of a case, or sends it again. `brought` is what an exchange brings. */
export const ask = Effect.fnUntraced(function* (
  { services, work }: Gateway,
  brought: Currency | undefined,
  one: Case,
  operation: Operation
): Effect.fn.Return<void> {
  const { kind, way } = one.plan
  const caller = callerOf({ appId: tenantOf(one.number), mode: "live" })
  const isFirst = !one.operations.includes(operation)
  if (isFirst) one.operations.push(operation)
  if (isFirst && kind === "exchange" && brought !== undefined) {
    const terms = { sourceCurrency: way.currency, destinationCurrency: brought, fixed: "source", amount: way.amount } as const
    yield* work(Effect.option(services.exchanges.quote(caller, terms)), (quote) => {
      operation.body = exchangeBody(Option.getOrUndefined(quote)?.id ?? "")
    })
  }
  if (isFirst && one.plan.hasCode === true) {
    const source = payerOf(way, one.plan.ending)
    yield* work(Effect.option(services.codeRequests.send(caller, { country: way.country, source })), (sent) => {
      operation.body = withCode(operation.body, Option.getOrUndefined(sent)?.pin_id ?? "")
    })
  }
  const signed = { body: operation.body, caller, rawHeaders: ["Idempotency-Key", operation.key] }
  const asked = { kind: kind === "charge" ? "collection" : kind } as const
  yield* work(request(services, signed, asked), ({ body, status }) => {
    operation.answers.push(`${status} ${body}`)
    operation.isAnswered = status === 201 || refusalIn(body)?.terminal === true
  })
})

/** A question about nothing. */
export const asked = (adapter: Adapter, { kind, way }: Plan) =>
  Effect.flatMap(
    askOrder(way, newReference()),
    kind === "charge" ? collectionsOf(adapter).fetchStatus : payoutsOf(adapter).fetchStatus
  )

export const recordOf = (ready: Ready, { reference }: Operation) =>
  reference === undefined
    ? Effect.succeed(undefined)
    : Effect.map(Context.get(ready, Transactions).byReference(reference), (found) =>
        Option.getOrUndefined(Option.map(found, ({ transaction }) => transaction))
      )
