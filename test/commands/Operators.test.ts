import { randomBytes } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { expect } from "vitest"
import { sealedColumns } from "../../src/persistence/operators/MasterKeyRotationPg.ts"
import { gateway, givenUrl, installedOn } from "./Gateway.ts"

const installation = Effect.gen(function* () {
  const url = yield* givenUrl
  const variables = installedOn(url)
  const run = (...args: ReadonlyArray<string>) => gateway(variables, ...args)
  const result = (...args: ReadonlyArray<string>) =>
    Effect.map(run(...args, "--json"), ({ code, errors, output }) => {
      expect({ code, errors }).toEqual({ code: 0, errors: "" })
      return JSON.parse(output)
    })
  const sql = yield* PgClient.makeClient({ url: Redacted.make(url) })
  return { run, result, sql, variables }
})

const story = <A, E>(effect: Effect.Effect<A, E, Effect.Services<typeof installation>>) =>
  effect.pipe(Effect.scoped, Effect.provide(Reactivity.layer))

const temporary = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "gateway-rotation-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

describe("tenant freeze, unfreeze, grant and deny", () => {
  it.effect("report in one line that the database takes no writes, and nothing of the program's insides", () =>
    story(
      Effect.gen(function* () {
        const { run, sql, variables } = yield* installation
        yield* sql.unsafe(
          `ALTER DATABASE ${new URL(variables["DATABASE_URL"] ?? "").pathname.slice(1)} SET default_transaction_read_only = on`
        )
        const refused = yield* run("tenant", "create", "acme")
        expect(refused).toMatchObject({ code: 1, output: "" })
        expect(refused.errors).toMatch(/^[^\n]* in a read-only transaction: see docs\/runbooks\/database-down.md$/)
      })
    )
  )

  it.effect("change the tenant, each with its audit row", () =>
    story(
      Effect.gen(function* () {
        const { result, run } = yield* installation
        yield* result("tenant", "create", "acme")
        expect(yield* result("tenant", "freeze", "acme", "--reason", "fraud")).toMatchObject({ app_id: "acme", status: "frozen" })
        expect(yield* result("tenant", "unfreeze", "acme", "--reason", "cleared")).toMatchObject({ status: "active" })
        expect((yield* result("tenant", "deny", "acme", "payouts")).capabilities).toEqual([
          "collections",
          "fx",
          "reference_data",
          "bank_resolution"
        ])
        yield* result("tenant", "grant", "acme", "payouts")
        expect((yield* result("tenant", "grant", "acme", "payouts")).capabilities).toEqual([
          "collections",
          "payouts",
          "fx",
          "reference_data",
          "bank_resolution"
        ])
        const rows: ReadonlyArray<{ action: string; subject: string; details: object }> = yield* result("audit", "list")
        expect(rows.map(({ action, details, subject }) => [action, subject, details])).toEqual([
          ["tenant grant", "acme", { capability: "payouts" }],
          ["tenant grant", "acme", { capability: "payouts" }],
          ["tenant deny", "acme", { capability: "payouts" }],
          ["tenant unfreeze", "acme", { reason: "cleared" }],
          ["tenant freeze", "acme", { reason: "fraud" }],
          ["tenant create", "acme", expect.anything()]
        ])
        expect((yield* result("audit", "list", "--limit", "2")).length).toBe(2)
        expect(yield* run("tenant", "freeze", "nobody", "--reason", "x")).toMatchObject({
          code: 1,
          errors: "there is no tenant nobody: gateway tenant list shows all of them"
        })
        expect(yield* run("tenant", "freeze", "acme")).toMatchObject({ code: 2 })
        expect(yield* run("tenant", "grant", "acme", "everything")).toMatchObject({ code: 2 })
        expect((yield* run("audit", "list")).output).toMatch(/^sequence +at +actor +action/)
      })
    )
  )
})

describe("keys", () => {
  it.effect("issue a key for a person, which is listed with its label, its networks and its last use", () =>
    story(
      Effect.gen(function* () {
        const { result, run, sql } = yield* installation
        yield* result("tenant", "create", "acme")
        const from = ["--from", "10.0.0.0/8, 2001:db8::/32"]
        const issued = yield* result(
          "key",
          "issue",
          "acme",
          "--mode",
          "live",
          "--role",
          "reader",
          "--label",
          "erp 0772123456",
          ...from
        )
        const terms = { role: "reader", label: "erp ••••3456", from: ["10.0.0.0/8", "2001:db8::/32"] }
        expect(issued).toMatchObject({ app_id: "acme", mode: "live", ...terms })
        yield* result("key", "issue", "acme", "--mode", "test")
        yield* sql`UPDATE api_keys SET last_used_at = '2026-01-31T12:00:00Z' WHERE is_reader`
        const listed = yield* result("key", "list", "acme")
        expect(listed).toEqual([
          {
            key_id: issued.key_id,
            mode: "live",
            ...terms,
            created_at: expect.any(String),
            last_used_at: "2026-01-31T12:00:00.000Z",
            revoked_at: null
          },
          expect.objectContaining({ mode: "test", role: "tenant", label: "", from: [], last_used_at: null })
        ])
        expect((yield* result("audit", "list", "--limit", "2"))[1]).toMatchObject({
          action: "key issue",
          details: { mode: "live", role: "reader", label: "erp ••••3456", from: "10.0.0.0/8,2001:db8::/32" }
        })
        expect(yield* result("audit", "verify")).toMatchObject({ ok: true, differences: [] })
        yield* result("key", "revoke", "acme", issued.key_id)
        expect(yield* result("audit", "verify")).toMatchObject({ ok: true, differences: [] })
        const wrong = yield* run("key", "issue", "acme", "--mode", "live", "--from", "10.0.0.1/8")
        expect([wrong.code, wrong.errors]).toEqual([2, expect.stringContaining("begins with the first address of its network")])
        expect(yield* run("key", "list", "nobody")).toMatchObject({ code: 1 })
      })
    )
  )
})

describe("audit verify", () => {
  it.effect("confirms a whole chain, and exits 1 for a broken one", () =>
    story(
      Effect.gen(function* () {
        const { result, run, sql } = yield* installation
        yield* result("tenant", "create", "acme")
        yield* result("tenant", "freeze", "acme", "--reason", "fraud")
        const holds = yield* result("audit", "verify")
        expect(holds).toEqual({
          ok: true,
          rows: 2,
          broken_at: null,
          why: null,
          forged: [],
          head: expect.stringMatching(/^2:[0-9a-f]{64}$/),
          differences: []
        })
        expect(yield* result("audit", "verify", "--head", holds.head)).toEqual(holds)
        const other = holds.head.replace(/[0-9a-f]{64}/, "0".repeat(64))
        expect(yield* run("audit", "verify", "--head", other)).toMatchObject({
          code: 1,
          errors: "the audit log is broken at row 2: the row is another than the exported head names"
        })
        expect(yield* run("audit", "verify", "--head", holds.head.replace("2:", "3:"))).toMatchObject({
          code: 1,
          errors:
            "the audit log is broken at row 3: the exported head is beyond the end of the log: rows from here on are missing"
        })
        expect(yield* run("audit", "verify", "--head", "2")).toMatchObject({ code: 2 })
        yield* sql`ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only`
        yield* sql`UPDATE audit_log SET actor = 'somebody else' WHERE sequence = 1`
        const broken = yield* run("audit", "verify", "--json")
        const errors = expect.stringMatching(
          /^the audit log is broken at row 1: the row is not what a gateway wrote; 1 rows .*: tenant acme$/
        )
        expect(broken).toMatchObject({ code: 1, errors })
        expect(JSON.parse(broken.output)).toMatchObject({ ok: false, rows: 0, broken_at: 1, forged: [1] })
      })
    )
  )
})

describe("secrets rotate", () => {
  it.effect("re-wraps what the old key sealed, once, without changing a secret", () =>
    story(
      Effect.gen(function* () {
        const { result, sql, variables } = yield* installation
        yield* result("tenant", "create", "acme")
        yield* result("key", "issue", "acme", "--mode", "live")
        yield* result("webhook", "endpoint", "acme", "--mode", "live", "--url", "https://example.com/hook")
        yield* result("webhook", "endpoint", "acme", "--mode", "live", "--url", "https://erp.example.com/", "--endpoint", "erp")
        const folder = yield* temporary
        const [oldKey, otherKey] = [join(folder, "old.key"), join(folder, "other.key")]
        yield* Effect.promise(() => writeFile(oldKey, `${variables["MASTER_KEY"]}\n`))
        yield* Effect.promise(() => writeFile(otherKey, randomBytes(32).toString("base64")))
        const renewed = { ...variables, MASTER_KEY: randomBytes(32).toString("base64") }

        const foreign = yield* gateway(renewed, "secrets", "rotate", "--from", otherKey)
        expect(foreign).toMatchObject({ code: 1, output: "" })
        expect(foreign.errors).toContain("opens with neither key")
        expect(yield* gateway(renewed, "tenant", "list")).toMatchObject({ code: 1 })

        const [before] = yield* sql<{ sealed: Uint8Array }>`SELECT signing_secret_sealed AS sealed FROM api_keys`
        const done = yield* gateway(renewed, "secrets", "rotate", "--from", oldKey, "--json")
        expect(JSON.parse(done.output)).toEqual({
          rewrapped: {
            "api_keys.signing_secret_sealed": 1,
            "webhook_endpoints.secret_sealed": 1,
            "webhook_endpoints.previous_secret_sealed": 0,
            "named_endpoints.secret_sealed": 1,
            "named_endpoints.previous_secret_sealed": 0,
            "provider_memory.sealed": 0,
            "tenants.sender_sealed": 0,
            "open_work.sealed_destination": 0,
            "vault_keys.sealed": 2
          }
        })
        const again = yield* gateway(renewed, "secrets", "rotate", "--from", oldKey, "--json")
        expect(Object.values(JSON.parse(again.output).rewrapped)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0])
        const rows = yield* sql`SELECT count(*)::int AS rotations FROM audit_log WHERE action = 'secrets rotate'`
        expect(rows).toEqual([{ rotations: 1 }])

        // As it is when the first run stopped before this one.
        yield* sql`UPDATE api_keys SET signing_secret_sealed = ${before?.sealed ?? null}`
        const rest = yield* gateway(renewed, "secrets", "rotate", "--from", oldKey, "--json")
        expect(Object.values(JSON.parse(rest.output).rewrapped)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0])

        expect(yield* gateway(renewed, "tenant", "list")).toMatchObject({ code: 0 })
        expect(yield* gateway(variables, "tenant", "list")).toMatchObject({ code: 1 })
        expect(yield* gateway(variables, "secrets", "rotate", "--from", oldKey)).toMatchObject({
          code: 1,
          errors: "MASTER_KEY is the old key itself"
        })
      })
    )
  )

  it.effect("covers every column with sealed data", () =>
    story(
      Effect.gen(function* () {
        const { result, sql } = yield* installation
        yield* result("tenant", "list")
        const columns = yield* sql<{ name: string }>`
          SELECT table_name || '.' || column_name AS name FROM information_schema.columns
          WHERE table_schema = current_schema() AND data_type = 'bytea' AND column_name LIKE '%sealed%' ORDER BY 1`
        expect(columns.map(({ name }) => name)).toEqual(sealedColumns.map(({ column, table }) => `${table}.${column}`).sort())
      })
    )
  )
})
