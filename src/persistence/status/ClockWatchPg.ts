import { Effect, Option, Ref, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ClockReading, clockDoubt } from "../../domain/ClockDoubt.ts"
import { Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { ClockWatch, TYPED_WITHIN_MS } from "../../services/ports/ClockWatch.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { MachineTime } from "../connection/DatabaseClock.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

/** The time up to which the clock is trusted is written no more often than this. */
const WRITTEN_EVERY_MS = 5_000

const standingColumns = {
  trustedUntil: Schema.NullOr(Moment),
  doubt: Schema.NullOr(Schema.String),
  doubtedAt: Schema.NullOr(Moment)
}
export const clockStates = rowsOf(Schema.Struct(standingColumns))
const rows = rowsOf(Schema.Struct({ ...standingColumns, now: Instant, confirmations: Schema.Number }))
const written = rowsOf(Schema.Struct({ at: Moment }))

/** This process's last reading. A reading from before an operator confirmed the clock is not compared. */
interface Seen {
  readonly reading: ClockReading
  readonly confirmations: number
}

/** ClockWatch on PostgreSQL. It owns clock_watch's single row. A write names the confirmation that it was decided under. */
export const ClockWatchPg = layerOf(ClockWatch)(function* () {
  const sql = yield* SqlClient.SqlClient
  const machine = yield* MachineTime
  const trail = auditTrail(sql, (yield* Vault).hash)
  const seen = yield* Ref.make<Seen | null>(null)
  const logged = yield* Ref.make<string | null>(null)

  const read = Effect.gen(function* () {
    const asked = yield* machine.read
    const [row] = yield* rows(sql`
      SELECT round(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, trusted_until AS "trustedUntil", doubt, doubted_at AS "doubtedAt", confirmations
      FROM clock_watch`)
    if (row === undefined) return yield* Effect.die(new Error("the row of clock_watch is gone: nothing is removed"))
    return { row, reading: { database: row.now, asked, answered: yield* machine.read } }
  })

  const tell = Effect.fnUntraced(function* (doubt: string | null) {
    const before = yield* Ref.getAndSet(logged, doubt)
    if (doubt !== null && before === null)
      yield* Effect.annotateLogs(Effect.logError("the database's clock is in doubt: nothing is removed"), {
        clock_doubt: doubt
      })
    if (doubt === null && before !== null) yield* Effect.logInfo("the database's clock is trusted again")
  })

  const raise = (doubt: string, now: Instant, confirmations: number) =>
    Effect.orDie(sql`UPDATE clock_watch SET doubt = ${doubt}, doubted_at = ${iso(now)}::timestamptz
      WHERE doubt IS NULL AND confirmations = ${confirmations}`)

  const advance = (now: Instant, confirmations: number) =>
    Effect.map(
      written(sql`UPDATE clock_watch SET trusted_until = greatest(trusted_until, ${iso(now)}::timestamptz)
        WHERE doubt IS NULL AND confirmations = ${confirmations} RETURNING trusted_until AS at`),
      (changed) => (changed.length === 1 ? Option.some(now) : Option.none())
    )

  const look = Effect.gen(function* () {
    const { reading, row } = yield* read
    const { confirmations, now, trustedUntil } = row
    const last = yield* Ref.get(seen)
    const before = last?.confirmations === confirmations ? last.reading : null
    const doubt = clockDoubt(reading, { before, trustedUntil, machine: machine.name })
    if (doubt !== null) yield* raise(doubt, now, confirmations)
    // Only after the doubt is written: an unwritten one is detected again.
    yield* Ref.set(seen, { reading, confirmations })
    yield* tell(row.doubt ?? doubt)
    if (doubt !== null || row.doubt !== null) return Option.none<Instant>()
    return trustedUntil !== null && now - trustedUntil < WRITTEN_EVERY_MS ? Option.some(now) : yield* advance(now, confirmations)
  }).pipe(Effect.withSpan("ClockWatch.look"))

  const standing = Effect.map(read, ({ reading, row: { doubt, doubtedAt, now, trustedUntil } }) => ({
    database: now,
    machine: reading.answered.timeOfDay,
    doubt,
    doubtedAt,
    trustedUntil
  }))

  const confirm = Effect.fn("ClockWatch.confirm")((rightTime: Instant, audit: AuditEntry) =>
    Effect.map(
      trail.with(
        written(sql`UPDATE clock_watch SET doubt = NULL, doubted_at = NULL, trusted_until = clock_timestamp(), confirmations = confirmations + 1
          WHERE doubt IS NOT NULL AND abs(extract(epoch FROM clock_timestamp() - ${iso(rightTime)}::timestamptz)) * 1000 <= ${TYPED_WITHIN_MS}
          RETURNING trusted_until AS at`),
        audit
      ),
      (changed) => changed.length === 1
    )
  )

  return { look, standing, confirm }
})
