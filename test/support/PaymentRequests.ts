import { randomUUID } from "node:crypto"
import { Context, Effect, Option, Redacted } from "effect"
import { AppId, type Reference } from "../../src/domain/Ids.ts"
import { credit } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Destination } from "../../src/domain/Party.ts"
import type { IdempotencyScope } from "../../src/domain/RequestFingerprint.ts"
import type { Caller } from "../../src/domain/Tenant.ts"
import type { WindowUse } from "../../src/domain/VelocityLimits.ts"
import { requestNonce } from "../../src/services/admission/RequestNonce.ts"
import { Collections } from "../../src/services/collections/Collections.ts"
import { type PayoutCommand, Payouts } from "../../src/services/payouts/Payouts.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import type { Otp } from "../../src/services/ports/Provider.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { NOON } from "./SampleTransactions.ts"

// Requests to the services themselves, without HTTP: on PostgreSQL (RoutedGateway) or in memory (fakes/FakeGateway).

export const appId = AppId.make("acme")
const callerOf = (holder: AppId) => ({ appId: holder, keyId: "k", mode: "live", role: "tenant" }) as const
export const caller = callerOf(appId)
/** Who asks, and whose float and records are read: a test that provides another needs no other database. */
export const Holder = Context.Reference<AppId>("test/Holder", { defaultValue: () => appId })
/** What `routedTo` and `fakeGateway` give the holder, in UGX. */
export const FLOAT = 100_000n
export const jane = "+256772123456"

const momo = (number: string, name?: string) =>
  ({
    _tag: "momo",
    msisdn: Redacted.make(number),
    network: "MTN",
    country: "UG",
    ...(name === undefined ? {} : { name: Redacted.make(name) })
  }) as const
const bank = {
  _tag: "bank",
  country: "UG",
  bankCode: "01",
  accountNumber: Redacted.make("9030001234"),
  accountName: Redacted.make("Jane Doe"),
  msisdn: null
} as const satisfies Destination
const wallet: Destination = { _tag: "wallet", country: "UG", identifier: "tag", value: Redacted.make("jane") }

/** UGX 10,000 of the tenant's float to Jane's mobile money; a test overrides only what it is about. */
export const payoutCommand = (overrides: Partial<PayoutCommand> = {}): PayoutCommand => ({
  amount: minor(10_000n),
  currency: "UGX",
  destinationCurrency: "UGX",
  country: "UG",
  method: "momo",
  destination: momo(jane),
  amountType: null,
  deductFeeFromAmount: false,
  narration: null,
  metadata: "{}",
  ...overrides
})

let externalId = 0

/** Float of a tenant that exists, in UGX. */
export const givenFloat = Effect.fnUntraced(function* (holder: AppId, amount: bigint) {
  return yield* (yield* FloatLedger).adjust({
    appId: holder,
    mode: "live",
    currency: "UGX",
    direction: "credit",
    amount: minor(amount),
    externalId: `given-${externalId++}`,
    note: "given",
    at: NOON,
    entry: credit("UGX", minor(amount)),
    audit: { at: NOON, actor: "operator", action: "float credit", subject: holder, details: {} }
  })
})

const FOREVER_MS = 1_000 * 24 * 3_600_000
const useOf = (caller: Caller) => ({ caller, nonce: randomUUID(), expiresAt: Date.now() + 180_000 })

/** What the edge adds to a request, for one that nobody hurries, interrupts or sends a second time. */
export const unhurried = (caller: Caller) => ({
  requestId: "unhurried",
  nonce: requestNonce(useOf(caller), () => Effect.succeed(true), Effect.void),
  claimWithinMs: FOREVER_MS
})

/** What a key answers to a request that arrives with a nonce of its own. */
export const claimKey = Effect.fnUntraced(function* (
  scope: IdempotencyScope,
  windows: ReadonlyArray<WindowUse> = [],
  fingerprint = new Uint8Array(32)
) {
  const { appId, mode } = scope
  const nonce = useOf({ appId, keyId: "k", mode, role: "tenant" })
  const claimed = yield* (yield* Idempotency).claim({ nonce, scope, fingerprint, windows })
  return Option.isSome(claimed) ? claimed.value : yield* Effect.die(new Error("the nonce was spent before"))
})

const payoutScope = (holder: AppId, key: string) => ({ appId: holder, mode: "live", endpoint: "POST /v1/payouts", key }) as const

/** A payout's idempotency key that was just claimed; no window counts it. */
export const givenFresh = Effect.fnUntraced(function* (holder: AppId, key: string) {
  const claimed = yield* claimKey(payoutScope(holder, key))
  return claimed._tag === "Fresh" ? claimed : yield* Effect.die(new Error(`the key was ${claimed._tag}`))
})

export const givenClaim = (holder: AppId, key: string) => Effect.map(givenFresh(holder, key), ({ claim }) => claim)

/** What a request came to: the record's status, or the refusal's code. */
const ended = <A extends { readonly status: string }, E extends { readonly _tag: string }, R>(work: Effect.Effect<A, E, R>) =>
  Effect.match(work, { onSuccess: ({ status }): string => status, onFailure: ({ _tag }): string => _tag })

/** UGX 10,000 of the tenant's float; answers what it came to, or "replayed" where the key was used before. */
export const pay = Effect.fnUntraced(function* (
  key: string,
  wish: {
    readonly method?: "momo" | "bank" | "wallet"
    readonly destinationCurrency?: "UGX" | "KES"
    readonly deduct?: boolean
    readonly number?: string
    /** The recipient's, with mobile money. */
    readonly name?: string | undefined
    readonly amount?: bigint
    readonly branch?: string
  } = {}
) {
  const { amount = 10_000n, branch, deduct = false, destinationCurrency = "UGX", method = "momo", name, number = jane } = wish
  const holder = yield* Holder
  const payouts = yield* Payouts
  const command = payoutCommand({
    amount: minor(amount),
    destinationCurrency,
    method,
    destination: { momo: momo(number, name), bank: branch === undefined ? bank : { ...bank, branchCode: branch }, wallet }[
      method
    ],
    amountType: destinationCurrency === "UGX" ? null : "SOURCE",
    deductFeeFromAmount: deduct
  })
  const fresh = yield* claimKey(payoutScope(holder, key), yield* payouts.windows(callerOf(holder), command))
  return fresh._tag === "Fresh" ? yield* ended(payouts.create(callerOf(holder), command, fresh)) : "replayed"
})

/** UGX 50,000 from a payer. */
export const charge = Effect.fnUntraced(function* (key: string, number = jane, otp: Otp | null = null) {
  const holder = yield* Holder
  const collections = yield* Collections
  const command = {
    amount: minor(50_000n),
    currency: "UGX",
    country: "UG",
    method: "momo",
    source: momo(number),
    redirectUrl: null,
    narration: null,
    metadata: "{}",
    payer: null,
    otp
  } as const
  const scope = { appId: holder, mode: "live", endpoint: "POST /v1/collections", key } as const
  const fresh = yield* claimKey(scope, yield* collections.windows(callerOf(holder), command))
  return fresh._tag === "Fresh" ? yield* ended(collections.create(callerOf(holder), command, fresh)) : "replayed"
})

/** The holder's float in UGX: what is available, and what is reserved. */
export const floatNow = Effect.all([FloatLedger, Holder]).pipe(
  Effect.flatMap(([{ positions }, holder]) => positions(holder, "live")),
  Effect.map(([position]) => [position?.available, position?.reserved] as const)
)

/** Facts and notes, in order. */
export const historyOf = (reference: Reference) =>
  Effect.map(
    Effect.flatMap(Transactions, (transactions) => transactions.history(reference)),
    (lines) => lines.map(({ fact, note }) => (note === "" ? fact : `${fact}: ${note}`))
  )
