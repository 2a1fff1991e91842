import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Payout } from "../../../src/domain/Payment.ts"
import type { CallbackHint } from "../../../src/services/ports/ProviderInbox.ts"
import { CALLBACK_RETRY_AGES_MS, CLAIMS_AT_MOST } from "../../../src/services/settlement/ProviderCallbacks.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { callback, ingress, newWorld, payout } from "./ProviderCallbacksFixture.ts"

const HOUR = 3_600_000

/** A callback that came at the beginning of time, and that nobody has looked into. */
const givenCallback = Effect.gen(function* () {
  const world = newWorld()
  const { receive, round } = yield* ingress(world)
  yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference }))
  return { round, world }
})

describe("looks into a callback", () => {
  it.effect.each([0, 3 * HOUR, 30 * 24 * HOUR])(
    "processes a callback again at growing intervals when nothing was learnt or asking failed, and parks it after its last look, however late the first: %i ms",
    (begun) =>
      Effect.gen(function* () {
        const { round, world } = yield* givenCallback
        for (const [turn, age] of [0, ...CALLBACK_RETRY_AGES_MS].entries()) {
          yield* TestClock.setTime(begun + age)
          world.learns = turn % 2 === 0 ? Effect.succeed(false) : Effect.die(new Error("broken"))
          yield* round
          world.due.push(...world.waiting.splice(0))
        }
        expect(world.later).toEqual([...CALLBACK_RETRY_AGES_MS.map((age) => begun + age), null])
        expect(world.asked).toHaveLength(CALLBACK_RETRY_AGES_MS.length + 1)
        expect(world.done).toEqual([])
      })
  )

  it.effect("settles a callback that lay for hours although the first answer to it was lost", () =>
    Effect.gen(function* () {
      const { round, world } = yield* givenCallback
      yield* TestClock.setTime(3 * HOUR)
      world.learns = Effect.succeed(false)
      yield* round
      world.due.push(...world.waiting.splice(0))
      world.learns = Effect.succeed(true)
      yield* round
      expect(world.later).toEqual([3 * HOUR + 250])
      expect(world.done).toEqual([world.transaction.reference])
    })
  )

  it.effect("counts the looks that were made, not the claims of nodes that died before they looked", () =>
    Effect.gen(function* () {
      const { round, world } = yield* givenCallback
      world.learns = Effect.succeed(false)
      for (const callback of world.due.splice(0)) world.due.push({ ...callback, claims: CLAIMS_AT_MOST - 1 })
      yield* round
      expect(world.waiting).toMatchObject([{ looks: 1, claims: 0 }])
      expect(world.later).toEqual([CALLBACK_RETRY_AGES_MS[0]])
    })
  )

  it.effect("parks a callback without a look that so many nodes died of in a row", () =>
    Effect.gen(function* () {
      const { round, world } = yield* givenCallback
      for (const callback of world.due.splice(0)) world.due.push({ ...callback, looks: 2, claims: CLAIMS_AT_MOST })
      world.calls.length = 0
      yield* round
      expect(world.asked).toEqual([])
      // Nor is it looked up: that may be what they died of.
      expect(world.calls).toEqual(["claim"])
      expect(world.later).toEqual([null])
      // What looks into it again on a request begins anew, whatever release writes that.
      expect(world.waiting).toMatchObject([{ looks: 2, claims: 0 }])
    })
  )

  it.effect("counts no look for which the provider was not asked, because the pace turned the question away", () =>
    Effect.gen(function* () {
      const { round, world } = yield* givenCallback
      world.turnedAway = true
      yield* round
      expect(world.waiting).toMatchObject([{ looks: 0, claims: 1 }])
      expect(world.done).toEqual([])
    })
  )

  it.effect.each<readonly [string, Partial<CallbackHint>, ReadonlyArray<Payout>]>([
    ["it contradicts what the provider answers", { says: "failed" }, []],
    ["others have the same reference", {}, Array.from({ length: 12 }, () => payout())]
  ])("parks what no look could settle, and the log says why: %s", ([note, hint, sharing]) => {
    const { layer, lines } = givenTelemetry()
    return Effect.gen(function* () {
      const world = newWorld({ status: "successful" })
      world.sharing = sharing
      const { receive, round } = yield* ingress(world)
      yield* receive("eversend", "route-key", callback({ providerReference: "ever-1", ...hint }))
      for (const age of [0, ...CALLBACK_RETRY_AGES_MS]) {
        yield* TestClock.setTime(age)
        yield* round
        world.due.push(...world.waiting.splice(0))
      }
      expect(world.later.at(-1)).toBe(null)
      expect(lines.map(([, text, { note: why }]) => [text, why])).toEqual([["a callback is parked", note]])
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "counts no look while the database cannot say whose a callback is, waits longer each time, and parks it in the end",
    () =>
      Effect.gen(function* () {
        const { round, world } = yield* givenCallback
        world.unread = Effect.die(new Error("a server is down"))
        for (let turn = 0; turn < CLAIMS_AT_MOST; turn++) {
          yield* round
          const [last] = world.waiting
          expect(last).toMatchObject({ looks: 0, claims: turn + 1 })
          world.due.push(...world.waiting.splice(0))
          yield* TestClock.setTime(world.later.at(-1) ?? 0)
        }
        const pauses = world.later.map((at, turn) => (at ?? 0) - (world.later[turn - 1] ?? 0))
        expect(pauses).toEqual(pauses.toSorted((one, other) => one - other))
        expect(world.later.at(-1)).toBeGreaterThan(6 * HOUR)
        yield* round
        expect(world.later.at(-1)).toBe(null)
        expect(world.asked).toEqual([])
      })
  )

  it.effect("settles a callback once the database says whose it is", () =>
    Effect.gen(function* () {
      const { round, world } = yield* givenCallback
      world.unread = Effect.die(new Error("a server is down"))
      yield* round
      delete world.unread
      world.due.push(...world.waiting.splice(0))
      yield* round
      expect(world.done).toEqual([world.transaction.reference])
    })
  )
})

it.effect("a callback whose reference several records share is done when each was asked, and is written into no history", () =>
  Effect.gen(function* () {
    const world = newWorld()
    const other = payout({ status: "successful" })
    world.sharing = [other]
    const { receive, round } = yield* ingress(world)
    yield* receive("eversend", "route-key", callback({ providerReference: "ever-1", says: "failed" }))
    yield* round
    expect(world.done).toEqual([])
    world.due.push(...world.waiting.splice(0))
    yield* round
    expect(world.asked.toSorted()).toEqual([world.transaction.reference, other.reference].toSorted())
    expect(world.heard).toEqual([[], []])
  })
)

it.effect.each<readonly [string, Partial<Payout>, number, boolean]>([
  ["is not done with the first of them that did not change", {}, 1, false],
  ["is done with the first of them that changed", { version: 2 }, 1, true],
  ["of one that had ended is done where that changed, also if the callback says nothing", { version: 2 }, 0, true]
])("a callback whose reference several records may share %s", ([, moved, others, isDone]) =>
  Effect.gen(function* () {
    const world = newWorld({ status: others === 0 ? "successful" : "pending" })
    world.sharing = Array.from({ length: others }, () => payout())
    world.moved = moved
    const { receive, round } = yield* ingress(world)
    yield* receive("eversend", "route-key", callback({ providerReference: "ever-1" }))
    yield* round
    expect([world.done.length, world.later.length]).toEqual(isDone ? [1, 0] : [0, 1])
  })
)
