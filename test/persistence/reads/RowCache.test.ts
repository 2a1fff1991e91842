import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Distribution } from "../../../src/persistence/connection/Distribution.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { makeVersionedRowCache } from "../../../src/persistence/reads/RowCache.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

/** A statement that was sent and whose answer is held back: what it answers is as it was when it was sent. */
interface Held {
  readonly release: () => void
}

/** The rows that a node keeps, on a database whose answers a test holds back. `value` is what is in force. */
const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  const context = yield* Layer.build(Layer.fresh(Database.layer({ url })))
  const sql = Context.get(context, SqlClient.SqlClient)
  const state = { value: "in force", holdsLooks: false, holdsReads: false, breaksReads: false }
  const looks: Array<Held> = []
  const reads: Array<Held> = []
  const later = <A>(held: Array<Held>, answer: A) =>
    Effect.callback<A>((resume) => void held.push({ release: () => resume(Effect.succeed(answer)) }))
  const holding = new Proxy(sql, {
    apply: (target, self, parameters) => {
      const statement = Reflect.apply(target, self, parameters)
      return Effect.flatMap(statement, (rows) => (state.holdsLooks ? later(looks, rows) : Effect.succeed(rows)))
    }
  })
  const rows = yield* Effect.provideService(makeVersionedRowCache(holding), Distribution, Context.get(context, Distribution))
  const { get } = yield* rows.keep({
    atMost: 10,
    read: (keys: ReadonlyArray<string>) =>
      Effect.suspend(() => {
        if (state.breaksReads) return Effect.die(new Error("the database is gone"))
        const answers = keys.map(() => state.value)
        return state.holdsReads ? later(reads, answers) : Effect.succeed(answers)
      })
  })
  const asked: Array<string> = []
  const names = yield* rows.keep<string | null, never>({
    atMost: 3,
    absent: { is: (value) => value === null, atMost: 2 },
    read: (keys) => Effect.sync(() => keys.map((key) => (asked.push(key), key.startsWith("no") ? null : key)))
  })
  const change = Effect.gen(function* () {
    state.value = "revoked"
    yield* sql`UPDATE audit_head SET cache_version = cache_version + 1`
  })
  const sent = (held: Array<Held>, count: number) =>
    Effect.repeat(
      Effect.promise(() => new Promise((done) => setImmediate(done))),
      { until: () => held.length >= count }
    )
  return { asked, change, names, get: get("acme/k1"), looks, reads, sent, state }
})

describe("rows that are cached until an operator changes something", () => {
  it.effect("are not evicted by names of absent rows, nor by rows that are asked for once", () =>
    Effect.gen(function* () {
      const { asked, names } = yield* given
      yield* Effect.forEach(["a", "b", "no 1", "no 2", "no 3", "no 4", "a", "b"], names.get)
      expect(asked).toEqual(["a", "b", "no 1", "no 2", "no 3", "no 4"])
      yield* Effect.forEach(["no 4", "no 3", "no 1"], names.get)
      expect(asked.slice(6)).toEqual(["no 1"])
      // A row counts as used once a second.
      const getLater = (name: string) => Effect.andThen(TestClock.adjust(1_000), names.get(name))
      yield* Effect.forEach(["c", "a", "d", "a", "e", "a"], getLater)
      expect(asked.slice(7)).toEqual(["c", "d", "e"])
    })
  )

  it.effect("are used for one second from the time of the question to the database, however late it answers", () =>
    Effect.gen(function* () {
      const { change, get, looks, sent, state } = yield* given
      expect(yield* get).toBe("in force")
      yield* TestClock.adjust(500)
      state.holdsLooks = true
      const asking = yield* Effect.forkChild(get)
      yield* sent(looks, 1)
      yield* change
      yield* TestClock.adjust(900)
      state.holdsLooks = false
      looks[0]?.release()
      expect(yield* Fiber.join(asking)).toBe("in force")
      // A second after the change: what came a moment ago was asked before it.
      yield* TestClock.adjust(100)
      expect(yield* get).toBe("revoked")
    })
  )

  it.effect("are used without a wait while the next version is asked for, for less than a second", () =>
    Effect.gen(function* () {
      const { change, get, looks, sent, state } = yield* given
      expect(yield* get).toBe("in force")
      state.holdsLooks = true
      yield* change
      yield* TestClock.adjust(799)
      expect(yield* get).toBe("in force")
      yield* sent(looks, 1)
      looks[0]?.release()
      state.holdsLooks = false
      yield* TestClock.adjust(1)
      expect(yield* get).toBe("revoked")
    })
  )

  it.effect("are reloaded when the database has not confirmed them for a second", () =>
    Effect.gen(function* () {
      const { change, get, looks, sent, state } = yield* given
      expect(yield* get).toBe("in force")
      yield* TestClock.adjust(1_000)
      state.holdsLooks = true
      const asking = yield* Effect.forkChild(get)
      yield* sent(looks, 1)
      yield* change
      yield* TestClock.adjust(1_000)
      expect(yield* Fiber.join(asking)).toBe("revoked")
      // The answer that came too late is not believed later either.
      state.holdsLooks = false
      looks[0]?.release()
      expect(yield* get).toBe("revoked")
    })
  )

  it.effect("are not used when they cannot be reloaded", () =>
    Effect.gen(function* () {
      const { get, looks, sent, state } = yield* given
      expect(yield* get).toBe("in force")
      yield* TestClock.adjust(1_000)
      Object.assign(state, { holdsLooks: true, breaksReads: true })
      const asking = yield* Effect.forkChild(Effect.exit(get))
      yield* sent(looks, 1)
      yield* TestClock.adjust(1_000)
      expect(Exit.hasDies(yield* Fiber.join(asking))).toBe(true)
    })
  )

  it.effect("are read again when reading took longer than a second, and not used when it always does", () =>
    Effect.gen(function* () {
      const { change, get, reads, sent, state } = yield* given
      state.holdsReads = true
      const asking = yield* Effect.forkChild(get)
      yield* sent(reads, 1)
      yield* change
      yield* TestClock.adjust(1_001)
      state.holdsReads = false
      reads[0]?.release()
      expect(yield* Fiber.join(asking)).toBe("revoked")

      yield* TestClock.adjust(10_000)
      state.holdsReads = true
      const refused = yield* Effect.forkChild(Effect.exit(get))
      for (const number of [2, 3, 4]) {
        yield* sent(reads, number)
        yield* TestClock.adjust(1_001)
        reads[number - 1]?.release()
      }
      expect(Exit.hasDies(yield* Fiber.join(refused))).toBe(true)
    })
  )
})
