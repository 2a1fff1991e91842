import { Effect, Layer } from "effect"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { OperatorName } from "../../src/domain/Operator.ts"
import { ProposalKind } from "../../src/domain/Proposal.ts"
import { AuditLogPg } from "../../src/persistence/audit/AuditLogPg.ts"
import { Database } from "../../src/persistence/Database.ts"
import { FloatEntriesPg } from "../../src/persistence/ledger/FloatEntriesPg.ts"
import { FloatLedgerPg } from "../../src/persistence/ledger/FloatLedgerPg.ts"
import { LedgerVerificationPg } from "../../src/persistence/ledger/LedgerVerificationPg.ts"
import { OperatorsPg } from "../../src/persistence/operators/OperatorsPg.ts"
import { ProposalsPg } from "../../src/persistence/operators/ProposalsPg.ts"
import { CorridorsPg } from "../../src/persistence/tenants/CorridorsPg.ts"
import { ProviderSwitchesPg } from "../../src/persistence/tenants/ProviderSwitchesPg.ts"
import { TenantsPg } from "../../src/persistence/tenants/TenantsPg.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { Approvals } from "../../src/services/approvals/Approvals.ts"
import { ConfigurationApprovals } from "../../src/services/approvals/ConfigurationApprovals.ts"
import { FloatApprovals } from "../../src/services/approvals/FloatApprovals.ts"
import { KeyApprovals } from "../../src/services/approvals/KeyApprovals.ts"
import { ReviewApprovals } from "../../src/services/approvals/ReviewApprovals.ts"
import { ReviewFiles } from "../../src/services/approvals/ReviewFiles.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { FloatAdjustments } from "../../src/services/tenants/FloatAdjustments.ts"
import { TenantKeys } from "../../src/services/tenants/TenantKeys.ts"
import { fake } from "../fakes/Fake.ts"
import { policy } from "../fakes/FakePolicy.ts"
import { fakeProvider, fakeProviderRegistry } from "../fakes/FakeProvider.ts"
import { asRuntime } from "../support/Postgres.ts"
import { auditEntry, givenDatabase, masterKey, tenant } from "../support/TestDatabase.ts"

type Moment = "before" | "after"
/** Where the process dies, if it does: before what was approved is done, or after it and before the commit. */
export const fate: { dies: Moment | null } = { dies: null }

const mortal = <A, E, R>(act: Effect.Effect<A, E, R>) => {
  const died = (moment: Moment) =>
    Effect.suspend(() => (fate.dies === moment ? Effect.die(new Error("the process is gone")) : Effect.void))
  return Effect.andThen(died("before"), Effect.tap(act, died("after")))
}
const mortalFloats = Layer.effect(
  FloatAdjustments,
  Effect.map(FloatAdjustments, ({ adjust }) => FloatAdjustments.of({ adjust: (wish, by) => mortal(adjust(wish, by)) }))
).pipe(Layer.provide(FloatAdjustments.layer))
const mortalKeys = Layer.effect(
  TenantKeys,
  Effect.map(TenantKeys, (keys) => TenantKeys.of({ ...keys, issue: (caller, by) => mortal(keys.issue(caller, by)) }))
).pipe(Layer.provide(TenantKeys.layer))

export const [asha, biko, chidi] = [OperatorName.make("asha"), OperatorName.make("biko"), OperatorName.make("chidi")]

/** Whoever proposes or decides is an operator. */
export const approvers = Layer.effectDiscard(
  Effect.gen(function* () {
    const operators = yield* Operators
    for (const [place, name] of [biko, chidi, asha].entries()) {
      const account = { name, role: "admin", createdAt: 0, tokenHash: new Uint8Array(32).fill(200 + place) } as const
      yield* operators.add(account, auditEntry({ action: "operator add", subject: name, details: { role: "admin" } }))
    }
  })
)

/** The desks and what they stand on, on a database of their own. Reviews have a test of their own. */
export const desks = Layer.unwrap(
  Effect.map(givenDatabase, (url) =>
    Approvals.layer.pipe(
      Layer.provideMerge(Layer.merge(FloatApprovals.layer, KeyApprovals.layer)),
      Layer.provide(
        Layer.mergeAll(fake(ReviewApprovals, { needsTwo: () => false }), fake(ReviewFiles, {}), mortalFloats, mortalKeys)
      ),
      Layer.provideMerge(FloatAdjustments.layer),
      Layer.provideMerge(
        Layer.provide(ConfigurationApprovals.layer, fakeProviderRegistry([fakeProvider("one"), fakeProvider("two")]))
      ),
      Layer.provideMerge(approvers),
      Layer.provideMerge(
        Layer.mergeAll(
          OperatorsPg,
          ProposalsPg,
          AuditLogPg,
          CorridorsPg,
          ProviderSwitchesPg,
          TenantsPg,
          FloatEntriesPg,
          FloatLedgerPg,
          LedgerVerificationPg
        )
      ),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(
        Layer.mergeAll(Database.layer({ url: asRuntime(url) }), RandomSourceLive, Layer.succeed(Policy, policy))
      ),
      Layer.fresh
    )
  )
)

let made = 0
export const newTenant = Effect.gen(function* () {
  const appId = AppId.make(`shop-${made++}`)
  yield* (yield* Tenants).create({ ...tenant, appId }, auditEntry({ action: "tenant create", subject: appId }))
  return appId
})

/** The proposal about it that waits, or the newest. */
export const waiting = Effect.fnUntraced(function* (about: string) {
  const found = yield* (yield* Proposals).list({ kinds: ProposalKind.literals, about }, 10)
  return found[0]?.id ?? Reference.make("")
})
/** The audit rows about these, the oldest first. */
export const auditOf = Effect.fnUntraced(function* (...subjects: ReadonlyArray<string>) {
  const rows = yield* (yield* AuditLog).list(500)
  return rows.filter(({ subject }) => subjects.includes(subject)).toReversed()
})
export const refusal = <A, E extends { readonly message: string }, R>(act: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(act), ({ message }) => message)
