import { Effect, Layer, Option, type Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { DisabledReason } from "../domain/Endpoint.ts"
import { EventType } from "../domain/Event.ts"
import { AppId, Mode } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { Vault } from "../services/ports/Vault.ts"
import { type EndpointWish, WebhookEndpoints } from "../services/ports/WebhookEndpoints.ts"
import { Moment, rowsOf } from "./Rows.ts"
import { webhookSecret } from "./WebhookSecret.ts"

const columns = {
  appId: AppId,
  mode: Mode,
  url: Schema.String,
  events: Schema.Array(EventType),
  enabled: Schema.Boolean,
  disabledReason: Schema.NullOr(DisabledReason),
  createdAt: Moment,
  updatedAt: Moment
}
const standing = rowsOf(Schema.Struct(columns))
const written = rowsOf(Schema.Struct({ ...columns, created: Schema.Boolean }))
const changes = rowsOf(Schema.Struct({ sequence: Schema.BigInt }))

/** Endpoints on PostgreSQL; their secrets are sealed. */
export const WebhookEndpointsPg = Layer.effect(
  WebhookEndpoints,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault

    const find = Effect.fn("WebhookEndpoints.find")(function* (appId: AppId, mode: Mode) {
      const [row] = yield* standing(sql`
        SELECT app_id AS "appId", mode, url, events, enabled, disabled_reason AS "disabledReason", created_at AS "createdAt",
          updated_at AS "updatedAt"
        FROM webhook_endpoints WHERE app_id = ${appId} AND mode = ${mode}`)
      return Option.fromUndefinedOr(row)
    })

    const put = Effect.fn("WebhookEndpoints.put")(function* (
      wish: EndpointWish,
      secret: Redacted.Redacted,
      rotatesUntil: Instant | null,
      at: Instant,
      audit: AuditEntry
    ) {
      const { appId, enabled, events, mode, url } = wish
      const sealed = yield* vault.seal(webhookSecret(appId, mode), secret)
      const until = rotatesUntil === null ? null : iso(rotatesUntil)
      const [row] = yield* written(sql`
        WITH written AS (
          INSERT INTO webhook_endpoints AS e (app_id, mode, url, events, enabled, secret_sealed, created_at, updated_at)
          VALUES (${appId}, ${mode}, ${url}, ${events}, ${enabled}, ${sealed}, ${iso(at)}::timestamptz, ${iso(at)}::timestamptz)
          ON CONFLICT (app_id, mode) DO UPDATE SET url = EXCLUDED.url, events = EXCLUDED.events, enabled = EXCLUDED.enabled,
            failing_since = NULL, disabled_reason = NULL, updated_at = EXCLUDED.updated_at,
            secret_sealed = CASE WHEN ${until}::timestamptz IS NULL THEN e.secret_sealed ELSE EXCLUDED.secret_sealed END,
            previous_secret_sealed = CASE WHEN ${until}::timestamptz IS NULL THEN e.previous_secret_sealed ELSE e.secret_sealed END,
            previous_until = coalesce(${until}::timestamptz, e.previous_until)
          -- No row version stood before a row that was inserted.
          RETURNING e.*, e.xmax = 0 AS created
        ),
        logged AS (
          SELECT append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
          FROM written
        )
        SELECT w.app_id AS "appId", w.mode, w.url, w.events, w.enabled, w.disabled_reason AS "disabledReason", w.created_at AS "createdAt",
          w.updated_at AS "updatedAt", w.created
        FROM written w CROSS JOIN logged`)
      if (row === undefined) return yield* Effect.die(new Error("the endpoint was not written"))
      const { created, ...endpoint } = row
      return { created, endpoint }
    })

    const rotate = Effect.fn("WebhookEndpoints.rotate")(function* (
      appId: AppId,
      mode: Mode,
      secret: Redacted.Redacted,
      until: Instant,
      at: Instant,
      audit: AuditEntry
    ) {
      const sealed = yield* vault.seal(webhookSecret(appId, mode), secret)
      const rows = yield* changes(sql`
        WITH rotated AS (
          UPDATE webhook_endpoints SET secret_sealed = ${sealed}, previous_secret_sealed = secret_sealed,
            previous_until = ${iso(until)}::timestamptz, updated_at = ${iso(at)}::timestamptz
          WHERE app_id = ${appId} AND mode = ${mode}
          RETURNING app_id
        )
        SELECT append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
          AS sequence FROM rotated`)
      return rows.length === 1
    })

    const remove = Effect.fn("WebhookEndpoints.remove")(function* (appId: AppId, mode: Mode, audit: AuditEntry) {
      const [row] = yield* standing(sql`
        WITH removed AS (DELETE FROM webhook_endpoints WHERE app_id = ${appId} AND mode = ${mode} RETURNING *),
        logged AS (
          SELECT append_audit(${iso(audit.at)}::timestamptz, ${audit.actor}, ${audit.action}, ${audit.subject}, ${JSON.stringify(audit.details)})
          FROM removed
        )
        SELECT r.app_id AS "appId", r.mode, r.url, r.events, r.enabled, r.disabled_reason AS "disabledReason", r.created_at AS "createdAt",
          r.updated_at AS "updatedAt"
        FROM removed r CROSS JOIN logged`)
      return Option.fromUndefinedOr(row)
    })

    return WebhookEndpoints.of({ find, put, rotate, remove })
  })
)
