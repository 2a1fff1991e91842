import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import { noTerms } from "../../src/domain/Tenant.ts"
import { AuditLogPg } from "../../src/persistence/audit/AuditLogPg.ts"
import { Database } from "../../src/persistence/Database.ts"
import { OperatorsPg } from "../../src/persistence/operators/OperatorsPg.ts"
import { ProposalsPg } from "../../src/persistence/operators/ProposalsPg.ts"
import { VelocityLimitsPg } from "../../src/persistence/requests/VelocityLimitsPg.ts"
import { CorridorsPg } from "../../src/persistence/tenants/CorridorsPg.ts"
import { DenylistPg } from "../../src/persistence/tenants/DenylistPg.ts"
import { TenantsPg } from "../../src/persistence/tenants/TenantsPg.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { Denylist } from "../../src/services/ports/Denylist.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { asRuntime } from "./Postgres.ts"
import { auditEntry, givenDatabase, masterKey, tenant } from "./TestDatabase.ts"

const { appId } = tenant
export const asha = OperatorName.make("asha")
const id = Reference.make("P".repeat(26))
const AT = auditEntry().at
const ugandaBank = { country: "UG", currency: "UGX", direction: "payout", method: "bank" } as const

/** What gateways run as, on a database whose owner is `sql`. */
export const nodeOn = (url: Redacted.Redacted) =>
  Layer.build(
    Layer.mergeAll(TenantsPg, OperatorsPg, ProposalsPg, VelocityLimitsPg, DenylistPg, CorridorsPg, AuditLogPg).pipe(
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Database.layer({ url: asRuntime(url) })),
      Layer.fresh
    )
  )

/** Somebody of everything that the log is replayed for, made as operators make it. */
export const givenAccess = Effect.gen(function* () {
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
    const key = { ...noTerms, apiKeyHash: new Uint8Array(32).fill(1), signingSecret: Redacted.make("secret"), createdAt: 2_000 }
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
  const cap = { mode: "live", direction: "payout", window: "day", currency: "UGX" } as const
  for (const window of ["day", "key"] as const) {
    const wanted = { ...cap, window, amount: minor(7n) }
    yield* limits.setCap(appId, wanted, auditEntry({ action: "cap set", details: { ...cap, window, amount_minor: "7" } }))
  }
  const gone = { ...cap, window: "key" } as const
  yield* limits.removeCap(appId, gone, auditEntry({ action: "cap remove", details: gone }))
  const ceiling = auditEntry({ action: "ceiling set", subject: "eversend/UGX", details: { amount_minor: "9" } })
  yield* limits.setCeiling("eversend", "UGX", minor(9n), ceiling)
  const denial = auditEntry({ action: "block add", subject: "••••3456", details: { kind: "destination", reason: "fraud" } })
  const denied = { spelling: "256772123456", party: "phone", masked: "••••3456" } as const
  yield* Context.get(node, Denylist).add("destination", denied, "fraud", denial)
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
