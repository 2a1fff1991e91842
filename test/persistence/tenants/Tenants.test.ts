import { describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { maskedSender } from "../../../src/domain/Sender.ts"
import { noTerms } from "../../../src/domain/Tenant.ts"
import { auditTrail } from "../../../src/persistence/audit/AuditTrail.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { Nonces } from "../../../src/services/ports/Nonces.ts"
import { type NewKey, Tenants } from "../../../src/services/ports/Tenants.ts"
import { Vault } from "../../../src/services/ports/Vault.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { auditEntry, givenDatabase, givenNode, givenTenant, tenant } from "../../support/TestDatabase.ts"

const { appId } = tenant
const key: NewKey = {
  caller: { appId, keyId: "k1", mode: "test", role: "tenant" },
  ...noTerms,
  apiKeyHash: new Uint8Array(32).fill(3),
  signingSecret: Redacted.make("the secret"),
  createdAt: 2_000
}

describe("a tenant", () => {
  it.effect("is created once, with one audit row", () =>
    Effect.gen(function* () {
      const node = yield* Effect.flatMap(givenDatabase, (url) => givenNode(url))
      const tenants = Context.get(node, Tenants)
      expect(yield* givenTenant(node)).toBe(true)
      expect(yield* givenTenant(node)).toBe(false)
      expect(yield* tenants.find(appId)).toEqual(Option.some(tenant))
      expect(yield* tenants.find(AppId.make("absent"))).toEqual(Option.none())
      expect(yield* tenants.list).toEqual([tenant])
      expect(yield* Context.get(node, AuditLog).list(10)).toHaveLength(1)
    })
  )

  it.effect("is frozen while a key of its own is issued at another node", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other, third] = yield* Effect.all([givenNode(url), givenNode(url), givenNode(url)])
      yield* givenTenant(one)
      const sql = Context.get(third, SqlClient.SqlClient)
      const [isHeld, isFree] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder = yield* sql`SELECT FROM audit_head_locked()`.pipe(
        Effect.andThen(Deferred.succeed(isHeld, undefined)),
        Effect.andThen(Deferred.await(isFree)),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* Deferred.await(isHeld)
      const issuing = yield* Effect.forkScoped(Context.get(one, Tenants).issueKey(key, auditEntry()))
      yield* waitsForLock(sql)
      const freezing = yield* Effect.forkScoped(Context.get(other, Tenants).setStatus(appId, "frozen", auditEntry()))
      yield* waitsForLock(sql, 2)
      yield* Deferred.succeed(isFree, undefined)
      yield* Fiber.join(holder)
      expect(yield* Fiber.join(issuing)).toBe(true)
      expect(yield* Fiber.join(freezing)).toEqual(Option.some({ ...tenant, status: "frozen" }))
    })
  )

  // Issue 38, line 9.
  it.effect("has a sender, sealed, that every node tells within a second of its change, with an audit row that is masked", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      const tenants = Context.get(one, Tenants)
      const sender = {
        name: Redacted.make("Acme Ltd"),
        country: "KE",
        msisdn: Redacted.make("+254711002233"),
        address: Redacted.make("1 Moi Avenue")
      }
      const audit = { ...auditEntry(), action: "tenant sender", subject: appId, details: maskedSender(sender) }
      expect(yield* tenants.setSender(appId, sender, audit)).toBe(false)
      yield* givenTenant(one)
      const seen = (node: typeof one) => Context.get(node, Tenants).sender(appId)
      expect([yield* seen(one), yield* seen(other)]).toEqual([null, null])
      expect(yield* tenants.setSender(appId, sender, audit)).toBe(true)
      expect(yield* seen(one)).toEqual(sender)
      yield* TestClock.adjust("999 millis")
      expect(yield* seen(other)).toEqual(sender)
      const [row] = yield* Context.get(one, AuditLog).list(1)
      expect(row?.details).toEqual({ name: "A••• L••", country: "KE", number: "••••2233", address: "1• M•• A•••••" })
      const written = yield* Context.get(one, SqlClient.SqlClient)`SELECT row_to_json(t)::text AS text FROM tenants t`
      for (const clear of ["Acme", "711002233", "Moi"]) expect(JSON.stringify(written)).not.toContain(clear)
      expect(yield* tenants.setStatus(appId, "active", auditEntry())).toEqual(Option.some(tenant))
      expect(yield* seen(one)).toEqual(sender)
      expect(yield* tenants.setSender(appId, null, { ...audit, action: "tenant sender remove", details: {} })).toBe(true)
      expect(yield* seen(one)).toBe(null)
      expect(yield* Context.get(one, AuditLog).verify(null)).toMatchObject({ brokenAt: null, forged: [] })
    })
  )

  // Issue 38, what two readers found, 6.
  it.effect("is not troubled by another's sender or secret that does not open: that one is known until it is set again", () =>
    Effect.gen(function* () {
      const node = yield* Effect.flatMap(givenDatabase, (url) => givenNode(url))
      const [tenants, sql] = [Context.get(node, Tenants), Context.get(node, SqlClient.SqlClient)]
      const other = AppId.make("other")
      const sender = {
        name: Redacted.make("Acme Ltd"),
        country: "KE",
        msisdn: Redacted.make("+254711002233"),
        address: Redacted.make("1 Moi Avenue")
      }
      yield* givenTenant(node)
      yield* tenants.create({ ...tenant, appId: other }, auditEntry())
      for (const name of [appId, other]) {
        yield* tenants.setSender(name, sender, auditEntry())
        yield* tenants.issueKey({ ...key, caller: { ...key.caller, appId: name } }, auditEntry())
      }
      yield* sql`UPDATE tenants SET sender_sealed = overlay(sender_sealed PLACING decode('00000000', 'hex') FROM 20) WHERE app_id = 'other'`
      yield* sql`UPDATE api_keys SET signing_secret_sealed = overlay(signing_secret_sealed PLACING decode('00000000', 'hex') FROM 20)
        WHERE app_id = 'other'`
      const senders = Effect.all([tenants.sender(appId), tenants.sender(other)], { concurrency: "unbounded" })
      expect(yield* senders).toEqual([sender, "unreadable"])
      const keys = Effect.all([tenants.signingKey(appId, "k1"), tenants.signingKey(other, "k1")], { concurrency: "unbounded" })
      expect((yield* keys).map(Option.isSome)).toEqual([true, false])
      yield* tenants.setSender(other, sender, auditEntry())
      expect(yield* tenants.sender(other)).toEqual(sender)
    })
  )

  it.effect("gets keys that work on every node, and no others do", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      const tenants = Context.get(one, Tenants)
      expect(yield* tenants.issueKey(key, auditEntry())).toBe(false)
      yield* givenTenant(one)
      expect(yield* tenants.issueKey(key, auditEntry())).toBe(true)
      const found = yield* Context.get(other, Tenants).signingKey("acme", "k1")
      const { signingSecret, ...rest } = Option.getOrThrow(found)
      expect(rest).toEqual({ caller: key.caller, addresses: [], apiKeyHash: key.apiKeyHash, lastUsedAt: null })
      expect(Redacted.value(signingSecret)).toBe("the secret")
      for (const [name, id] of [
        ["acme", "k2"],
        ["other", "k1"],
        ["ACME\0", "k1"],
        ["acme", "k\0"],
        ["acme", ""]
      ] as const) {
        expect(yield* Context.get(other, Tenants).signingKey(name, id)).toEqual(Option.none())
      }
      expect(yield* tenants.keys(appId)).toEqual([
        { ...key.caller, ...noTerms, createdAt: 2_000, lastUsedAt: null, revokedAt: null }
      ])
    })
  )

  it.effect("has its revoked key refused by its own node at once, and by every other within a second", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
      yield* givenTenant(one)
      yield* Context.get(one, Tenants).issueKey(key, auditEntry())
      const onOne = Context.get(one, Tenants).signingKey("acme", "k1")
      const onOther = Context.get(other, Tenants).signingKey("acme", "k1")
      expect([Option.isSome(yield* onOne), Option.isSome(yield* onOther)]).toEqual([true, true])
      expect(yield* Context.get(one, Tenants).revokeKey(appId, "k1", 3_000, auditEntry())).toBe(true)
      expect(yield* Context.get(one, Tenants).revokeKey(appId, "k1", 4_000, auditEntry())).toBe(false)
      expect(yield* onOne).toEqual(Option.none())
      yield* TestClock.adjust("999 millis")
      expect(yield* onOther).toEqual(Option.none())
      expect(yield* Context.get(one, Tenants).keys(appId)).toEqual([
        { ...key.caller, ...noTerms, createdAt: 2_000, lastUsedAt: null, revokedAt: 3_000 }
      ])
    })
  )

  it.effect("has its keys reloaded within a second of an operator's change, and after ten seconds anyway", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [node, operator] = [yield* givenNode(url), yield* givenNode(url)]
      const sql = Context.get(node, SqlClient.SqlClient)
      const tenants = Context.get(node, Tenants)
      yield* givenTenant(node)
      yield* tenants.issueKey(key, auditEntry())
      const isThere = Effect.map(tenants.signingKey("acme", key.caller.keyId), Option.isSome)
      expect(yield* isThere).toBe(true)
      yield* sql`UPDATE api_keys SET revoked_at = now()`
      yield* TestClock.adjust("9 seconds")
      expect(yield* isThere).toBe(true)
      yield* TestClock.adjust("1 seconds")
      expect(yield* isThere).toBe(false)
      yield* sql`UPDATE api_keys SET revoked_at = NULL`
      // Of another tenant: the log says that something changed, and not what.
      yield* givenTenant(operator, AppId.make("other"))
      expect(yield* isThere).toBe(false)
      yield* TestClock.adjust("800 millis")
      expect(yield* isThere).toBe(true)
    })
  )

  it.effect("has its keys kept in memory when tenants change something, or when an operator only reads or sends again", () =>
    Effect.gen(function* () {
      const node = yield* Effect.flatMap(givenDatabase, (url) => givenNode(url))
      const sql = Context.get(node, SqlClient.SqlClient)
      const tenants = Context.get(node, Tenants)
      const trail = auditTrail(sql, Context.get(node, Vault).hash)
      yield* givenTenant(node)
      yield* tenants.issueKey(key, auditEntry())
      const isThere = Effect.map(tenants.signingKey("acme", key.caller.keyId), Option.isSome)
      expect(yield* isThere).toBe(true)
      // Seen as soon as the row is read again.
      yield* sql`UPDATE api_keys SET revoked_at = now()`
      const neighbour = { appId: AppId.make("other"), mode: "live" } as const
      yield* trail.with(sql`SELECT 1`, { ...auditEntry(), tenant: neighbour })
      yield* trail.with(sql`SELECT 1`, auditEntry({ action: "transaction raw read" }))
      yield* TestClock.adjust("1 seconds")
      expect(yield* isThere).toBe(true)
    })
  )

  it.effect("has the hour of a key's last use, which an earlier hour does not change", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const [one, other] = [yield* givenNode(url), yield* givenNode(url)]
      yield* givenTenant(one)
      const terms = { label: "erp", addresses: ["10.0.0.0/8", "2001:db8::/32"] }
      yield* Context.get(one, Tenants).issueKey(
        { ...key, ...terms, caller: { ...key.caller, role: "reader" } },
        auditEntry({ action: "key issue", subject: "acme/k1" })
      )
      yield* Context.get(one, Tenants).noteUse(key.caller, 7_200_000)
      yield* Context.get(other, Tenants).noteUse(key.caller, 3_600_000)
      expect(yield* Context.get(other, Tenants).keys(appId)).toEqual([
        { ...key.caller, ...terms, role: "reader", createdAt: 2_000, lastUsedAt: 7_200_000, revokedAt: null }
      ])
      const found = Option.getOrThrow(yield* Context.get(other, Tenants).signingKey("acme", "k1"))
      expect([found.caller.role, found.addresses, found.lastUsedAt]).toEqual(["reader", terms.addresses, 7_200_000])
    })
  )

  it.effect("cannot use another key's sealed secret", () =>
    Effect.gen(function* () {
      const node = yield* Effect.flatMap(givenDatabase, (url) => givenNode(url))
      yield* givenTenant(node)
      yield* Context.get(node, Tenants).issueKey(key, auditEntry())
      yield* Context.get(node, SqlClient.SqlClient)`UPDATE api_keys SET key_id = 'k2'`
      const exit = yield* Effect.exit(Context.get(node, Tenants).signingKey("acme", "k2"))
      expect(exit).toEqual(Exit.succeed(Option.none()))
    })
  )
})

describe("a nonce", () => {
  it.effect("is accepted once, whichever node receives it", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const nodes = yield* Effect.all([givenNode(url), givenNode(url)])
      const use = { caller: key.caller, nonce: "n".repeat(16), expiresAt: 10_000 }
      const spends = Array.from({ length: 20 }, (_, index) => Context.get(nodes[index % 2 === 0 ? 0 : 1], Nonces).spend(use))
      const answers = yield* Effect.all(spends, { concurrency: "unbounded" })
      expect(answers.filter((fresh) => fresh)).toHaveLength(1)
      expect(yield* Context.get(nodes[0], Nonces).spend({ ...use, caller: { ...key.caller, keyId: "k2" } })).toBe(true)
    })
  )

  it.effect("is removed after it expires, a bounded number at once", () =>
    Effect.gen(function* () {
      const nonces = Context.get(yield* Effect.flatMap(givenDatabase, (url) => givenNode(url)), Nonces)
      for (const at of [1_000, 2_000, 3_000, 4_000])
        yield* nonces.spend({ caller: key.caller, nonce: `nonce-${at}`, expiresAt: at })
      expect([yield* nonces.prune(3_000, 2), yield* nonces.prune(3_000, 2), yield* nonces.prune(3_000, 2)]).toEqual([2, 1, 0])
      expect(yield* nonces.spend({ caller: key.caller, nonce: "nonce-4000", expiresAt: 9_000 })).toBe(false)
      expect(yield* nonces.spend({ caller: key.caller, nonce: "nonce-1000", expiresAt: 9_000 })).toBe(true)
    })
  )
})
