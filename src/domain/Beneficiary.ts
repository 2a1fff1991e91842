import { Redacted, Schema } from "effect"
import { Currency } from "./Currency.ts"
import { AppId, Mode, Reference } from "./Ids.ts"
import { type Instant, iso } from "./Instant.ts"
import { maskedName } from "./Masking.ts"
import { type Destination, maskedDestination, nameOf } from "./Party.ts"

/** A recipient that a tenant has paid, masked; one row for each recipient and mode (contract BEN-1). */
export const Beneficiary = Schema.Struct({
  id: Reference,
  appId: AppId,
  mode: Mode,
  type: Schema.Literals(["momo", "bank", "wallet"]),
  country: Schema.String,
  currency: Currency,
  network: Schema.NullOr(Schema.String),
  bankCode: Schema.NullOr(Schema.String),
  /** The branch of that bank in the latest payout, where payouts name a branch. */
  branchCode: Schema.NullOr(Schema.String),
  bankName: Schema.NullOr(Schema.String),
  /** "J••• D••" */
  accountName: Schema.NullOr(Schema.String),
  maskedDestination: Schema.String,
  createdAt: Schema.Number,
  lastUsedAt: Schema.Number
})
export type Beneficiary = typeof Beneficiary.Type

/** The beneficiary that an accepted payout saves. */
export const beneficiaryOf = (
  owner: Pick<Beneficiary, "id" | "appId" | "mode">,
  destination: Destination,
  currency: Currency,
  at: Instant
): Beneficiary => ({
  ...owner,
  type: destination._tag,
  country: destination.country,
  currency,
  network: destination._tag === "momo" ? destination.network : null,
  bankCode: destination._tag === "bank" ? destination.bankCode : null,
  branchCode: destination._tag === "bank" ? (destination.branchCode ?? null) : null,
  // A payout does not carry the bank's name; the reference data has it under the bank's code.
  bankName: null,
  accountName: maskedNameOf(destination),
  maskedDestination: maskedDestination(destination),
  createdAt: at,
  lastUsedAt: at
})

const maskedNameOf = (destination: Destination): string | null => {
  const name = nameOf(destination)
  return name === null ? null : maskedName(Redacted.value(name))
}

export const beneficiaryView = (beneficiary: Beneficiary) => ({
  id: beneficiary.id,
  type: beneficiary.type,
  country: beneficiary.country,
  currency: beneficiary.currency,
  network: beneficiary.network,
  bank_code: beneficiary.bankCode,
  branch_code: beneficiary.branchCode,
  bank_name: beneficiary.bankName,
  account_name: beneficiary.accountName,
  masked_destination: beneficiary.maskedDestination,
  is_test_mode: beneficiary.mode === "test",
  created_at: iso(beneficiary.createdAt),
  last_used_at: iso(beneficiary.lastUsedAt)
})
