import { randomBytes } from "node:crypto"
import { Cause, Clock, Effect, Option, Schema } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type {
  ChargeOrder,
  PayoutOrder,
  PayoutOutcome,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { type FactWithAlarm, unreadable, withoutAlarm } from "../AnswerParsing.ts"
import { adapterOf, type Connection, connectionTo } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { chargesBy, type MoneyCallAnswer, notSent, payoutsBy } from "../Movements.ts"
import { digitsOf } from "../ProviderText.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../Quotes.ts"
import { misroutedTo, refusalOf, refusedBy } from "../Refusals.ts"
import { darajaCallbacks } from "./Callback.ts"
import { type Account, answerTo, type DarajaSettings, openAccount, placesOf, stampedPassword } from "./Client.ts"
import { chargeBody, limits, misfit, payoutBody, shillings } from "./Order.ts"
import { quoteBy } from "./Quote.ts"
import { referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import {
  type AskedCharge,
  answerIn,
  type ConfirmedPayment,
  chargePosted,
  isPaidReport,
  onlyPayment,
  paymentFound,
  payoutFound,
  payoutPosted,
  promptFound,
  promptIn,
  promptTaken,
  pulled,
  type ReportedPrompt,
  resultIn
} from "./Translate.ts"
import { accountReferenceOf, conversationIdOf, paths, pullMoment, type Result } from "./Wire.ts"

/**
 * An OriginatorConversationID is accepted once. A charge has no identifier of ours and is polled by the one in its response. No
 * document says how an unknown transaction is answered, so "not found" proves nothing for either.
 */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  chargeReference: "none",
  lookup: "by_client_ref_inferred",
  chargeLookup: "by_provider_ref",
  callbackAuth: "none",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 172_800_000
}

/** Our account at Safaricom. A query that is answered by a callback waits for it within the time of one call. */
export const daraja = adapterOf(identity, guarantees, function* (settings: DarajaSettings, transport) {
  const account = yield* openAccount(settings, transport)
  const connection = connectionTo(identity, account.client, settings.timeoutMs)
  const ofNetwork = (kind: "charge" | "payout") => () => Effect.succeed(limits(kind))
  return {
    callbacks: darajaCallbacks(account),
    payouts: {
      reachesNetwork,
      limits: ofNetwork("payout"),
      quote: quotingBy((order, now) => quoteBy(settings, order, now)),
      ...payoutsBy(connection, { place: paying(account, connection), look: lookingForPayout(account) })
    },
    collections: {
      reachesNetwork,
      limits: ofNetwork("charge"),
      contractFee: (charge) => contractFee(settings.fees, { ...charge, direction: "collection" }),
      ...chargesBy(connection, { place: charging(account, connection), look: lookingForCharge(account) })
    },
    reference: referenceData(account, connection)
  }
})

const reachesNetwork = ({ country, network }: MomoParty): boolean => country === "KE" && network === "MPESA"

const misrouted = (why: string) => misroutedTo(identity.title, "The provider does not serve it.", why)
const misfitting = refusedBy(
  refusalOf("limit", "limit_exceeded", "The provider takes whole shillings, and no more than 250,000."),
  null,
  "an amount that cannot be asked for"
)

const charging = (account: Account, { deadline }: Connection) =>
  Effect.fnUntraced(function* (order: ChargeOrder): Effect.fn.Return<MoneyCallAnswer<PayoutOutcome>> {
    const why = misfit(order.corridor, order.source)
    if (why !== undefined) return misrouted(why)
    const amount = shillings("charge", order.amount)
    if (amount === undefined) return misfitting
    const { addresses, client, settings } = account
    const body = chargeBody(account, yield* stampedPassword(settings), amount, order)
    // Stored before the call, whose response may be lost. A payment that is found later is compared with the payer's whole number,
    // which is stored only as a hash. If that cannot be stored, the prompt is not sent.
    const payer = hiddenPayer(account, order.reference, digitsOf(order.source.msisdn))
    if (!(yield* isKept(addresses.keep("payer", order.reference, JSON.stringify(payer))))) return unfindable
    const response = yield* client({ operation: "charge", method: "POST", path: paths.charge, body }, yield* deadline)
    // A prompt that could not be stored is found again by its callback: the response counts, even when the memory is down.
    const taken = promptTaken(response)
    if (Option.isSome(taken)) yield* isKept(rememberPrompt(account, order.reference, taken.value))
    return chargePosted(response, handleOf(account))
  })

/** False, with a line in the log, where the memory that all nodes share could not be written. */
const isKept = (write: Effect.Effect<void>): Effect.Effect<boolean> =>
  Effect.catchDefect(Effect.as(write, true), (defect) =>
    Effect.as(Effect.logError("the key that finds a prompt again could not be stored", Cause.die(defect)), false)
  )
const unfindable = notSent("the key that finds it again could not be stored")

/** A CheckoutRequestID ends in the payer's number. The record gets a derived name; the id itself is stored sealed. */
const handleOf =
  ({ addresses }: Account) =>
  (id: string): string =>
    `checkout-${addresses.hidden(id)}`

/** For comparing payers' numbers. It includes the reference, so that it does not reveal whether two charges have the same payer. */
const hiddenPayer = ({ addresses }: Account, reference: Reference, digits: string): string =>
  addresses.hidden(`${reference} ${digits}`)

const rememberPrompt = Effect.fnUntraced(function* ({ addresses }: Account, reference: Reference, id: string) {
  yield* addresses.keep("prompt", reference, JSON.stringify(id))
  yield* addresses.keep("owner", addresses.hidden(id), JSON.stringify(reference))
})

const paying = (account: Account, { deadline }: Connection) =>
  Effect.fnUntraced(function* (order: PayoutOrder): Effect.fn.Return<MoneyCallAnswer<PayoutOutcome>> {
    const { corridor, destination, quote, reference } = order
    if (destination._tag !== "momo") return misrouted("another method")
    const why = misfit(corridor, destination)
    if (why !== undefined) return misrouted(why)
    const amount = shillings("payout", quote.principal)
    if (amount === undefined) return misfitting
    const body = payoutBody(account, amount, order, destination)
    const call = { operation: "payout", method: "POST", path: paths.payout, body } as const
    return payoutPosted(yield* account.client(call, yield* deadline), reference)
  })

/**
 * Polls by the CheckoutRequestID from the response, or from the callback when the response was lost. Without one, only a
 * payment that names the charge can be found: by the paybill's confirmation, or in the list of the last 48 hours.
 */
const lookingForCharge = (account: Account) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number): Effect.fn.Return<FactWithAlarm<StatusOutcome>> {
    const { addresses, client, settings } = account
    const { reference } = order
    const payer = textIn(yield* addresses.kept("payer", reference))
    const isPayer = (digits: string) => hiddenPayer(account, reference, digits) === payer
    const asked = { order, fee: chargeFee(settings.fees, order), isPayer }
    const reported = promptIn(Option.getOrNull(yield* addresses.kept("charge", reference)))
    const id = yield* promptOf(account, asked, reported)
    if (id === undefined) {
      const found = yield* ownPayment(account, reference, yield* lookingForPayment(account, asked, until))
      const receipt = found.fact._tag === "Succeeded" ? found.fact.receipt : undefined
      // Kept as long as a prompt: confirmations and lists are forgotten sooner.
      if (receipt !== undefined) yield* addresses.keep("paid", reference, JSON.stringify(receipt))
      return found
    }
    const body = { ...(yield* stampedPassword(settings)), CheckoutRequestID: id }
    const call = { operation: "status", method: "POST", path: paths.chargeStatus, body } as const
    const found = promptFound(yield* client(call, until), { ...asked, handle: handleOf(account)(id), id, reported })
    if (found.fact._tag === "Succeeded") {
      // The callback's report is forgotten before the last poll of a paid charge.
      yield* addresses.keep("prompt", reference, JSON.stringify(id))
    }
    return yield* ownPayment(account, reference, found)
  })

/** The payment, unless its receipt or a confirmation is another charge's: none is credited twice, and an operator sees why. */
const ownPayment = Effect.fnUntraced(function* (
  { addresses }: Account,
  reference: Reference,
  found: FactWithAlarm<StatusOutcome>
) {
  const { fact } = found
  if (fact._tag !== "Succeeded" || fact.receipt === undefined) return found
  const isOwn = yield* addresses.owned("owner", addresses.hidden(fact.receipt), accountReferenceOf(reference))
  return isOwn ? found : paidAnother
})

const paidAnother = unreadable("the receipt of a charge has paid another one, or was confirmed for another one", "Completed")

const textIn = (kept: Option.Option<unknown>): string | undefined =>
  Option.getOrUndefined(Option.filter(kept, (one) => typeof one === "string"))

/** The CheckoutRequestID from the response, or else from a report of the payment, unless it belongs to another charge. */
const promptOf = Effect.fnUntraced(function* (account: Account, asked: AskedCharge, reported: ReportedPrompt | null) {
  const { addresses } = account
  const { providerReference, reference } = asked.order
  const kept = textIn(yield* addresses.kept("prompt", reference))
  if (kept !== undefined) return kept
  if (reported === null) return undefined
  if (providerReference !== null) return handleOf(account)(reported.id) === providerReference ? reported.id : undefined
  if (!isPaidReport(reported, asked)) return undefined
  return (yield* addresses.owned("owner", addresses.hidden(reported.id), reference)) ? reported.id : undefined
})

/** Looks for a payment by the receipts in confirmations and in the list of payments, because either may lack some. */
const lookingForPayment = Effect.fnUntraced(function* (
  account: Account,
  asked: AskedCharge,
  until: number
): Effect.fn.Return<FactWithAlarm<StatusOutcome>> {
  const listed = account.settings.pulls ? pulling(account, asked, until) : Effect.succeed(nothingToAskBy)
  const [confirmed, pulledOne] = yield* Effect.all([confirmedPayments(account, asked, until), listed], { concurrency: 2 })
  return onlyPayment(confirmed, pulledOne)
})

const confirmedPayments = Effect.fnUntraced(function* (account: Account, asked: AskedCharge, until: number) {
  const { addresses, settings } = account
  const { reference } = asked.order
  const paid = textIn(yield* addresses.kept("paid", reference))
  const named = yield* Effect.forEach(placesOf(account, accountReferenceOf(reference)), (place) => addresses.kept("bill", place))
  const receipts = new Set([paid, ...named.map(textIn)].filter((receipt) => receipt !== undefined))
  const ask = Effect.fnUntraced(function* (receipt: string): Effect.fn.Return<ConfirmedPayment> {
    const subject = `${reference} ${addresses.hidden(receipt)}`
    const by = { TransactionID: receipt }
    const answer = yield* transactionOf(account, { subject, PartyA: settings.shortcode, by }, until)
    if ("fact" in answer) return { found: answer, isOther: false }
    // The payer was compared when this receipt was found to have paid the charge.
    const isPayer = receipt === paid ? () => true : asked.isPayer
    return paymentFound(answer, { ...asked, isPayer, payees: [settings.shortcode, settings.till], receipt })
  })
  return yield* Effect.forEach(receipts, ask, { concurrency: "unbounded" })
})

const pulling = Effect.fnUntraced(function* ({ client, settings }: Account, asked: AskedCharge, until: number) {
  const now = yield* Clock.currentTimeMillis
  const body = {
    ShortCode: settings.shortcode,
    StartDate: pullMoment(now - PULLED_FOR_MS),
    EndDate: pullMoment(now),
    OffSetValue: "0"
  }
  return pulled(yield* client({ operation: "status", method: "POST", path: paths.pull, body }, until), asked)
})
/** The list covers no longer time. */
const PULLED_FOR_MS = 48 * 3_600_000

const nothingToAskBy: FactWithAlarm<StatusOutcome> = withoutAlarm({
  _tag: "Unknown",
  reason: "unavailable",
  note: "its answer was lost, and nothing has named it since"
})

const lookingForPayout = (account: Account) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number): Effect.fn.Return<FactWithAlarm<StatusOutcome>> {
    const { reference } = order
    const id = conversationIdOf(reference)
    const by = { OriginalConversationID: id, OriginatorConversationID: id }
    const answer = yield* transactionOf(account, { subject: reference, PartyA: account.settings.payoutShortcode, by }, until)
    if ("fact" in answer) return answer
    const result = Option.flatMap(yield* account.addresses.kept("payout", reference), resultIn)
    return payoutFound(answer, Option.getOrNull(result), order)
  })

interface AskedTransaction {
  /** The name under which its queries are stored. */
  readonly subject: string
  readonly PartyA: string
  readonly by: object
}

const Question = Schema.Struct({ id: Schema.String, conversation: Schema.String })
const questionIn = Schema.decodeUnknownOption(Question)

/**
 * Queries a transaction. The answer is sent to an address that only this query has, and names the ConversationID that
 * acknowledged it. A late answer to the previous query is used as well.
 */
const transactionOf = Effect.fnUntraced(function* (
  account: Account,
  { PartyA, by, subject }: AskedTransaction,
  until: number
): Effect.fn.Return<Result | FactWithAlarm<StatusOutcome>> {
  const { addresses } = account
  const before = Option.flatMap(yield* addresses.kept("question", subject), questionIn)
  if (Option.isSome(before)) {
    const late = answerIn(yield* addresses.taken("status", before.value.id), before.value.conversation)
    if (Option.isSome(late)) return late.value
  }
  const id = yield* Effect.sync(() => randomBytes(NUMBER_BYTES).toString("hex"))
  const body = { CommandID: "TransactionStatusQuery", PartyA, ...by, Occasion: "OK" }
  const acknowledged = (conversation: string) =>
    addresses.keep("question", subject, JSON.stringify({ id, conversation } satisfies typeof Question.Type))
  return yield* answerTo(account, { kind: "status", id, body, acknowledged }, until)
})
/** Safaricom's router accepts no part of a path longer than a hundred characters. */
const NUMBER_BYTES = 12
