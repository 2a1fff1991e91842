import { flagged } from "./Contradiction.ts"
import { type Decision, unchanged } from "./Decision.ts"
import type { Actor, Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import type { FailedBy, Payment } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

// The parts of the move tables PayoutMoves, CollectionMoves and ExchangeMoves. `Moves` reads these, and nothing else decides.

type FactName = Fact["_tag"]
type Facts = { readonly [F in FactName]: Extract<Fact, { readonly _tag: F }> }
export type FactOf<F extends FactName> = Facts[F]

/** When a fact became known, and who brought it. */
export interface FactOrigin {
  readonly at: Instant
  readonly actor: Actor
}

/** The effect of a fact on a record: the next record, the entry to book, the event to send. */
export type Move<R, X> = (record: R, fact: X, origin: FactOrigin) => Decision<R>

/** The facts that have an effect on a record of one status. A missing cell is a move that does not exist. */
export type Row<R> = { readonly [F in FactName]?: Move<R, Facts[F]> }

/** The effect of each fact on a record of each status (contract MOVE-1). */
export type MoveTable<S extends string, R> = { readonly [Status in S]: Row<R> }

/** One move where the condition holds for the record and the fact, another one where it does not. */
export const when =
  <R, X>(
    holds: (record: NoInfer<R>, fact: NoInfer<X>, origin: FactOrigin) => boolean,
    move: Move<R, X>,
    otherwise: Move<R, X>
  ): Move<R, X> =>
  (record, fact, origin) =>
    holds(record, fact, origin) ? move(record, fact, origin) : otherwise(record, fact, origin)

/** The cell of a fact. Where there is none the fact is only recorded, which makes a repeated or late fact harmless. */
export const moveIn = <R, F extends FactName>(row: Row<R>, tag: F): Move<R, Facts[F]> => row[tag] ?? note

// Moves and conditions that several tables share.

/** The fact is recorded in the history, and nothing else changes. */
export const note = <R>(record: R): Decision<R> => unchanged(record)

/** A person has to look. */
export const review = <R extends Transaction>(record: R, fact: Fact, { at }: FactOrigin): Decision<R> => flagged(record, fact, at)

/** The provider has another request under this reference: a person has to rule on this record. */
export const mismatch = <R extends Transaction>(record: R, fact: Fact, { at }: FactOrigin): Decision<R> => {
  const { next } = flagged(record, fact, at)
  return unchanged({ ...next, ofAnother: true })
}

export const track = <R extends Transaction>(record: R, fact: { readonly providerReference: string | null }): Decision<R> =>
  unchanged(tracked(record, fact.providerReference))

/** Stores the provider's reference, where nothing else in the answer can be believed. */
export const trackNamed = <R extends Transaction>(record: R, { providerReference = null }: FactOf<"Unknown">): Decision<R> =>
  unchanged(tracked(record, providerReference))

/** The provider accepted it: it returned a handle. */
export const hasHandle = ({ providerReference }: Transaction): boolean => providerReference !== null

export const tracked = <R extends Transaction>(record: R, providerReference: string | null): R =>
  providerReference === null ? record : { ...record, providerReference }

export const atNextProvider = ({ account, provider }: FactOf<"Rerouted">) => ({
  provider,
  ...(account === undefined ? {} : { account })
})

/** The clocks of nodes differ by less. A record with a later moment was written by a node whose clock was wrong. */
const CLOCKS_MS = 600_000

/** The moment of a record's next step: never before the previous one, even where a node's clock is behind (contract FLOAT-12). */
export const momentAfter = ({ updatedAt }: Pick<Transaction, "updatedAt">, now: Instant): Instant =>
  updatedAt - now < CLOCKS_MS ? Math.max(now, updatedAt) : now

/** A change that the tenant sees. It restarts the count of the provider's answers. */
export const visibleChange = ({ version }: Pick<Transaction, "version">, at: Instant) => ({
  version: version + 1,
  updatedAt: at,
  asked: 0,
  notFound: 0
})

/** Only the request that would have sent it knows that nothing left; a poll knows only that the provider finds nothing. */
export const failureBy = (
  fact: FactOf<"Refused" | "NotSent">,
  { actor }: FactOrigin
): { readonly failure: Payment["failure"]; readonly failedBy: FailedBy } =>
  fact._tag === "Refused"
    ? { failure: fact.failure, failedBy: "provider" }
    : { failure: actor === "request" ? neverSent : notFound, failedBy: "gateway" }

const neverSent = { code: "unknown", message: "It never left the gateway: nothing was sent to the provider." } as const
const notFound = { code: "unknown", message: "The provider was asked again and again, and does not have it." } as const

/** The provider has a transaction that was closed as never sent: a person has to look, and the record no longer says so. */
export const reviewFound = <R extends Transaction>(record: R, fact: Fact, { at }: FactOrigin): Decision<R> =>
  flagged(record, fact, at, foundAfterAll(record))

export const foundAfterAll = <R extends Transaction>(record: R): R =>
  record.failedBy === "gateway" && record.failure?.message !== found.message ? { ...record, failure: found } : record
const found = { code: "unknown", message: "The provider has it after all: what became of it is being established." } as const
