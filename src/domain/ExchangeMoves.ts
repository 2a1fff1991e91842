import { failedUnsurely } from "./Contradiction.ts"
import type { Decision } from "./Decision.ts"
import type { Exchange, ExchangeStatus } from "./Exchange.ts"
import { exchange as exchanged, release } from "./Ledger.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import {
  type FactOf,
  type FactOrigin,
  failureBy,
  hasHandle,
  type MoveTable,
  note,
  review,
  reviewFound,
  track,
  tracked,
  trackNamed,
  visibleChange,
  when
} from "./MoveTable.ts"

/**
 * The effect of each fact on an exchange. A missing cell is a move that does not exist: the fact is recorded and nothing
 * changes. An exchange that the provider takes back is reviewed by a person.
 */
export const exchangeMoves: MoveTable<ExchangeStatus, Exchange> = {
  pending: {
    Accepted: track,
    StillPending: track,
    Unknown: trackNamed,
    Succeeded: when(isFarFromQuote, review, succeed),
    Refused: fail,
    // A handle from the provider proves that the exchange was sent, even where a later query does not find it.
    NotSent: when(hasHandle, note, fail),
    Returned: review
  },
  successful: { Returned: review, Refused: review, Succeeded: when(isFarFromQuote, review, note) },
  failed: {
    Succeeded: reviewFound,
    Accepted: when(failedUnsurely, reviewFound, note),
    StillPending: when(failedUnsurely, reviewFound, note)
  }
}

/**
 * How far the yield of an exchange, or of a payout across currencies, may be from its quote, in hundredths of a percent. A quote
 * is bound to a token of its own, so that only rounding and small moves of the market can make a difference. One percent is more
 * than both, and less than any mistake of a digit, a unit or a currency pair.
 */
const APART_AT_MOST = 100n
const WHOLE = 10_000n
/** The provider and the gateway may each have cut off one unit. */
const FLOORS = 2n

function succeed(exchange: Exchange, fact: FactOf<"Succeeded">, { at }: FactOrigin): Decision<Exchange> {
  const brought = broughtBy(exchange, fact)
  const next: Exchange = {
    ...tracked(exchange, fact.providerReference),
    ...visibleChange(exchange, at),
    destinationAmount: brought.amount,
    rawDestinationAmount: brought.raw,
    status: "successful",
    needsReview: false,
    completedAt: at
  }
  const entry = exchanged(next.currency, next.amount, next.destinationCurrency, next.destinationAmount)
  return { next, entry, event: "fx.successful" }
}

function fail(exchange: Exchange, fact: FactOf<"Refused" | "NotSent">, origin: FactOrigin): Decision<Exchange> {
  const { at } = origin
  const next: Exchange = {
    ...exchange,
    ...visibleChange(exchange, at),
    status: "failed",
    needsReview: false,
    completedAt: at,
    ...failureBy(fact, origin)
  }
  return { next, entry: release(exchange.currency, exchange.amount), event: "fx.failed" }
}

/**
 * The booked amount is what the exchange yielded, even where it differs from the quote: the shared wallet received that amount,
 * and the tenant's claim on it must be neither more nor less. Without a figure from the provider, the quoted amount is booked.
 */
const broughtBy = (exchange: Exchange, { exchanged }: FactOf<"Succeeded">) => {
  const { destinationAmount, destinationCurrency, rawDestinationAmount } = exchange
  return exchanged ?? { amount: destinationAmount, currency: destinationCurrency, raw: rawDestinationAmount }
}

/** A different source amount or currency, an amount of zero, or a figure far from the quote is never booked. */
function isFarFromQuote(exchange: Exchange, fact: FactOf<"Succeeded">): boolean {
  const isOtherSource =
    (fact.amount !== null && fact.amount !== exchange.amount) || (fact.currency !== null && fact.currency !== exchange.currency)
  const { amount, currency } = broughtBy(exchange, fact)
  return (
    isOtherSource || currency !== exchange.destinationCurrency || amount === ZERO || isFar(amount, exchange.destinationAmount)
  )
}

export const isFar = (brought: MinorUnits, quoted: MinorUnits): boolean => {
  const apart = brought > quoted ? brought - quoted : quoted - brought
  return apart > FLOORS && apart * WHOLE > quoted * APART_AT_MOST
}
