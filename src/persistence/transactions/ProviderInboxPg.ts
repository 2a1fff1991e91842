import { Effect, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Reported } from "../../domain/CallbackReport.ts"
import { Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso, isoOrNull } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import {
  type Callback,
  type CallbackFilter,
  CallbackStatus,
  type LeasedCallback,
  ProviderInbox,
  type StoredCallback,
  type Tries
} from "../../services/ports/ProviderInbox.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { storable } from "../connection/Columns.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { type Swept, sweptIn } from "../vault/Retention.ts"

const storedIds = rowsOf(Schema.Struct({ id: Reference }))
const bodies = rowsOf(Schema.Struct({ body: Schema.NullOr(Schema.String) }))

/**
 * The same bytes within this time are the same news: a provider that repeats a callback because our response was lost does so
 * at once. It also limits the polls that an attacker with the bytes of a genuine callback can cause.
 */
const REPEATED_WITHIN_MS = 60_000

const columns = {
  id: Reference,
  provider: Schema.String,
  mode: Mode,
  received_at: Moment,
  digest: Schema.Uint8Array,
  reference: Schema.NullOr(Reference),
  provider_reference: Schema.NullOr(Schema.String),
  says: Schema.NullOr(Reported)
}
const Claimed = Schema.Struct({ ...columns, looks: Schema.Number, claims: Schema.Number })
const claimedRows = rowsOf(Claimed)
const Listed = Schema.Struct({
  ...columns,
  status: CallbackStatus,
  next_look_at: Schema.NullOr(Moment),
  looks: Schema.Number,
  matched_reference: Schema.NullOr(Reference)
})
const listedRows = rowsOf(Listed)

/** How many callbacks a page examines when it filters by provider or mode, for which there is no index. */
const LOOKED_AT = 20_000
const EVERYTHING: CallbackFilter = { status: null, provider: null, mode: null, receivedFrom: null, receivedTo: null }

/**
 * ProviderInbox on PostgreSQL. It owns provider_inbox. The id is the hash of provider, mode and digest: a repeated callback is
 * one row. Claiming skips locked rows and leases the others; a callback whose node died is claimed again after the lease.
 */
export const ProviderInboxPg = layerOf(ProviderInbox)(function* () {
  const sql = yield* SqlClient.SqlClient
  const trail = auditTrail(sql, (yield* Vault).hash)
  const processed = yield* makeProcessedCallbacks(sql)

  const search = callbackSearch(sql)

  const change = Effect.fnUntraced(function* (set: Statement.Fragment, audit: AuditEntry) {
    const [row] = yield* trail.with(
      listedRows(sql`
        UPDATE provider_inbox ${set}
        RETURNING id, provider, mode, received_at, digest, reference, provider_reference, says, status, next_look_at, looks, matched_reference`),
      audit
    )
    return Option.map(Option.fromUndefinedOr(row), rowOf)
  })

  const body = Effect.fn("ProviderInbox.body")(function* (id: Reference, audit: AuditEntry) {
    const rows = yield* trail.with(bodies(sql`SELECT body FROM provider_inbox WHERE id = ${id}`), audit)
    return Option.map(Option.fromUndefinedOr(rows[0]), (row) => row.body)
  })

  return {
    markProcessed: processed.add,
    search,
    body,

    store: Effect.fnUntraced(function* (callback, dueAt, body?) {
      const { digest, hint, id, mode, provider, receivedAt } = callback
      const rows = yield* storedIds(sql`
      ${processed.alongWith(id)}
      INSERT INTO provider_inbox AS i (id, provider, mode, digest, received_at, reference, provider_reference, says, body, status, next_look_at)
      VALUES (${id}, ${provider}, ${mode}, ${digest}, ${iso(receivedAt)}::timestamptz, ${hint.reference}, ${hint.providerReference},
        ${hint.says ?? null}, ${body === undefined ? null : storable(body)}, 'due', ${iso(dueAt)}::timestamptz)
      ON CONFLICT (id) DO UPDATE
        SET status = 'due', received_at = EXCLUDED.received_at, next_look_at = EXCLUDED.next_look_at, looks = 0, claims = 0, matched_reference = NULL,
          body = EXCLUDED.body
        WHERE i.status <> 'due' AND i.received_at <= ${iso(receivedAt - REPEATED_WITHIN_MS)}::timestamptz
      RETURNING id`)
      return rows.length === 1
    }),

    claimDue: Effect.fn("ProviderInbox.claimDue")(function* (now, limit, leaseMs) {
      const rows = yield* claimedRows(sql`
      WITH due AS MATERIALIZED (
        SELECT id FROM provider_inbox WHERE status = 'due' AND next_look_at <= ${iso(now)}::timestamptz
        ORDER BY next_look_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ),
      leased AS (
        UPDATE provider_inbox i SET next_look_at = ${iso(now + leaseMs)}::timestamptz, claims = i.claims + 1 FROM due WHERE i.id = due.id
        RETURNING i.id, i.provider, i.mode, i.received_at, i.digest, i.reference, i.provider_reference, i.says, i.looks, i.claims
      )
      SELECT id, provider, mode, received_at, digest, reference, provider_reference, says, looks, claims FROM leased ORDER BY received_at, id`)
      return rows.map(
        ({ claims, looks, ...row }): LeasedCallback => ({ ...callbackOf(row), looks, claims, leasedUntil: now + leaseMs })
      )
    }),

    retryAt: Effect.fn("ProviderInbox.retryAt")(function* ({ id, leasedUntil }, { at, claims, looks }) {
      yield* sql`
      UPDATE provider_inbox SET status = ${at === null ? "parked" : "due"}, next_look_at = ${isoOrNull(at)}::timestamptz,
        looks = ${looks}, claims = ${claims}
      WHERE id = ${id} AND status = 'due' AND next_look_at = ${iso(leasedUntil)}::timestamptz`
    }, Effect.orDie),

    list: Effect.fn("ProviderInbox.list")((status, limit) =>
      Effect.map(search({ ...EVERYTHING, status }, { limit, after: null }), ({ items }) => items)
    ),

    replay: Effect.fn("ProviderInbox.replay")((id, at, audit) =>
      change(
        sql`SET status = 'due', next_look_at = ${iso(at)}::timestamptz, looks = 0, claims = 0, matched_reference = NULL WHERE id = ${id}`,
        audit
      )
    ),

    close: Effect.fn("ProviderInbox.close")((id, audit) =>
      change(sql`SET status = 'done', body = NULL WHERE id = ${id} AND status = 'parked'`, audit)
    ),

    parked: Effect.fn("ProviderInbox.parked")(function* ({ mode, provider }, before, { after, limit }) {
      const rows = yield* listedRows(sql`
        SELECT id, provider, mode, received_at, digest, reference, provider_reference, says, status, next_look_at, looks, matched_reference
        FROM provider_inbox WHERE status = 'parked' AND provider = ${provider} AND mode = ${mode} AND received_at < ${iso(before)}::timestamptz
          ${after === null ? sql`` : sql`AND id > ${after}`}
        ORDER BY id LIMIT ${limit}`)
      return rows.map(rowOf)
    }),

    closeAll: Effect.fn("ProviderInbox.closeAll")(
      function* (ids, audit) {
        const rows = yield* storedIds(
          sql`UPDATE provider_inbox SET status = 'done', body = NULL WHERE id = ANY (${ids}::text[]) AND status = 'parked' RETURNING id`
        )
        if (rows.length > 0) yield* trail.write({ ...audit, details: { ...audit.details, callbacks: String(rows.length) } })
        return rows.length
      },
      (effect) => Effect.orDie(sql.withTransaction(effect))
    ),

    prune: Effect.fn("ProviderInbox.prune")(function* (before, limit) {
      const rows = yield* sql<Swept>`
      WITH old AS MATERIALIZED (
        SELECT id FROM provider_inbox WHERE status = 'done' AND received_at < ${iso(before)}::timestamptz
        ORDER BY received_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ),
      removed AS (DELETE FROM provider_inbox i USING old o WHERE i.id = o.id RETURNING i.id)
      SELECT count(*)::int AS swept FROM removed`
      return sweptIn(rows)
    }, Effect.orDie)
  }
})

type Received = Omit<typeof Claimed.Type, keyof Tries>

const callbackOf = ({ provider_reference, received_at, reference, says, ...rest }: Received): Callback => ({
  ...rest,
  receivedAt: received_at,
  hint: { reference, providerReference: provider_reference, ...(says === null ? {} : { says }) }
})

const rowOf = ({ looks, matched_reference, next_look_at, status, ...callback }: typeof Listed.Type): StoredCallback => ({
  ...callbackOf(callback),
  status,
  nextLookAt: next_look_at,
  looks,
  matched: matched_reference
})

/** How long a processed callback waits at most for another one with which it is written. */
const WRITTEN_WITHIN = "2 seconds"
/** When more are waiting, they are written at once. */
const WAITING_AT_MOST = 256

interface Processed {
  readonly id: Reference
  readonly leasedUntil: Instant
  readonly reference: Reference
}

/** An operator's list, by the index of each status. */
const callbackSearch = (sql: SqlClient.SqlClient): ProviderInbox["Service"]["search"] =>
  Effect.fn("ProviderInbox.search")(function* (filter, { after, limit }) {
    const { mode, provider, receivedFrom, receivedTo, status } = filter
    const isNarrow = mode !== null || provider !== null
    const looked = isNarrow ? Math.max(LOOKED_AT, limit + 1) : limit + 1
    const to = after !== null && (receivedTo === null || after.at < receivedTo) ? after : { at: receivedTo, id: "" }
    // Within the millisecond in which a page ended, only the rows after its end remain.
    const end = to.at === null ? "infinity" : iso(to.at)
    // Each status has its own partial index, which a parameter would hide from the planner.
    const newest = (status === null ? CallbackStatus.literals : [status]).map(
      (
        one
      ) => sql`(SELECT id, provider, mode, received_at, digest, reference, provider_reference, says, status, next_look_at, looks, matched_reference
        FROM provider_inbox WHERE status = ${sql.literal(`'${one}'`)} AND received_at >= ${receivedFrom === null ? "-infinity" : iso(receivedFrom)}::timestamptz
          AND received_at <= ${end}::timestamptz AND (received_at, id) < (${end}::timestamptz, ${to.id})
        ORDER BY received_at DESC, id DESC LIMIT ${looked})`
    )
    const scanned = sql`SELECT * FROM (${newest.reduce((all, one) => sql`${all} UNION ALL ${one}`)}) AS n ORDER BY received_at DESC, id DESC LIMIT ${looked}`
    const rows = yield* listedRows(sql`
      SELECT * FROM (${scanned}) AS s
      WHERE true ${provider === null ? sql`` : sql`AND provider = ${provider}`} ${mode === null ? sql`` : sql`AND mode = ${mode}`}
      ORDER BY received_at DESC, id DESC LIMIT ${limit + 1}`)
    const items = rows.slice(0, limit).map(rowOf)
    const placeOf = (one: StoredCallback | undefined) => (one === undefined ? null : { at: one.receivedAt, id: one.id })
    if (rows.length > limit || !isNarrow) return { items, next: rows.length > limit ? placeOf(items.at(-1)) : null }
    const [last] = yield* listedRows(
      sql`SELECT * FROM (${scanned}) AS s ORDER BY received_at DESC, id DESC OFFSET ${looked - 1} LIMIT 1`
    )
    return { items, next: last === undefined ? null : placeOf(rowOf(last)) }
  })

/**
 * Callbacks that were processed and are not yet written as done. One that is lost with the process is processed again when its lease ends,
 * which polls the provider once more and changes nothing.
 */
const makeProcessedCallbacks = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const scope = yield* Effect.scope
  let waiting: Array<Processed> = []
  let isTimed = false

  /**
   * A row that another worker has leased by now, or whose replay was requested, is left alone. So is a locked one, until its lease
   * ends: a node that stores it again may wait for a row that this statement stores.
   */
  const done = (processed: ReadonlyArray<Processed>) => sql`
    UPDATE provider_inbox i SET status = 'done', next_look_at = NULL, matched_reference = p.reference, body = NULL
    FROM (
      SELECT o.id, p.reference FROM provider_inbox o
      JOIN unnest(${processed.map(({ id }) => id)}::text[], ${processed.map(({ leasedUntil }) => iso(leasedUntil))}::timestamptz[],
        ${processed.map(({ reference }) => reference)}::text[]) AS p(id, leased_until, reference) ON o.id = p.id
      WHERE o.status = 'due' AND o.next_look_at = p.leased_until FOR UPDATE OF o SKIP LOCKED
    ) p
    WHERE i.id = p.id`

  const taken = (isOne: (processed: Processed) => boolean): ReadonlyArray<Processed> => {
    const some = waiting.filter(isOne)
    waiting = waiting.filter((processed) => !isOne(processed))
    return some
  }

  const write = Effect.suspend(() => {
    isTimed = false
    const all = taken(() => true)
    return all.length === 0 ? Effect.void : Effect.asVoid(done(all))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning("callbacks that were processed could not be written: they are looked into again", cause)
    )
  )
  yield* Effect.addFinalizer(() => write)

  const add = ({ id, leasedUntil }: LeasedCallback, reference: Reference): Effect.Effect<void> =>
    Effect.suspend(() => {
      waiting.push({ id, leasedUntil, reference })
      if (waiting.length > WAITING_AT_MOST) return write
      if (isTimed) return Effect.void
      isTimed = true
      return Effect.asVoid(Effect.forkIn(Effect.delay(write, WRITTEN_WITHIN), scope))
    })

  /** The beginning of a statement that stores the callback `id`: it also writes the waiting ones, except `id` itself. */
  const alongWith = (id: Reference) => {
    const others = taken((processed) => processed.id !== id)
    return others.length === 0 ? sql.literal("") : sql`WITH done AS (${done(others)})`
  }

  return { add, alongWith }
})
