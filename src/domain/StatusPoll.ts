import type { LedgerRecord } from "./Exchange.ts"
import type { Actor, Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { isTerminal } from "./Transaction.ts"

/** A question that a provider was asked about a record, and what its answer may prove. */
export interface StatusPoll {
  readonly provider: string
  readonly actor: Actor
  /** Before it was asked: what became known meanwhile is older than the answer, or of another time. */
  readonly polledAt: Instant
  /** The record as it was read for the question: how often it had been asked for, and which of its states that was. */
  readonly pollCount: number
  readonly version: number
  /** "Not found" means something here: the provider documents that it finds what it was sent by our reference. */
  readonly isDocumented: boolean
  /** How long after sending "not found" proves nothing, and how often in a row it has to be said. */
  readonly graceMs: number
  readonly notFoundAtLeast: number
}

/**
 * The schedule's own next question about this very state of the record. The same answer once more (its commit was not heard of, or another
 * node asked, too) is none, and neither is one about what the record was before. What a request or a callback asked is not counted either:
 * anybody could ask as fast as he likes, and "not found" would prove something too soon.
 */
const isNext = (record: LedgerRecord, { actor, pollCount, version }: StatusPoll): boolean =>
  actor === "reconciler" && record.asked === pollCount && record.version === version

/**
 * What an answer proves of the record as it is now. "Not found" counts as never sent only where the provider documents the query by our
 * reference, after the grace and often enough in a row. A collection whose window passed expires once an authenticated answer says neither
 * success nor live; no timer fails anything by itself.
 */
export const provenFact = (record: LedgerRecord, answer: Fact, question: StatusPoll): Fact => {
  if (answer._tag !== "NotFound" || isTerminal(record)) return answer
  const { polledAt, graceMs, isDocumented, notFoundAtLeast } = question
  const passed = record.kind === "collection" && record.expiresAt !== null && polledAt >= record.expiresAt
  if (passed) return { _tag: "Expired", note: "the window passed and the provider knows no such charge" }
  const often = isNext(record, question) && record.notFound + 1 >= notFoundAtLeast
  // A charge with a code, and what went to another provider, was sent later than it was made: the record changed when it was.
  const enough = often && polledAt - record.updatedAt >= graceMs
  return isDocumented && enough ? { _tag: "NotSent", note: "the provider does not know it: it was never sent" } : answer
}

/** How often the schedule asked, and how often in a row the provider knew nothing; each question counts once, whatever becomes of its answer. */
export const countPoll = (before: LedgerRecord, next: LedgerRecord, fact: Fact, question: StatusPoll | null): LedgerRecord => {
  // Both start again when the status or the provider changes.
  if (next.status !== before.status || next.provider !== before.provider) return next
  const one = question !== null && isNext(before, question) ? 1 : 0
  const notFound = fact._tag === "NotFound" ? before.notFound + one : fact._tag === "StillPending" ? 0 : before.notFound
  return { ...next, asked: before.asked + one, notFound }
}
