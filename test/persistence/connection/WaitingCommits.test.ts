import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AnswerBoundMs } from "../../../src/persistence/connection/BoundedClient.ts"
import { onOwnConnection } from "../../../src/persistence/connection/StepBatch.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { asOwner } from "../../support/Stack.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

/** So often it is looked whether the server has read its settings again. */
const LOOKS = 100_000

it.live("a commit that waits for a standby is never ended without one: whoever gave it up closed its connection", () =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    const elsewhere = yield* asOwner(url)
    yield* elsewhere.unsafe("CREATE TABLE probe (what text)")
    // Other databases of the server commit without a standby: in them synchronous_commit is off.
    yield* elsewhere.unsafe(`ALTER DATABASE "${name}" SET synchronous_commit = on`)
    const reload = elsewhere`SELECT pg_reload_conf()`
    const asked = Effect.map(
      elsewhere<{ names: string }>`SELECT current_setting('synchronous_standby_names') AS names`,
      ([now]) => now?.names ?? ""
    )
    const until = (names: string) => Effect.repeat(asked, { until: (now) => now === names, times: LOOKS })
    // Another test of this server may ask for a standby of its own, for longer than this one takes.
    yield* until("")
    yield* Effect.acquireRelease(elsewhere.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'nobody_here'"), () =>
      Effect.orDie(
        Effect.flatMap(asked, (now) =>
          now === "nobody_here"
            ? Effect.andThen(elsewhere.unsafe("ALTER SYSTEM RESET synchronous_standby_names"), reload)
            : Effect.void
        )
      )
    )
    yield* reload
    yield* until("nobody_here")
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const insert = sql`INSERT INTO probe VALUES ('waits')`
      for (const write of [insert, onOwnConnection(sql)(insert), sql.withTransaction(insert)])
        expect(yield* Effect.flip(Effect.provideService(write, AnswerBoundMs, 300))).toMatchObject({ _tag: "SqlError" })
      expect(
        yield* elsewhere`SELECT (SELECT count(*)::int FROM probe) AS done, count(*)::int AS waiting
          FROM pg_stat_activity WHERE datname = ${name} AND wait_event = 'SyncRep'`
      ).toEqual([{ done: 0, waiting: 3 }])
    }).pipe(Effect.provide(Database.layer({ url })))
  }).pipe(Effect.scoped)
)
