import { Effect, Schema } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import { consoleActor, type OperatorName } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { MessageError } from "../../runtime/MessageError.ts"
import type { AuditBy, AuditEntry } from "../ports/AuditLog.ts"
import { type NewProposal, Proposals } from "../ports/Proposals.ts"
import { RandomSource } from "../ports/RandomSource.ts"

/** The person who acts in the console, and the time. */
export interface Acting {
  readonly by: OperatorName
  readonly at: Instant
}

/** Why nothing was decided: one line for the operator. */
export class NotDecided extends MessageError("NotDecided") {}

/** A proposal to open, its audit row, and the error when the same proposal is open already. */
interface Proposed extends Pick<NewProposal, "kind" | "subject" | "details"> {
  readonly audit: Pick<AuditEntry, "action" | "details">
  readonly waitsAlready: string
}

/** Opens a proposal for a second person, and returns its id. */
export const makeProposing = Effect.gen(function* () {
  const proposals = yield* Proposals
  const randomSource = yield* RandomSource
  return Effect.fnUntraced(function* ({ audit, waitsAlready, ...proposal }: Proposed, { at, by }: Acting) {
    const id = yield* randomSource.reference
    const row = { at, actor: consoleActor(by), subject: proposal.subject, ...audit }
    const opened = yield* proposals.open({ ...proposal, id, proposedBy: by, proposedAt: at }, row)
    return opened ? id : yield* new NotDecided(waitsAlready)
  })
})

/** Parses the details of a proposal. Any other form is a defect. */
export const writtenIn = <A>(schema: Schema.ConstraintDecoder<A>) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (details: unknown): Effect.Effect<A> => Effect.catchTag(decode(details), "SchemaError", Effect.die)
}

/** The subject of a proposal and the people behind it, for each of its audit rows. The row's actor is the person who acted. */
export const peopleOf = ({ decidedBy, proposedBy, subject }: Proposal): Readonly<Record<string, string>> => ({
  about: subject,
  proposed_by: proposedBy,
  ...(decidedBy === null ? {} : { approved_by: decidedBy })
})

/** Both people and the proposal's id, for the audit row of what is done. */
export const auditBy = (proposal: Proposal, { at, by }: Acting): AuditBy => ({
  at,
  actor: consoleActor(by),
  details: { ...peopleOf(proposal), proposal: proposal.id }
})
