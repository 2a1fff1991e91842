import { personRuledFailed, reportOf, wasBooked } from "./Contradiction.ts"
import type { Fact } from "./Fact.ts"
import { iso } from "./Instant.ts"
import { toDecimal } from "./Money.ts"
import type { Transaction } from "./Transaction.ts"

/** A dispute or a refund of a collection, as a provider lists it. */
export type Clawback = Extract<Fact, { _tag: "Clawback" }>

/** The fact of a clawback, with a one-line note for the person who rules on it. */
export const clawback = (listed: Omit<Clawback, "_tag" | "note">): Clawback => {
  const { amount, answerBy, by, currency, id, reason, state } = listed
  const sum = amount === null ? `an amount in ${currency} that is not said` : `${toDecimal(amount, currency)} ${currency}`
  const parts = [
    `${by} ${id} of ${sum}`,
    ...(reason === null ? [] : [reason]),
    meaning[state],
    ...(answerBy === null || state === "taken" || state === "kept" ? [] : [`answer it by ${iso(answerBy)}`])
  ]
  return { _tag: "Clawback", ...listed, note: parts.join(": ") }
}

const meaning = {
  open: "it is open, and nothing was taken yet",
  taken: "it was taken back",
  kept: "it ended, and nothing was taken",
  unknown: "the gateway does not know this status: look at the provider whether money was taken"
} as const satisfies Record<Clawback["state"], string>

/** Whether the record has this report, or the person who ruled knew it. A known report adds no line to the history. */
export const isKnown = (record: Transaction, listed: Clawback): boolean => {
  if (record.kind !== "collection" || record.status !== "successful") return true
  if (personRuledFailed(record) && !(listed.state === "kept" && wasBooked(record, listed))) return true
  const report = reportOf(listed)
  const known = [...(record.said ?? []), ...(record.saidAtOpening ?? []), ...(record.ruling?.known ?? [])]
  return report !== null && known.includes(report)
}
