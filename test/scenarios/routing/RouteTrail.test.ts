import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { candidatesText } from "../../../src/domain/Candidates.ts"
import { minor } from "../../../src/domain/Money.ts"
import { emptyTrail, RouteTrail } from "../../../src/runtime/RouteTrail.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, historyOf, jane, pay } from "../../support/PaymentRequests.ts"
import { onlyRecord, records, routedTo } from "../../support/RoutedGateway.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const neverLeft = { sending: "never sent" } as const

const trailed = <E, R>(request: Effect.Effect<string, E, R>) =>
  Effect.suspend(() => {
    const trail = emptyTrail()
    return Effect.map(Effect.provideService(request, RouteTrail, trail), (ended) => [ended, candidatesText([...trail.values()])])
  })

describe("the candidates of a payment", () => {
  it.effect("are kept with its history, where an account with a ceiling takes nothing over", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha", neverLeft), fakeProvider("capped"), fakeProvider("beta")])
      yield* Effect.gen(function* () {
        yield* (yield* VelocityLimits).setCeiling("capped", "UGX", minor(5_000_000n), auditEntry())
        const moved = "alpha not_sent #1 (connection refused); capped has_ceiling; beta used #2"
        expect(yield* trailed(pay("one"))).toStrictEqual(["pending", moved])
        expect(yield* historyOf((yield* onlyRecord).transaction.reference)).toStrictEqual([
          "Opened: candidates: alpha used #1; capped not_asked; beta not_asked",
          `Rerouted: never sent to alpha, goes to beta: connection refused; candidates: ${moved}`,
          "Accepted"
        ])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("with a code are the one that texted it, and those that a code of another one does not belong to", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha"), fakeProvider("beta")])
      yield* Effect.gen(function* () {
        yield* (yield* SqlClient.SqlClient)`UPDATE corridors SET customer_action = 'otp'`
        expect(yield* trailed(charge("one"))).toStrictEqual(["requires_action", "alpha code_sent; beta not_asked"])
        const otp = { pinId: "alpha-pin", pin: Redacted.make("123456") }
        expect(yield* trailed(charge("two", jane, otp))).toStrictEqual(["pending", "alpha used #1; beta code_elsewhere"])
        const [first] = yield* records
        expect(first === undefined ? [] : (yield* historyOf(first.transaction.reference))[0]).toBe(
          "Opened: candidates: alpha code_sent; beta not_asked"
        )
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
