import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { EventType } from "../../domain/Event.ts"
import { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { DisabledReason, type WebhookEndpoint } from "../../domain/WebhookEndpoint.ts"
import type { AuditedChange } from "../../services/ports/AuditLog.ts"
import { Vault } from "../../services/ports/Vault.ts"
import {
  type EndpointSettings,
  type PutEndpoint,
  type SecretRotation,
  WebhookEndpoints
} from "../../services/ports/WebhookEndpoints.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { storedSubscription, subscriptionSql } from "../transactions/NewerEventTypes.ts"

const columns = {
  appId: AppId,
  mode: Mode,
  url: Schema.String,
  events: Schema.Array(EventType),
  enabled: Schema.Boolean,
  disabledReason: Schema.NullOr(DisabledReason),
  failingSince: Schema.NullOr(Moment),
  createdAt: Moment,
  updatedAt: Moment
}
const standing = rowsOf(Schema.Struct(columns))
const written = rowsOf(Schema.Struct({ ...columns, created: Schema.Boolean }))

/**
 * WebhookEndpoints on PostgreSQL. It owns webhook_endpoints, a row a tenant and mode: the upsert locks the row that stands there, so that two
 * writes of one endpoint come one after the other. Secrets are sealed.
 */
export const WebhookEndpointsPg = Layer.effect(
  WebhookEndpoints,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault
    const everyTenant = yield* EveryTenant
    const trail = auditTrail(sql, vault.hash)
    const shown = sql.literal(
      `app_id AS "appId", mode, url, ${subscriptionSql("")} AS events, enabled, disabled_reason AS "disabledReason", failing_since AS "failingSince", created_at AS "createdAt", updated_at AS "updatedAt"`
    )

    const find = Effect.fn("WebhookEndpoints.find")(function* (appId: AppId, mode: Mode) {
      const [row] = yield* standing(sql`
        SELECT ${shown} FROM webhook_endpoints WHERE app_id = ${appId} AND mode = ${mode}`)
      return Option.fromUndefinedOr(row)
    })

    const put = Effect.fn("WebhookEndpoints.put")(
      function* (command: PutEndpoint) {
        const { appId, at, change, enabled, events, mode, rotatesUntil, secret, url } = command
        const sealed = yield* vault.seal(webhookSecret(appId, mode), secret)
        const known = storedSubscription(events)
        // One that stands is locked, and answered as it is.
        const [found] = yield* written(sql`
          INSERT INTO webhook_endpoints AS e (app_id, mode, url, events, subscription, subscription_beside, enabled, secret_sealed, created_at, updated_at)
          VALUES (${appId}, ${mode}, ${url}, ${known}, ${events}, ${known}, ${enabled}, ${sealed}, ${iso(at)}::timestamptz, ${iso(at)}::timestamptz)
          ON CONFLICT (app_id, mode) DO UPDATE SET updated_at = e.updated_at
          -- No row version stood before a row that was inserted.
          RETURNING ${shown}, xmax = 0 AS created`)
        if (found === undefined) return yield* Effect.die(new Error("the endpoint was not written"))
        const { created, ...before } = found
        if (created) {
          yield* trail.write(change)
          return { created, endpoint: before }
        }
        const until = rotatesUntil === null ? null : iso(rotatesUntil)
        const [endpoint = before] = yield* standing(sql`
          UPDATE webhook_endpoints SET url = ${url}, events = ${known}, subscription = ${events}, subscription_beside = ${known},
            enabled = ${enabled}, failing_since = NULL, disabled_reason = NULL, updated_at = ${iso(at)}::timestamptz,
            secret_sealed = CASE WHEN ${until}::timestamptz IS NULL THEN secret_sealed ELSE ${sealed} END,
            previous_secret_sealed = CASE WHEN ${until}::timestamptz IS NULL THEN previous_secret_sealed ELSE secret_sealed END,
            previous_until = coalesce(${until}::timestamptz, previous_until)
          WHERE app_id = ${appId} AND mode = ${mode} RETURNING ${shown}`)
        if (rotatesUntil !== null || !isSame(before, command)) yield* trail.write(change)
        return { created: false, endpoint }
      },
      (effect) => sql.withTransaction(effect),
      Effect.orDie
    )

    const rotate = Effect.fn("WebhookEndpoints.rotate")(function* ({ appId, at, change, mode, secret, until }: SecretRotation) {
      const sealed = yield* vault.seal(webhookSecret(appId, mode), secret)
      const rows = yield* trail.with(
        sql`
          UPDATE webhook_endpoints SET secret_sealed = ${sealed}, previous_secret_sealed = secret_sealed,
            previous_until = ${iso(until)}::timestamptz, updated_at = ${iso(at)}::timestamptz
          WHERE app_id = ${appId} AND mode = ${mode}
          RETURNING app_id`,
        change
      )
      return rows.length === 1
    })

    const remove = Effect.fn("WebhookEndpoints.remove")(function* (appId: AppId, mode: Mode, change: AuditedChange) {
      const [row] = yield* trail.with(
        standing(sql`DELETE FROM webhook_endpoints WHERE app_id = ${appId} AND mode = ${mode} RETURNING ${shown}`),
        change
      )
      return Option.fromUndefinedOr(row)
    })

    const forgetOldSecrets = Effect.fn("WebhookEndpoints.forgetOldSecrets")(function* (before: Instant, limit: number) {
      const { rows } = yield* everyTenant.sweep(
        (of) => sql`WITH old AS MATERIALIZED (
          SELECT app_id, mode FROM webhook_endpoints
          WHERE previous_secret_sealed IS NOT NULL AND previous_until < ${iso(before)}::timestamptz ${of("app_id")}
          LIMIT ${limit} FOR UPDATE SKIP LOCKED
        )
        UPDATE webhook_endpoints e SET previous_secret_sealed = NULL FROM old
        WHERE e.app_id = old.app_id AND e.mode = old.mode ${of("e.app_id")} RETURNING 1 AS forgotten`
      )
      return rows.length
    }, Effect.orDie)

    return WebhookEndpoints.of({ find, put, rotate, remove, forgetOldSecrets })
  })
)

const isSame = (standing: WebhookEndpoint, { enabled, events, url }: EndpointSettings): boolean =>
  standing.disabledReason === null &&
  standing.url === url &&
  standing.enabled === enabled &&
  standing.events.join() === events.join()

/**
 * The purpose of an endpoint's sealed secrets. It names the place as well, so that one copied to another tenant's row does not open there.
 */
export const webhookSecret = (appId: AppId, mode: Mode): string => `webhook_secret ${appId}/${mode}`
