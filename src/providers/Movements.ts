import { Clock, Effect, Option, type Schema } from "effect"
import { CallKind } from "../runtime/CallTurn.ts"
import type {
  ChargeOrder,
  ChargeOutcome,
  ExchangeOperations,
  ExchangeOrder,
  ExchangeOutcome,
  PayoutOrder,
  PayoutOutcome,
  StatusOutcome,
  StatusQuery
} from "../services/ports/Provider.ts"
import { decoded, type FactWithAlarm, type ReadAsUnknown, type Unknown, unreadable, withoutAlarm } from "./AnswerParsing.ts"
import type { Connection } from "./Connection.ts"
import type { Refused } from "./Refusals.ts"
import type { ProviderResponse } from "./Transport.ts"

/** The result of a call that moves money: a fact, or the statement that only a lookup by our reference can decide. */
export type MoneyCallAnswer<F> = FactWithAlarm<F> | NeedsLookup<F>

/** No fact yet. `confirm` combines the response with the result of the lookup. */
interface NeedsLookup<F> {
  readonly confirm: (looked: FactWithAlarm<StatusOutcome>) => FactWithAlarm<F>
}

/** Our side of the transaction, which a response must match. `currency`: of the float that moves. */
export type ExpectedTransaction = Pick<StatusQuery, "reference" | "currency" | "party">

export const expectedOf = ({ corridor, reference }: Pick<PayoutOrder, "reference" | "corridor">): ExpectedTransaction => ({
  reference,
  currency: corridor.currency
})

type Ordered =
  | (Pick<PayoutOrder, "reference" | "corridor"> &
      Partial<Pick<PayoutOrder, "destination"> & Pick<ChargeOrder, "source" | "amount" | "contractFee" | "otp">>)
  | (Pick<PayoutOrder, "reference"> & ExchangeOrder)

interface Movement<Order, F> {
  /** The call that moves money, and any calls before it. It is made once and never retried. */
  readonly place: (order: Order) => Effect.Effect<MoneyCallAnswer<F>>
  /** Looks the transaction up by our reference. */
  readonly look: (order: StatusQuery, until: number) => Effect.Effect<FactWithAlarm<StatusOutcome>>
}

type Account = Pick<Connection, "deadline" | "logAlarm">

/** How payouts, collections and exchanges are placed and polled at every provider. A lookup after the call has its own deadline. */
const movements = <Order extends Ordered, F>({ deadline, logAlarm }: Account, { look, place }: Movement<Order, F>) => ({
  place: Effect.fnUntraced(
    function* (order: Order): Effect.fn.Return<F> {
      const placed = yield* place(order)
      if (!("confirm" in placed)) return yield* logAlarm(placed, order.reference)
      const looked = yield* look(yield* queryOf(order), yield* deadline)
      return yield* logAlarm(placed.confirm(looked), order.reference)
    },
    Effect.provideService(CallKind, "money")
  ),
  fetchStatus: Effect.fnUntraced(
    function* (order: StatusQuery): Effect.fn.Return<StatusOutcome> {
      return yield* logAlarm(yield* look(order, yield* deadline), order.reference)
    },
    Effect.provideService(CallKind, "status")
  )
})

export const payoutsBy = (account: Account, movement: Movement<PayoutOrder, PayoutOutcome>) => {
  const { fetchStatus, place: send } = movements(account, movement)
  return { send, fetchStatus }
}

export const chargesBy = (account: Account, movement: Movement<ChargeOrder, ChargeOutcome>) => {
  const { fetchStatus, place: charge } = movements(account, movement)
  return { charge, fetchStatus }
}

export const exchangesBy = (
  account: Account,
  movement: Movement<Parameters<ExchangeOperations["execute"]>[0], ExchangeOutcome>
) => {
  const { fetchStatus, place: execute } = movements(account, movement)
  return { execute, fetchStatus }
}

/** The query for the transaction that an order may have created. */
const queryOf = (order: Ordered): Effect.Effect<StatusQuery> =>
  Effect.map(Clock.currentTimeMillis, (sentAt) => ({
    ...placeOf(order),
    ...partyOf(order),
    ...termsOf(order),
    reference: order.reference,
    providerReference: null,
    sentAt
  }))

const placeOf = (order: Ordered) =>
  "corridor" in order ? { currency: order.corridor.currency, destinationCurrency: null, country: order.corridor.country } : order

/** When the order is placed, the full number is known. A wallet's owner may have several, and the provider show any. */
const partyOf = (order: Ordered): Pick<StatusQuery, "party"> => {
  if (!("corridor" in order)) return {}
  const { destination, source } = order
  if (destination?._tag === "bank") return { party: destination.accountNumber }
  const party = destination ?? source
  return party?._tag === "momo" ? { party: party.msisdn } : {}
}

const termsOf = (order: Ordered): Pick<StatusQuery, "charge" | "wrongCode"> => {
  if (!("corridor" in order) || order.source === undefined || order.amount === undefined) return {}
  const { amount, contractFee: fee = null, corridor, otp = null, source } = order
  return {
    charge: { country: corridor.country, method: corridor.method, network: source.network, amount, fee },
    ...(otp !== null && { wrongCode: true })
  }
}

/** A lookup that is one query by our reference. */
export const lookingBy =
  (
    { client }: Connection,
    operation: string,
    path: (order: StatusQuery) => string,
    found: (response: ProviderResponse, order: StatusQuery) => FactWithAlarm<StatusOutcome>
  ): Movement<never, never>["look"] =>
  (order, until) =>
    Effect.map(client({ operation, method: "GET", path: path(order) }, until), (response) => found(response, order))

/**
 * A lookup of charges, for a provider that does not close charges for us. A charge that its payer has not finished stays
 * pending for as long as it can still be paid there. So does a charge that the provider accepted but does not find, because
 * some providers list a charge only once the payer has opened its page.
 */
export const payableFor =
  (lifeMs: (order: StatusQuery) => number, look: Movement<never, never>["look"]): Movement<never, never>["look"] =>
  (order, until) =>
    Effect.zipWith(look(order, until), Clock.currentTimeMillis, ({ alarm, fact }, now) => {
      const payableUntil = order.sentAt + lifeMs(order)
      return { alarm, fact: now < payableUntil ? stillPayable(fact, order, payableUntil) : fact }
    })

const stillPayable = (fact: StatusOutcome, { providerReference }: StatusQuery, payableUntil: number): StatusOutcome => {
  if (fact._tag === "NotFound" && providerReference !== null)
    return { _tag: "StillPending", providerReference, payableUntil, note: `${fact.note}, and its payer may still pay it` }
  if (fact._tag !== "StillPending") return fact
  const { isUnfinished: _unfinished, ...pending } = fact
  return { ...pending, payableUntil }
}

interface Understood<A, F> {
  /** The refusal that the response's status proves, if any. */
  readonly refused: MoneyCallAnswer<F> | undefined
  readonly schema: Schema.ConstraintDecoder<A>
  readonly readAsUnknown: ReadAsUnknown
  readonly read: (answer: A) => MoneyCallAnswer<F>
}

/**
 * Interprets the response to a call that moves money. First match: not sent, refused, understood. Everything else, including a
 * missing or unreadable response, is `Unknown` (`readAsUnknown`); it never becomes a refusal or an error.
 */
export const moneyCallAnswer = <A, F>(
  response: ProviderResponse,
  { readAsUnknown, read, refused, schema }: Understood<A, F>
): MoneyCallAnswer<F | PayoutOutcome> => {
  if (response._tag === "NotSent") return notSent(response.note)
  if (refused !== undefined) return refused
  const answer = decoded(schema, response)
  return Option.isNone(answer) ? readAsUnknown(response) : read(answer.value)
}

/** No byte of the call that moves money left the process. */
export const notSent = (note: string): FactWithAlarm<PayoutOutcome> => withoutAlarm({ _tag: "NotSent", note })

/**
 * A refusal counts only after a lookup has found nothing, because an earlier identical request may have arrived, or this one
 * may have been executed although it was refused. `instead` replaces it when the refusal means something else. A refusal of our
 * own account counts at once.
 */
export const onceNotFound = <F = never>(
  refused: FactWithAlarm<Refused> | undefined,
  instead?: FactWithAlarm<F>
): MoneyCallAnswer<F | PayoutOutcome> | undefined =>
  refused === undefined || refused.fact.kind === "config"
    ? refused
    : {
        confirm: (looked) => {
          if (looked.fact._tag === "NotFound") return instead ?? refused
          const { alarm, fact } = asCreateOutcome(looked, "what was refused is there, and came back")
          const alarms = [refused.alarm, alarm].filter((one) => one !== null)
          return { fact, alarm: alarms.length === 0 ? null : alarms.join("; ") }
        }
      }

/** For a refusal that does not prove that nothing was created: when the lookup finds nothing either, the outcome stays open. */
export const notProven = ({ alarm, fact: { note } }: FactWithAlarm<Refused>): FactWithAlarm<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: `${note}, which does not prove that nothing was made` },
  alarm
})

/**
 * The refusal says, only in its text, that our reference is already used. The text is read for nothing else: such a refusal
 * never counts, whether the lookup finds the transaction or not.
 */
export const usedAt = (provider: string): FactWithAlarm<Unknown> => ({
  fact: { _tag: "Unknown", reason: "bad_response", note: "the reference is used there, and nothing was found by it yet" },
  alarm: `${provider} has our reference already, and does not find it`
})

/** The movement that was found, as its creation's outcome. `senseless`: the note when none was, or it had already come back. */
export const asCreateOutcome = (
  { alarm, fact }: FactWithAlarm<StatusOutcome>,
  senseless: string
): FactWithAlarm<PayoutOutcome> => {
  switch (fact._tag) {
    case "StillPending":
      return { fact: acceptedAs(fact), alarm }
    case "Refused":
      // It exists; a poll will confirm it.
      return { fact: fact.isUnsure === true ? acceptedAs(fact) : fact, alarm }
    case "NotFound":
    case "Returned":
      return unreadable(senseless, fact._tag)
    default:
      return { fact, alarm }
  }
}

type Observed = Pick<Extract<PayoutOutcome, { _tag: "Accepted" }>, "observedAmount" | "observedCurrency">
export const nothingObserved: Observed = { observedAmount: null, observedCurrency: null }

/** The same where the provider does not report the final fee of so recent a movement: it is accepted, and polled again. */
export const asAccepted = (
  reading: FactWithAlarm<StatusOutcome>,
  observed: Observed = nothingObserved
): FactWithAlarm<PayoutOutcome> =>
  reading.fact._tag === "StillPending" || reading.fact._tag === "Succeeded"
    ? { fact: acceptedAs(reading.fact, observed), alarm: reading.alarm }
    : asCreateOutcome(reading, "what was only just made is not there, or came back")

export const acceptedAs = (
  {
    note,
    providerReference,
    receipt
  }: { readonly note: string; readonly providerReference: string | null; readonly receipt?: string },
  { observedAmount, observedCurrency }: Observed = nothingObserved
): Extract<PayoutOutcome, { _tag: "Accepted" }> => ({
  _tag: "Accepted",
  providerReference,
  ...(receipt === undefined ? {} : { receipt }),
  observedAmount,
  observedCurrency,
  note
})

/** Whether a payer can be sent to this URL. */
export const isPage = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
