import { Schema } from "effect"
import type { Actor, Fact } from "./Fact.ts"
import { finalOutcome } from "./FinalOutcome.ts"
import type { Instant } from "./Instant.ts"
import type { FailureCode } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

/**
 * The result of a payment at a provider. The first three describe its sending, once for each provider that it was sent to:
 * answered, no answer that can be believed, or never left for it. The others describe its end: successful, failed, or failed
 * for a reason of the customer. These words are stored: do not change them.
 */
export const RouteResult = Schema.Literals(["answered", "silent", "not_sent", "successful", "failed", "customer"])
export type RouteResult = typeof RouteResult.Type

/** Where and how a payment ran, in a small fixed set of words. */
export interface RouteOutcome {
  readonly direction: "payout" | "collection"
  /** As "UG/UGX/momo". */
  readonly corridor: string
  /** Empty where there is none. */
  readonly network: string
  readonly provider: string
  readonly result: RouteResult
  /** From its creation to its end; null for a sending. */
  readonly tookMs: number | null
}

/**
 * Failures for which another provider would have been no better: the payer or the recipient is the reason. A payer who did not
 * answer in time is not included: a prompt that never arrived looks the same.
 */
const customers: ReadonlySet<FailureCode | "none"> = new Set<FailureCode>([
  "insufficient_funds",
  "declined_by_payer",
  "payer_not_found",
  "invalid_destination",
  "limit_exceeded"
])

/** The facts of the request that describe the sending. */
const sendings: { readonly [Tag in Fact["_tag"]]?: "answered" | "silent" | "not_sent" } = {
  Accepted: "answered",
  NeedsRedirect: "answered",
  Succeeded: "answered",
  Refused: "answered",
  StillPending: "answered",
  Unknown: "silent",
  NotSent: "not_sent",
  Rerouted: "not_sent"
}

const sendingOf = (fact: string): "answered" | "silent" | "not_sent" | undefined =>
  Object.entries(sendings).find(([tag]) => tag === fact)?.[1]

interface WrittenFact {
  readonly before: Transaction
  readonly next: Transaction
  readonly line: { readonly actor: Actor; readonly fact: string; readonly at: Instant }
}

/** The results that a fact gives: of a payment's sending, of its end, or of both; none for an exchange. */
export const routeOutcomes = ({ before, line, next }: WrittenFact): ReadonlyArray<RouteOutcome> => {
  if (before.kind === "exchange" || next.kind === "exchange") return []
  const { country, currency, direction, method } = before.corridor
  const route = { direction, corridor: `${country}/${currency}/${method}`, network: before.network ?? "" } as const
  // A payment that never left for one provider, and was moved to another one, counts at the first.
  const sent = line.actor === "request" ? sendingOf(line.fact) : undefined
  const sending = sent === undefined ? [] : [{ ...route, provider: before.provider, result: sent, tookMs: null }]
  const end = finalOutcome(before, next)
  if (end === null || sent === "not_sent") return sending
  const result = end.status === "successful" ? "successful" : customers.has(end.failure) ? "customer" : "failed"
  const tookMs = Math.max(0, (next.completedAt ?? line.at) - next.createdAt)
  return [...sending, { ...route, provider: next.provider, result, tookMs }]
}
