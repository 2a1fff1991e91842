import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Quote } from "../../domain/Exchange.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { ClockTrust } from "../../services/ports/ClockWatch.ts"
import type { Claim } from "../../services/ports/Idempotency.ts"
import { Quotes } from "../../services/ports/Quotes.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"

/** How long an expired quote is kept, so that it is refused as expired and not as unknown. */
const EXPIRED_KEPT_MS = 86_400_000

const quotes = rowsOf(Schema.Struct({ ...Quote.fields, createdAt: Moment, expiresAt: Moment }))

/**
 * Quotes on PostgreSQL. It owns fx_quotes, one row per quote. A quote is taken by a conditional update, which only requests
 * with one key can win. Quotes that expired long ago, by a trusted clock, are removed when their tenant gets its next one.
 */
export const QuotesPg = layerOf(Quotes)(function* () {
  const sql = yield* SqlClient.SqlClient
  const onTenantServer = yield* OnTenantServer
  const { trustedUntil } = yield* ClockTrust

  const put = Effect.fn("Quotes.put")(function* (quote: Quote) {
    const forgottenBefore = Math.min(quote.createdAt, yield* trustedUntil) - EXPIRED_KEPT_MS
    yield* onTenantServer(quote.appId)(sql`
      WITH forgotten AS (
        DELETE FROM fx_quotes WHERE app_id = ${quote.appId} AND mode = ${quote.mode}
          AND expires_at < ${iso(forgottenBefore)}::timestamptz
      )
      INSERT INTO fx_quotes (app_id, mode, quote_id, provider, account, token, source_currency, source_minor, destination_currency,
        destination_minor, destination_raw, rate, created_at, expires_at, candidates)
      VALUES (${quote.appId}, ${quote.mode}, ${quote.id}, ${quote.provider}, ${quote.account ?? null}, ${quote.token}, ${quote.currency}, ${quote.amount},
        ${quote.destinationCurrency}, ${quote.destinationAmount}, ${quote.rawDestinationAmount}, ${quote.rate},
        ${iso(quote.createdAt)}::timestamptz, ${iso(quote.expiresAt)}::timestamptz, ${quote.candidates ?? null})`)
  }, Effect.orDie)

  const find = Effect.fn("Quotes.find")((appId: AppId, mode: Mode, id: Reference) =>
    quotes(
      onTenantServer(appId)(sql`
      SELECT quote_id AS id, app_id AS "appId", mode, provider, account, token, source_currency AS currency, source_minor AS amount,
        destination_currency AS "destinationCurrency", destination_minor AS "destinationAmount",
        destination_raw AS "rawDestinationAmount", rate, created_at AS "createdAt", expires_at AS "expiresAt", candidates
      FROM fx_quotes WHERE app_id = ${appId} AND mode = ${mode} AND quote_id = ${id}`)
    ).pipe(Effect.map(([quote]) => Option.fromUndefinedOr(quote)))
  )

  const holder = ({ fence, scope }: Claim): string => `${fence}:${scope.key}`

  const take = Effect.fn("Quotes.take")(function* ({ appId, id, mode }: Quote, claim: Claim) {
    const rows = yield* onTenantServer(appId)(sql`UPDATE fx_quotes SET taken_by = ${holder(claim)}
      WHERE app_id = ${appId} AND mode = ${mode} AND quote_id = ${id}
        AND (taken_by IS NULL OR substr(taken_by, strpos(taken_by, ':') + 1) = ${claim.scope.key})
      RETURNING 1 AS taken`)
    return rows.length === 1
  }, Effect.orDie)

  const release = Effect.fn("Quotes.release")(function* ({ appId, id, mode }: Quote, claim: Claim) {
    yield* onTenantServer(appId)(sql`UPDATE fx_quotes SET taken_by = NULL
      WHERE app_id = ${appId} AND mode = ${mode} AND quote_id = ${id} AND taken_by = ${holder(claim)}`)
  }, Effect.orDie)

  return { put, find, take, release }
})
