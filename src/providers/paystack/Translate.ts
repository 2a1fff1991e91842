import { Option } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { ChargeOutcome, PayoutOutcome, StatusOutcome } from "../../services/ports/Provider.ts"
import { decoded, type FactWithAlarm, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import {
  asAccepted,
  asCreateOutcome,
  type ExpectedTransaction,
  isPage,
  type MoneyCallAnswer,
  moneyCallAnswer,
  notSent
} from "../Movements.ts"
import { answerBy, isOtherParty, sumOf, vocabulary } from "../ProviderStatus.ts"
import { undelivered } from "../Refusals.ts"
import { instantIn } from "../Statements.ts"
import type { ProviderResponse } from "../Transport.ts"
import { subunits } from "./Amounts.ts"
import { chargeFailure, identity, moneyCallRefusal, notFound, recipientRefusal, voucherRefusal } from "./Refusals.ts"
import {
  ChargeAnswer,
  RecipientAnswer,
  type Transaction,
  TransactionAnswer,
  type Transfer,
  TransferAnswer,
  wireReference
} from "./Wire.ts"

type Charge = (typeof ChargeAnswer.Type)["data"]

const { readAsUnknown } = identity

/** The payer's voucher is missing, and only we can submit it: nothing moves until then. */
export interface VoucherMissing {
  readonly _tag: "VoucherMissing"
  readonly note: string
}

const REDIRECT = "open_url"
const VOUCHER = "send_otp"
/** For cards and bank accounts: the gateway has no way to submit the requested value. */
const unanswerable = ["send_pin", "send_phone", "send_birthday", "send_address"]
/** The payer has not completed it yet, and still can: so says Paystack's table of statuses about `abandoned`. */
const unfinished: ReadonlySet<string> = new Set(["abandoned", VOUCHER, ...unanswerable])

const chargeMeaning = vocabulary({
  pending: ["pay_offline", "pending", "ongoing", "processing", "queued", REDIRECT, ...unfinished],
  successful: ["success"],
  failed: ["failed", "timeout"],
  returned: ["reversed"]
})

/** In a list of a past day, an unfinished charge moved nothing. */
export const chargeLineMeaning = (status: string): Reported | undefined =>
  unfinished.has(status) ? "failed" : chargeMeaning(status)

const LOCKED = "otp"

export const transferMeaning = vocabulary({
  pending: ["pending", "received", LOCKED],
  successful: ["success"],
  failed: ["failed", "abandoned", "rejected", "blocked"],
  returned: ["reversed"]
})

/** The recipient's code; otherwise the outcome of a payout of which nothing was sent. */
export const recipientIn = (response: ProviderResponse): string | FactWithAlarm<PayoutOutcome> => {
  const answer = decoded(RecipientAnswer, response)
  if (Option.isSome(answer)) return answer.value.data.recipient_code
  const { alarm, fact } = readAsUnknown(response)
  return recipientRefusal(response) ?? { ...notSent(`no recipient: ${fact.note}`), alarm }
}

/** The response to POST /transfer, which never names the fee: a transfer that is delivered at once is polled. */
export const transferOutcome = (response: ProviderResponse, expected: ExpectedTransaction): MoneyCallAnswer<PayoutOutcome> =>
  moneyCallAnswer(response, {
    refused: moneyCallRefusal("transfer", response),
    schema: TransferAnswer,
    readAsUnknown,
    read: ({ data }) => asAccepted(transferAnswer(data, expected))
  })

/** The response to GET /transfer/verify/{reference}. */
export const transferFound = (response: ProviderResponse, expected: ExpectedTransaction): FactWithAlarm<StatusOutcome> => {
  const answer = decoded(TransferAnswer, response)
  return Option.isSome(answer) ? transferAnswer(answer.value.data, expected) : (notFound(response) ?? readAsUnknown(response))
}

const transferAnswer = (wire: typeof Transfer.Type, { party, reference }: ExpectedTransaction): FactWithAlarm<StatusOutcome> => {
  const { recipient, status } = wire
  const account = typeof recipient === "object" ? recipient?.details?.account_number : null
  const { alarm, fact } = answerBy({
    kind: "payout",
    isOurs: wire.reference === wireReference(reference),
    isOfAnother: isOtherParty(party, account),
    status,
    standing: transferMeaning(status),
    providerReference: wire.transfer_code,
    receipt: sessionIdOf(wire),
    note: `status ${status}`,
    sum: transferSum(wire),
    refusal: undelivered,
    returnedAt: instantIn(wire.updatedAt ?? wire.updated_at)
  })
  const isLocked = fact._tag === "StillPending" && status === LOCKED
  return {
    fact,
    alarm: isLocked ? "Paystack waits for a code before it sends transfers: switch that off in its dashboard" : alarm
  }
}

const sessionIdOf = ({ session }: typeof Transfer.Type): unknown =>
  typeof session === "object" && session !== null && "id" in session ? session.id : null

/** A fee that is not named is null: the reserved one stands. */
export const transferSum = ({
  amount,
  currency,
  fee_charged: fee
}: Pick<typeof Transfer.Type, "amount" | "currency" | "fee_charged">) => sumOf({ amount, currency, fee }, subunits)

/** The response to POST /charge. */
export const chargeOutcome = (
  response: ProviderResponse,
  expected: ExpectedTransaction
): MoneyCallAnswer<ChargeOutcome | VoucherMissing> =>
  moneyCallAnswer<typeof ChargeAnswer.Type, ChargeOutcome | VoucherMissing>(response, {
    refused: moneyCallRefusal("charge", response),
    schema: ChargeAnswer,
    readAsUnknown,
    read: ({ data }) => chargePlaced(data, expected)
  })

/**
 * The response to GET /charge/{reference}, after a refused charge: an earlier copy of the same request may have created it.
 * When there is none, the refusal stands.
 */
export const lookupOfRefusedCharge = (
  response: ProviderResponse,
  expected: ExpectedTransaction,
  refused: Extract<ReturnType<typeof chargeOutcome>, { readonly confirm: unknown }>
): FactWithAlarm<ChargeOutcome | VoucherMissing> => {
  const absent = notFound(response)
  if (absent !== undefined) return refused.confirm(absent)
  const answer = decoded(ChargeAnswer, response)
  return Option.isNone(answer) ? readAsUnknown(response) : chargePlaced(answer.value.data, expected)
}

/** The response to POST /charge/submit_otp. Nothing is charged before a voucher is accepted; another may follow a refused one. */
export const voucherOutcome = (response: ProviderResponse, expected: ExpectedTransaction): MoneyCallAnswer<ChargeOutcome> => {
  // The charge was sent before; only the voucher was not.
  if (response._tag === "NotSent")
    return withoutAlarm({ _tag: "Unknown", reason: "unavailable", note: `the voucher was not sent: ${response.note}` })
  const refused = voucherRefusal(response)
  return moneyCallAnswer<typeof ChargeAnswer.Type, ChargeOutcome>(response, {
    refused: refused === undefined || refused.fact.kind === "config" ? refused : rejectedBy(refused.fact),
    schema: ChargeAnswer,
    readAsUnknown,
    read: ({ data }) => {
      const { alarm, fact } = chargePlaced(data, expected)
      return fact._tag === "VoucherMissing" ? rejectedBy(fact) : { fact, alarm }
    }
  })
}

const rejectedBy = ({ note }: { readonly note: string }): FactWithAlarm<ChargeOutcome> =>
  withoutAlarm({ _tag: "CodeRejected", note })

const chargePlaced = (wire: Charge, expected: ExpectedTransaction): FactWithAlarm<ChargeOutcome | VoucherMissing> => {
  const { status } = wire
  const outcome = asCreateOutcome(chargeAnswer(wire, expected), "a new charge is reversed already")
  const { fact } = outcome
  if (fact._tag !== "Accepted") return outcome
  if (status === VOUCHER) return withoutAlarm({ _tag: "VoucherMissing", note: fact.note })
  if (unanswerable.includes(status))
    return { fact, alarm: `Paystack asks a payer for what the gateway cannot pass on: ${status}` }
  if (status !== REDIRECT) return outcome
  const redirectUrl = wire.url ?? ""
  if (!isPage(redirectUrl)) return unreadable("it has to be paid on a page, and the answer names none", status)
  return withoutAlarm({ ...fact, _tag: "NeedsRedirect", redirectUrl })
}

/** The response to GET /transaction/verify/{reference}. */
export const chargeFound = (response: ProviderResponse, expected: ExpectedTransaction): FactWithAlarm<StatusOutcome> => {
  const answer = decoded(TransactionAnswer, response)
  return Option.isSome(answer) ? chargeAnswer(answer.value.data, expected) : (notFound(response) ?? readAsUnknown(response))
}

const chargeAnswer = (
  wire: Charge | typeof Transaction.Type,
  { reference }: ExpectedTransaction
): FactWithAlarm<StatusOutcome> => {
  const { id, status } = wire
  return answerBy({
    kind: "collection",
    isOurs: wire.reference === wireReference(reference),
    status,
    standing: chargeMeaning(status),
    isUnfinished: unfinished.has(status),
    providerReference: id ?? null,
    note: `status ${status}`,
    sum: chargeSum(wire),
    refusal: chargeFailure(status)
  })
}

/** The paid amount, and Paystack's fee if it names one. */
export const chargeSum = ({ amount, currency, fees: fee }: Pick<Charge, "amount" | "currency" | "fees">) =>
  sumOf({ amount, currency, fee }, subunits)
