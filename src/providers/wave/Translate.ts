import type { Reported } from "../../domain/CallbackReport.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { ChargeOutcome, PayoutOutcome, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import { type FactWithAlarm, foundRows, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import {
  asAccepted,
  asCreateOutcome,
  type ExpectedTransaction,
  isPage,
  type MoneyCallAnswer,
  moneyCallAnswer,
  nothingObserved,
  onceNotFound
} from "../Movements.ts"
import { answerBy, isOtherParty, sumOf, vocabulary } from "../ProviderStatus.ts"
import type { ProviderResponse } from "../Transport.ts"
import { failureBy, identity, isConflict, named, refusal, unfinished } from "./Refusals.ts"
import { Payout, PayoutsAnswer, Session, SessionsAnswer } from "./Wire.ts"

const { readAsUnknown } = identity

const standingOfPayout = vocabulary({
  pending: ["processing"],
  successful: ["succeeded"],
  failed: ["failed"],
  returned: ["reversed"]
})
// The session's status and its payment's. An expired session was never paid; a failed payment of an open session is not final.
const standingOfSession = vocabulary({
  pending: ["open processing", "open cancelled", "complete processing"],
  successful: ["complete succeeded"],
  failed: ["complete cancelled", "expired processing", "expired cancelled"]
})

type Words = { readonly [M in "checkout_status" | "payment_status"]?: string | null | undefined }
const statusOf = ({ checkout_status, payment_status }: Words): string => `${checkout_status} ${payment_status}`
export const standingOf = (words: Words): Reported | undefined => standingOfSession(statusOf(words))

/** A refusal counts once a lookup finds nothing. After a conflict it does not, and what is found decides. */
const refusedAs = (call: "payout" | "session", response: ProviderResponse): MoneyCallAnswer<PayoutOutcome> | undefined =>
  isConflict(response)
    ? { confirm: (looked) => asCreateOutcome(looked, "Wave has a request of ours, and nothing by our reference") }
    : onceNotFound(refusal(call, response))

/** The response to POST /v1/payout. */
export const payoutPlaced = (response: ProviderResponse, expected: ExpectedTransaction): MoneyCallAnswer<PayoutOutcome> =>
  moneyCallAnswer(response, {
    refused: refusedAs("payout", response),
    schema: Payout,
    readAsUnknown,
    read: (payout) => asCreateOutcome(payoutAnswer(payout, expected), "what was only just paid came back")
  })

/** The response to GET /v1/payouts/search. Two payouts with one reference mean that the money has moved twice, or may have. */
export const payoutFound = (response: ProviderResponse, expected: ExpectedTransaction): FactWithAlarm<StatusOutcome> => {
  const [first, ...more] = foundRows(PayoutsAnswer, response) ?? [null]
  if (first === null) return readAsUnknown(response)
  if (first === undefined) return nothingFound
  return more.length === 0
    ? payoutAnswer(first, expected)
    : unreadable("there are several payouts by one reference", first.status)
}

const nothingFound = withoutAlarm({ _tag: "NotFound", note: "nothing by our reference" } as const)

const payoutAnswer = (payout: Payout, { party, reference }: ExpectedTransaction): FactWithAlarm<StatusOutcome> => {
  const { client_reference, currency, fee, id, mobile, payout_error, receive_amount: amount, status } = payout
  const code = payout_error?.error_code ?? null
  return answerBy({
    kind: "payout",
    isOurs: client_reference === reference,
    isOfAnother: isOtherParty(party, mobile),
    status,
    standing: standingOfPayout(status),
    providerReference: id,
    note: noteOf(status, code),
    sum: sumOf({ amount, currency, fee }),
    refusal: failureBy("payout", code)
  })
}

const noteOf = (status: string, code: string | null) => `status ${status}${code === null ? "" : `, ${named(code)}`}`

/** `fee`: the contract fee, because no session names one. `closed`: the sessions that we have just expired. */
interface ExpectedCharge extends Pick<StatusQuery, "reference" | "isOver">, Partial<Pick<StatusQuery, "providerReference">> {
  readonly fee?: (amount: MinorUnits) => MinorUnits | null
  readonly closed?: ReadonlySet<string>
}
const none: ReadonlySet<string> = new Set()

/** The response to POST /v1/checkout/sessions: a page for the payer. */
export const sessionPlaced = (response: ProviderResponse, expected: ExpectedCharge): MoneyCallAnswer<ChargeOutcome> =>
  moneyCallAnswer<Session, ChargeOutcome>(response, {
    refused: refusedAs("session", response),
    schema: Session,
    readAsUnknown,
    read: (session) => {
      const read = sessionAnswer(session, expected)
      const { id: providerReference, wave_launch_url: redirectUrl } = session
      if (read.fact._tag !== "StillPending" || !redirectUrl || !isPage(redirectUrl)) return asAccepted(read)
      const sum = sumOf({ amount: session.amount, currency: session.currency })
      const observed = sum ? { observedAmount: sum.amount, observedCurrency: sum.currency } : nothingObserved
      return withoutAlarm({ _tag: "NeedsRedirect", ...observed, providerReference, redirectUrl, note: "a page to visit" })
    }
  })

/** The response to GET /v1/checkout/sessions/search. The paid session counts, else one that is open or not understood. */
export const sessionFound = (response: ProviderResponse, expected: ExpectedCharge): FactWithAlarm<StatusOutcome> => {
  const { closed = none, isOver = false, providerReference: page = null } = expected
  const found = foundRows(SessionsAnswer, response)
  if (found === undefined) return readAsUnknown(response)
  const of = (standing: Reported | undefined) => found.filter((one) => standingOf(one) === standing)
  const [paid, another] = of("successful")
  const pending = of("pending")
  const shown = paid ?? of(undefined)[0] ?? pending.find(({ id }) => !closed.has(id)) ?? pending[0] ?? found[0]
  // The page of a charge that is about to end, to which the payer was sent.
  const isHidden = isOver && page !== null && !closed.has(page) && found.every(({ id }) => id !== page)
  if (isHidden && paid === undefined) return unreadable("a session is not found, and does not expire", page)
  if (shown === undefined) return nothingFound
  if (another !== undefined) return unreadable("several sessions by one reference are paid", statusOf(shown))
  return sessionAnswer(shown, expected)
}

/**
 * The sessions of a charge that must be expired. Of an old charge: the open ones to which no payer was sent, because their
 * pages are no longer known here. Once the payer's time is over: all open ones, and the payer's own one even if the search does
 * not show it.
 */
export const toClose = (
  response: ProviderResponse,
  { isOver, providerReference: page, reference }: StatusQuery,
  isOld: boolean
): ReadonlyArray<string> => {
  const found = foundRows(SessionsAnswer, response)
  if (found === undefined) return []
  const open = found.filter((one) => one.client_reference === reference && isOpen(one)).map(({ id }) => id)
  if (isOver !== true) return isOld ? open.filter((id) => id !== page) : []
  return page === null || found.some(({ id }) => id === page) ? open : [...open, page]
}

const isOpen = ({ checkout_status }: Session): boolean => checkout_status === "open"

const sessionAnswer = (session: Session, expected: ExpectedCharge): FactWithAlarm<StatusOutcome> => {
  const { closed = none, fee = () => null, isOver = false, reference } = expected
  const { amount, checkout_status, client_reference, currency, id, last_payment_error } = session
  const code = last_payment_error?.code ?? null
  const status = statusOf(session)
  const sum = sumOf({ amount, currency })
  const said = standingOf(session)
  const isUntried = checkout_status === "expired" && code === null
  // Once the payer's time is over, such a charge expires rather than fails.
  const isLeft = isOver && isUntried && said === "failed"
  return answerBy({
    kind: "collection",
    isOurs: client_reference === reference,
    status,
    standing: isLeft ? "pending" : said,
    isUnfinished: isLeft || (isOpen(session) && (!isOver || closed.has(id))),
    providerReference: id,
    note: noteOf(status, code),
    sum: sum && { ...sum, fee: fee(sum.amount) },
    refusal: isUntried ? unfinished : failureBy("session", code)
  })
}
