import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Reference } from "../../domain/Ids.ts"
import { Phase, Posting } from "../../domain/Ledger.ts"
import type { Transactions } from "../../services/ports/Transactions.ts"
import type { ReferenceOwner } from "../cluster/ReferenceOwner.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

const entries = rowsOf(
  Schema.Struct({
    at: Moment,
    phase: Phase,
    postings: Schema.Array(Posting.mapFields((fields) => ({ ...fields, amount: Schema.BigIntFromString })))
  })
)

/** The journal's entries of one record. The amounts come as text: as numbers of JSON they would lose their last digits. */
export const postedEntries = (sql: SqlClient.SqlClient, ownerOf: ReferenceOwner): Transactions["Service"]["entries"] =>
  Effect.fn("Transactions.entries")(function* (reference: Reference) {
    const { of, within } = yield* ownerOf(reference)
    const read = sql`
      SELECT j.at, j.phase,
        json_agg(json_build_object('currency', p.currency, 'account', p.account, 'amount', p.amount::text) ORDER BY p.place) AS postings
      FROM transactions t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference
      CROSS JOIN LATERAL unnest(j.currencies, j.accounts, j.amounts) WITH ORDINALITY AS p(currency, account, amount, place)
      WHERE t.reference = ${reference} ${of("t.app_id")} AND j.phase IS NOT NULL
      GROUP BY j.revision, j.at, j.phase ORDER BY j.revision`
    return yield* entries(within(read))
  })
