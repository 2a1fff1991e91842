import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { Currency } from "../../domain/Currency.ts"
import { encodeEvent } from "../../domain/Event.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { coveringReceivable, type Entry, FloatPosition, nextCorrection, slotOf, sumPosted } from "../../domain/Ledger.ts"
import { minusOrZero, nearestAmount } from "../../domain/Money.ts"
import { REFUND_WINDOW, REFUNDABLE_MS } from "../../domain/Refund.ts"
import { adjustmentView } from "../../domain/View.ts"
import { currentTraceparent } from "../../runtime/Tracing.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import type { Adjustment, AdjustmentOutcome, ApplyOutcome, ApplyStep } from "../../services/ports/FloatLedger.ts"
import type { RandomSource } from "../../services/ports/RandomSource.ts"
import type { AuditTrail } from "../audit/AuditTrail.ts"
import { sqlState } from "../connection/DatabaseSpans.ts"
import { Moment } from "../connection/Rows.ts"
import { reasonOf } from "../connection/servers/FailureText.ts"
import { tellNewer } from "../transactions/NewerEventTypes.ts"
import { storedNote } from "../transactions/StoredNote.ts"
import type { Traced } from "./StepTracing.ts"

const PositionRow = Schema.Struct({
  currency: Currency,
  available_minor: Schema.BigInt,
  reserved_minor: Schema.BigInt,
  collected_minor: Schema.BigInt,
  paid_out_minor: Schema.BigInt,
  provider_fees_minor: Schema.BigInt,
  credited_minor: Schema.BigInt,
  debited_minor: Schema.BigInt,
  fx_in_minor: Schema.BigInt,
  fx_out_minor: Schema.BigInt,
  returned_minor: Schema.BigInt,
  receivable_minor: Schema.BigInt
})
const AdjustmentRow = Schema.Struct({
  direction: Schema.String,
  currency: Schema.String,
  amount_minor: Schema.BigInt,
  position: Schema.toCodecJson(FloatPosition)
})

export const decodePositions = Schema.decodeUnknownEffect(Schema.Array(PositionRow))
const LockedRow = Schema.Struct({ slots: Schema.Array(Schema.String), revision: Schema.BigInt })
const WindowRow = Schema.Struct({
  app_id: Schema.String,
  mode: Schema.String,
  name: Schema.String,
  subject: Schema.String,
  starts_at: Schema.String,
  amount: Schema.BigInt
})
const decodeLocked = Schema.decodeUnknownEffect(Schema.Array(LockedRow))
const decodeWindows = Schema.decodeUnknownEffect(Schema.Array(WindowRow))
const decodeCreated = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ created_at: Moment })))
const decodeAdjustments = Schema.decodeUnknownEffect(Schema.Array(AdjustmentRow))
const encodePosition = Schema.encodeSync(Schema.toCodecJson(FloatPosition))

export const positionOf = (row: typeof PositionRow.Type): FloatPosition => {
  const [available, receivable] = [nearestAmount(row.available_minor), nearestAmount(row.receivable_minor)]
  const owed = minusOrZero(receivable, available)
  return {
    currency: row.currency,
    // A tenant cannot use what it owes.
    available: minusOrZero(available, receivable),
    reserved: nearestAmount(row.reserved_minor),
    collected: nearestAmount(row.collected_minor),
    paidOut: nearestAmount(row.paid_out_minor),
    providerFees: nearestAmount(row.provider_fees_minor),
    credited: nearestAmount(row.credited_minor),
    debited: nearestAmount(row.debited_minor),
    fxIn: nearestAmount(row.fx_in_minor),
    fxOut: nearestAmount(row.fx_out_minor),
    returned: nearestAmount(row.returned_minor),
    owed,
    ...(owed === 0n ? {} : { receivable: owed })
  }
}

const CHECK_VIOLATION = "23514"

/**
 * A position cannot hold the posting: 0016_float_bounds has the limit, and nothing was written. The constraint is found in the
 * text, because Citus passes on a server's error without the field that names it.
 */
export const isFullFloat = (error: unknown): boolean =>
  SqlError.isSqlError(error) && sqlState(error) === CHECK_VIOLATION && reasonOf(error.reason).includes("float_within_bounds")

/** Windows last an hour or a day. */
const LONGEST_WINDOW_MS = 24 * 3_600_000

const eventOf = { credit: "float.credited", debit: "float.debited" } as const

interface Tools {
  readonly sql: SqlClient.SqlClient
  readonly randomSource: RandomSource["Service"]
  readonly trail: AuditTrail
  /** Runs the apply statement inside the transaction of the resolution. */
  readonly applyAll: (steps: ReadonlyArray<Traced<ApplyStep>>) => Effect.Effect<ReadonlyArray<ApplyOutcome>, unknown>
}

/**
 * The two ways in which a person moves money: a credit or debit of a float, and the resolution of a case. Each is one
 * transaction with its audit row. It locks rows in the same order as the statements do: the tenant or the transaction, then
 * positions by currency. An external id is a unique key, and a ruling applies only to the revision that it was made for, so
 * that nothing is posted twice.
 */
export const manualEntries = ({ applyAll, randomSource, sql, trail }: Tools) => {
  const lockPosition = Effect.fnUntraced(function* ({ appId, currency, mode }: Pick<Adjustment, "appId" | "mode" | "currency">) {
    yield* sql`INSERT INTO float_positions (app_id, mode, currency) VALUES (${appId}, ${mode}, ${currency}) ON CONFLICT DO NOTHING`
    const rows =
      yield* sql`SELECT currency, available_minor, reserved_minor, collected_minor, paid_out_minor, provider_fees_minor,
        credited_minor, debited_minor, fx_in_minor, fx_out_minor, returned_minor, receivable_minor
      FROM float_positions WHERE app_id = ${appId} AND mode = ${mode} AND currency = ${currency} FOR UPDATE`
    const [row] = yield* decodePositions(rows)
    return row === undefined ? yield* Effect.die(new Error("a float position vanished")) : row
  })

  const balancesOf = (row: typeof PositionRow.Type) => ({ available: row.available_minor, receivable: row.receivable_minor })

  const findEarlier = Effect.fnUntraced(function* ({ appId, externalId, mode }: Adjustment) {
    const rows = yield* sql`SELECT direction, currency, amount_minor, position FROM float_adjustments
      WHERE app_id = ${appId} AND mode = ${mode} AND external_id = ${externalId}`
    return Option.fromUndefinedOr((yield* decodeAdjustments(rows))[0])
  })

  const isRecord = ({ appId, externalId }: Adjustment) =>
    Effect.map(sql`SELECT 1 FROM transactions WHERE app_id = ${appId} AND reference = ${externalId}`, (rows) => rows.length > 0)

  const post = Effect.fnUntraced(function* (adjustment: Adjustment, entry: Entry, after: FloatPosition) {
    const { amount, appId, currency, direction, externalId, mode, note } = adjustment
    const reference = yield* randomSource.reference
    const at = iso(adjustment.at)
    const available = sumPosted([entry], "available")
    const owed = -sumPosted([entry], "receivable")
    const credited = direction === "credit" ? amount : 0n
    const debited = direction === "debit" ? amount : 0n
    yield* sql`UPDATE float_positions SET available_minor = available_minor + ${available}, credited_minor = credited_minor + ${credited},
      debited_minor = debited_minor + ${debited}, receivable_minor = receivable_minor + ${owed} WHERE app_id = ${appId} AND mode = ${mode} AND currency = ${currency}`
    const journal = { slot: slotOf(entry), phase: entry.phase, fact: direction === "credit" ? "Credited" : "Debited" }
    yield* sql`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts)
      VALUES (${appId}, ${reference}, 1, ${mode}, ${at}::timestamptz, 'operator', ${journal.fact}, ${storedNote({ note })}, ${journal.slot}, ${journal.phase},
        ${entry.postings.map((line) => line.currency)}::text[], ${entry.postings.map(({ account }) => account)}::text[],
        ${entry.postings.map((line) => line.amount.toString())}::bigint[])`
    yield* sql`INSERT INTO float_adjustments (app_id, mode, external_id, reference, direction, currency, amount_minor, note, at, position)
      VALUES (${appId}, ${mode}, ${externalId}, ${reference}, ${direction}, ${currency}, ${amount}, ${note}, ${at}::timestamptz,
        ${JSON.stringify(encodePosition(after))}::json)`
    const head = { id: yield* randomSource.reference, appId, mode, type: eventOf[direction], reference: null, at: adjustment.at }
    yield* tellNewer(sql, encodeEvent(head, adjustmentView(adjustment, reference, after)))
    yield* trail.write(adjustmentEntry(adjustment, reference))
  })

  const adjust = Effect.fn("FloatLedger.adjust")(
    function* (adjustment: Adjustment) {
      // An open step holds a shared lock on this row until its commit: a record that `isRecord` does not see was not opened.
      const tenants = yield* sql`SELECT 1 FROM tenants WHERE app_id = ${adjustment.appId} FOR NO KEY UPDATE`
      if (tenants.length === 0) return { _tag: "NoTenant" } satisfies AdjustmentOutcome
      const row = yield* lockPosition(adjustment)
      const before = positionOf(row)
      const done = yield* findEarlier(adjustment)
      if (Option.isSome(done)) {
        const same =
          done.value.direction === adjustment.direction &&
          done.value.currency === adjustment.currency &&
          done.value.amount_minor === adjustment.amount
        return same
          ? ({ _tag: "Adjusted", position: done.value.position, isNew: false } satisfies AdjustmentOutcome)
          : ({ _tag: "Conflict" } satisfies AdjustmentOutcome)
      }
      if (yield* isRecord(adjustment)) return { _tag: "OfRecord" } satisfies AdjustmentOutcome
      if (adjustment.direction === "debit" && adjustment.amount > before.available)
        return { _tag: "ShortFloat", available: before.available } satisfies AdjustmentOutcome
      const entry = coveringReceivable(adjustment.entry, () => balancesOf(row))
      const after = positionOf({
        ...row,
        credited_minor: row.credited_minor + (adjustment.direction === "credit" ? adjustment.amount : 0n),
        debited_minor: row.debited_minor + (adjustment.direction === "debit" ? adjustment.amount : 0n),
        available_minor: row.available_minor + sumPosted([entry], "available"),
        receivable_minor: row.receivable_minor - sumPosted([entry], "receivable")
      })
      yield* post(adjustment, entry, after)
      return { _tag: "Adjusted", position: after, isNew: true } satisfies AdjustmentOutcome
    },
    (effect) => sql.withTransaction(effect),
    Effect.catchIf(isFullFloat, () => Effect.succeed<AdjustmentOutcome>({ _tag: "FullFloat" })),
    Effect.orDie
  )

  /** Posts a correction as far as each float covers it; the rest becomes a receivable. */
  const coverFromFloat = Effect.fnUntraced(function* (entry: Entry, appId: AppId, mode: Mode) {
    const currencies = [...new Set(entry.postings.map(({ currency }) => currency))].sort()
    const rows = yield* Effect.forEach(currencies, (currency) => lockPosition({ appId, mode, currency }))
    const nothing = { available: 0n, receivable: 0n }
    const held = new Map(rows.map((row) => [row.currency, balancesOf(row)]))
    return coveringReceivable(entry, (currency) => held.get(currency) ?? nothing)
  })

  /** The windows in which a record was counted and that began after this time, in the order in which every statement locks them. */
  const windowsOf = Effect.fnUntraced(function* ({ appId, reference }: ApplyStep["next"], after: string) {
    return yield* decodeWindows(
      yield* sql`SELECT g.app_id, g.mode, g.name, g.subject, g.starts_at::text AS starts_at, g.amount
      FROM transactions t CROSS JOIN LATERAL counted_windows(t.app_id, t.mode, t.party_hash, t.counted) AS g
      WHERE t.app_id = ${appId} AND t.reference = ${reference} AND g.starts_at > ${after}::timestamptz
      ORDER BY g.app_id COLLATE "C", g.mode COLLATE "C", g.name COLLATE "C", g.subject COLLATE "C", g.starts_at`
    )
  })

  /** A ruling on a collection, or on a payout that refunds one, counts as a decision about its refunds (`refundFence`). */
  const decideAboutRefunds = Effect.fnUntraced(function* ({ next: record, restoreLimits }: ApplyStep) {
    const { appId, mode } = record
    const collection = record.kind === "payout" ? record.refundOf : record.kind === "collection" ? record.reference : undefined
    if (collection === undefined) return
    // The windows that a release gives back come before the window of refunds, in the order of locks.
    for (const { app_id, mode, name, starts_at, subject } of restoreLimits ? yield* windowsOf(record, "-infinity") : [])
      yield* sql`SELECT FROM counters WHERE app_id = ${app_id} AND mode = ${mode} AND name = ${name} AND subject = ${subject}
        AND starts_at = ${starts_at}::timestamptz FOR UPDATE`
    const read = sql`SELECT created_at FROM transactions WHERE app_id = ${appId} AND reference = ${collection} AND kind = 'collection'`
    for (const { created_at } of yield* decodeCreated(yield* read))
      yield* sql`INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
        VALUES (${appId}, ${mode}, ${REFUND_WINDOW}, ${collection}, ${iso(created_at + REFUNDABLE_MS)}::timestamptz, 1)
        ON CONFLICT (starts_at, app_id, mode, name, subject) DO UPDATE SET used = c.used + 1`
  })

  /**
   * A payout that failed no longer counts in any window. If it was paid after all, it counts again in those that began less
   * than a day ago; older ones have ended. Its row records this for `ledger verify`.
   */
  const countAgain = Effect.fnUntraced(function* ({ line, next }: ApplyStep) {
    const { appId, reference } = next
    const since = iso(line.at - LONGEST_WINDOW_MS)
    const windows = yield* windowsOf(next, since)
    if (windows.length === 0) return
    for (const { amount, app_id, mode, name, starts_at, subject } of windows)
      yield* sql`INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
        VALUES (${app_id}, ${mode}, ${name}, ${subject}, ${starts_at}::timestamptz, ${amount})
        ON CONFLICT (starts_at, app_id, mode, name, subject) DO UPDATE SET used = c.used + EXCLUDED.used`
    yield* sql`UPDATE transactions t SET counted = (
        SELECT json_agg((c.one::jsonb || '{"again": true}')::json ORDER BY c.at) FROM json_array_elements(t.counted) WITH ORDINALITY AS c(one, at)
        WHERE (c.one->>'starts_at')::timestamptz > ${since}::timestamptz)
      WHERE app_id = ${appId} AND reference = ${reference}`
  })

  const resolve = Effect.fn("FloatLedger.resolve")(
    function* (step: ApplyStep, audit: AuditEntry) {
      const { appId, mode, reference } = step.next
      // In the order in which every statement locks: the transaction, the windows, then the positions by currency.
      const [locked] = yield* decodeLocked(
        yield* sql`SELECT slots, revision FROM transactions WHERE app_id = ${appId} AND reference = ${reference} FOR UPDATE`
      )
      if (locked?.revision !== step.expectedRevision) return { _tag: "Stale" } satisfies ApplyOutcome
      if (step.countsAgain === true) yield* countAgain(step)
      yield* decideAboutRefunds(step)
      const entry =
        step.entry?.phase === "correct"
          ? nextCorrection(yield* coverFromFloat(step.entry, appId, mode), locked.slots)
          : step.entry
      const [result] = yield* applyAll([{ ...step, entry, traceparent: yield* currentTraceparent }])
      if (result?._tag !== "Applied") return { _tag: "Stale" } satisfies ApplyOutcome
      yield* trail.write(resolutionEntry(audit, reference, entry))
      return result satisfies ApplyOutcome
    },
    (effect) => sql.withTransaction(effect),
    Effect.catchIf(isFullFloat, () => Effect.succeed<ApplyOutcome>({ _tag: "FullFloat" })),
    Effect.orDie
  )

  return { adjust, resolve }
}

// The audit row of a manual entry says what it posted, whatever the caller passed: `ledger verify` compares the two.

/** The audit row of a credit or debit: what was posted, and under which reference. */
const adjustmentEntry = (adjustment: Adjustment, reference: Reference): AuditEntry => {
  const { amount, appId, audit, currency, direction, externalId, mode, note } = adjustment
  const done = {
    app_id: appId,
    mode,
    direction,
    currency,
    amount_minor: amount.toString(),
    external_id: externalId,
    reference,
    note
  }
  return { ...audit, details: { ...audit.details, ...done } }
}

/** The audit row of a resolution: its entry, or none when no money moved. */
const resolutionEntry = (audit: AuditEntry, reference: Reference, entry: Entry | null): AuditEntry => {
  const posted = entry === null ? {} : { slot: slotOf(entry), postings: textOf(entry) }
  return { ...audit, details: { ...audit.details, resolved: reference, ...posted } }
}

/** Sorted by bytes, as the database sorts them. */
const textOf = ({ postings }: Entry): string =>
  postings
    .map(({ account, amount, currency }) => `${currency} ${account} ${amount}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join("; ")
