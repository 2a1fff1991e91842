import { Option, Redacted } from "effect"
import { msisdnAsWritten } from "./Msisdn.ts"
import type { Destination, MomoParty } from "./Party.ts"
import { withoutUnseen } from "./VisibleText.ts"

// The identity of a party, independent of its spelling. No other file compares parties. Caps, the double-charge guard, blocks,
// screening and saved recipients compare these spellings, always as keyed HMACs. A canonical spelling is its own identity, so
// that earlier hashes still match.

/** The text in the usual forms of its characters (NFKC), without invisible characters and without surrounding spaces. */
export const plainText = (text: string): string => withoutUnseen(withoutUnseen(text).normalize("NFKC")).trim()

/** One number by momo and by wallet is one recipient; so is an account with any separators, and an e-mail address in any case. */
export const recipientIdentity = (destination: Destination): Redacted.Redacted => Redacted.make(identityOf(destination))

/** A payer is a number, in the one form that is read from a request (`msisdnOf`). */
export const payerIdentity = ({ msisdn }: MomoParty): Redacted.Redacted => msisdn

/** A number whose owner was charged or paid: its `payerIdentity` and its `recipientIdentity`. */
export const identitiesOfNumber = (msisdn: Redacted.Redacted): ReadonlyArray<Redacted.Redacted> => [
  msisdn,
  Redacted.make(numberIdentity(Redacted.value(msisdn)))
]

/** An account number without its bank, because a customer names only the number. Used only to find records. */
export const accountNumberIdentity = (number: Redacted.Redacted): Redacted.Redacted =>
  Redacted.make(account(Redacted.value(number)))

/** The number that this recipient would have as a payer; null where the destination is no number. */
export const numberOf = (destination: Destination): Redacted.Redacted | null => {
  if (destination._tag === "momo") return destination.msisdn
  return destination._tag === "wallet" && destination.identifier === "msisdn" ? destination.value : null
}

/** A denied number, account or handle of a kind that the list does not know. A text that could be a full number counts as one. */
export const deniedIdentity = (text: string, country: string | null = null): string =>
  Option.match(msisdnAsWritten(text, country), { onNone: () => accountIdentity(text), onSome: (number) => number.slice(1) })

/** The same for a value that is no phone number. */
export const accountIdentity = (text: string): string => {
  const plain = plainText(text)
  if (plain.lastIndexOf("@") > 0) return emailIdentity(plain)
  return /\p{Nd}/u.test(plain) ? compact(plain).toLowerCase() : tagIdentity(plain)
}

/** A name by its words, ignoring accents, case, punctuation and their order. */
export const nameIdentity = (name: string): string => sortedWords(withoutAccents(withoutUnseen(name)).toUpperCase().toLowerCase())

export const withoutAccents = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "")

export const sortedWords = (text: string): string =>
  text
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .sort()
    .join(" ")

const identityOf = (destination: Destination): string => {
  switch (destination._tag) {
    case "momo":
      return numberIdentity(Redacted.value(destination.msisdn))
    case "bank":
      return `bank|${destination.country}:${account(destination.bankCode)}|${account(Redacted.value(destination.accountNumber))}`
    case "wallet":
      return walletIdentity(destination.identifier, Redacted.value(destination.value))
  }
}

const walletIdentity = (identifier: Extract<Destination, { _tag: "wallet" }>["identifier"], value: string): string => {
  if (identifier === "msisdn") return numberIdentity(value)
  const plain = plainText(value)
  return `wallet||${identifier === "email" ? emailIdentity(plain) : tagIdentity(plain)}`
}

const numberIdentity = (msisdn: string): string => `momo||${msisdn}`

const account = (text: string): string => compact(plainText(text)).toUpperCase()

/** Letters and digits only: people put spaces, dashes and dots between them. */
const compact = (plain: string): string => plain.replace(/[^\p{L}\p{N}]/gu, "")

const emailIdentity = (plain: string): string => {
  const at = plain.lastIndexOf("@")
  return `${plain.slice(0, at).toLowerCase()}@${hostIdentity(plain.slice(at + 1).replace(/\.$/, ""))}`
}

/** In lower case, and in the ASCII form of host names. */
const hostIdentity = (host: string): string =>
  URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host.toLowerCase()

const tagIdentity = (plain: string): string => plain.replace(/^@/, "").toLowerCase()
