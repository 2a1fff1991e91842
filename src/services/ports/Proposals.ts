import { Context, type Effect, type Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { OperatorName } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import type { AuditEntry } from "./AuditLog.ts"

export type NewProposal = Pick<Proposal, "id" | "kind" | "subject" | "details" | "proposedBy" | "proposedAt">

export interface ProposalDecision {
  readonly id: Reference
  readonly status: "approved" | "rejected" | "withdrawn"
  readonly by: OperatorName
  readonly at: Instant
  readonly note: string
}

/**
 * What waits for a second person. The database itself refuses whoever approves or rejects an own proposal, or withdraws somebody else's; each is
 * decided once. Every change writes its audit row in the same commit.
 */
export class Proposals extends Context.Service<
  Proposals,
  {
    /** False where a ruling on the same transaction waits already; nothing is written then. */
    readonly open: (proposal: NewProposal, audit: AuditEntry) => Effect.Effect<boolean>
    /** What waits for a person first, then the newest; at most `limit`. */
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<Proposal>>
    readonly find: (id: Reference) => Effect.Effect<Option.Option<Proposal>>
    /** As it then is; none where it is not open, or where this person may not decide it. */
    readonly decide: (decision: ProposalDecision, audit: AuditEntry) => Effect.Effect<Option.Option<Proposal>>
    /** Whether a ruling that names this proposal in its audit row was committed: what is known of an approval whose process died. */
    readonly isCarriedOut: (proposal: Proposal) => Effect.Effect<boolean>
    /** An approved one was carried out; its ruling has the audit row. Nothing happens to any other, nor the second time. */
    readonly finish: (id: Reference) => Effect.Effect<void>
    /** An approved one cannot be carried out, and why. Nothing happens to any other, nor the second time. */
    readonly fail: (id: Reference, why: string, audit: AuditEntry) => Effect.Effect<void>
  }
>()("gateway/services/ports/Proposals") {}
