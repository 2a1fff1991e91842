import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { Reference } from "../../domain/Ids.ts"
import { nearestAmount } from "../../domain/Money.ts"
import { Collection } from "../../domain/Payment.ts"
import { REFUND_WINDOW, REFUNDABLE_MS } from "../../domain/Refund.ts"
import type { Transactions } from "../../services/ports/Transactions.ts"
import { rowsOf } from "../connection/Rows.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"
import { storedRecord } from "./StoredRecord.ts"

const sums = rowsOf(Schema.Struct({ collection: Reference, refunded: Schema.BigInt }))
const refundables = rowsOf(
  Schema.Struct({
    record: storedRecord(Collection),
    partyHash: Schema.NullOr(Schema.Uint8Array),
    refunded: Schema.BigInt,
    refunds: Schema.BigInt,
    decided: Schema.BigInt
  })
)

/** A refund counts while pending or successful, by what did not return; and failed ones in review, which may have been paid. */
const COUNTED = `CASE WHEN p.status = 'failed' AND NOT p.needs_review THEN 0 ELSE (well_formed(p.record) ->> 'principal')::bigint
  - least((well_formed(p.record) ->> 'principal')::bigint, coalesce((well_formed(p.record) -> 'returned' ->> 'amount')::bigint, 0)
    - coalesce((well_formed(p.record) -> 'returned' ->> 'fee')::bigint, 0)) END`

/** The refunds of collections, found by the member that `open_step` writes for each of them (functions/metadata.sql). */
export const refundReads = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const onTenantServer = yield* OnTenantServer
  const counted = sql.literal(COUNTED)

  const refundable: Transactions["Service"]["refundable"] = Effect.fn("Transactions.refundable")(
    function* (appId, mode, reference) {
      const read = sql`SELECT t.record, t.party_hash AS "partyHash",
s.refunded, s.refunds,
          coalesce((SELECT c.used FROM counters c
            WHERE c.starts_at = t.created_at + ${REFUNDABLE_MS / 1_000}::int * interval '1 second'
              AND c.app_id = ${appId} AND c.mode = ${mode} AND c.name = ${REFUND_WINDOW} AND c.subject = ${reference}), 0) AS decided
        FROM transactions t CROSS JOIN LATERAL (
          SELECT coalesce(sum(${counted}), 0)::bigint AS refunded, count(*) AS refunds FROM metadata_members m
            JOIN transactions p ON p.app_id = ${appId} AND p.reference = m.reference AND p.mode = ${mode} AND p.kind = 'payout'
            WHERE m.app_id = ${appId} AND m.mode = ${mode} AND m.member = metadata_member('', ${reference})
              AND well_formed(p.record) ->> 'refundOf' = ${reference}) s
        WHERE t.app_id = ${appId} AND t.reference = ${reference} AND t.mode = ${mode} AND t.kind = 'collection'`
      const [row] = yield* refundables(onTenantServer(appId)(read))
      if (row === undefined) return Option.none()
      const { record: collection, ...rest } = row
      return Option.some({ collection, ...rest })
    }
  )

  const refunded: Transactions["Service"]["refunded"] = Effect.fn("Transactions.refunded")(function* (
    { appId, mode },
    references
  ) {
    const read = sql`SELECT one.collection, s.refunded FROM unnest(${references}::text[]) AS one(collection)
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(${counted}), 0)::bigint AS refunded FROM metadata_members m
            JOIN transactions p ON p.app_id = ${appId} AND p.reference = m.reference AND p.mode = ${mode} AND p.kind = 'payout'
          WHERE m.app_id = ${appId} AND m.mode = ${mode} AND m.member = metadata_member('', one.collection)
            AND well_formed(p.record) ->> 'refundOf' = one.collection) s
        WHERE s.refunded > 0`
    const found = yield* sums(onTenantServer(appId)(read))
    return new Map(found.map((row) => [row.collection, nearestAmount(row.refunded)]))
  })

  return { refundable, refunded }
})
