import { type Decision, unchanged } from "./Decision.ts"
import type { LedgerRecord } from "./Exchange.ts"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { isTerminal } from "./Transaction.ts"

// A word that does not fit a record brings it to a person, once. What the person knew when the record was ruled on brings it back no more,
// however often the provider repeats it; a word that is new since then does.

/** Words that are remembered of one record. An honest provider has four at most. */
const WORDS_AT_MOST = 16

/** What the provider says of the money, as far as two answers can differ in it; null for what says nothing of it. */
export const wordOf = (fact: Fact): string | null => {
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
      return `returned ${fact.amount} ${fact.currency ?? "?"}, fee ${fact.fee}`
    default:
      return null
  }
}

/** The record with what was just said of it. What closed it or made it another kind of ending begins anew, and leaves no ruling in force. */
export const remembering = <R extends LedgerRecord>(before: R, next: R, fact: Fact): R => {
  if (next.status !== before.status && isTerminal(next)) {
    return before.said === undefined && before.ruling === undefined ? next : { ...next, said: [], ruling: null }
  }
  const word = wordOf(fact)
  const said = next.said ?? []
  return word === null || said.includes(word) ? next : { ...next, said: [...said, word].slice(-WORDS_AT_MOST) }
}

/** What a person's ruling leaves: all that was said until then is known to it. */
export const ruledOn = <R extends LedgerRecord>({ ruling, said }: R, outcome: "successful" | "failed") => ({
  said: [],
  ruling: { outcome, known: [...new Set([...(ruling?.known ?? []), ...(said ?? [])])].slice(-WORDS_AT_MOST) }
})

/** A person has to look, unless this very word was known when the record was ruled on. `shown` is the record with what the tenant sees of it. */
export const reviewed = <R extends LedgerRecord>(record: R, fact: Fact, at: Instant, shown: R = record): Decision<R> => {
  const word = wordOf(fact)
  if (word !== null && record.ruling?.known.includes(word) === true) return unchanged(record)
  return record.needsReview && shown === record
    ? unchanged(record)
    : unchanged({ ...shown, needsReview: true, version: record.version + 1, updatedAt: at })
}

/** Its float was given back, or its payer let go, without the provider's word: whoever has it under way after all contradicts that. */
export const isFailedUnsaid = ({ failedBy }: LedgerRecord): boolean => failedBy !== "provider"

/** A person ruled that it came to nothing, or that all of it came back. */
export const isRuledFailed = ({ ruling }: LedgerRecord): boolean => ruling?.outcome === "failed"

/** Figures other than the record's. What is not said contradicts nothing. */
export const differs = (fact: Extract<Fact, { _tag: "Succeeded" }>, amount: bigint, currency: string): boolean =>
  (fact.amount !== null && fact.amount !== amount) || (fact.currency !== null && fact.currency !== currency)
