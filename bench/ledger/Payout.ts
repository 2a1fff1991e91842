import { createHash, randomBytes } from "node:crypto"
import { Effect } from "effect"
import { encodeEvent } from "../../src/domain/Event.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { AppId, Reference, referenceFrom } from "../../src/domain/Ids.ts"
import { reserve } from "../../src/domain/Ledger.ts"
import { add, minor, ZERO } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Payment, Payout } from "../../src/domain/Payment.ts"
import { effectiveLimits, type WindowUse, windowUse } from "../../src/domain/VelocityLimits.ts"
import { transactionView } from "../../src/domain/View.ts"
import { successEnvelope } from "../../src/http/api/Envelope.ts"
import type { ApplyStep, OpenStep } from "../../src/services/ports/FloatLedger.ts"
import type { Bench } from "../Cluster.ts"

// Payouts as `Payouts.create` and `Settlement` hand them to the ledger: nothing is left out that a request would write.

/** The two money steps of one payout that the provider pays at once. */
export interface Steps {
  readonly open: OpenStep
  readonly apply: ApplyStep
}

const ENDPOINT = "POST /v1/payouts"
const PRINCIPAL = minor(10_000n)
const FEE = minor(1_000n)
/** Windows are counted and never full. */
const BOUND = 1_000_000_000
const FLOAT = 1_000_000_000_000n
/** As many as AES-GCM makes of a destination. */
const SEALED_BYTES = 150
const RECIPIENTS_A_TENANT = 1_000

const tenantName = (index: number): AppId => AppId.make(`tenant-${index}`)

const reference = (): Reference => referenceFrom(randomBytes(26))

/** Tenants with float, and with the credit that it came from, as `ledger verify` wants it. */
export const givenTenants = async ({ query }: Bench, count: number): Promise<void> => {
  await query(
    `INSERT INTO tenants (app_id, status, capabilities, created_at)
      SELECT 'tenant-' || n, 'active', '{payouts}', now() FROM generate_series(0, $1::int - 1) n`,
    [count]
  )
  await query(
    `INSERT INTO float_positions (app_id, mode, currency, available_minor, credited_minor)
      SELECT app_id, 'live', 'UGX', $1::bigint, $1::bigint FROM tenants`,
    [FLOAT]
  )
  await query(
    `INSERT INTO float_adjustments (app_id, mode, external_id, reference, direction, currency, amount_minor, note, at, position)
      SELECT app_id, 'live', 'bench', upper(substr(translate(md5(app_id), 'ilou', 'jkmn'), 1, 26)), 'credit', 'UGX', $1::bigint, 'bench', now(), '{}' FROM tenants`,
    [FLOAT]
  )
  await query(
    `INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts)
      SELECT app_id, reference, 1, mode, at, 'operator', 'Credited', note, 'open', 'credit', '{UGX,UGX}', '{available,credited}',
        ARRAY[amount_minor, -amount_minor] FROM float_adjustments`
  )
}

/** A payout as it is once it was delivered, without a fee. */
export const settledPayout = (appId: string, own: string, at: number): Payout => ({
  ...payoutOf(AppId.make(appId), Reference.make(own), at),
  status: "successful",
  providerReference: `P${own}`,
  fees: ZERO,
  heldFee: ZERO,
  version: 2,
  completedAt: at
})

/**
 * `count` payouts spread over `tenants`, with what a request has written by the time it comes to its money steps: the claimed key, and
 * the rows of the windows that it is counted in. The first is the tenant's whose turn it is after `before` others.
 */
export const givenPayouts = async (bench: Bench, count: number, tenants: number, before = 0): Promise<ReadonlyArray<Steps>> => {
  const at = await now(bench)
  const made = Array.from({ length: count }, (_, index) =>
    stepsOf((before + index) % tenants, Math.floor((before + index) / tenants), at)
  )
  const claims = made.map(({ open: { claim } }) => ({ app_id: claim.scope.appId, key: claim.scope.key }))
  const fences = await bench.query(
    `INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
      SELECT app_id, 'live', $2, key, decode(repeat('00', 32), 'hex'), nextval('fences'), 'claimed', now() + interval '90 seconds', now()
      FROM json_to_recordset($1::json) AS c(app_id text, key text) RETURNING app_id, key, fence::text`,
    [JSON.stringify(claims), ENDPOINT]
  )
  await prepare(
    bench,
    made.flatMap(({ open }) => open.counters)
  )
  const fenceOf = new Map(fences.map((row) => [`${row["app_id"]} ${row["key"]}`, BigInt(String(row["fence"]))]))
  return made.map(({ apply, open }) => {
    const { scope } = open.claim
    const claim = { ...open.claim, fence: fenceOf.get(`${scope.appId} ${scope.key}`) ?? 0n }
    return { open: { ...open, claim }, apply: { ...apply, response: apply.response && { ...apply.response, claim } } }
  })
}

const now = async ({ query }: Bench): Promise<number> => {
  const [row] = await query("SELECT (extract(epoch FROM now()) * 1000)::float8 AS at")
  return Math.floor(Number(row?.["at"]))
}

/** As `VelocityLimits.prepare` does. */
const prepare = async ({ query }: Bench, counters: ReadonlyArray<WindowUse>): Promise<void> => {
  const rows = counters.map((one) => ({ ...one, startsAt: new Date(one.startsAt).toISOString(), amount: "0", bound: "0" }))
  await query(
    `INSERT INTO counters (app_id, mode, name, subject, starts_at)
      SELECT DISTINCT "appId", mode, name, subject, "startsAt" FROM json_to_recordset($1::json) AS c("appId" text, mode text, name text, subject text, "startsAt" timestamptz)
      ORDER BY 1, 2, 3, 4, 5 ON CONFLICT DO NOTHING`,
    [JSON.stringify(rows)]
  )
}

const stepsOf = (tenant: number, recipient: number, at: number): Steps => {
  const appId = tenantName(tenant)
  const partyHash = createHash("sha256")
    .update(`${tenant} ${recipient % RECIPIENTS_A_TENANT}`)
    .digest()
  const payout = payoutOf(appId, reference(), at)
  const open = openOf(payout, Uint8Array.from(partyHash), at)
  const fact: Fact = {
    _tag: "Succeeded",
    providerReference: reference(),
    amount: PRINCIPAL,
    currency: "UGX",
    fee: FEE,
    note: "SUCCESSFUL"
  }
  const { entry, next } = decide(payout, fact, "request", at)
  return {
    open,
    apply: {
      expectedRevision: 1n,
      before: payout,
      next,
      entry,
      line: { at, actor: "request", fact: "Succeeded", note: "SUCCESSFUL; amount 10000 UGX; fee 1000", status: next.status },
      event: eventOf(next, "payout.successful", at),
      nextPollAt: null,
      response: { claim: open.claim, response: successEnvelope(201, transactionView(next)) },
      savesBeneficiary: true,
      restoreLimits: false,
      wipeDestination: true,
      raw: {
        request: `POST /v1/payouts {"amount":"10000","currency":"UGX","phoneNumber":"••••0001","transactionRef":"${payout.reference}"}`,
        response: `200 {"code":200,"data":{"transaction":{"status":"successful","amount":"10000","fees":"1000"}}}`
      }
    }
  }
}

const eventOf = (record: Payment, type: "payout.pending" | "payout.successful", at: number) =>
  encodeEvent(
    { id: reference(), appId: record.appId, mode: record.mode, type, reference: record.reference, at },
    transactionView(record)
  )

/** The windows that a payout is counted in. */
export const windowsFor = (appId: AppId, partyHash: Uint8Array, at: number): ReadonlyArray<WindowUse> =>
  effectiveLimits("live", "payout", []).map((limit) =>
    windowUse(appId, { ...limit, count: BOUND }, Buffer.from(partyHash).toString("hex"), at)
  )

export const openOf = (payout: Payout, partyHash: Uint8Array, at: number): OpenStep => {
  const { appId } = payout
  return {
    claim: {
      scope: { appId, mode: "live", endpoint: ENDPOINT, key: payout.reference },
      fence: 0n,
      reference: payout.reference,
      leaseUntil: at
    },
    transaction: payout,
    entry: reserve("UGX", add(PRINCIPAL, FEE)),
    line: { at, actor: "request", fact: "Opened", note: "", status: "pending" },
    event: eventOf(payout, "payout.pending", at),
    nextPollAt: at + 15_000,
    sealedDestination: Uint8Array.from(randomBytes(SEALED_BYTES)),
    beneficiary: {
      id: reference(),
      appId,
      mode: "live",
      type: "momo",
      country: "UG",
      currency: "UGX",
      network: "MTN",
      bankCode: null,
      branchCode: null,
      bankName: null,
      accountName: null,
      maskedDestination: payout.maskedDestination,
      createdAt: at,
      lastUsedAt: at
    },
    counters: windowsFor(appId, partyHash, at),
    partyHash
  }
}

export const payoutOf = (appId: AppId, own: Reference, at: number): Payout => ({
  kind: "payout",
  status: "pending",
  reference: own,
  appId,
  mode: "live",
  provider: "eversend",
  providerReference: null,
  needsReview: false,
  amount: PRINCIPAL,
  amountCurrency: "UGX",
  currency: "UGX",
  fees: FEE,
  corridor: { country: "UG", currency: "UGX", direction: "payout", method: "momo" },
  network: "MTN",
  narration: "Salary of November",
  metadata: '{"order_id":"A-100042","customer":"7f3b"}',
  version: 1,
  failure: null,
  createdAt: at,
  updatedAt: at,
  completedAt: null,
  expiresAt: null,
  asked: 0,
  notFound: 0,
  principal: PRINCIPAL,
  heldFee: FEE,
  destinationAmount: PRINCIPAL,
  destinationCurrency: "UGX",
  amountType: null,
  deductFeeFromAmount: false,
  maskedDestination: "••••0001",
  holder: null,
  returned: null
})

/** Every step has to be committed: a refusal would be a figure of something else. */
export const expectTag = (expected: string) => (result: { readonly _tag: string }) =>
  result._tag === expected ? Effect.void : Effect.die(new Error(`a step was ${result._tag}, not ${expected}`))
