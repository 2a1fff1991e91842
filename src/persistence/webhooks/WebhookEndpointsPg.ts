import { Effect, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { EventType } from "../../domain/Event.ts"
import { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso, isoOrNull } from "../../domain/Instant.ts"
import {
  DEFAULT_ENDPOINT,
  DisabledReason,
  ENDPOINTS_AT_MOST,
  EndpointName,
  queueOf,
  type WebhookEndpoint
} from "../../domain/WebhookEndpoint.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditedChange } from "../../services/ports/AuditLog.ts"
import { Vault } from "../../services/ports/Vault.ts"
import {
  type EndpointId,
  type EndpointSettings,
  type PutEndpoint,
  type SecretRotation,
  WebhookEndpoints
} from "../../services/ports/WebhookEndpoints.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { endpointTables } from "../connection/EndpointTables.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { storedSubscription, subscriptionSql } from "../transactions/NewerEventTypes.ts"

const columns = {
  appId: AppId,
  mode: Mode,
  name: EndpointName,
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
const counts = rowsOf(Schema.Struct({ others: Schema.Number }))
const places = rowsOf(Schema.Struct({ id: Schema.String }))

/** How many deliveries of a removed endpoint are parked in one commit. */
const PARKED_AT_ONCE = 1_000

const shownAs = (name: string, events: string) =>
  `app_id AS "appId", mode, ${name} AS name, url, ${events} AS events, enabled, disabled_reason AS "disabledReason", failing_since AS "failingSince", created_at AS "createdAt", updated_at AS "updatedAt"`
/** For `default`, whose row contains only what the previous release knows. */
const shownOfDefault = shownAs(`'${DEFAULT_ENDPOINT}'`, subscriptionSql(""))
const shownOfNamed = shownAs("name", "events")

/**
 * WebhookEndpoints on PostgreSQL. It owns webhook_endpoints, one row per tenant and mode, and named_endpoints, one row per
 * endpoint other than `default`. The upsert locks an existing row, so that its writes are serialized. Secrets are sealed.
 */
export const WebhookEndpointsPg = layerOf(WebhookEndpoints)(function* () {
  const sql = yield* SqlClient.SqlClient
  const vault = yield* Vault
  const everyTenant = yield* EveryTenant
  const trail = auditTrail(sql, vault.hash)
  const placeOf = ({ mode, name }: EndpointId) => {
    const tables = endpointTables(sql, mode, name)
    return { ...tables, shown: sql.literal(tables.isNamed ? shownOfNamed : shownOfDefault) }
  }

  const find = Effect.fn("WebhookEndpoints.find")(function* (id: EndpointId) {
    const { endpoints, key, queue, shown } = placeOf(id)
    const [row] = yield* standing(sql`SELECT ${shown} FROM ${endpoints} WHERE app_id = ${id.appId} AND ${key} = ${queue}`)
    return Option.fromUndefinedOr(row)
  })

  const list = Effect.fn("WebhookEndpoints.list")((appId: AppId, mode: Mode) =>
    standing(sql`
      SELECT ${sql.literal(shownOfDefault)} FROM webhook_endpoints WHERE app_id = ${appId} AND mode = ${mode}
      UNION ALL (SELECT ${sql.literal(shownOfNamed)} FROM named_endpoints WHERE app_id = ${appId} AND mode = ${mode} ORDER BY named_endpoints.name)`)
  )

  /** There is always room for `default`. Others are added one at a time, so that each addition counts those before it. */
  const hasRoom = Effect.fnUntraced(function* ({ appId, mode, name }: EndpointId) {
    if (name === DEFAULT_ENDPOINT) return true
    yield* sql`SELECT pg_advisory_xact_lock(${advisoryLocks.endpoints}, hashtext(${`${appId}/${mode}`}))`
    const [row] = yield* counts(sql`
      SELECT count(*)::int AS others FROM named_endpoints WHERE app_id = ${appId} AND mode = ${mode} AND name <> ${name}`)
    return row !== undefined && row.others + 1 < ENDPOINTS_AT_MOST
  })

  /** Writes the endpoint if there is none. An existing one is locked and returned unchanged. */
  const insert = (command: PutEndpoint, sealed: Uint8Array) => {
    const { appId, at, enabled, events, mode, name, url } = command
    const { queue, shown } = placeOf(command)
    const known = storedSubscription(events)
    const moment = sql`${iso(at)}::timestamptz`
    // A row that was inserted has no earlier row version.
    return written(
      name === DEFAULT_ENDPOINT
        ? sql`
        INSERT INTO webhook_endpoints AS e (app_id, mode, url, events, subscription, subscription_beside, enabled, secret_sealed, created_at, updated_at)
        VALUES (${appId}, ${mode}, ${url}, ${known}, ${events}, ${known}, ${enabled}, ${sealed}, ${moment}, ${moment})
        ON CONFLICT (app_id, mode) DO UPDATE SET updated_at = e.updated_at RETURNING ${shown}, xmax = 0 AS created`
        : sql`
        INSERT INTO named_endpoints AS e (app_id, queue, mode, name, url, events, enabled, secret_sealed, created_at, updated_at)
        VALUES (${appId}, ${queue}, ${mode}, ${name}, ${url}, ${events}, ${enabled}, ${sealed}, ${moment}, ${moment})
        ON CONFLICT (app_id, queue) DO UPDATE SET updated_at = e.updated_at RETURNING ${shown}, xmax = 0 AS created`
    )
  }

  const put = Effect.fn("WebhookEndpoints.put")(
    function* (command: PutEndpoint) {
      const { appId, at, change, enabled, events, rotatesUntil, secret, url } = command
      if (!(yield* hasRoom(command))) return Option.none()
      const { endpoints, isNamed, key, queue, shown } = placeOf(command)
      const sealed = yield* vault.seal(webhookSecret(appId, queue), secret)
      const [found] = yield* insert(command, sealed)
      if (found === undefined) return yield* Effect.die(new Error("the endpoint was not written"))
      const { created, ...before } = found
      if (created) {
        yield* trail.write(change)
        return Option.some({ created, endpoint: before })
      }
      const until = isoOrNull(rotatesUntil)
      const known = storedSubscription(events)
      const wanted = isNamed
        ? sql`events = ${events}`
        : sql`events = ${known}, subscription = ${events}, subscription_beside = ${known}`
      const [endpoint = before] = yield* standing(sql`
        UPDATE ${endpoints} SET url = ${url}, ${wanted},
          enabled = ${enabled}, failing_since = NULL, disabled_reason = NULL, updated_at = ${iso(at)}::timestamptz,
          secret_sealed = CASE WHEN ${until}::timestamptz IS NULL THEN secret_sealed ELSE ${sealed} END,
          previous_secret_sealed = CASE WHEN ${until}::timestamptz IS NULL THEN previous_secret_sealed ELSE secret_sealed END,
          previous_until = coalesce(${until}::timestamptz, previous_until)
        WHERE app_id = ${appId} AND ${key} = ${queue} RETURNING ${shown}`)
      if (rotatesUntil !== null || !isSame(before, command)) yield* trail.write(change)
      return Option.some({ created: false, endpoint })
    },
    (effect) => sql.withTransaction(effect),
    Effect.orDie
  )

  const rotate = Effect.fn("WebhookEndpoints.rotate")(function* ({ at, change, secret, until, ...id }: SecretRotation) {
    const { endpoints, key, queue } = placeOf(id)
    const sealed = yield* vault.seal(webhookSecret(id.appId, queue), secret)
    const rows = yield* trail.with(
      sql`
        UPDATE ${endpoints} SET secret_sealed = ${sealed}, previous_secret_sealed = secret_sealed,
          previous_until = ${iso(until)}::timestamptz, updated_at = ${iso(at)}::timestamptz
        WHERE app_id = ${id.appId} AND ${key} = ${queue}
        RETURNING app_id`,
      change
    )
    return rows.length === 1
  })

  /** Parks an endpoint's next due deliveries and returns how many. They are locked before the queue, as by attempts. */
  const parkDue = Effect.fnUntraced(
    function* ({ appId, mode, name }: EndpointId, at: Instant) {
      const queue = queueOf(mode, name)
      const due = yield* places(sql`
        SELECT id FROM named_due_deliveries WHERE app_id = ${appId} AND queue = ${queue} ORDER BY next_attempt_at, id LIMIT ${PARKED_AT_ONCE}`)
      const ids = due.map(({ id }) => id)
      // Locked before the statement that writes, so that everything it reads is as new as the row.
      yield* sql`SELECT 1 FROM named_deliveries WHERE app_id = ${appId} AND id = ANY (${ids}::text[]) ORDER BY id FOR UPDATE`
      yield* sql`
        WITH was AS MATERIALIZED (
          SELECT id, next_attempt_at FROM named_deliveries WHERE app_id = ${appId} AND id = ANY (${ids}::text[]) AND status = 'due'
        ),
        parked AS (
          UPDATE named_deliveries d SET status = 'parked', next_attempt_at = NULL, completed_at = ${iso(at)}::timestamptz
          FROM was WHERE d.app_id = ${appId} AND d.id = was.id
        )
        DELETE FROM named_due_deliveries q USING was
        WHERE q.app_id = ${appId} AND q.queue = ${queue} AND q.next_attempt_at = was.next_attempt_at AND q.id = was.id`
      return ids.length
    },
    (effect) => sql.withTransaction(effect)
  )

  const remove = Effect.fn("WebhookEndpoints.remove")(function* (id: EndpointId, change: AuditedChange) {
    const { endpoints, isNamed, key, queue, shown } = placeOf(id)
    const deleted = standing(sql`DELETE FROM ${endpoints} WHERE app_id = ${id.appId} AND ${key} = ${queue} RETURNING ${shown}`)
    // There may always be a `default`: its due deliveries wait for the next one.
    if (!isNamed) return Option.fromUndefinedOr((yield* trail.with(deleted, change))[0])
    // In steps, however many wait: nothing else takes them off the queue, and every claim would have to skip them.
    while ((yield* parkDue(id, change.at)) === PARKED_AT_ONCE) yield* Effect.yieldNow
    const last = Effect.gen(function* () {
      yield* parkDue(id, change.at)
      yield* sql`DELETE FROM named_flights WHERE app_id = ${id.appId} AND queue = ${queue}`
      return yield* deleted
    })
    return Option.fromUndefinedOr((yield* trail.with(last, change))[0])
  }, Effect.orDie)

  const forgetOldSecrets = Effect.fn("WebhookEndpoints.forgetOldSecrets")(function* (before: Instant, limit: number) {
    const forgotten = (table: Statement.Fragment, key: Statement.Fragment) =>
      everyTenant.sweep(
        (of) => sql`WITH old AS MATERIALIZED (
        SELECT app_id, ${key} AS queue FROM ${table}
        WHERE previous_secret_sealed IS NOT NULL AND previous_until < ${iso(before)}::timestamptz ${of("app_id")}
        LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      UPDATE ${table} e SET previous_secret_sealed = NULL FROM old
      WHERE e.app_id = old.app_id AND e.${key} = old.queue ${of("e.app_id")} RETURNING 1 AS forgotten`
      )
    const ofDefault = yield* forgotten(sql.literal("webhook_endpoints"), sql.literal("mode"))
    const ofNamed = yield* forgotten(sql.literal("named_endpoints"), sql.literal("queue"))
    return ofDefault.rows.length + ofNamed.rows.length
  }, Effect.orDie)

  return { find, list, put, rotate, remove, forgetOldSecrets }
})

const isSame = (standing: WebhookEndpoint, { enabled, events, url }: EndpointSettings): boolean =>
  standing.disabledReason === null &&
  standing.url === url &&
  standing.enabled === enabled &&
  standing.events.join() === events.join()

/**
 * The purpose of an endpoint's sealed secrets. It contains the place, so that a secret that is copied to the row of another
 * tenant or endpoint cannot be opened there. `queue`: from `queueOf`.
 */
export const webhookSecret = (appId: AppId, queue: string): string => `webhook_secret ${appId}/${queue}`
