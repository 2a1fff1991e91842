import { Redacted, Schema } from "effect"
import { maskedNumber } from "./Masking.ts"

/**
 * A payer or a recipient. Every value by which a person could be reached is Redacted, so that logging, printing
 * or serialising a Party by accident shows nothing; only adapters and the Vault open it.
 */
const Secret = Schema.RedactedFromValue(Schema.String)

/** `name` is the holder's name, as the tenant knows it. */
export const MomoParty = Schema.TaggedStruct("momo", {
  msisdn: Secret,
  network: Schema.String,
  country: Schema.String,
  name: Schema.optionalKey(Secret)
})
export type MomoParty = typeof MomoParty.Type

export const BankParty = Schema.TaggedStruct("bank", {
  country: Schema.String,
  bankCode: Schema.String,
  /** The branch of that bank, where the tenant chose one, from the same provider's list as `bankCode`. */
  branchCode: Schema.optionalKey(Schema.String),
  accountNumber: Secret,
  accountName: Secret,
  msisdn: Schema.NullOr(Secret)
})
export type BankParty = typeof BankParty.Type

export const WalletParty = Schema.TaggedStruct("wallet", {
  country: Schema.String,
  identifier: Schema.Literals(["msisdn", "email", "tag"]),
  value: Secret
})
export type WalletParty = typeof WalletParty.Type

export const Destination = Schema.Union([MomoParty, BankParty, WalletParty])
export type Destination = typeof Destination.Type

/** The tenant's details of its payer, for the provider's records only: passed through, never stored. */
export interface PayerDetails {
  readonly firstName: Redacted.Redacted | null
  readonly lastName: Redacted.Redacted | null
  readonly email: Redacted.Redacted | null
  readonly phone: Redacted.Redacted | null
  readonly externalId: string | null
}

/** The holder's name, where the tenant gave it. */
export const nameOf = (destination: Destination): Redacted.Redacted | null =>
  destination._tag === "bank" ? destination.accountName : destination._tag === "momo" ? (destination.name ?? null) : null

export const maskedDestination = (destination: Destination): string => maskedNumber(Redacted.value(identifierOf(destination)))

/** The number, account or handle that the money goes to or comes from; a mask shows its end. */
const identifierOf = (destination: Destination): Redacted.Redacted => {
  switch (destination._tag) {
    case "momo":
      return destination.msisdn
    case "bank":
      return destination.accountNumber
    case "wallet":
      return destination.value
  }
}
