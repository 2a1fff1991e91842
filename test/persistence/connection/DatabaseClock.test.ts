import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Ref } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { isTooLateToSend } from "../../../src/domain/TimeLimits.ts"
import { makeDatabaseTime } from "../../../src/persistence/connection/DatabaseClock.ts"
import { offBy } from "../../support/WrongClock.ts"

const NOON = 1_763_640_000_000
const micros = (ms: number) => BigInt(ms) * 1_000n

/** A database whose clock is `off` from the story's, and whose answer takes `back` ms after it was read. */
const givenDatabase = Effect.gen(function* () {
  yield* TestClock.setTime(NOON)
  const right = yield* Clock.Clock
  const state = { off: 0, there: 0, back: 0, isGone: false }
  const readMicros = Effect.gen(function* () {
    if (state.isGone) return yield* Effect.fail("gone" as const)
    yield* Effect.provideService(TestClock.adjust(state.there), Clock.Clock, right)
    const read = micros(right.currentTimeMillisUnsafe() + state.off)
    yield* Effect.provideService(TestClock.adjust(state.back), Clock.Clock, right)
    return read
  })
  return { state, readMicros, now: () => right.currentTimeMillisUnsafe() + state.off, right }
})

describe("the database's time", () => {
  it.effect("is the program's time, however wrong the machine's clock is, and the difference is shown", () =>
    Effect.gen(function* () {
      const { now, readMicros, right } = yield* givenDatabase
      const time = yield* Effect.provideService(makeDatabaseTime(readMicros), Clock.Clock, offBy(right, 660_000))
      yield* TestClock.adjust("1 hour")
      expect(time.clock.currentTimeMillisUnsafe()).toBe(now())
      expect(yield* time.skew.milliseconds).toBe(660_000)
    })
  )

  it.effect("is not affected when the machine's clock is set: only the difference changes", () =>
    Effect.gen(function* () {
      const { now, readMicros, right } = yield* givenDatabase
      const by = yield* Ref.make(0)
      const machine = { ...right, currentTimeMillisUnsafe: () => right.currentTimeMillisUnsafe() + Ref.getUnsafe(by) }
      const time = yield* Effect.provideService(makeDatabaseTime(readMicros), Clock.Clock, machine)
      yield* Ref.set(by, -3_000)
      expect(time.clock.currentTimeMillisUnsafe()).toBe(now())
      expect(yield* time.skew.milliseconds).toBe(-3_000)
    })
  )

  it.effect("may be later than it seems on a machine that was suspended, which the machine knows at once", () =>
    Effect.gen(function* () {
      const { readMicros, right } = yield* givenDatabase
      const asleep = yield* Ref.make(0)
      // What counts on stood still; the time of day did not.
      const machine = {
        ...right,
        currentTimeMillisUnsafe: () => right.currentTimeMillisUnsafe() + Ref.getUnsafe(asleep),
        currentTimeNanosUnsafe: () => right.currentTimeNanosUnsafe() + BigInt(Ref.getUnsafe(asleep)) * 1_000_000n
      }
      const time = yield* Effect.provideService(makeDatabaseTime(readMicros), Clock.Clock, machine)
      yield* TestClock.adjust(5)
      expect(time.latest()).toBe(NOON + 5)
      yield* Ref.set(asleep, 660_000)
      expect(time.clock.currentTimeMillisUnsafe()).toBe(NOON + 5)
      expect(isTooLateToSend(NOON, time.latest())).toBe(true)
      // Once the database was asked again, nothing is doubtful any more.
      yield* time.reread
      expect(time.latest()).toBe(NOON + 5)
    })
  )

  it.effect("follows a database whose clock was set forwards or back", () =>
    Effect.gen(function* () {
      const { now, readMicros, state } = yield* givenDatabase
      const time = yield* makeDatabaseTime(readMicros)
      for (const off of [3_000, -3_000]) {
        state.off = off
        yield* time.reread
        expect(time.clock.currentTimeMillisUnsafe()).toBe(now())
      }
    })
  )

  it.effect("says where it leapt forward, which makes what was recorded before seem older than it is", () =>
    Effect.gen(function* () {
      const { now, readMicros, state } = yield* givenDatabase
      const time = yield* makeDatabaseTime(readMicros)
      yield* TestClock.adjust("1 hour")
      yield* time.reread
      // A step back makes nothing older than it is.
      state.off = -2_400_000
      yield* time.reread
      state.off = 0
      yield* TestClock.adjust("1 minute")
      // Not yet seen, and so no time that it has stepped to, either.
      expect(yield* time.leaps).toStrictEqual([])
      yield* time.reread
      expect(yield* time.leaps).toStrictEqual([{ from: now() - 2_400_000, to: now() }])
    })
  )

  it.effect.each([
    ["goes on from where another gateway watched it", 10_000, []],
    ["may have leapt where none did", 10_001, [{ from: NOON - 10_001, to: NOON }]],
    ["may have leapt where none ever did", Number.POSITIVE_INFINITY, [{ from: Number.NEGATIVE_INFINITY, to: NOON }]]
  ] as const)("when it begins, %s", ([, unwatched, leaps]) =>
    Effect.gen(function* () {
      const { readMicros } = yield* givenDatabase
      const time = yield* makeDatabaseTime(readMicros, () => NOON - unwatched)
      expect(yield* time.leaps).toStrictEqual(leaps)
    })
  )

  it.effect("continues while the database does not answer", () =>
    Effect.gen(function* () {
      const { now, readMicros, state } = yield* givenDatabase
      const time = yield* makeDatabaseTime(readMicros)
      state.isGone = true
      yield* TestClock.adjust("10 minutes")
      yield* time.reread
      expect(time.clock.currentTimeMillisUnsafe()).toBe(now())
    })
  )

  it.effect("is never ahead of the database, and behind it by at most the time of one answer", () =>
    Effect.gen(function* () {
      const delay = fc.integer({ min: 0, max: 20_000 })
      const readings = fc.array(fc.record({ there: delay, back: delay, pause: delay }), { minLength: 1, maxLength: 12 })
      for (const story of fc.sample(readings, { numRuns: 200, seed: 7 })) {
        const { now, readMicros, state } = yield* givenDatabase
        state.back = 20_000
        const time = yield* makeDatabaseTime(readMicros)
        let quickest = state.back
        for (const { back, pause, there } of story) {
          Object.assign(state, { there, back })
          yield* time.reread
          quickest = Math.min(quickest, back)
          yield* TestClock.adjust(pause)
          expect(time.clock.currentTimeMillisUnsafe()).toBeLessThanOrEqual(now())
          expect(time.clock.currentTimeMillisUnsafe()).toBeGreaterThanOrEqual(now() - quickest)
        }
      }
    })
  )
})
