import { Option } from "effect"
import type { TransactionKind } from "../../domain/Transaction.ts"
import type { CodeRejected, PayoutOutcome } from "../../services/ports/Provider.ts"
import { errorIn, type FactWithAlarm, unknownReader, withoutAlarm } from "../AnswerParsing.ts"
import type { Identity } from "../Connection.ts"
import { type MoneyCallAnswer, notProven, onceNotFound } from "../Movements.ts"
import {
  accountRefused,
  notPaid,
  type ProviderRefusal,
  poolShort,
  type Refused,
  refusalOf,
  refusedBy,
  refusedByStatus,
  refusedUnsaid,
  undelivered,
  unknownRecipient
} from "../Refusals.ts"
import { type Answered, exactJson, type ProviderResponse } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

const NOT_ADMITTED = "Eversend refuses the gateway's account, its address or its origin"

export const identity: Identity = { name: "eversend", title: "Eversend", readAsUnknown: unknownReader("Eversend", NOT_ADMITTED) }

/** Eversend refuses our account, IP address or origin: 401 after a new token, and 403. */
const notAdmitted = accountRefused(NOT_ADMITTED)

const noPayer = refusalOf("party", "payer_not_found", "The provider does not know the payer.")

const shared = [
  [400, refusedUnsaid],
  [401, notAdmitted],
  [403, notAdmitted]
] as const

// The reason of a refusal, by HTTP status. A status that is not listed is not a refusal.
const refusals: Readonly<Record<TransactionKind, ReadonlyMap<number, ProviderRefusal>>> = {
  payout: new Map([
    ...shared,
    [402, poolShort("Eversend refuses a payout: is the wallet there empty?")],
    [404, unknownRecipient]
  ]),
  collection: new Map([...shared, [402, refusedUnsaid], [404, noPayer]]),
  exchange: new Map([
    ...shared,
    [
      402,
      {
        ...poolShort("Eversend refuses an exchange: is the wallet there empty?"),
        message: "The provider cannot exchange it now."
      }
    ],
    [404, refusedUnsaid]
  ])
}

/** Whether a response can be Eversend's refusal. It refuses in JSON: an HTML page comes from another server, such as a firewall. */
export const isRefusal = (response: ProviderResponse): response is Answered =>
  response._tag === "Answered" && Option.isSome(exactJson(response))

/** A refusal by its HTTP status. */
const refusal = (kind: TransactionKind, response: ProviderResponse): FactWithAlarm<Refused> | undefined =>
  refusedByStatus(refusals[kind], response, isRefusal(response))

const errorOf = errorIn(ErrorAnswer)

/** The text of a bad request; empty for any other response. */
const textOf = (response: ProviderResponse): string => {
  if (response._tag !== "Answered" || response.status !== 400) return ""
  const { error, message } = errorOf(response) ?? {}
  return ((typeof message === "object" ? message.message : (message ?? error)) ?? "").toLowerCase()
}

const BAD_NUMBER = "phone number must be a valid international format"
// The exact texts of requests refused before execution, by operation, as integrators report them; the documents have none.
const nothingMade: Readonly<Record<TransactionKind, ReadonlyMap<string, ProviderRefusal>>> = {
  payout: new Map([[BAD_NUMBER, unknownRecipient]]),
  collection: new Map([
    [BAD_NUMBER, noPayer],
    ["customer must be a string", refusedUnsaid]
  ]),
  exchange: new Map()
}

/**
 * The refusal of a call that moves money. At Eversend, a search that finds nothing proves nothing. Certain are only a refusal
 * of our own account and a text that proves that nothing was created. After any other refusal the outcome stays open until the
 * movement is found or an operator rules.
 */
export const moneyCallRefusal = (
  kind: TransactionKind,
  response: ProviderResponse
): MoneyCallAnswer<PayoutOutcome> | undefined => {
  const refused = refusal(kind, response)
  if (refused === undefined) return undefined
  const { note } = refused.fact
  const proven = nothingMade[kind].get(textOf(response))
  if (proven !== undefined) return onceNotFound(refusedBy(proven, null, note))
  return onceNotFound(refused, notProven(refused))
}

/**
 * Not documented; the README assumes it. It ends nothing: the payer may submit another code or start again, and before either
 * is sent the charge is looked up once more. Without it, each mistyped code would block its payer until the charge expires.
 */
const WRONG_CODE = "invalid otp"

/** For a charge with a code: the refusal of the code itself. */
export const codeRefusal = (response: ProviderResponse): MoneyCallAnswer<PayoutOutcome | CodeRejected> | undefined => {
  const refused = refusal("collection", response)
  return refused !== undefined && textOf(response) === WRONG_CODE
    ? onceNotFound(refused, withoutAlarm({ _tag: "CodeRejected", note: refused.fact.note } as const))
    : undefined
}

/** The failure code of a failed transaction, which its status proves. The exact reason text only selects the code. */
export const failureBy = (kind: TransactionKind, reason: string | null | undefined): ProviderRefusal =>
  reasons[kind].get(reason?.toLowerCase() ?? "") ?? failures[kind]

const emptyWallet = poolShort("Eversend fails a movement: is the wallet there empty?")
const EMPTY = "insufficient wallet balance"
const NOBODY = "account not found"
// Not documented; the README assumes them.
const reasons: Readonly<Record<TransactionKind, ReadonlyMap<string, ProviderRefusal>>> = {
  payout: new Map([
    [EMPTY, emptyWallet],
    [NOBODY, unknownRecipient]
  ]),
  collection: new Map([
    ["payment was declined by the payer", refusalOf("party", "declined_by_payer", "The payer declined the payment.")],
    ["charge was rejected", refusedUnsaid],
    [NOBODY, noPayer]
  ]),
  exchange: new Map([[EMPTY, { ...emptyWallet, message: "The provider cannot exchange it now." }]])
}

const failures: Readonly<Record<TransactionKind, ProviderRefusal>> = {
  payout: undelivered,
  // Declined, no balance or no response: most of Eversend's texts do not distinguish them.
  collection: notPaid,
  exchange: refusalOf("other", "provider_rejected", "The provider did not exchange it.")
}
