import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe, expect } from "vitest"
import { Payouts } from "../../../src/services/payouts/Payouts.ts"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { caller, payoutCommand } from "../../support/PaymentRequests.ts"
import { routedTo } from "../../support/RoutedGateway.ts"

/** The networks of Uganda's rows of mobile money, as the tenant reads them. */
const listed = Effect.gen(function* () {
  const rows = yield* (yield* Reference).corridors(caller)
  const own = rows.filter(({ country, method }) => country === "UG" && method === "momo")
  return Object.fromEntries(own.map(({ direction, networks }) => [direction, networks]))
})

/** What a quote to a number of this network answers. */
const quoted = (network: string, msisdn: string) =>
  Effect.flatMap(Payouts, ({ estimate }) =>
    estimate(caller, payoutCommand({ destination: { _tag: "momo", msisdn: Redacted.make(msisdn), network, country: "UG" } }))
  )

describe("a corridor lists a network", () => {
  it.effect("only where one of its providers reaches it, because every payment of another one is refused", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha", { networks: ["MTN"] })])
      yield* Effect.gen(function* () {
        expect(yield* listed).toStrictEqual({ collection: ["MTN"], payout: ["MTN"] })
        expect(yield* quoted("MTN", "+256772123456")).toMatchObject({ affordable: true })
        expect(yield* Effect.flip(quoted("AIRTEL", "+256752123456"))).toMatchObject({ _tag: "corridor_unsupported" })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("where any of its providers reaches it", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([
        fakeProvider("alpha", { networks: ["MTN"] }),
        fakeProvider("beta", { networks: ["AIRTEL"] })
      ])
      expect(yield* Effect.provideContext(listed, node)).toStrictEqual({
        collection: ["MTN", "AIRTEL"],
        payout: ["MTN", "AIRTEL"]
      })
    }).pipe(Effect.scoped)
  )
})
