import { Context, type Effect, type Option, type Result } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { OperatorName } from "../../domain/Operator.ts"
import type { Proposal, ProposalKind } from "../../domain/Proposal.ts"
import { MessageError } from "../../runtime/MessageError.ts"
import type { AuditEntry } from "./AuditLog.ts"

export type NewProposal = Pick<Proposal, "id" | "kind" | "subject" | "details" | "proposedBy" | "proposedAt">

export interface ProposalDecision {
  readonly id: Reference
  readonly status: "approved" | "rejected" | "withdrawn"
  readonly by: OperatorName
  readonly at: Instant
  readonly note: string
}

/** Which proposals to list. `kinds` null: every kind. */
export interface ProposalFilter {
  readonly kinds: ReadonlyArray<ProposalKind>
  /** The exact subject, or a tenant: the part of the subject before a slash. */
  readonly about: string | null
}

/** Why an approved change cannot be carried out: one line for the operator. */
export class NotCarriedOut extends MessageError("NotCarriedOut") {}

/**
 * Proposals that wait for a second person. The database itself refuses a person who approves or rejects their own proposal or
 * withdraws someone else's. Each proposal is decided once. Every change writes its audit row in the same commit.
 */
export class Proposals extends Context.Service<
  Proposals,
  {
    /** False, and nothing is written, when a proposal for the same change is open already. */
    readonly open: (proposal: NewProposal, audit: AuditEntry) => Effect.Effect<boolean>
    /**
     * Open proposals first, oldest first, so that new ones cannot push one off the list; then closed ones, newest first. At
     * most `limit`.
     */
    readonly list: (filter: ProposalFilter, limit: number) => Effect.Effect<ReadonlyArray<Proposal>>
    /** None also when the account that made the proposal was removed and another account has its name. */
    readonly find: (id: Reference) => Effect.Effect<Option.Option<Proposal>>
    /** Returns the decided proposal; none when it is not open or this person may not decide it. */
    readonly decide: (decision: ProposalDecision, audit: AuditEntry) => Effect.Effect<Option.Option<Proposal>>
    /**
     * Does one of several things that were approved together, in one commit under the proposal's lock. None, and nothing is
     * done, when the proposal is not (or no longer) approved, or when no gateway wrote the proposal or its approval.
     */
    readonly whileApproved: <A>(id: Reference, act: Effect.Effect<A>) => Effect.Effect<Option.Option<A>>
    /** Ends a proposal whose parts `whileApproved` did, with this note. False, and no audit row, when it has ended already. */
    readonly finish: (id: Reference, note: string, audit: AuditEntry) => Effect.Effect<boolean>
    /**
     * Does what was approved and ends the proposal in the same commit, under its lock: as done, or as failed, with the audit
     * row `failure` and the reason added to it. It is done exactly once, however many people press the button and whenever a
     * process dies: until the commit the proposal stays approved and nothing has been done. None, and nothing is done, when the
     * proposal is not (or no longer) approved.
     */
    readonly carryOut: <A>(
      id: Reference,
      act: Effect.Effect<A, NotCarriedOut>,
      failure: AuditEntry
    ) => Effect.Effect<Option.Option<Result.Result<A, NotCarriedOut>>>
    /**
     * Ends at most `limit` open proposals that have expired by `at`, each with its audit row, and returns how many. Kinds that
     * this release does not know are left alone.
     */
    readonly expire: (at: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Proposals") {}
