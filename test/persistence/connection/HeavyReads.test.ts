import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { makeHeavyReads } from "../../../src/persistence/connection/HeavyReads.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

it.live(
  "of one tenant's lists one is read at a time and seven wait; a further one is refused, and nobody else waits for them",
  () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const heavy = makeHeavyReads(sql)
        const [began, gate] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        let started = 0
        const read = Effect.gen(function* () {
          started++
          yield* Deferred.succeed(began, undefined)
          yield* Deferred.await(gate)
        })
        const reads = yield* Effect.forEach(Array.from({ length: 8 }), () =>
          Effect.forkChild(heavy("a")(read), { startImmediately: true })
        )
        yield* Deferred.await(began)
        expect(yield* Effect.flip(heavy("a")(read))).toMatchObject({ _tag: "rate_limited", scope: "server" })
        expect(yield* heavy("b")(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }])
        expect(yield* sql`SELECT 1 AS one`).toEqual([{ one: 1 }])
        expect(started).toBe(1)
        yield* Deferred.succeed(gate, undefined)
        yield* Effect.forEach(reads, Fiber.join)
        expect(started).toBe(8)
        expect(yield* heavy("a")(Effect.succeed("again"))).toBe("again")
      }).pipe(Effect.provide(Database.layer({ url })))
    }).pipe(Effect.scoped)
)

it.live("of all kinds together three are read at once, each of another tenant: the other connections are for payments", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const connections = (count: number) => Effect.scoped(Effect.forEach(Array.from({ length: count }), () => sql.reserve))
      yield* connections(10)
      // As the lists of records, of events and of a float's entries have them.
      const kinds = [makeHeavyReads(sql), makeHeavyReads(sql), makeHeavyReads(sql)]
      const gate = yield* Deferred.make<void>()
      const started: Array<string> = []
      const reads = yield* Effect.forEach(
        ["a", "b", "c", "d"].flatMap((tenant) => kinds.map((heavy) => ({ heavy, tenant }))),
        ({ heavy, tenant }) => {
          const read = Effect.andThen(
            Effect.sync(() => started.push(tenant)),
            Deferred.await(gate)
          )
          return Effect.forkChild(heavy(tenant)(read), { startImmediately: true })
        }
      )
      yield* connections(7)
      expect(started.toSorted()).toEqual(["a", "b", "c"])
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach(reads, Fiber.join)
      expect(started).toHaveLength(12)
    }).pipe(Effect.provide(Database.layer({ url })))
  }).pipe(Effect.scoped)
)
