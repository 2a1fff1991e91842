import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Fact } from "../../src/domain/Fact.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { reserve } from "../../src/domain/Ledger.ts"
import { add, minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { FloatLedger, type OpenStep } from "../../src/services/ports/FloatLedger.ts"
import type { Claim } from "../../src/services/ports/Idempotency.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { givenClaim, givenFloat } from "./PaymentRequests.ts"
import { NOON, payout } from "./SampleTransactions.ts"
import { givenTenantRow } from "./TenantRow.ts"
import { givenDatabase } from "./TestDatabase.ts"
import { givenLedger } from "./TestLedger.ts"

export const appId = AppId.make("acme")
export const succeeded: Extract<Fact, { readonly _tag: "Succeeded" }> = {
  _tag: "Succeeded",
  providerReference: "P1",
  amount: null,
  currency: null,
  fee: null,
  note: ""
}

export const openStep = (claim: Claim, principal: bigint, fee = 1_000n): OpenStep => {
  const transaction = payout({
    reference: claim.reference,
    appId: claim.scope.appId,
    principal: minor(principal),
    heldFee: minor(fee),
    fees: minor(fee)
  })
  return {
    claim,
    transaction,
    entry: reserve("UGX", add(transaction.principal, transaction.heldFee)),
    line: { at: NOON, actor: "request", fact: "Opened", note: "", status: "pending" },
    event: null,
    counters: [],
    beneficiary: null,
    nextPollAt: NOON + 15_000,
    sealedDestination: new Uint8Array([1, 2, 3]),
    partyHash: new Uint8Array(32)
  }
}

export const applyStep = Effect.fnUntraced(function* (claim: Claim, fact: Fact) {
  const stored = yield* Effect.fromOption(yield* (yield* Transactions).byReference(claim.reference))
  const record = stored.transaction
  if (record.kind === "exchange") return yield* Effect.die(new Error("exchanges have steps of their own"))
  const { entry, next } = decide(record, fact, "callback", NOON)
  return {
    expectedRevision: stored.revision,
    before: record,
    next,
    entry,
    line: { at: NOON, actor: "callback" as const, fact: fact._tag, note: "", status: next.status },
    event: null,
    nextPollAt: null,
    response: { claim, response: { status: 201, body: '{"kept":true}' } },
    savesBeneficiary: false,
    restoreLimits: next.status === "failed",
    wipeDestination: true,
    raw: null
  }
})

/** A migrated database with one node, and the tenant with that much float. */
export const given = Effect.fnUntraced(function* (float: bigint) {
  const url = yield* givenDatabase
  const node = yield* givenLedger(url)
  yield* Effect.provideContext(givenTenantWith(appId, float), node)
  return { url, node }
})

export const givenTenantWith = Effect.fnUntraced(function* (tenant: AppId, float: bigint) {
  const sql = yield* SqlClient.SqlClient
  yield* givenTenantRow(sql, tenant, ["payouts"])
  if (float > 0n) yield* givenFloat(tenant, float)
})

export const openOne = Effect.fnUntraced(function* (tenant: AppId, key: string, principal: bigint) {
  const claim = yield* givenClaim(tenant, key)
  return yield* (yield* FloatLedger).open(openStep(claim, principal))
})

export const position = Effect.fnUntraced(function* (tenant: AppId) {
  const [found] = yield* (yield* FloatLedger).positions(tenant, "live")
  return [found?.available, found?.reserved]
})
