import { type Decision, unchanged } from "./Decision.ts"
import type { LedgerRecord } from "./Exchange.ts"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import type { MinorUnits } from "./Money.ts"
import { isTerminal } from "./Transaction.ts"

// A word that does not fit a record brings it to a person, once. What had been said when the case was opened is known to the person who rules
// on it, and brings the record back no more, however often the provider repeats it. A word that came later, or is new since the ruling, does.

/** Words that are remembered of one record. An honest provider has four at most. */
const REPORTS_AT_MOST = 16

/** What the provider says of the money, as far as two answers can differ in it; null for what says nothing of it. */
export const reportOf = (fact: Fact): string | null => {
  switch (fact._tag) {
    case "Accepted":
    case "StillPending":
    case "NeedsRedirect":
      return "under way"
    case "Refused":
      return "failed"
    case "Succeeded": {
      const brought = fact.exchanged === undefined ? "" : `, brought ${fact.exchanged.amount} ${fact.exchanged.currency}`
      return `succeeded ${fact.amount ?? "?"} ${fact.currency ?? "?"}${brought}`
    }
    case "Returned":
      return `returned ${fact.amount} ${fact.currency ?? "?"}, fee ${fact.fee}${fact.at === null ? "" : `, at ${fact.at}`}`
    default:
      return null
  }
}

/** The record with what was just said of it. What closed it or made it another kind of ending begins anew, and leaves no ruling in force. */
export const withReport = <R extends LedgerRecord>(before: R, next: R, fact: Fact): R => {
  const word = reportOf(fact)
  if (next.status !== before.status && isTerminal(next)) {
    const isNew = before.said === undefined && before.ruling === undefined && word === null
    return isNew ? next : { ...next, said: word === null ? [] : [word], saidAtOpening: [], ruling: null }
  }
  const said = next.said ?? []
  const heard =
    word === null
      ? next
      : { ...agreedWith(next, word), ...(said.includes(word) ? {} : { said: [...said, word].slice(-REPORTS_AT_MOST) }) }
  return !before.needsReview && next.needsReview ? { ...heard, saidAtOpening: heard.said ?? [] } : heard
}

/** A provider that agrees with a ruling takes back what it said against it: should it say that again, it changed its mind. */
const agreedWith = <R extends LedgerRecord>(record: R, word: string): R => {
  const { ruling } = record
  if (ruling === undefined || ruling === null) return record
  const stands = record.status === "successful" ? ruling.outcome : "failed"
  const agreeing = agreeingWith(record, stands, null)
  return agreeing.includes(word) && ruling.known.some((known) => !agreeing.includes(known))
    ? { ...record, ruling: { ...ruling, known: ruling.known.filter((known) => agreeing.includes(known)) } }
    : record
}

/** The words that say what a person ruled; `found` is the amount that the person established, null where it is the record's. */
const agreeingWith = (
  record: LedgerRecord,
  outcome: "successful" | "failed",
  found: MinorUnits | null
): ReadonlyArray<string> => {
  if (outcome === "failed") return ["failed"]
  const succeeded = [movedBy(record, found), "?"].flatMap((amount) =>
    [record.currency, "?"].map((currency) => `succeeded ${amount} ${currency}`)
  )
  if (record.kind !== "exchange") return succeeded
  const brought = `, brought ${found ?? record.destinationAmount} ${record.destinationCurrency}`
  return succeeded.flatMap((word) => [word, `${word}${brought}`])
}

const movedBy = (record: LedgerRecord, found: MinorUnits | null): MinorUnits => {
  switch (record.kind) {
    case "payout":
      return found ?? record.principal
    case "collection":
      return found ?? record.observedAmount ?? record.amount
    case "exchange":
      return record.amount
  }
}

/**
 * What a person's ruling leaves. Known to it is what was said until the case was opened, what was known to earlier rulings, and what agrees
 * with it. What contradicts it and came later the person may not have seen: the next time that it is said, it opens the case again.
 */
export const afterRuling = (record: LedgerRecord, outcome: "successful" | "failed", found: MinorUnits | null) => {
  const agreeing = agreeingWith(record, outcome, found)
  const agreed = (record.said ?? []).filter((word) => agreeing.includes(word))
  const known = new Set([...(record.ruling?.known ?? []), ...(record.saidAtOpening ?? []), ...agreed])
  return { said: [], saidAtOpening: [], ruling: { outcome, known: [...known].slice(-REPORTS_AT_MOST) } }
}

/** A person has to look at it because nobody could say what became of it. */
export const sentToReview = <R extends LedgerRecord>(record: R, at: Instant): R => ({
  ...record,
  needsReview: true,
  saidAtOpening: record.said ?? [],
  version: record.version + 1,
  updatedAt: at
})

/** A person has to look, unless this very word was known when the record was ruled on. `shown` is the record with what the tenant sees of it. */
export const flagged = <R extends LedgerRecord>(record: R, fact: Fact, at: Instant, shown: R = record): Decision<R> => {
  const word = reportOf(fact)
  if (word !== null && record.ruling?.known.includes(word) === true) return unchanged(record)
  return record.needsReview && shown === record
    ? unchanged(record)
    : unchanged({ ...shown, needsReview: true, version: record.version + 1, updatedAt: at })
}

/** Its float was given back, or its payer let go, without the provider's word: whoever has it under way after all contradicts that. */
export const failedUnreported = ({ failedBy }: LedgerRecord): boolean => failedBy !== "provider"

/** A person ruled that it came to nothing, or that all of it came back. */
export const isRuledFailed = ({ ruling }: LedgerRecord): boolean => ruling?.outcome === "failed"

/** Figures other than the record's. What is not said contradicts nothing. */
export const differs = (fact: Extract<Fact, { _tag: "Succeeded" }>, amount: bigint, currency: string): boolean =>
  (fact.amount !== null && fact.amount !== amount) || (fact.currency !== null && fact.currency !== currency)
