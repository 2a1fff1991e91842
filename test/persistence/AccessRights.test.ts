import { inspect } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import { AccessSealing } from "../../src/persistence/AccessSealing.ts"
import { AuditLogPg } from "../../src/persistence/AuditLogPg.ts"
import { CorridorsPg } from "../../src/persistence/CorridorsPg.ts"
import { Database } from "../../src/persistence/Database.ts"
import { DenylistPg } from "../../src/persistence/DenylistPg.ts"
import { OperatorsPg } from "../../src/persistence/OperatorsPg.ts"
import { ProposalsPg } from "../../src/persistence/ProposalsPg.ts"
import { TenantsPg } from "../../src/persistence/TenantsPg.ts"
import { VaultPg } from "../../src/persistence/VaultPg.ts"
import { VelocityLimitsPg } from "../../src/persistence/VelocityLimitsPg.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { Denylist } from "../../src/services/ports/Denylist.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { asRuntime } from "../support/Postgres.ts"
import { auditEntry, givenDatabase, masterKey, tenant } from "../support/TestDatabase.ts"

const { appId } = tenant
const asha = OperatorName.make("asha")
const id = Reference.make("P".repeat(26))
const AT = auditEntry().at
const ugandaBank = { country: "UG", currency: "UGX", direction: "payout", method: "bank" } as const

/** What gateways run as, on a database whose owner is `sql`. */
const nodeOn = (url: Redacted.Redacted) =>
  Layer.build(
    Layer.mergeAll(TenantsPg, OperatorsPg, ProposalsPg, VelocityLimitsPg, DenylistPg, CorridorsPg, AuditLogPg).pipe(
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Database.layer({ url: asRuntime(url) })),
      Layer.fresh
    )
  )

/** Somebody of everything that the log is replayed for, made as operators make it. */
const given = Effect.gen(function* () {
  const url = yield* givenDatabase
  const node = yield* nodeOn(url)
  const sql = Context.get(yield* Layer.build(Layer.fresh(Database.layer({ url }))), SqlClient.SqlClient)
  const tenants = Context.get(node, Tenants)
  const operators = Context.get(node, Operators)
  const limits = Context.get(node, VelocityLimits)
  const corridors = Context.get(node, Corridors)
  yield* tenants.create(tenant, auditEntry({ action: "tenant create", details: { capabilities: "payouts" } }))
  yield* tenants.setCapability(appId, "fx", true, auditEntry({ action: "tenant grant", details: { capability: "fx" } }))
  for (const keyId of ["k1", "k2"]) {
    const key = { apiKeyHash: new Uint8Array(32).fill(1), signingSecret: Redacted.make("secret"), createdAt: 2_000 }
    const audit = auditEntry({ action: "key issue", subject: `${appId}/${keyId}`, details: { mode: "test", role: "tenant" } })
    yield* tenants.issueKey({ ...key, caller: { appId, keyId, mode: "test", role: "tenant" } }, audit)
  }
  yield* tenants.revokeKey(appId, "k2", 3_000, auditEntry({ action: "key revoke", subject: `${appId}/k2`, details: {} }))
  const add = (name: OperatorName, byte: number) =>
    operators.add(
      { name, role: "support", createdAt: 1_000, tokenHash: new Uint8Array(32).fill(byte) },
      auditEntry({ action: "operator add", subject: name, details: { role: "support" } })
    )
  yield* add(asha, 2)
  const hour = { mode: "live", direction: "payout", window: "hour", count: 5 } as const
  yield* limits.set(appId, hour, auditEntry({ action: "limit set", details: { ...hour, count: "5" } }))
  const ceiling = auditEntry({ action: "ceiling set", subject: "eversend/UGX", details: { amount_minor: "9" } })
  yield* limits.setCeiling("eversend", "UGX", minor(9n), ceiling)
  const denial = auditEntry({ action: "block add", subject: "••••3456", details: { kind: "destination", reason: "fraud" } })
  yield* Context.get(node, Denylist).add("destination", Redacted.make("256772123456"), "fraud", denial)
  const bank = Option.getOrThrow(yield* corridors.find(ugandaBank))
  const set = auditEntry({ action: "corridor set", subject: "UG/UGX/payout/bank", details: { active: "false" } })
  yield* corridors.put({ ...bank, active: false, minimum: minor(500n), updatedAt: AT }, set)
  const proposal = {
    id,
    kind: "float credit",
    subject: "acme/live/e1",
    details: { a: "1" },
    proposedBy: asha,
    proposedAt: AT
  } as const
  const proposed = { actor: "console/asha", action: "float propose", subject: "acme/live/e1", details: { direction: "credit" } }
  yield* Context.get(node, Proposals).open(proposal, auditEntry(proposed))
  const verify = Effect.map(Context.get(node, AuditLog).verify(null), ({ access, brokenAt }) => ({ access, brokenAt }))
  return { add, node, operators, sql, tenants, url, verify }
})

const tamperings: ReadonlyArray<readonly [statement: string, ...subjects: ReadonlyArray<string>]> = [
  ["UPDATE api_keys SET mode = 'live' WHERE key_id = 'k1'", "key acme/k1", "key acme/k1"],
  ["UPDATE api_keys SET revoked_at = NULL WHERE key_id = 'k2'", "key acme/k2"],
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
  ["UPDATE ceilings SET amount_minor = 10", "ceiling eversend/UGX"],
  ["UPDATE denials SET hash = ''", "denial destination ••••3456 2025-11-21T08:05:45.678Z"],
  ["DELETE FROM denials", "denial destination ••••3456 2025-11-21T08:05:45.678Z"],
  [
    "UPDATE corridors SET providers = '{mtn}' WHERE (country, method, direction) = ('UG', 'bank', 'payout')",
    "corridor UG/UGX/payout/bank"
  ],
  [
    "UPDATE console_proposals SET status = 'approved', decided_by = 'biko', decided_at = now()",
    "proposal float credit acme/live/e1 2025-11-21T08:05:45.678Z"
  ]
]

const tables = ["api_keys", "operators", "tenants", "limits", "ceilings", "denials", "corridors", "console_proposals"]
const inOne = (statements: ReadonlyArray<string>) => `DO $$ BEGIN ${statements.join("; ")}; END $$`
const keep = inOne(["CREATE SCHEMA kept", ...tables.map((name) => `CREATE TABLE kept.${name} AS TABLE ${name}`)])
const putBack = inOne([
  "SET LOCAL session_replication_role = replica",
  ...tables.flatMap((name) => [`DELETE FROM ${name}`, `INSERT INTO ${name} SELECT * FROM kept.${name}`])
])

describe("who may do what", () => {
  it.effect("is what the audit log says, and audit verify names every row that is not", () =>
    Effect.gen(function* () {
      const { sql, verify } = yield* given
      expect(yield* verify).toEqual({ access: [], brokenAt: null })
      yield* sql.unsafe(keep)
      for (const [statement, ...subjects] of tamperings) {
        yield* sql.unsafe(statement)
        const { access } = yield* verify
        expect([statement, ...(access ?? []).map(({ subject }) => subject)]).toEqual([statement, ...subjects])
        yield* sql.unsafe(putBack)
      }
      expect((yield* verify).access).toEqual([])
    })
  )

  it.effect("is not what somebody with SQL makes of a row: a key of another mode, role, age or hash is no key", () =>
    Effect.gen(function* () {
      const { sql, url } = yield* given
      yield* sql.unsafe(keep)
      for (const [change, isKey] of [
        ["mode = mode", true],
        ["mode = 'live'", false],
        ["role = 'admin'", false],
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

  it.effect("makes of one person no second one: a copied or changed operator is none, and a token is added once", () =>
    Effect.gen(function* () {
      const { add, operators, sql } = yield* given
      const isThere = (name: string) => Effect.map(operators.find(OperatorName.make(name)), Option.isSome)
      expect(yield* isThere("asha")).toBe(true)
      const taken = yield* Effect.exit(add(OperatorName.make("biko"), 2))
      expect(inspect(taken, { depth: 8 })).toContain("an operator has this token")
      yield* sql`INSERT INTO operators SELECT 'biko', role, token_hash, created_at, access_seal FROM operators`
      expect(yield* isThere("biko")).toBe(false)
      yield* sql`UPDATE operators SET role = 'admin'`
      expect(yield* isThere("asha")).toBe(false)
    })
  )

  it.effect("is changed by the role of gateways through change_access alone, and what that wrote without the key is found", () =>
    Effect.gen(function* () {
      const { node, verify } = yield* given
      const runtime = Context.get(node, SqlClient.SqlClient)
      const [head] = yield* runtime<{ sequence: bigint }>`SELECT sequence FROM audit_head`
      const next = (head?.sequence ?? 0n) + 1n
      yield* runtime`SELECT change_access('limit set', '{"app_id": "acme", "mode": "live", "direction": "payout", "window_name": "hour", "count": "1000"}',
        ${next}, now(), 'operator', 'limit set', 'acme', '{"mode": "live", "direction": "payout", "window": "hour", "count": "1000"}', sha256(''), sha256(''))`
      expect((yield* verify).brokenAt).toBe(next)
    })
  )
})

describe("rows that are older than seals", () => {
  /** As a release before has left them, beside two that nobody made. */
  const before = Effect.gen(function* () {
    const { node, sql, url } = yield* given
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
      expect(yield* known).toEqual([true, false, true])
      const [row, older] = yield* Context.get(node, AuditLog).list(2)
      expect([row?.action, row?.details, older?.action]).toEqual([
        "access seal",
        { sealed: "2", refused: "operator biko, key acme/k3" },
        "float propose"
      ])
      // From then on the old form is none: nobody goes back to it.
      yield* sql`UPDATE operators SET access_seal = NULL, token_hash = sha256('my own') WHERE name = 'asha'`
      yield* start
      expect(yield* known).toEqual([false, false, true])
      const { access } = yield* Context.get(node, AuditLog).verify(null)
      expect(access?.map(({ subject }) => subject)).toContain("operator asha")
    })
  )

  it.effect("are not sealed where the audit log does not hold", () =>
    Effect.gen(function* () {
      const { known, sql, start } = yield* before
      yield* sql`ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only`
      yield* sql`UPDATE audit_log SET subject = 'biko', details = '{"role":"admin"}' WHERE action = 'operator add'`
      yield* start
      expect(yield* known).toEqual([false, false, false])
    })
  )
})
