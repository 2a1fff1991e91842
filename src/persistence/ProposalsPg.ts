import { Effect, Layer, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { Proposal } from "../domain/Proposal.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import {
  type NewProposal,
  type NotCarriedOut,
  type ProposalDecision,
  type ProposalFilter,
  Proposals
} from "../services/ports/Proposals.ts"
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

/** Proposals on PostgreSQL. It owns console_proposals, whose row is locked before anything that is done for it. The table's constraint `two_people` holds whatever is sent. */
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

    const list = Effect.fn("Proposals.list")(({ about, kinds }: ProposalFilter, limit: number) =>
      proposals(sql`SELECT ${columns} FROM console_proposals
        WHERE kind = ANY (${kinds}) ${about === null ? sql`` : sql`AND (subject = ${about} OR starts_with(subject, ${`${about}/`}))`}
        ORDER BY status IN ('open', 'approved') DESC, CASE WHEN status IN ('open', 'approved') THEN proposed_at END, proposed_at DESC, id
        LIMIT ${limit}`)
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

    const carryOut = Effect.fn("Proposals.carryOut")(
      function* <A>(id: Reference, act: Effect.Effect<A, NotCarriedOut>, failure: AuditEntry) {
        const held = yield* sql`SELECT FROM console_proposals WHERE id = ${id} AND status = 'approved' FOR UPDATE`
        if (held.length === 0) return Option.none<Result.Result<A, NotCarriedOut>>()
        const result = yield* Effect.result(act)
        if (Result.isSuccess(result)) {
          yield* sql`UPDATE console_proposals SET status = 'done' WHERE id = ${id}`
        } else {
          const why = result.failure.message
          yield* sql`UPDATE console_proposals SET status = 'failed', note = ${why} WHERE id = ${id}`
          yield* trail.write({ ...failure, details: { ...failure.details, why } })
        }
        return Option.some(result)
      },
      sql.withTransaction,
      Effect.orDie
    )

    return Proposals.of({ open, list, find, decide, carryOut })
  })
)
