import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Acknowledgements } from "../../services/ports/Acknowledgements.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { makeReferenceOwner } from "../cluster/ReferenceOwner.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

const written = rowsOf(Schema.Struct({ inReview: Schema.Boolean, until: Moment }))

/** Acknowledgements on PostgreSQL. They stand in open_work, and leave with its row; the lock of the transaction comes first. */
export const AcknowledgementsPg = Layer.effect(
  Acknowledgements,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ownerOf = yield* makeReferenceOwner
    const trail = auditTrail(sql, (yield* Vault).hash)

    const acknowledge = Effect.fn("Acknowledgements.acknowledge")(function* (
      reference: Reference,
      until: Instant,
      audit: AuditEntry
    ) {
      const { of, within } = yield* ownerOf(reference)
      const change = written(sql`
          WITH locked AS MATERIALIZED (SELECT app_id, reference FROM transactions WHERE reference = ${reference} ${of("app_id")} FOR UPDATE)
          UPDATE open_work w SET acknowledged_until = ${iso(until)}::timestamptz, acknowledged_in_review = w.needs_review
          FROM locked l WHERE w.app_id = l.app_id AND w.reference = l.reference ${of("w.app_id")} AND (w.is_open OR w.needs_review)
          RETURNING w.needs_review AS "inReview", w.acknowledged_until AS until`)
      const [row] = yield* Effect.orDie(within(trail.with(change, audit)))
      return Option.fromUndefinedOr(row)
    })

    const standing = Effect.fn("Acknowledgements.standing")(function* (reference: Reference, at: Instant) {
      const { of, within } = yield* ownerOf(reference)
      const read = sql`
        SELECT w.needs_review AS "inReview", w.acknowledged_until AS until
        FROM transactions t JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference
        WHERE t.reference = ${reference} ${of("t.app_id")} AND (w.is_open OR w.needs_review)
          AND w.acknowledged_in_review = w.needs_review AND w.acknowledged_until > ${iso(at)}::timestamptz`
      const [row] = yield* written(within(read))
      return Option.fromUndefinedOr(row)
    })

    return Acknowledgements.of({ acknowledge, standing })
  })
)
