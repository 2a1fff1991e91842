import { it } from "@effect/vitest"
import { Deferred, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import type { Collections } from "../../../src/services/collections/Collections.ts"
import type { Payouts } from "../../../src/services/payouts/Payouts.ts"
import type { Idempotency } from "../../../src/services/ports/Idempotency.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, FLOAT, floatNow, Holder, pay } from "../../support/PaymentRequests.ts"
import { differences, givenRoutes, records, routedTo } from "../../support/RoutedGateway.ts"
import type { Interference } from "../../support/ServicesOnPostgres.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

/** Lets everything happen up to the given crossing of a step's edge, where the process stops for ever. */
const crashing = (at: number, died: Deferred.Deferred<string>): Interference => {
  let edges = 0
  const edge = (name: string) =>
    Effect.suspend(() => (edges++ >= at ? Effect.andThen(Deferred.succeed(died, name), Effect.never) : Effect.void))
  return (step, effect) =>
    edge(`before ${step}`).pipe(
      Effect.andThen(effect),
      Effect.tap(() => edge(`after ${step}`))
    )
}

/** Up to its being opened a payout has no second provider; a charge is opened two edges earlier, because nobody quotes it. */
const EDGES_BEFORE = 4
const EDGES_AT_MOST = 20

interface Story {
  readonly name: string
  readonly act: Effect.Effect<string, never, Payouts | Collections | Idempotency>
  readonly second: "accepted" | "refused"
  readonly credited: bigint
}

const stories: ReadonlyArray<Story> = [
  { name: "a payout that the second one takes", act: pay("one"), second: "accepted", credited: -11_000n },
  { name: "a payout that the second one refuses", act: pay("one"), second: "refused", credited: 0n },
  { name: "a charge that the second one takes", act: charge("one"), second: "accepted", credited: 50_000n }
]

describe("a process killed between any two steps of a failover and started again", () => {
  for (const { act, credited, name, second } of stories)
    it.effect(
      `${name}: executes at most once at one provider, and loses nothing`,
      () =>
        Effect.gen(function* () {
          const database = yield* givenDatabase
          const edges: Array<string> = []
          const ends = new Set<string>()
          for (let at = EDGES_BEFORE; at < EDGES_AT_MOST; at++) {
            // Each crash has a tenant of its own, and finds what the earlier ones left.
            const holder = AppId.make(`acme-${at}`)
            const alpha = fakeProvider("alpha", { sending: "never sent" })
            const beta = fakeProvider("beta", { sending: second })
            const died = yield* Deferred.make<string>()
            const first = yield* Scope.make()
            const { node } = yield* routedTo([alpha, beta], crashing(at, died), database).pipe(Scope.provide(first))
            const end = yield* givenRoutes([alpha, beta]).pipe(
              Effect.andThen(Effect.raceFirst(act, Deferred.await(died))),
              Effect.provideContext(node),
              Effect.provideService(Holder, holder)
            )
            edges.push(end)
            yield* Scope.close(first, Exit.void)

            const restarted = yield* Scope.make()
            const { node: again } = yield* routedTo([alpha, beta], undefined, database).pipe(Scope.provide(restarted))
            yield* Effect.gen(function* () {
              yield* TestClock.adjust("2 minutes")
              // The tenant repeats its request with the same key: it runs for the first time, or it changes nothing.
              yield* act
              for (let round = 0; round < 4; round++) {
                yield* TestClock.adjust("20 minutes")
                yield* (yield* OutcomePoller).round
              }
              const all = yield* records
              expect(all).toHaveLength(1)
              const [{ transaction } = yield* Effect.die(new Error("unreachable"))] = all
              const executed = [...alpha.executed, ...beta.executed]
              expect(executed.length).toBe(transaction.status === "successful" ? 1 : 0)
              expect(yield* floatNow).toStrictEqual([FLOAT + (transaction.status === "successful" ? credited : 0n), 0n])
              ends.add(`${transaction.provider} ${transaction.status}`)
            }).pipe(Effect.provideContext(again), Effect.provideService(Holder, holder))
            yield* Scope.close(restarted, Exit.void)
            if (!end.startsWith("before") && !end.startsWith("after")) break
          }
          // Of all tenants at once: a difference names the tenant, and so the crash.
          const { node } = yield* routedTo([], undefined, database)
          expect(yield* Effect.provideContext(differences, node)).toStrictEqual([])
          expect(edges.filter((edge) => edge === "after apply").length).toBeGreaterThanOrEqual(2)
          expect(edges.at(-1)).not.toMatch(/^(before|after)/)
          expect(ends).toContain(second === "refused" ? "beta failed" : "beta successful")
        }).pipe(Effect.scoped),
      600_000
    )
})
