import { Data } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import { consoleActor, type OperatorName } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import type { AuditBy } from "../ports/AuditLog.ts"

/** The person who acts in the console, and the time. */
export interface Acting {
  readonly by: OperatorName
  readonly at: Instant
}

/** Why nothing was decided: one line for the person. */
export class NotDecided extends Data.TaggedError("NotDecided")<{ readonly message: string }> {}

/** The subject of a proposal and the people behind it, for each of its audit rows; the row's actor is the person who acted. */
export const peopleOf = ({ decidedBy, proposedBy, subject }: Proposal): Readonly<Record<string, string>> => ({
  about: subject,
  proposed_by: proposedBy,
  ...(decidedBy === null ? {} : { approved_by: decidedBy })
})

/** Both people, and the proposal, in the audit row of what is done. */
export const auditBy = (proposal: Proposal, { at, by }: Acting): AuditBy => ({
  at,
  actor: consoleActor(by),
  details: { ...peopleOf(proposal), proposal: proposal.id }
})
