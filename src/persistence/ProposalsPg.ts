import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { Proposal } from "../domain/Proposal.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { type NewProposal, type ProposalDecision, Proposals } from "../services/ports/Proposals.ts"
import { Vault } from "../services/ports/Vault.ts"
import { auditTrail } from "./AuditTrail.ts"
import { Moment, rowsOf } from "./Rows.ts"

const proposals = rowsOf(
  Schema.Struct({
    ...Proposal.fields,
    details: Schema.fromJsonString(Proposal.fields.details),
    proposedAt: Moment,
    decidedAt: Schema.NullOr(Moment)
  })
)

/** Proposals on PostgreSQL. It owns console_proposals and reads audit_log. The table's constraint `two_people` holds whatever is sent. */
export const ProposalsPg = Layer.effect(
  Proposals,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trail = auditTrail(sql, (yield* Vault).hash)
    const columns = sql.literal(
      `id, kind, subject, details, proposed_by AS "proposedBy", proposed_at AS "proposedAt", status, decided_by AS "decidedBy", decided_at AS "decidedAt", note`
    )

    const open = Effect.fn("Proposals.open")(function* (proposal: NewProposal, audit: AuditEntry) {
      const { details, id, kind, proposedAt, proposedBy, subject } = proposal
      const opened = yield* trail.with(
        sql`INSERT INTO console_proposals (id, kind, subject, details, proposed_by, proposed_at, status)
          VALUES (${id}, ${kind}, ${subject}, ${JSON.stringify(details)}, ${proposedBy}, ${iso(proposedAt)}::timestamptz, 'open')
          ON CONFLICT DO NOTHING RETURNING id`,
        audit
      )
      return opened.length === 1
    })

    const list = Effect.fn("Proposals.list")((limit: number) =>
      proposals(sql`SELECT ${columns} FROM console_proposals
        ORDER BY status IN ('open', 'approved') DESC, proposed_at DESC, id LIMIT ${limit}`)
    )

    const find = Effect.fn("Proposals.find")((id: Reference) =>
      Effect.map(proposals(sql`SELECT ${columns} FROM console_proposals WHERE id = ${id}`), ([found]) =>
        Option.fromUndefinedOr(found)
      )
    )

    const decide = Effect.fn("Proposals.decide")(function* ({ at, by, id, note, status }: ProposalDecision, audit: AuditEntry) {
      const rows = yield* trail.with(
        sql`UPDATE console_proposals
          SET status = ${status}, decided_by = ${by}, decided_at = ${iso(at)}::timestamptz, note = ${note}
          WHERE id = ${id} AND status = 'open' AND (proposed_by = ${by}) = ${status === "withdrawn"} RETURNING id`,
        audit
      )
      return rows.length === 0 ? Option.none() : yield* find(id)
    })

    const isCarriedOut = Effect.fn("Proposals.isCarriedOut")(function* ({ id, kind, subject }: Proposal) {
      const rows = yield* Effect.orDie(sql`SELECT FROM audit_log
        WHERE subject = ${subject} AND action = ${kind} AND audit_details(details)->>'proposal' = ${id} LIMIT 1`)
      return rows.length === 1
    })

    const finish = Effect.fn("Proposals.finish")((id: Reference) =>
      Effect.asVoid(Effect.orDie(sql`UPDATE console_proposals SET status = 'done' WHERE id = ${id} AND status = 'approved'`))
    )

    const fail = Effect.fn("Proposals.fail")((id: Reference, why: string, audit: AuditEntry) =>
      Effect.asVoid(
        trail.with(
          sql`UPDATE console_proposals SET status = 'failed', note = ${why} WHERE id = ${id} AND status = 'approved' RETURNING id`,
          audit
        )
      )
    )

    return Proposals.of({ open, list, find, decide, isCarriedOut, finish, fail })
  })
)
