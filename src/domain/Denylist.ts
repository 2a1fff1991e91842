import { Option, Redacted, Result, Schema } from "effect"
import { maskedName, maskedNumber } from "./Masking.ts"
import { msisdnAsWritten, spellingsOf } from "./Msisdn.ts"
import { accountIdentity, deniedIdentity, nameIdentity, plainText, sortedWords, withoutAccents } from "./PartyIdentity.ts"

/** The refusal that a row causes: of payouts to a destination, or by screening, of a number or a name. */
export const DenylistKind = Schema.Literals(["destination", "screened_number", "screened_name"])
export type DenylistKind = typeof DenylistKind.Type

/** The kind of number that the digits are: a phone and an account with the same digits are two parties. */
export const DeniedParty = Schema.Literals(["phone", "account"])
export type DeniedParty = typeof DeniedParty.Type

/** One row as an operator sees it. The value itself is stored only as a keyed HMAC. */
export const DenylistEntry = Schema.Struct({
  kind: DenylistKind,
  /** Null where the value has letters, and in rows of earlier releases: such a row denies every party with the same spelling. */
  party: Schema.NullOr(DeniedParty),
  masked: Schema.String,
  reason: Schema.String,
  createdAt: Schema.Number
})
export type DenylistEntry = typeof DenylistEntry.Type

/** How an operator describes a value. */
export interface DeniedAs {
  /** The country of a national number. */
  readonly country: string | null
  /** Whether it is an account number and not a phone number. */
  readonly isAccount: boolean
}

/** A value as the list stores it: its spelling becomes a keyed HMAC. */
export interface Denial extends Pick<DenylistEntry, "party" | "masked"> {
  readonly spelling: string
}

/** A value as the list stores it, or the reason why the entry would match no party or be ambiguous. */
export const newDenial = (kind: DenylistKind, value: string, { country, isAccount }: DeniedAs): Result.Result<Denial, string> => {
  if (!/[\p{L}\p{N}]/u.test(plainText(value))) return Result.fail("the value has no letter and no digit: it would deny nobody")
  if (kind === "screened_name") return Result.succeed({ spelling: nameIdentity(value), party: null, masked: maskedName(value) })
  const spelling = isAccount ? accountIdentity(value) : deniedIdentity(value, country)
  const party = /^\d+$/.test(spelling) ? (isAccount ? "account" : "phone") : null
  const denial: Denial = { spelling, party, masked: maskedNumber(spelling) }
  if (isAccount || Option.isSome(msisdnAsWritten(value, country))) return Result.succeed(denial)
  const plain = plainText(value)
  if (NUMBER.test(plain)) return Result.fail(AMBIGUOUS)
  return country === null ? Result.succeed(denial) : Result.fail(`the value is no phone number of ${country}`)
}
const NUMBER = /^[\p{Nd}\p{Pd}\s+.()/]+$/u
const AMBIGUOUS =
  "the value is no phone number with its country's prefix: add --country for a national number, or --account where it is the number of an account"

/** A value that a payment names. One that is neither a phone nor an account number is compared with every row. */
export interface NamedValue {
  readonly value: Redacted.Redacted
  readonly party: DeniedParty | null
}

/** A spelling of a value, and which rows under it deny the value: its own party's, any party's (null), or without a party. */
export interface DeniedSpelling {
  readonly spelling: string
  readonly of: DeniedParty | "unsaid" | null
}

/**
 * The spellings under which a value may be stored. Rows of earlier releases use other spellings, which can only be rebuilt from
 * the value that is looked up. Such a row does not say its kind of number: it may deny one party too many, never one too few.
 */
export const deniedSpellings = (kind: DenylistKind, { party, value }: NamedValue): ReadonlyArray<DeniedSpelling> => {
  const text = Redacted.value(value)
  if (kind === "screened_name") return spelledAs([nameIdentity(text), earlierName(text)], null)
  const identities = { phone: deniedIdentity(text), account: accountIdentity(text) }
  const now = party === null ? Object.values(identities) : [identities[party]]
  const beside = party === null ? [] : now.map((spelling) => besideSpelling(party, spelling))
  const before = [...Object.values(identities), ...earlierNumbers(text)].filter((spelling) => !now.includes(spelling))
  return [...spelledAs([...now, ...beside], party), ...spelledAs(before, "unsaid")]
}

/** The spelling of the second of two parties with the same digits. Earlier releases know only the plain one, the first's. */
export const besideSpelling = (party: DeniedParty, spelling: string): string => `${party}|${spelling}`

const spelledAs = (spellings: ReadonlyArray<string>, of: DeniedSpelling["of"]): ReadonlyArray<DeniedSpelling> =>
  [...new Set(spellings)].map((spelling) => ({ spelling, of }))

const MAY_BE_A_NUMBER = /^\+?[\d\s().-]{4,}$/

/** A phone number was stored as it was written. */
const earlierNumbers = (value: string): ReadonlyArray<string> => [
  MAY_BE_A_NUMBER.test(value.trim()) ? value.replace(/\D/g, "") : value.trim().toLowerCase(),
  ...(value.startsWith("+") ? spellingsOf(value) : [])
]

const earlierName = (value: string): string => sortedWords(withoutAccents(value).toLowerCase())
