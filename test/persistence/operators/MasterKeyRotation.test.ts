import { randomBytes } from "node:crypto"
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../../src/persistence/Database.ts"
import { MasterKeyRotationPg } from "../../../src/persistence/operators/MasterKeyRotationPg.ts"
import { openBytes, parseMasterKey, sealBytes } from "../../../src/persistence/vault/Sealing.ts"
import { MasterKeyRotation } from "../../../src/services/ports/MasterKeyRotation.ts"
import { auditEntry, givenDatabase } from "../../support/TestDatabase.ts"

const key = () => Redacted.make(randomBytes(32).toString("base64"))
const oldKey = key()
const newKey = key()
const PURPOSE = "destination"

/** Runs `between` before each of the statements that writes a value anew. */
const beside = (sql: SqlClient.SqlClient, between: Effect.Effect<unknown, unknown>) =>
  new Proxy(sql, {
    get: (target, name, receiver) =>
      name === "unsafe"
        ? (text: string, parameters: ReadonlyArray<unknown>) =>
            Effect.andThen(text.startsWith("UPDATE open_work") ? between : Effect.void, target.unsafe(text, parameters))
        : Reflect.get(target, name, receiver)
  })

/** A database with three values under the old key, and a rotation beside a writer that still has it. */
const given = (writer: (sql: SqlClient.SqlClient, seal: (text: string) => Uint8Array) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const url = yield* givenDatabase
    const from = yield* parseMasterKey(oldKey)
    const to = yield* parseMasterKey(newKey)
    const seal = (text: string) => sealBytes(from, PURPOSE, Buffer.from(text))
    const context = yield* Layer.build(Database.layer({ url }).pipe(Layer.fresh))
    const sql = yield* Effect.provideContext(SqlClient.SqlClient, context)
    for (const reference of ["5", "6", "7"]) yield* write(sql, reference, seal(reference))
    const rotation = yield* Layer.build(
      MasterKeyRotationPg.layer(newKey).pipe(
        Layer.provide(Layer.succeed(SqlClient.SqlClient, beside(sql, writer(sql, seal)))),
        Layer.fresh
      )
    )
    const rotate = Effect.flatMap(MasterKeyRotation, (one) => one.rotate(oldKey, auditEntry())).pipe(
      Effect.provideContext(rotation)
    )
    const values = Effect.map(
      sql<{
        reference: string
        value: Uint8Array
      }>`SELECT reference, sealed_destination AS value FROM open_work ORDER BY reference`,
      (rows) => rows.map(({ reference, value }) => [reference, Option.map(openBytes(to, PURPOSE, value), String)])
    )
    return { rotate, values }
  })

const write = (sql: SqlClient.SqlClient, reference: string, value: Uint8Array) =>
  sql`INSERT INTO open_work (app_id, reference, mode, is_open, needs_review, sealed_destination, created_at)
    VALUES ('acme', ${reference}, 'live', true, false, ${value}, now())
    ON CONFLICT (app_id, reference) DO UPDATE SET sealed_destination = EXCLUDED.sealed_destination`

it.live("leaves nothing under the old key although rows are written meanwhile, and counts its own writes", () =>
  Effect.gen(function* () {
    let written = false
    const { rotate, values } = yield* given((sql, seal) =>
      Effect.suspend(() => {
        if (written) return Effect.void
        written = true
        // One behind the reader's back, and the very one that is about to be written anew.
        return Effect.andThen(write(sql, "1", seal("late")), write(sql, "5", seal("changed")))
      })
    )
    expect(yield* rotate).toMatchObject({ "open_work.sealed_destination": 4 })
    expect(yield* values).toStrictEqual([
      ["1", Option.some("late")],
      ["5", Option.some("changed")],
      ["6", Option.some("6")],
      ["7", Option.some("7")]
    ])
    expect(yield* rotate).toMatchObject({ "open_work.sealed_destination": 0 })
  }).pipe(Effect.scoped)
)

it.live("reports a gateway that never stops sealing under the old key", () =>
  Effect.gen(function* () {
    let count = 0
    const { rotate } = yield* given((sql, seal) => Effect.suspend(() => write(sql, `1${count++}`, seal("again"))))
    expect(yield* Effect.flip(rotate)).toMatchObject({
      _tag: "RotationIncomplete",
      message: expect.stringContaining("stop every one")
    })
  }).pipe(Effect.scoped)
)
