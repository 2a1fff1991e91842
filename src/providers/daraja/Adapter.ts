import { randomBytes } from "node:crypto"
import { Clock, Effect, Option, Schema, type Scope } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type {
  ChargeOrder,
  PayoutOrder,
  PayoutOutcome,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { type FactWithAlarm, withoutAlarm } from "../AnswerParsing.ts"
import { adapterOf, type Connection, connectionTo, type Operations } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { type MoneyCallAnswer, movements } from "../Movements.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../Quotes.ts"
import { misroutedTo, refusalOf, refusedBy } from "../Refusals.ts"
import type { Transport } from "../Transport.ts"
import { darajaCallbacks } from "./Callback.ts"
import { type Account, type DarajaSettings, openAccount, pullMoment, questionBody, stampedPassword } from "./Client.ts"
import { chargeBody, limits, misfit, payoutBody, shillings } from "./Order.ts"
import { quoteBy } from "./Quote.ts"
import { referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import {
  answerIn,
  chargePosted,
  conversationIn,
  paymentFound,
  payoutFound,
  payoutPosted,
  promptFound,
  promptIn,
  pulled,
  resultIn,
  unanswered
} from "./Translate.ts"
import { accountReferenceOf, conversationIdOf, paths, type Result } from "./Wire.ts"

/**
 * An OriginatorConversationID is taken once. A charge has no identifier of ours, and is asked for by the one that its answer names. No document says how
 * a transaction that is not there is answered, and so "not found" proves nothing, of either.
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

/** Our account at Safaricom. A question whose answer comes to an address of ours waits for it within the time of one call. */
export const daraja = adapterOf(
  identity,
  guarantees,
  Effect.fnUntraced(function* (settings: DarajaSettings, transport: Transport): Effect.fn.Return<Operations, never, Scope.Scope> {
    const account = yield* openAccount(settings, transport)
    const connection = connectionTo(identity, account.client, settings.timeoutMs)
    const charges = movements(connection, { place: charging(account, connection), look: lookingForCharge(account) })
    const payouts = movements(connection, { place: paying(account, connection), look: lookingForPayout(account) })
    const ofNetwork = (kind: "charge" | "payout") => () => Effect.succeed(limits(kind))
    return {
      callbacks: darajaCallbacks(account),
      payouts: {
        limits: ofNetwork("payout"),
        quote: quotingBy((order, now) => quoteBy(settings, order, now)),
        send: payouts.place,
        fetchStatus: payouts.fetchStatus
      },
      collections: {
        reachesNetwork: ({ country, network }) => country === "KE" && network === "MPESA",
        limits: ofNetwork("charge"),
        contractFee: (charge) => contractFee(settings.fees, { ...charge, direction: "collection" }),
        charge: charges.place,
        fetchStatus: charges.fetchStatus
      },
      reference: referenceData(account, connection)
    }
  })
)

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
    const body = chargeBody(account, yield* stampedPassword(account.settings), amount, order)
    return chargePosted(yield* account.client({ operation: "charge", method: "POST", path: paths.charge, body }, yield* deadline))
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
 * By the CheckoutRequestID of the answer, or of the callback where the answer was lost. Without one only a payment that names the charge can be found: by the
 * paybill's confirmation, or among those of the last 48 hours.
 */
const lookingForCharge = (account: Account) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number): Effect.fn.Return<FactWithAlarm<StatusOutcome>> {
    const { addresses, client, settings } = account
    const asked = { order, fee: chargeFee(settings.fees, order) }
    const prompt = promptIn(Option.getOrNull(yield* addresses.kept("charge", order.reference)))
    const id = order.providerReference ?? prompt?.id
    if (id === undefined) return yield* lookingForPayment(account, asked, until)
    const body = { ...(yield* stampedPassword(settings)), CheckoutRequestID: id }
    const call = { operation: "status", method: "POST", path: paths.chargeStatus, body } as const
    return promptFound(yield* client(call, until), { ...asked, id, reported: prompt })
  })

const lookingForPayment = Effect.fnUntraced(function* (
  account: Account,
  asked: Parameters<typeof pulled>[1],
  until: number
): Effect.fn.Return<FactWithAlarm<StatusOutcome>> {
  const { addresses, client, settings } = account
  const { reference } = asked.order
  const receipt = Option.getOrNull(yield* addresses.kept("bill", accountReferenceOf(reference)))
  if (typeof receipt === "string") {
    const TransactionID = receipt
    const answer = yield* transactionOf(account, { reference, PartyA: settings.shortcode, by: { TransactionID } }, until)
    return "fact" in answer ? answer : paymentFound(answer, TransactionID, asked)
  }
  if (!settings.pulls) return nothingToAskBy
  const now = yield* Clock.currentTimeMillis
  const body = {
    ShortCode: settings.shortcode,
    StartDate: pullMoment(now - PULLED_FOR_MS),
    EndDate: pullMoment(now),
    OffSetValue: "0"
  }
  return pulled(yield* client({ operation: "status", method: "POST", path: paths.pull, body }, until), asked)
})
/** Safaricom gives no more. */
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
    const answer = yield* transactionOf(account, { reference, PartyA: account.settings.payoutShortcode, by }, until)
    if ("fact" in answer) return answer
    const result = Option.flatMap(yield* account.addresses.kept("payout", reference), resultIn)
    return payoutFound(answer, Option.getOrNull(result), order)
  })

interface AskedTransaction {
  readonly reference: Reference
  readonly PartyA: string
  readonly by: object
}

const Question = Schema.Struct({ id: Schema.String, conversation: Schema.String })
const questionIn = Schema.decodeUnknownOption(Question)

/**
 * Asks about a transaction; the answer comes to an address that only this question has, and names the ConversationID that acknowledged it. The answer to
 * the question before, which that did not wait for, is as good.
 */
const transactionOf = Effect.fnUntraced(function* (
  account: Account,
  { PartyA, by, reference }: AskedTransaction,
  until: number
): Effect.fn.Return<Result | FactWithAlarm<StatusOutcome>> {
  const { addresses, client } = account
  const before = Option.flatMap(yield* addresses.kept("question", reference), questionIn)
  if (Option.isSome(before)) {
    const late = answerIn(yield* addresses.taken("status", before.value.id), before.value.conversation)
    if (Option.isSome(late)) return late.value
  }
  const id = `${reference}.${yield* Effect.sync(() => randomBytes(NONCE_BYTES).toString("hex"))}`
  const body = {
    ...questionBody(account, "status", id),
    CommandID: "TransactionStatusQuery",
    PartyA,
    ...by,
    Occasion: "OK"
  }
  const response = yield* client({ operation: "status", method: "POST", path: paths.transaction, body }, until)
  const conversation = conversationIn(response)
  if (Option.isNone(conversation)) return identity.readAsUnknown(response)
  const question: typeof Question.Type = { id, conversation: conversation.value }
  yield* addresses.keep("question", reference, JSON.stringify(question))
  const answer = answerIn(yield* addresses.awaited("status", id, until), conversation.value)
  return Option.getOrElse(answer, () => unanswered)
})
const NONCE_BYTES = 8
