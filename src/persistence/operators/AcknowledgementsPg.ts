import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Acknowledgements } from "../../services/ports/Acknowledgements.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { makeReferenceOwner } from "../cluster/ReferenceOwner.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

const written = rowsOf(Schema.Struct({ inReview: Schema.Boolean, until: Moment }))

/** Acknowledgements on PostgreSQL. They are columns of open_work and disappear with its row. The transaction's lock comes first. */
export const AcknowledgementsPg = layerOf(Acknowledgements)(function* () {
  const sql = yield* SqlClient.SqlClient
  const ownerOf = yield* makeReferenceOwner
  const trail = auditTrail(sql, (yield* Vault).hash)

  return {
    acknowledge: Effect.fn("Acknowledgements.acknowledge")(function* (reference, until, audit) {
      const { of, within } = yield* ownerOf(reference)
      const change = written(sql`
        WITH locked AS MATERIALIZED (SELECT app_id, reference FROM transactions WHERE reference = ${reference} ${of("app_id")} FOR UPDATE)
        UPDATE open_work w SET acknowledged_until = ${iso(until)}::timestamptz, acknowledged_in_review = w.needs_review
        FROM locked l WHERE w.app_id = l.app_id AND w.reference = l.reference ${of("w.app_id")} AND (w.is_open OR w.needs_review)
        RETURNING w.needs_review AS "inReview", w.acknowledged_until AS until`)
      const [row] = yield* Effect.orDie(within(trail.with(change, audit)))
      return Option.fromUndefinedOr(row)
    }),

    standing: Effect.fn("Acknowledgements.standing")(function* (reference, at) {
      const { of, within } = yield* ownerOf(reference)
      const read = sql`
      SELECT w.needs_review AS "inReview", w.acknowledged_until AS until
      FROM transactions t JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference
      WHERE t.reference = ${reference} ${of("t.app_id")} AND (w.is_open OR w.needs_review)
        AND w.acknowledged_in_review = w.needs_review AND w.acknowledged_until > ${iso(at)}::timestamptz`
      const [row] = yield* written(within(read))
      return Option.fromUndefinedOr(row)
    })
  }
})
