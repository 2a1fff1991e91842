import type { Redacted } from "effect"
import { accountNumberIdentity, identitiesOfNumber } from "../domain/PartyIdentity.ts"
import { receiptIdentity } from "../domain/ProviderReceipt.ts"
import type { MetadataMember, SoughtRecords } from "./ports/Transactions.ts"
import { ACCOUNT_PURPOSE, type Vault } from "./ports/Vault.ts"

/** A search term: one fact that support knows about a payment. */
export type SearchTerm =
  /** With a leading `+`. */
  | { readonly _tag: "number"; readonly msisdn: Redacted.Redacted }
  /** At any bank. */
  | { readonly _tag: "account"; readonly number: Redacted.Redacted }
  | { readonly _tag: "receipt"; readonly text: string }
  | { readonly _tag: "metadata"; readonly members: ReadonlyArray<MetadataMember> }
  /** The value of a metadata member, whatever its name. */
  | { readonly _tag: "value"; readonly text: string }
  /** The idempotency key of the request. */
  | { readonly _tag: "key"; readonly text: string }

/** The term in searchable form: for numbers only keyed hashes are stored. */
export const soughtBy = (term: SearchTerm, { hash }: Pick<Vault["Service"], "hash">): SoughtRecords => {
  switch (term._tag) {
    case "number":
      return { _tag: "party", hashes: identitiesOfNumber(term.msisdn).map((identity) => hash("party", identity)) }
    case "account":
      return { _tag: "account", hashes: [hash(ACCOUNT_PURPOSE, accountNumberIdentity(term.number))] }
    case "receipt":
      return { _tag: "receipt", identity: receiptIdentity(term.text) }
    case "metadata":
      return { _tag: "metadata", members: term.members }
    case "value":
      return { _tag: "value", value: term.text }
    case "key":
      return { _tag: "key", key: term.text }
  }
}
