import { describe, expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ProviderMemory } from "../../../src/services/ports/ProviderMemory.ts"
import { givenDatabase, givenNode } from "../../support/TestDatabase.ts"

const MINUTE = 60_000
const text = Option.map((value: Redacted.Redacted) => Redacted.value(value))

/** Two nodes on one database. */
const nodes = Effect.gen(function* () {
  const url = yield* givenDatabase
  const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
  const now = yield* Clock.currentTimeMillis
  return {
    sql: Context.get(one, SqlClient.SqlClient),
    now,
    one: Context.get(one, ProviderMemory),
    other: Context.get(other, ProviderMemory)
  }
})

describe("what the adapters of all nodes share", () => {
  it.live("is read by every node until it ends, taken by one of them, and sealed where it lies", () =>
    Effect.gen(function* () {
      const { now, one, other, sql } = yield* nodes
      yield* one.put("a token", Redacted.make("first"), now + MINUTE)
      yield* other.put("a token", Redacted.make("second"), now + MINUTE)
      expect(text(yield* one.get("a token"))).toEqual(Option.some("second"))
      const [row] = yield* sql`SELECT position('second'::bytea in sealed) AS at FROM provider_memory WHERE name = 'a token'`
      expect(row).toEqual({ at: 0 })
      const taken = yield* Effect.all([one.take("a token"), other.take("a token")], { concurrency: "unbounded" })
      expect(taken.filter(Option.isSome)).toHaveLength(1)
      expect(yield* one.get("a token")).toEqual(Option.none())
      yield* one.put("ended", Redacted.make("x"), now - 1)
      expect([yield* other.get("ended"), yield* other.take("ended")]).toEqual([Option.none(), Option.none()])
      expect(yield* one.prune(now, 10)).toBe(1)
      expect(yield* one.prune(now, 10)).toBe(0)
    })
  )

  it.live("is claimed by one of all nodes until it gives it back, or its time ends", () =>
    Effect.gen(function* () {
      const { now, one, other } = yield* nodes
      const claims = yield* Effect.all(
        [one, other, one, other].map((node) => node.claim("lease", now + MINUTE)),
        { concurrency: "unbounded" }
      )
      expect(claims.filter((isHeld) => isHeld)).toHaveLength(1)
      expect(yield* one.get("lease")).toEqual(Option.none())
      yield* one.take("lease")
      expect(yield* other.claim("lease", now - 1)).toBe(true)
      expect(yield* one.claim("lease", now + MINUTE)).toBe(true)
    })
  )

  it.live("is claimed together with its value, which those who come later read, and do not change", () =>
    Effect.gen(function* () {
      const { now, one, other, sql } = yield* nodes
      const owners = ["first", "second"]
      const claims = yield* Effect.all(
        [one, other].map((node, at) => node.claim("a receipt", now + MINUTE, Redacted.make(owners[at] ?? ""))),
        { concurrency: "unbounded" }
      )
      const owner = owners[claims.indexOf(true)]
      expect(claims.filter((isHeld) => isHeld)).toHaveLength(1)
      expect([text(yield* one.get("a receipt")), text(yield* other.get("a receipt"))]).toEqual([
        Option.some(owner),
        Option.some(owner)
      ])
      const [row] =
        yield* sql`SELECT position(${owner}::text::bytea in sealed) AS at FROM provider_memory WHERE name = 'a receipt'`
      expect(row).toEqual({ at: 0 })
    })
  )
})
