import { type Corridor, corridorKeyOf } from "./Corridor.ts"
import { type Currency, exponents } from "./Currency.ts"
import { exchangeView } from "./Exchange.ts"
import type { Mode, Reference } from "./Ids.ts"
import { type Instant, iso, isoOrNull } from "./Instant.ts"
import { RawJson } from "./Json.ts"
import type { FloatPosition } from "./Ledger.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import type { NextAction, Payment, Payout } from "./Payment.ts"
import { type Transaction } from "./Transaction.ts"

/** A record with the sum of a collection's refunds, which no record stores; absent where there are none. */
export type Shown<R extends Transaction> = R & { readonly refunded?: MinorUnits }

/**
 * The tenant-safe record on the wire (contract TXN-1, TXN-7). Answers, events and reads have the same members in the same
 * order, so that they are the same bytes. Amounts stay bigint until `json` writes them.
 */
export const transactionView = (transaction: Shown<Payment>) => {
  const head = {
    id: transaction.reference,
    reference: transaction.reference,
    kind: transaction.kind,
    provider: transaction.provider,
    status: transaction.status,
    needs_review: transaction.needsReview,
    amount_minor: transaction.amount,
    amount_currency: transaction.amountCurrency,
    currency: transaction.currency,
    fees_minor: transaction.fees
  }
  const tail = {
    corridor: corridorKeyOf(transaction.corridor),
    network: transaction.network,
    provider_receipt: transaction.providerReceipt ?? null,
    narration: transaction.narration,
    metadata: new RawJson(transaction.metadata),
    version: transaction.version,
    is_test_mode: transaction.mode === "test",
    failure: transaction.failure,
    created_at: iso(transaction.createdAt),
    updated_at: iso(transaction.updatedAt),
    completed_at: isoOrNull(transaction.completedAt),
    expires_at: isoOrNull(transaction.expiresAt)
  }
  if (transaction.kind === "collection") {
    return {
      ...head,
      observed_amount_minor: transaction.observedAmount,
      observed_currency: transaction.observedCurrency,
      masked_source: transaction.maskedSource,
      next_action: nextActionView(transaction.nextAction),
      late_success: transaction.lateSuccess,
      reversed: movedBack(transaction.reversed),
      refunded_minor: transaction.refunded ?? ZERO,
      ...tail
    }
  }
  return {
    ...head,
    total_amount_minor:
      transaction.principal +
      (transaction.fees === null || transaction.status === "failed" ? transaction.heldFee : transaction.fees),
    destination_amount_minor: transaction.destinationAmount,
    destination_currency: transaction.destinationCurrency,
    amount_type: transaction.amountType,
    deduct_fee_from_amount: transaction.deductFeeFromAmount,
    masked_destination: transaction.maskedDestination,
    holder: holderView(transaction.holder),
    returned: movedBack(transaction.returned),
    refund_of: transaction.refundOf ?? null,
    ...tail
  }
}

/** A record of any kind as its tenant sees it. */
export const recordView = (record: Shown<Transaction>) =>
  record.kind === "exchange" ? exchangeView(record) : transactionView(record)

/** A float position as `GET /v1/float` and `float list` show it. */
export const positionView = (position: FloatPosition) => ({
  currency: position.currency,
  available_minor: position.available,
  reserved_minor: position.reserved,
  collected_minor: position.collected,
  paid_out_minor: position.paidOut,
  provider_fees_minor: position.providerFees,
  credited_minor: position.credited,
  debited_minor: position.debited,
  fx_in_minor: position.fxIn,
  fx_out_minor: position.fxOut,
  returned_minor: position.returned,
  owed_minor: position.owed
})

interface AdjustedFloat {
  readonly mode: Mode
  readonly currency: Currency
  readonly amount: bigint
  readonly externalId: string
  readonly at: Instant
}

/** An operator's credit or debit as its event shows it, with the float right after it. The operator's note is left out. */
export const adjustmentView = (
  { amount, at, currency, externalId, mode }: AdjustedFloat,
  reference: Reference,
  after: FloatPosition
) => ({
  reference,
  external_id: externalId,
  currency,
  amount_minor: amount,
  available_minor: after.available,
  reserved_minor: after.reserved,
  metadata: {},
  version: 1,
  is_test_mode: mode === "test",
  created_at: iso(at)
})

interface LowFloat extends Pick<AdjustedFloat, "mode" | "currency" | "at"> {
  readonly available: bigint
  readonly reserved: bigint
  readonly below: bigint
}

/** A float that fell below the amount that its tenant set, as its event shows it. */
export const lowFloatView = ({ at, available, below, currency, mode, reserved }: LowFloat) => ({
  currency,
  available_minor: available,
  reserved_minor: reserved,
  below_minor: below,
  metadata: {},
  is_test_mode: mode === "test",
  created_at: iso(at)
})

/** A corridor row as `GET /v1/reference/corridors` and `corridor list` show it; `provider` is the first that is tried. */
export const corridorView = (row: Corridor, provider: string) => ({
  country: row.country,
  currency: row.currency,
  direction: row.direction,
  method: row.method,
  active: row.active,
  provider,
  networks: row.networks,
  minimum_minor: row.minimum,
  maximum_minor: row.maximum,
  exponent: exponents[row.currency],
  customer_action: row.customerAction,
  requires_redirect_url: row.requiresRedirectUrl,
  requires_msisdn: row.requiresMsisdn,
  requires_name: row.requiresName,
  destination_currencies: row.destinationCurrencies,
  availability: row.availability,
  inactive_reason: row.inactiveReason,
  updated_at: iso(row.updatedAt)
})

const movedBack = (moved: Payout["returned"]) =>
  moved === null ? null : { amount_minor: moved.amount, at: iso(moved.at), reason: moved.reason }

const holderView = (holder: Payout["holder"]) =>
  holder === null ? null : { masked_name: holder.maskedName, is_named: holder.isNamed }

const nextActionView = (action: NextAction | null) => {
  if (action === null) return null
  const rest = { message: action.message, expires_at: iso(action.expiresAt) }
  return action._tag === "otp"
    ? { type: "otp", pin_id: action.pinId, ...rest }
    : { type: "redirect", redirect_url: action.redirectUrl, ...rest }
}
