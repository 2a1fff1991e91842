import { Option, Redacted, Result } from "effect"
import type { BankAccount } from "../../domain/BankAccount.ts"
import { holdsCard } from "../../domain/CardNumber.ts"
import type { Issue } from "../../domain/errors/Terminal.ts"
import { msisdnOf } from "../../domain/Msisdn.ts"
import type { BankParty, Destination, MomoParty, PayerDetails, WalletParty } from "../../domain/Party.ts"
import { plainText } from "../../domain/PartyIdentity.ts"
import type { Payer, Source } from "../api/Collections.ts"
import type { Destination as WireDestination } from "../api/Payouts.ts"
import { childPath, issueAt, type JsonPath } from "../json/Issues.ts"
import { isJsonObject, type JsonTree, NumberLiteral } from "../json/StrictJson.ts"

// Payers and recipients, from the wire to the domain. From here on their numbers and names are Redacted.

type Parsed<A> = Result.Result<A, ReadonlyArray<Issue>>

/** The payer of a mobile-money source, in the request's country by default. Null for other sources, which have nothing to keep. */
export const sourceOf = (source: typeof Source.Type | undefined, country: string): Parsed<MomoParty | null> => {
  if (source?.type !== "momo") return Result.succeed(null)
  const own = source.country ?? country
  return Result.map(parseMsisdn(source.msisdn, own, "source.msisdn"), (msisdn) => momo(msisdn, source.network, own))
}

export const destinationOf = (destination: typeof WireDestination.Type): Parsed<Destination> => {
  switch (destination.type) {
    case "momo":
      return momoOf(destination)
    case "bank":
      return bankOf(destination)
    case "wallet":
      return walletOf(destination)
  }
}

export const payerOf = (payer: typeof Payer.Type | undefined): PayerDetails | null => {
  if (payer === undefined) return null
  const secret = (text: string | undefined) => (text === undefined ? null : Redacted.make(text))
  return {
    firstName: secret(payer.first_name),
    lastName: secret(payer.last_name),
    email: secret(payer.email),
    phone: secret(payer.phone),
    externalId: payer.external_id ?? null
  }
}

/** An issue for each piece of card data anywhere in a source. Only the number to charge may look like a card number. */
export function* cardIssues(source: JsonTree | undefined, place: JsonPath, msisdn: string | null): Generator<Issue, void> {
  if (typeof source === "string") {
    if (source !== msisdn && holdsCard(source)) yield issueAt(place, CARD_RULE)
  } else if (source instanceof NumberLiteral) {
    if (holdsCard(source.source)) yield issueAt(place, CARD_RULE)
  } else if (Array.isArray(source)) {
    for (let at = 0; at < source.length; at++) yield* cardIssues(source[at], childPath(place, at), msisdn)
  } else if (isJsonObject(source)) {
    for (const name of Object.keys(source)) {
      // A name that is itself a card number is not shown.
      if (holdsCard(name)) yield issueAt(place, CARD_RULE)
      else if (CARD_MEMBER.test(name.replace(/[^A-Za-z]/g, ""))) yield issueAt(childPath(place, name), CARD_RULE)
      else yield* cardIssues(source[name], childPath(place, name), msisdn)
    }
  }
}

const momo = (msisdn: string, network: string, country: string): MomoParty => ({
  _tag: "momo",
  msisdn: Redacted.make(msisdn),
  network: network.toUpperCase(),
  country
})

/**
 * A bank account as it will be sent to a provider. Invisible characters and the blanks that group digits are removed.
 * Characters that no bank uses in account numbers are refused, because a provider might ignore them.
 */
export const accountOf = (
  account: { readonly country: string; readonly bank_code: string; readonly account_number: string },
  place: string
): Parsed<BankAccount> => {
  const [bankCode, number] = [plainText(account.bank_code), plainText(account.account_number)]
  const issues = [
    ...(ACCOUNT.test(bankCode) ? [] : [{ path: `${place}bank_code`, message: ACCOUNT_RULE }]),
    ...(ACCOUNT.test(number) ? [] : [{ path: `${place}account_number`, message: ACCOUNT_RULE }])
  ]
  if (issues.length > 0) return Result.fail(issues)
  return Result.succeed({ country: account.country, bankCode, accountNumber: Redacted.make(number.replaceAll(" ", "")) })
}

const LONGEST_NAME = 128
const NAME_RULE = `must be a text of 1 to ${LONGEST_NAME} characters that is not blank`
const ACCOUNT = /^[A-Za-z0-9][A-Za-z0-9 ./-]*$/
const ACCOUNT_RULE = "must be Latin letters and digits, with blanks, dots, dashes and slashes between them"

/**
 * The same party in the words of the request. Fingerprints are computed from these words, so that a later change in how input
 * is cleaned does not change the fingerprint of the same bytes.
 */
export const asSaid = (said: typeof WireDestination.Type, party: Destination): Destination => {
  if (said.type === "bank" && party._tag === "bank")
    return {
      ...party,
      bankCode: said.bank_code,
      ...(said.branch_code === undefined ? {} : { branchCode: said.branch_code }),
      accountNumber: Redacted.make(said.account_number),
      accountName: Redacted.make(said.account_name)
    }
  if (said.type === "momo" && party._tag === "momo" && said.name !== undefined)
    return { ...party, name: Redacted.make(said.name) }
  const handle = said.type === "wallet" ? (said.email ?? said.tag) : undefined
  return party._tag === "wallet" && handle !== undefined ? { ...party, value: Redacted.make(handle) } : party
}

const momoOf = (said: Extract<typeof WireDestination.Type, { type: "momo" }>): Parsed<MomoParty> => {
  const name = said.name === undefined ? undefined : plainText(said.name)
  if (name !== undefined && (name === "" || name.length > LONGEST_NAME))
    return Result.fail([{ path: "destination.name", message: NAME_RULE }])
  return Result.map(parseMsisdn(said.msisdn, said.country, "destination.msisdn"), (msisdn) => ({
    ...momo(msisdn, said.network, said.country),
    ...(name === undefined ? {} : { name: Redacted.make(name) })
  }))
}

const bankOf = (bank: Extract<typeof WireDestination.Type, { type: "bank" }>): Parsed<BankParty> => {
  const account = accountOf(bank, "destination.")
  if (Result.isFailure(account)) return Result.fail(account.failure)
  const branch = bank.branch_code === undefined ? undefined : plainText(bank.branch_code)
  if (branch !== undefined && !ACCOUNT.test(branch))
    return Result.fail([{ path: "destination.branch_code", message: ACCOUNT_RULE }])
  const name = plainText(bank.account_name)
  if (name === "" || name.length > LONGEST_NAME) return Result.fail([{ path: "destination.account_name", message: NAME_RULE }])
  const chosen = branch === undefined ? {} : { branchCode: branch }
  const party = { _tag: "bank", ...account.success, ...chosen, accountName: Redacted.make(name) } as const
  if (bank.msisdn === undefined) return Result.succeed({ ...party, msisdn: null })
  return Result.map(parseMsisdn(bank.msisdn, bank.country, "destination.msisdn"), (msisdn) => ({
    ...party,
    msisdn: Redacted.make(msisdn)
  }))
}

const walletOf = ({
  country,
  email,
  msisdn,
  tag
}: Extract<typeof WireDestination.Type, { type: "wallet" }>): Parsed<WalletParty> => {
  const wallet = (identifier: WalletParty["identifier"], value: string): WalletParty => ({
    _tag: "wallet",
    country,
    identifier,
    value: Redacted.make(value)
  })
  if ([msisdn, email, tag].filter((handle) => handle !== undefined).length === 1) {
    if (msisdn !== undefined)
      return Result.map(parseMsisdn(msisdn, country, "destination.msisdn"), (number) => wallet("msisdn", number))
    const [identifier, handle] =
      email === undefined ? (["tag", plainText(tag ?? "")] as const) : (["email", plainText(email)] as const)
    if (handle !== "") return Result.succeed(wallet(identifier, handle))
    return Result.fail([{ path: `destination.${identifier}`, message: "must be a text that is not blank" }])
  }
  return Result.fail([{ path: "destination", message: "requires exactly one of msisdn, email and tag" }])
}

const parseMsisdn = (text: string, country: string, path: string): Parsed<string> =>
  Option.match(msisdnOf(text, country), {
    onNone: () => Result.fail([{ path, message: MSISDN_RULE }]),
    onSome: (msisdn) => Result.succeed(msisdn)
  })

/** The message for a number that no phone in its country can have. */
const MSISDN_RULE = "must be a phone number with its country's prefix and a possible length"

const CARD_MEMBER =
  /^(?:card|cardnumber|cardno|pan|primaryaccountnumber|cvv|cvc|csc|cvn|securitycode|cardsecuritycode|expiry|expirydate|expirymonth|expiryyear)$/i
const CARD_RULE = "must not hold card data"
