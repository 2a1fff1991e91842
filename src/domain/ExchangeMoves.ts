import { failedUnreported, flagged, withReport } from "./Contradiction.ts"
import { type Decision, unchanged } from "./Decision.ts"
import type { Exchange, ExchangeStatus } from "./Exchange.ts"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { exchange as exchanged, release } from "./Ledger.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import { failureBy } from "./Moves.ts"

type FactName = Fact["_tag"]
type Move = "track" | "succeed" | "fail" | "review" | "compare" | "doubt"

// As in Moves: a missing cell is a move that does not exist. A provider that takes an exchange back is a person's to look at.
const exchangeMoves: { readonly [S in ExchangeStatus]: { readonly [F in FactName]?: Move } } = {
  pending: {
    Accepted: "track",
    StillPending: "track",
    Succeeded: "succeed",
    Refused: "fail",
    NotSent: "fail",
    Returned: "review"
  },
  successful: { Returned: "review", Refused: "review", Succeeded: "compare" },
  failed: { Succeeded: "review", Accepted: "doubt", StillPending: "doubt" }
}

/**
 * How far what an exchange brought may lie from its quote, in hundredths of a percent. A quote is for the exchange's own token and lives
 * for half a minute: what may differ is where a floor falls, and the little that a market moves meanwhile. One percent is more than
 * either, and less than any mistake of a digit, a unit or a pair of currencies.
 */
const APART_AT_MOST = 100n
const WHOLE = 10_000n
/** The provider and we may each have cut off a unit. */
const FLOORS = 2n

/** What one fact does to one exchange. */
export const decideExchange = (exchange: Exchange, fact: Fact, at: Instant): Decision<Exchange> => {
  const decision = decided(exchange, fact, at)
  return { ...decision, next: withReport(exchange, decision.next, fact) }
}

const decided = (exchange: Exchange, fact: Fact, at: Instant): Decision<Exchange> => {
  const move = exchangeMoves[exchange.status][fact._tag]
  const changed = { version: exchange.version + 1, updatedAt: at, asked: 0, notFound: 0 }
  if (move === "track" && "providerReference" in fact) return unchanged(tracked(exchange, fact.providerReference))
  if (move === "succeed" && fact._tag === "Succeeded") {
    const booked = bookedBy(exchange, fact)
    if (booked === undefined) return flagged(exchange, fact, at)
    const next: Exchange = {
      ...tracked(exchange, fact.providerReference),
      ...changed,
      ...booked,
      status: "successful",
      needsReview: false,
      completedAt: at
    }
    const entry = exchanged(next.currency, next.amount, next.destinationCurrency, next.destinationAmount)
    return { next, entry, event: "fx.successful" }
  }
  if (move === "fail" && !isDisproved(exchange, fact)) {
    const next: Exchange = {
      ...exchange,
      ...changed,
      status: "failed",
      needsReview: false,
      completedAt: at,
      ...failureBy(fact)
    }
    return { next, entry: release(exchange.currency, exchange.amount), event: "fx.failed" }
  }
  return isContradiction(exchange, fact, move) ? flagged(exchange, fact, at) : unchanged(exchange)
}

const isContradiction = (exchange: Exchange, fact: Fact, move: Move | undefined): boolean =>
  move === "review" ||
  (move === "doubt" && failedUnreported(exchange)) ||
  (move === "compare" && fact._tag === "Succeeded" && bookedBy(exchange, fact) === undefined)

/**
 * What is booked is what the exchange brought, even where it is not what was quoted: that is what came into the shared wallet, and the
 * tenant's claim on it must be neither more nor less. Another source, another currency, nothing at all or a figure far from the quote is
 * booked by nobody: a person looks.
 */
const bookedBy = (exchange: Exchange, { amount, currency, exchanged }: Extract<Fact, { _tag: "Succeeded" }>) => {
  const { destinationAmount, destinationCurrency, rawDestinationAmount } = exchange
  if ((amount !== null && amount !== exchange.amount) || (currency !== null && currency !== exchange.currency)) return undefined
  const brought = exchanged ?? { amount: destinationAmount, currency: destinationCurrency, raw: rawDestinationAmount }
  if (brought.currency !== destinationCurrency || brought.amount === ZERO || isFar(brought.amount, destinationAmount))
    return undefined
  return { destinationAmount: brought.amount, rawDestinationAmount: brought.raw }
}

const isFar = (brought: MinorUnits, quoted: MinorUnits): boolean => {
  const apart = brought > quoted ? brought - quoted : quoted - brought
  return apart > FLOORS && apart * WHOLE > quoted * APART_AT_MOST
}

/** What the provider gave a handle to was sent, whatever a later query does not find. */
const isDisproved = (exchange: Exchange, fact: Fact): boolean => fact._tag === "NotSent" && exchange.providerReference !== null

const tracked = (exchange: Exchange, providerReference: string | null): Exchange =>
  providerReference === null ? exchange : { ...exchange, providerReference }
