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

/** The kinds of proposals to list; null: every kind. */
export interface ProposalFilter {
  readonly kinds: ReadonlyArray<ProposalKind>
  /** The subject itself, or what it begins with before a slash: a tenant. */
  readonly about: string | null
}

/** Why what was approved cannot be done: one line for the person. */
export class NotCarriedOut extends MessageError("NotCarriedOut") {}

/**
 * The proposals that wait for a second person. The database itself refuses a person who approves or rejects an own proposal, or withdraws
 * another person's; each is decided once. Every change writes its audit row in the same commit.
 */
export class Proposals extends Context.Service<
  Proposals,
  {
    /** False where a proposal about the same waits already; nothing is written then. */
    readonly open: (proposal: NewProposal, audit: AuditEntry) => Effect.Effect<boolean>
    /**
     * The open proposals first, the oldest first, so that new ones cannot push one off the list; then the newest closed ones. At most
     * `limit`.
     */
    readonly list: (filter: ProposalFilter, limit: number) => Effect.Effect<ReadonlyArray<Proposal>>
    /** None as well where the account that proposed it is gone, and another has its name. */
    readonly find: (id: Reference) => Effect.Effect<Option.Option<Proposal>>
    /** As it then is; none where it is not open, or where this person may not decide it. */
    readonly decide: (decision: ProposalDecision, audit: AuditEntry) => Effect.Effect<Option.Option<Proposal>>
    /**
     * Does one of many things that were approved together, in one commit under the proposal's lock. None, and nothing is done, where it is not
     * approved, or not any more, or where no gateway wrote what was proposed and who approved it.
     */
    readonly whileApproved: <A>(id: Reference, act: Effect.Effect<A>) => Effect.Effect<Option.Option<A>>
    /** Ends as done, with that note, what was approved and done by `whileApproved`. False, and no row, where it is over already. */
    readonly finish: (id: Reference, note: string, audit: AuditEntry) => Effect.Effect<boolean>
    /**
     * Does what was approved, and ends the proposal in the same commit, under its lock: done, or failed with the reason and the audit row `failure`,
     * to which the reason is added. So it is done once, however many people press the button and whenever a process dies: until the commit it
     * stays approved, and nothing was done. None, and nothing is done, where it is not approved, or not any more.
     */
    readonly carryOut: <A>(
      id: Reference,
      act: Effect.Effect<A, NotCarriedOut>,
      failure: AuditEntry
    ) => Effect.Effect<Option.Option<Result.Result<A, NotCarriedOut>>>
    /** Ends what waits and has expired by then, at most `limit` of it, each with its audit row; answers how many. A kind that is unknown here is left. */
    readonly expire: (at: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Proposals") {}
