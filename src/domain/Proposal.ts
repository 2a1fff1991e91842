import { Schema } from "effect"
import { Reference } from "./Ids.ts"
import { Instant } from "./Instant.ts"
import { OperatorName } from "./Operator.ts"

/** What needs two people. */
export const ProposalKind = Schema.Literals(["review resolve"])
export type ProposalKind = typeof ProposalKind.Type

/** Open: it waits. Approved: another person said yes, and it is being carried out. Everything else is over. */
export const ProposalStatus = Schema.Literals(["open", "approved", "done", "failed", "rejected", "withdrawn"])

/** What one person of the console proposed, and what became of it. */
export const Proposal = Schema.Struct({
  id: Reference,
  kind: ProposalKind,
  /** A transaction's reference. */
  subject: Schema.String,
  /** As the audit log has them: never a secret, never a full number. */
  details: Schema.Record(Schema.String, Schema.String),
  proposedBy: OperatorName,
  proposedAt: Instant,
  status: ProposalStatus,
  decidedBy: Schema.NullOr(OperatorName),
  decidedAt: Schema.NullOr(Instant),
  /** Why it was rejected, or why it could not be carried out. */
  note: Schema.String
})
export type Proposal = typeof Proposal.Type
