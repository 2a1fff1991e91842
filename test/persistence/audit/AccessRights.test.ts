import { inspect } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { OperatorName } from "../../../src/domain/Operator.ts"
import { AccessSealing } from "../../../src/persistence/audit/AccessSealing.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { Operators } from "../../../src/services/ports/Operators.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { forgedChange } from "../../support/ForgedChange.ts"
import { asha, givenAccess, nodeOn } from "../../support/GivenAccess.ts"
import { auditEntry, tenant } from "../../support/TestDatabase.ts"

const tamperings: ReadonlyArray<readonly [statement: string, ...subjects: ReadonlyArray<string>]> = [
  ["UPDATE api_keys SET mode = 'live' WHERE key_id = 'k1'", "key acme/k1", "key acme/k1"],
  ["UPDATE api_keys SET is_reader = true WHERE key_id = 'k1'", "key acme/k1", "key acme/k1"],
  ["UPDATE api_keys SET addresses = '{10.0.0.0/8}' WHERE key_id = 'k1'", "key acme/k1", "key acme/k1"],
  ["UPDATE api_keys SET label = 'erp' WHERE key_id = 'k1'", "key acme/k1", "key acme/k1"],
  ["UPDATE api_keys SET revoked_at = NULL WHERE key_id = 'k2'", "key acme/k2", "key acme/k2"],
  [
    "INSERT INTO api_keys SELECT app_id, 'k3', 'live', role, api_key_hash, signing_secret_sealed, now() FROM api_keys WHERE key_id = 'k1'",
    "key acme/k3",
    "key acme/k3"
  ],
  ["UPDATE operators SET role = 'admin'", "operator asha", "operator asha"],
  [
    "INSERT INTO operators (name, role, token_hash, created_at, access_seal) SELECT 'biko', role, token_hash, created_at, access_seal FROM operators",
    "operator biko",
    "operator biko"
  ],
  ["UPDATE operators SET token_hash = decode(repeat('03', 32), 'hex')", "operator asha"],
  ["DELETE FROM operators", "operator asha"],
  ["UPDATE tenants SET status = 'frozen'", "tenant acme"],
  ["UPDATE tenants SET capabilities = capabilities || '{collections}'", "tenant acme"],
  ["UPDATE tenants SET pinned_provider = 'mtn'", "tenant acme"],
  ["UPDATE tenants SET repeat_sales = true", "tenant acme"],
  ["UPDATE limits SET count = 100", "limit acme/live/payout/hour"],
  ["DELETE FROM limits", "limit acme/live/payout/hour"],
  ["INSERT INTO limits VALUES ('acme', 'live', 'payout', 'day', 1)", "limit acme/live/payout/day"],
  ["UPDATE amount_caps SET amount_minor = 100", "cap acme/live/payout/day/UGX"],
  ["DELETE FROM amount_caps", "cap acme/live/payout/day/UGX"],
  ["INSERT INTO amount_caps VALUES ('acme', 'live', 'payout', 'key', 'UGX', 7)", "cap acme/live/payout/key/UGX"],
  ["UPDATE ceilings SET amount_minor = 10", "ceiling eversend/UGX"],
  ["UPDATE denials SET hash = ''", "denial destination ••••3456 2025-11-21T08:05:45.678Z"],
  ["UPDATE denials SET party = 'account'", "denial destination ••••3456 2025-11-21T08:05:45.678Z"],
  ["UPDATE denials SET party = NULL", "denial destination ••••3456 2025-11-21T08:05:45.678Z"],
  ["DELETE FROM denials", "denial destination ••••3456 2025-11-21T08:05:45.678Z"],
  [
    "UPDATE corridors SET providers = '{mtn}' WHERE (country, method, direction) = ('UG', 'bank', 'payout')",
    "corridor UG/UGX/payout/bank"
  ],
  ["INSERT INTO provider_switches VALUES ('mtn', true, '', now())", "switch provider/mtn"],
  [
    "UPDATE console_proposals SET status = 'approved', decided_by = 'biko', decided_at = now()",
    "proposal float credit acme/live/e1 2025-11-21T08:05:45.678Z"
  ]
]

const tables = [
  "api_keys",
  "operators",
  "tenants",
  "limits",
  "amount_caps",
  "ceilings",
  "denials",
  "corridors",
  "provider_switches",
  "console_proposals"
]
const inOne = (statements: ReadonlyArray<string>) => `DO $$ BEGIN ${statements.join("; ")}; END $$`
const keep = inOne(["CREATE SCHEMA kept", ...tables.map((name) => `CREATE TABLE kept.${name} AS TABLE ${name}`)])
const putBack = inOne([
  "SET LOCAL session_replication_role = replica",
  ...tables.flatMap((name) => [`DELETE FROM ${name}`, `INSERT INTO ${name} SELECT * FROM kept.${name}`])
])

describe("who may do what", () => {
  it.effect("is what the audit log says, and audit verify names every row that is not", () =>
    Effect.gen(function* () {
      const { sql, verify } = yield* givenAccess
      expect(yield* verify).toEqual({ access: [], brokenAt: null })
      yield* sql.unsafe(keep)
      for (const [statement, ...subjects] of tamperings) {
        yield* sql.unsafe(statement)
        const { access } = yield* verify
        expect([statement, ...access.map(({ subject }) => subject)]).toEqual([statement, ...subjects])
        yield* sql.unsafe(putBack)
      }
      expect((yield* verify).access).toEqual([])
    })
  )

  it.effect("is not what somebody with SQL makes of a row: a key of another mode, role, age or hash is no key", () =>
    Effect.gen(function* () {
      const { sql, url } = yield* givenAccess
      yield* sql.unsafe(keep)
      for (const [change, isKey] of [
        ["mode = mode", true],
        ["mode = 'live'", false],
        ["role = 'admin'", false],
        ["is_reader = true", false],
        ["addresses = '{10.0.0.0/8}'", false],
        ["last_used_at = now()", true],
        ["created_at = now()", false],
        ["api_key_hash = decode(repeat('09', 32), 'hex')", false],
        ["access_seal = NULL", false],
        ["access_seal = decode(repeat('09', 32), 'hex')", false]
      ] as const) {
        yield* sql.unsafe(`UPDATE api_keys SET ${change} WHERE app_id = 'acme' AND key_id = 'k1'`)
        const found = yield* Context.get(yield* nodeOn(url), Tenants).signingKey("acme", "k1")
        expect([change, Option.isSome(found)]).toEqual([change, isKey])
        yield* sql.unsafe(putBack)
      }
    })
  )

  it.effect("keeps no secret of a revoked key, and no row that somebody writes makes it valid again", () =>
    Effect.gen(function* () {
      const { sql, tenants, url, verify } = yield* givenAccess
      yield* sql`CREATE TABLE kept AS SELECT * FROM api_keys WHERE key_id = 'k1'`
      yield* tenants.revokeKey(tenant.appId, "k1", 4_000, auditEntry({ action: "key revoke", subject: "acme/k1", details: {} }))
      expect(
        yield* sql`SELECT octet_length(signing_secret_sealed) AS secret, octet_length(api_key_hash) AS hash FROM api_keys`
      ).toEqual([
        { secret: 0, hash: 32 },
        { secret: 0, hash: 32 }
      ])
      expect(yield* verify).toEqual({ access: [], brokenAt: null })
      const isKey = Effect.gen(function* () {
        return Option.isSome(yield* Context.get(yield* nodeOn(url), Tenants).signingKey("acme", "k1"))
      })
      yield* sql`UPDATE api_keys SET revoked_at = NULL`
      expect(yield* isKey).toBe(false)
      // Whoever has kept the whole row, and may write it, as the role of gateways may on Citus.
      yield* sql`UPDATE api_keys k SET signing_secret_sealed = kept.signing_secret_sealed FROM kept WHERE k.key_id = kept.key_id`
      expect(yield* isKey).toBe(false)
      expect((yield* verify).access.map(({ subject }) => subject)).toContain("key acme/k1")
    })
  )

  it.effect("makes of one person no second one: a copied or changed operator is none, and a token is added once", () =>
    Effect.gen(function* () {
      const { add, operators, sql } = yield* givenAccess
      const isThere = (name: string) => Effect.map(operators.find(OperatorName.make(name)), Option.isSome)
      expect(yield* isThere("asha")).toBe(true)
      const taken = yield* Effect.exit(add(OperatorName.make("biko"), 2))
      expect(inspect(taken, { depth: 8 })).toContain("an operator has or had this token")
      yield* sql`INSERT INTO operators SELECT 'biko', role, token_hash, created_at, access_seal FROM operators`
      expect(yield* isThere("biko")).toBe(false)
      yield* sql`UPDATE operators SET role = 'admin'`
      expect(yield* isThere("asha")).toBe(false)
    })
  )

  it.effect("gives a removed operator nothing back: the old row, with the seal that fits it, is not added again", () =>
    Effect.gen(function* () {
      const { node, operators } = yield* givenAccess
      const runtime = Context.get(node, SqlClient.SqlClient)
      const [old] = yield* runtime<{ row: string }>`SELECT to_json(o)::text AS row FROM operators o WHERE name = 'asha'`
      yield* operators.remove(asha, auditEntry({ action: "operator remove", subject: asha, details: {} }))
      const again = yield* Effect.exit(forgedChange(runtime, "operator add", JSON.parse(old?.row ?? "{}")))
      expect(inspect(again, { depth: 8 })).toContain("an operator has or had this token")
      expect(Option.isNone(yield* operators.find(asha))).toBe(true)
    })
  )

  it.effect("is changed by the role of gateways through change_access alone, and what that wrote without the key is found", () =>
    Effect.gen(function* () {
      const { node, sql, tenants, verify } = yield* givenAccess
      const runtime = Context.get(node, SqlClient.SqlClient)
      const [head] = yield* runtime<{ sequence: bigint }>`SELECT sequence FROM audit_head`
      const next = (head?.sequence ?? 0n) + 1n
      yield* runtime`SELECT change_access('limit set', '{"app_id": "acme", "mode": "live", "direction": "payout", "window_name": "hour", "count": "1000"}',
        ${next}, now(), 'operator', 'limit set', 'acme', '{"mode": "live", "direction": "payout", "window": "hour", "count": "1000"}', sha256(''), sha256(''))`
      expect((yield* verify).brokenAt).toBe(next)
      // It hides neither itself nor what comes after it.
      yield* sql`UPDATE ceilings SET amount_minor = 10`
      yield* tenants.setCapability(
        tenant.appId,
        "fx",
        false,
        auditEntry({ action: "tenant deny", details: { capability: "fx" } })
      )
      expect((yield* verify).access.map(({ subject }) => subject)).toEqual([
        "limit acme/live/payout/hour",
        "ceiling eversend/UGX"
      ])
    })
  )
})

describe("rows that are older than seals", () => {
  /** As a release before has left them, beside two that nobody made. */
  const before = Effect.gen(function* () {
    const { node, sql, url } = yield* givenAccess
    yield* sql`UPDATE api_keys SET access_seal = NULL`
    yield* sql`UPDATE operators SET access_seal = NULL`
    yield* sql`INSERT INTO operators SELECT 'biko', 'admin', sha256('his own'), created_at FROM operators`
    yield* sql`INSERT INTO api_keys SELECT app_id, 'k3', 'live', role, api_key_hash, signing_secret_sealed, now() FROM api_keys WHERE key_id = 'k1'`
    const start = Effect.scoped(Layer.build(Layer.provide(AccessSealing, Layer.succeedContext(node))))
    const known = Effect.gen(function* () {
      const fresh = yield* nodeOn(url)
      const people = yield* Effect.forEach(["asha", "biko"], (name) =>
        Effect.map(Context.get(fresh, Operators).find(OperatorName.make(name)), Option.isSome)
      )
      return [...people, Option.isSome(yield* Context.get(fresh, Tenants).signingKey("acme", "k1"))]
    })
    return { known, node, sql, start }
  })

  it.effect("are sealed once, at the first start that can, where the audit log says that somebody made them", () =>
    Effect.gen(function* () {
      const { known, node, sql, start } = yield* before
      expect(yield* known).toEqual([false, false, false])
      yield* Effect.all([start, start], { concurrency: "unbounded" })
      // The log says nothing of a token: an operator is added anew.
      expect(yield* known).toEqual([false, false, true])
      const [row, older] = yield* Context.get(node, AuditLog).list(2)
      expect([row?.action, row?.details, older?.action]).toEqual([
        "access seal",
        { sealed: "1", refused: "operator asha, operator biko, key acme/k3" },
        "float propose"
      ])
      // From then on the old form is none: nobody goes back to it.
      yield* sql`UPDATE api_keys SET access_seal = NULL`
      yield* start
      expect(yield* known).toEqual([false, false, false])
      const { access } = yield* Context.get(node, AuditLog).verify(null)
      expect(access.map(({ subject }) => subject)).toContain("operator asha")
    })
  )

  it.effect("are not sealed where the log says that somebody made another key", () =>
    Effect.gen(function* () {
      const { known, sql, start } = yield* before
      yield* sql`UPDATE api_keys SET role = 'admin'`
      yield* start
      expect(yield* known).toEqual([false, false, false])
    })
  )

  it.effect("are sealed by its genuine rows where somebody forged one, and not yet where one is missing", () =>
    Effect.gen(function* () {
      const { known, node, sql, start } = yield* before
      yield* sql`ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only`
      yield* sql`CREATE TABLE gone AS SELECT * FROM audit_log WHERE action = 'tenant grant'`
      yield* sql`DELETE FROM audit_log WHERE action = 'tenant grant'`
      yield* start
      expect(yield* known).toEqual([false, false, false])
      yield* sql`INSERT INTO audit_log SELECT * FROM gone`
      const append = { app_id: "acme", mode: "live", direction: "payout", window_name: "hour", count: "7" }
      yield* forgedChange(Context.get(node, SqlClient.SqlClient), "limit set", append)
      yield* start
      expect(yield* known).toEqual([false, false, true])
    })
  )
})
