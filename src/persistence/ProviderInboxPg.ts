import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Mode, Reference } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { type Callback, ProviderInbox } from "../services/ports/ProviderInbox.ts"
import { Moment, rowsOf } from "./Rows.ts"

const stored = rowsOf(Schema.Struct({ id: Reference }))

const claimed = rowsOf(
  Schema.Struct({
    id: Reference,
    provider: Schema.String,
    mode: Mode,
    received_at: Moment,
    digest: Schema.Uint8Array,
    reference: Schema.NullOr(Reference),
    provider_reference: Schema.NullOr(Schema.String)
  })
)

/** Callbacks on PostgreSQL. A claimed one is looked at again when its lease runs out, so that none is lost with its node. */
export const ProviderInboxPg = Layer.effect(
  ProviderInbox,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const store = Effect.fn("ProviderInbox.store")(function* (callback: Callback) {
      const { digest, hint, id, mode, provider, receivedAt } = callback
      const rows = yield* stored(sql`
        INSERT INTO provider_inbox (id, provider, mode, digest, received_at, reference, provider_reference, status, next_look_at)
        VALUES (${id}, ${provider}, ${mode}, ${digest}, ${iso(receivedAt)}::timestamptz, ${hint.reference}, ${hint.providerReference},
          'due', ${iso(receivedAt)}::timestamptz)
        ON CONFLICT (provider, mode, digest) DO NOTHING
        RETURNING id`)
      return rows.length === 1
    })

    const claimDue = Effect.fn("ProviderInbox.claimDue")(function* (now: Instant, limit: number, leaseMs: number) {
      const rows = yield* claimed(sql`
        WITH due AS MATERIALIZED (
          SELECT id FROM provider_inbox WHERE status = 'due' AND next_look_at <= ${iso(now)}::timestamptz
          ORDER BY next_look_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ),
        leased AS (
          UPDATE provider_inbox i SET next_look_at = ${iso(now + leaseMs)}::timestamptz FROM due WHERE i.id = due.id
          RETURNING i.id, i.provider, i.mode, i.received_at, i.digest, i.reference, i.provider_reference
        )
        SELECT id, provider, mode, received_at, digest, reference, provider_reference FROM leased ORDER BY received_at, id`)
      return rows.map(
        ({ provider_reference, received_at, reference, ...rest }): Callback => ({
          ...rest,
          receivedAt: received_at,
          hint: { reference, providerReference: provider_reference }
        })
      )
    })

    const done = Effect.fn("ProviderInbox.done")(function* (id: Reference, reference: Reference) {
      yield* sql`UPDATE provider_inbox SET status = 'done', next_look_at = NULL, matched_reference = ${reference}
        WHERE id = ${id} AND status <> 'done'`
    }, Effect.orDie)

    const later = Effect.fn("ProviderInbox.later")(function* (id: Reference, at: Instant | null) {
      yield* at === null
        ? sql`UPDATE provider_inbox SET status = 'parked', next_look_at = NULL WHERE id = ${id} AND status = 'due'`
        : sql`UPDATE provider_inbox SET next_look_at = ${iso(at)}::timestamptz WHERE id = ${id} AND status = 'due'`
    }, Effect.orDie)

    return ProviderInbox.of({ store, claimDue, done, later })
  })
)
