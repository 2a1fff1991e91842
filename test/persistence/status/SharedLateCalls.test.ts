import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AppId } from "../../../src/domain/Ids.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { SharedLateCallsPg } from "../../../src/persistence/status/SharedLateCallsPg.ts"
import { RandomSourceLive } from "../../../src/persistence/vault/RandomSourceLive.ts"
import { SharedLateCalls } from "../../../src/services/ports/SharedLateCalls.ts"
import { asRuntime } from "../../support/Postgres.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const givenNode = (url: Redacted.Redacted) =>
  Effect.map(
    Layer.build(
      Layer.provideMerge(SharedLateCallsPg, Layer.mergeAll(Database.layer({ url: asRuntime(url) }), RandomSourceLive)).pipe(
        Layer.fresh
      )
    ),
    (context) => ({ ...Context.get(context, SharedLateCalls), sql: Context.get(context, SqlClient.SqlClient) })
  )

const [one, two] = [AppId.make("one"), AppId.make("two")]
const send = "acme-pay:live:send"

it.effect("nodes read what the other nodes said last, summed, and not what they said themselves", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    const [first, second, third] = [yield* givenNode(url), yield* givenNode(url), yield* givenNode(url)]
    expect(yield* first.exchange([{ line: send, tenant: one, calls: 3 }])).toStrictEqual([])
    const heard = yield* second.exchange([
      { line: send, tenant: one, calls: 4 },
      { line: send, tenant: null, calls: 1 },
      { line: "acme-pay:test:send", tenant: two, calls: 20 }
    ])
    expect(heard).toStrictEqual([{ line: send, tenant: one, calls: 3 }])
    const all = yield* third.exchange([])
    expect(all.toSorted((a, b) => a.calls - b.calls)).toStrictEqual([
      { line: send, tenant: null, calls: 1 },
      { line: send, tenant: one, calls: 7 },
      { line: "acme-pay:test:send", tenant: two, calls: 20 }
    ])
    // What it says now takes the place of what it said.
    yield* second.exchange([{ line: send, tenant: one, calls: 5 }])
    expect(yield* third.exchange([])).toStrictEqual([{ line: send, tenant: one, calls: 8 }])
    yield* second.exchange([])
    expect(yield* third.exchange([])).toStrictEqual([{ line: send, tenant: one, calls: 3 }])
  }).pipe(Effect.scoped)
)

it.effect("what a node said seconds ago counts for nothing, and what it left behind is removed", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    const [first, second] = [yield* givenNode(url), yield* givenNode(url)]
    yield* first.exchange([{ line: send, tenant: one, calls: 3 }])
    const rows = Effect.map(second.sql<{ count: number }>`SELECT count(*)::int AS count FROM late_calls`, ([row]) => row?.count)
    yield* second.sql`UPDATE late_calls SET said_at = said_at - interval '3 seconds'`
    expect([yield* second.exchange([]), yield* rows]).toStrictEqual([[], 1])
    yield* second.sql`UPDATE late_calls SET said_at = said_at - interval '2 hours'`
    expect([yield* second.exchange([]), yield* rows]).toStrictEqual([[], 0])
  }).pipe(Effect.scoped)
)
