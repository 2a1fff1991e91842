import { Redacted } from "effect"
import type { Reference } from "../../../src/domain/Ids.ts"
import type { Destination } from "../../../src/domain/Party.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { Adapter } from "../../../src/services/ports/Provider.ts"
import type { Way } from "../../../test/providers/contract/Orders.ts"
import type { Asked, Twist } from "../HostileLine.ts"
import type { Plan } from "./Plan.ts"

/** One request of the tenant with a key of its own, and all that became of it. */
export interface Operation {
  readonly key: string
  /** Of an exchange once it has a quote. */
  body: Uint8Array
  readonly askedAt: number
  reference: Reference | undefined
  /** The last answer is one that the tenant may believe for good. */
  isAnswered: boolean
  readonly answers: Array<string>
  /** Each time that its record changed. */
  readonly commits: Array<{ readonly at: number; readonly record: Transaction }>
}

/** One payment of a tenant, the second click of its payer included, and its line. */
export interface Case {
  readonly number: number
  readonly plan: Plan
  readonly adapter: Adapter
  readonly operations: Array<Operation>
  /** From the first order on the line is bad, until this time; null before it. */
  badUntil: number | null
  /** What a redirect leads to. */
  pages: Array<string>
  /** What the order meets, each once. */
  readonly left: { isOvertaken: boolean; isBroken: boolean; isStale: boolean }
  readonly faults: Array<string>
}

export const newCase = (number: number, plan: Plan, adapter: Adapter): Case => ({
  number,
  plan,
  adapter,
  operations: [],
  badUntil: null,
  pages: [],
  left: { isOvertaken: plan.isOvertaken, isBroken: plan.isBroken, isStale: plan.isStale },
  faults: []
})

export const newOperation = ({ operations, plan }: Case, askedAt: number): Operation => ({
  key: `k${operations.length}`,
  body: bodyOf(plan),
  askedAt,
  reference: undefined,
  isAnswered: false,
  answers: [],
  commits: []
})

/** The provider has what it was asked for; what happens then before its answer is heard. */
interface Order {
  readonly isMade: () => boolean
  readonly meanwhile: () => Promise<void>
}

/** What the line does to a request of this case. */
export const twistOf = (one: Case, now: number, asked: Asked, { isMade, meanwhile }: Order): Twist | null => {
  const { left, plan } = one
  if (one.badUntil === null || now >= one.badUntil) return null
  if (left.isStale) {
    left.isStale = false
    return { isStale: true }
  }
  const twist = plan.line.twist(asked)
  if (asked.method !== "POST") return twist
  const isBroken = () => {
    const breaks = left.isBroken && isMade()
    if (breaks) left.isBroken = false
    return breaks
  }
  return { ...twist, ...(left.isOvertaken ? { meanwhile } : {}), isBroken }
}

/** It changed nothing that was said, although it was bad for a time and somebody listens at its address. */
export const isVacuous = ({ left, plan: { honestAfterMs, isBroken, line, plot } }: Case): boolean =>
  honestAfterMs > 0 && plot !== "unreachable" && !line.hasBitten() && left.isBroken === isBroken

export const exchangeBody = (quoteId: string): Uint8Array => Buffer.from(JSON.stringify({ quote_id: quoteId }))

/** The only right code of every provider that is played. */
const RIGHT = "123456"
export const withCode = (body: Uint8Array, pinId: string): Uint8Array =>
  Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(body).toString("utf8")), otp: { pin_id: pinId, pin: RIGHT } }))

const bodyOf = ({ ending, kind, way }: Plan): Uint8Array => {
  if (kind === "exchange") return exchangeBody("")
  const { country, currency, method } = way
  const terms = { amount_minor: Number(way.amount), currency, country, method }
  const party = wireOf(way.party(ending))
  const page = way.redirect || currency === "GHS" ? { redirect_url: "https://shop.example/back" } : {}
  return Buffer.from(JSON.stringify(kind === "payout" ? { ...terms, destination: party } : { ...terms, ...page, source: party }))
}

const wireOf = (party: ReturnType<Way["party"]>) => wires[party._tag](party as never)

const wires: { readonly [T in Destination["_tag"]]: (party: Extract<Destination, { _tag: T }>) => object } = {
  momo: ({ country, msisdn, network }) => ({ type: "momo", msisdn: Redacted.value(msisdn), network, country }),
  bank: ({ accountName, accountNumber, bankCode, branchCode, country }) => ({
    type: "bank",
    country,
    bank_code: bankCode,
    account_number: Redacted.value(accountNumber),
    account_name: Redacted.value(accountName),
    ...(branchCode === undefined || branchCode === null ? {} : { branch_code: branchCode })
  }),
  wallet: ({ country, identifier, value }) => ({ type: "wallet", country, [identifier]: Redacted.value(value) })
}
