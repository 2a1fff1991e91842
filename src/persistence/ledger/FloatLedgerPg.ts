import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Currency } from "../../domain/Currency.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { type Account, against, type Entry, FloatPosition, slots } from "../../domain/Ledger.ts"
import { minor, minusOrZero } from "../../domain/Money.ts"
import { currentTraceparent } from "../../runtime/TraceLinks.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import {
  type Adjusted,
  type Adjustment,
  type Applied,
  type ApplyStep,
  FloatLedger,
  type Opened,
  type OpenStep,
  type Resolved
} from "../../services/ports/FloatLedger.ts"
import { Identifiers } from "../../services/ports/Identifiers.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../AuditTrail.ts"
import { apart, wasHeld } from "../HeldRow.ts"
import { batched } from "../StepBatch.ts"
import { asBatch, type Traced, traced, tracedOpen } from "../TracedStep.ts"
import { adjustmentEntry, resolutionEntry } from "./AdjustmentEntry.ts"
import { applyParameters, applyStatement } from "./ApplyStatement.ts"
import { appliedBefore, openedBefore } from "./LostAnswers.ts"
import { openParameters } from "./OpenColumns.ts"
import { openStatement } from "./OpenStatement.ts"

const OpenRow = Schema.Struct({
  verdict: Schema.Literals(["Opened", "ClaimLost", "Frozen", "PayerBusy", "OverCap", "ShortFloat"]),
  failed: Schema.Number,
  available: Schema.BigInt
})
const ApplyRow = Schema.Struct({ applied: Schema.Boolean })
const PositionRow = Schema.Struct({
  currency: Currency,
  available_minor: Schema.BigInt,
  reserved_minor: Schema.BigInt,
  collected_minor: Schema.BigInt,
  paid_out_minor: Schema.BigInt,
  provider_fees_minor: Schema.BigInt,
  receivable_minor: Schema.BigInt
})
const AdjustmentRow = Schema.Struct({
  direction: Schema.String,
  currency: Schema.String,
  amount_minor: Schema.BigInt,
  position: Schema.toCodecJson(FloatPosition)
})

const decodeOpenRows = Schema.decodeUnknownEffect(Schema.Array(OpenRow))
const decodeApplyRows = Schema.decodeUnknownEffect(Schema.Array(ApplyRow))
const decodePositions = Schema.decodeUnknownEffect(Schema.Array(PositionRow))
const decodeAdjustments = Schema.decodeUnknownEffect(Schema.Array(AdjustmentRow))
const encodePosition = Schema.encodeSync(Schema.toCodecJson(FloatPosition))

const opened = ({ available, failed, verdict }: typeof OpenRow.Type): Opened => {
  // The statement counts places from one.
  if (verdict === "OverCap") return { _tag: "OverCap", counter: failed - 1 }
  return verdict === "ShortFloat" ? { _tag: "ShortFloat", available: minor(available) } : { _tag: verdict }
}

const position = (row: typeof PositionRow.Type): FloatPosition => ({
  currency: row.currency,
  // What the tenant owes is not there to draw from.
  available: minusOrZero(minor(row.available_minor), minor(row.receivable_minor)),
  reserved: minor(row.reserved_minor),
  collected: minor(row.collected_minor),
  paidOut: minor(row.paid_out_minor),
  providerFees: minor(row.provider_fees_minor),
  ...(row.receivable_minor === 0n ? {} : { receivable: minor(row.receivable_minor) })
})

const openAll = (sql: SqlClient.SqlClient) => (steps: ReadonlyArray<Traced<OpenStep>>) =>
  apart(sql)(sql.unsafe(openStatement, openParameters(steps))).pipe(
    Effect.flatMap(decodeOpenRows),
    Effect.map((rows): ReadonlyArray<Opened> => rows.map(opened)),
    asBatch("open", steps)
  )

const applyAll = (sql: SqlClient.SqlClient) => (steps: ReadonlyArray<Traced<ApplyStep>>) =>
  apart(sql)(sql.unsafe(applyStatement, applyParameters(steps))).pipe(
    Effect.flatMap(decodeApplyRows),
    Effect.map((rows) => rows.map(({ applied }): Applied => ({ _tag: applied ? "Applied" : "Stale" }))),
    asBatch("apply", steps)
  )

/** What an entry does to one account. */
const posted = ({ postings }: Entry, account: Account): bigint =>
  postings.reduce((sum, line) => (line.account === account ? sum + line.amount : sum), 0n)

/** FloatLedger on PostgreSQL: opening and applying are one statement for a batch of steps, a person's changes are plain transactions. */
export const FloatLedgerPg = Layer.effect(
  FloatLedger,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const identifiers = yield* Identifiers
    const trail = auditTrail(sql, (yield* Vault).hash)

    const open = yield* batched({
      statement: openAll(sql),
      doubted: openedBefore(sql),
      laneOf: ({ transaction }) => transaction.appId,
      wasHeld
    })
    const apply = yield* batched({
      statement: applyAll(sql),
      doubted: appliedBefore(sql),
      laneOf: ({ next }) => next.appId,
      wasHeld
    })

    const lockedPosition = Effect.fnUntraced(function* ({
      appId,
      currency,
      mode
    }: Pick<Adjustment, "appId" | "mode" | "currency">) {
      yield* sql`INSERT INTO float_positions (app_id, mode, currency) VALUES (${appId}, ${mode}, ${currency}) ON CONFLICT DO NOTHING`
      const rows =
        yield* sql`SELECT currency, available_minor, reserved_minor, collected_minor, paid_out_minor, provider_fees_minor,
          receivable_minor
        FROM float_positions WHERE app_id = ${appId} AND mode = ${mode} AND currency = ${currency} FOR UPDATE`
      const [row] = yield* decodePositions(rows)
      return row === undefined ? yield* Effect.die(new Error("a float position vanished")) : row
    })
    const heldBy = (row: typeof PositionRow.Type) => ({ available: row.available_minor, receivable: row.receivable_minor })

    const earlier = Effect.fnUntraced(function* ({ appId, externalId, mode }: Adjustment) {
      const rows = yield* sql`SELECT direction, currency, amount_minor, position FROM float_adjustments
        WHERE app_id = ${appId} AND mode = ${mode} AND external_id = ${externalId}`
      return Option.fromUndefinedOr((yield* decodeAdjustments(rows))[0])
    })

    const post = Effect.fnUntraced(function* (adjustment: Adjustment, entry: Entry, after: FloatPosition) {
      const { amount, appId, currency, direction, externalId, mode, note } = adjustment
      const reference = yield* identifiers.reference
      const at = iso(adjustment.at)
      const change = posted(entry, "available")
      const owed = -posted(entry, "receivable")
      const credited = direction === "credit" ? amount : 0n
      const debited = direction === "debit" ? amount : 0n
      yield* sql`UPDATE float_positions SET available_minor = available_minor + ${change}, credited_minor = credited_minor + ${credited},
        debited_minor = debited_minor + ${debited}, receivable_minor = receivable_minor + ${owed} WHERE app_id = ${appId} AND mode = ${mode} AND currency = ${currency}`
      yield* sql`INSERT INTO journal (app_id, reference, slot, mode, phase, at)
        VALUES (${appId}, ${reference}, ${slots[entry.phase]}, ${mode}, ${entry.phase}, ${at}::timestamptz)`
      for (const line of entry.postings) {
        yield* sql`INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor, at)
          VALUES (${appId}, ${reference}, ${slots[entry.phase]}, ${line.currency}, ${line.account}, ${mode}, ${line.amount}, ${at}::timestamptz)`
      }
      yield* sql`INSERT INTO float_adjustments (app_id, mode, external_id, reference, direction, currency, amount_minor, note, at, position)
        VALUES (${appId}, ${mode}, ${externalId}, ${reference}, ${direction}, ${currency}, ${amount}, ${note}, ${at}::timestamptz,
          ${JSON.stringify(encodePosition(after))}::json)`
      yield* trail.write(adjustmentEntry(adjustment, reference))
    })

    const adjust = Effect.fn("FloatLedger.adjust")(
      function* (adjustment: Adjustment) {
        const tenants = yield* sql`SELECT 1 FROM tenants WHERE app_id = ${adjustment.appId} FOR SHARE`
        if (tenants.length === 0) return { _tag: "NoTenant" } satisfies Adjusted
        const row = yield* lockedPosition(adjustment)
        const before = position(row)
        const done = yield* earlier(adjustment)
        if (Option.isSome(done)) {
          const same =
            done.value.direction === adjustment.direction &&
            done.value.currency === adjustment.currency &&
            done.value.amount_minor === adjustment.amount
          return same
            ? ({ _tag: "Adjusted", position: done.value.position } satisfies Adjusted)
            : ({ _tag: "Conflict" } satisfies Adjusted)
        }
        if (adjustment.direction === "debit" && adjustment.amount > before.available)
          return { _tag: "ShortFloat", available: before.available } satisfies Adjusted
        const entry = against(adjustment.entry, () => heldBy(row))
        const after = position({
          ...row,
          available_minor: row.available_minor + posted(entry, "available"),
          receivable_minor: row.receivable_minor - posted(entry, "receivable")
        })
        yield* post(adjustment, entry, after)
        return { _tag: "Adjusted", position: after } satisfies Adjusted
      },
      (effect) => sql.withTransaction(effect),
      Effect.orDie
    )

    const covered = Effect.fnUntraced(function* (entry: Entry, appId: AppId, mode: Mode) {
      const currencies = [...new Set(entry.postings.map(({ currency }) => currency))].sort()
      const rows = yield* Effect.forEach(currencies, (currency) => lockedPosition({ appId, mode, currency }))
      const nothing = { available: 0n, receivable: 0n }
      const held = new Map(rows.map((row) => [row.currency, heldBy(row)]))
      return against(entry, (currency) => held.get(currency) ?? nothing)
    })

    const resolve = Effect.fn("FloatLedger.resolve")(
      function* (step: ApplyStep, audit: AuditEntry) {
        const { appId, mode, reference } = step.next
        // In the order in which every statement locks: the transaction, then the positions by currency.
        yield* sql`SELECT 1 FROM transactions WHERE app_id = ${appId} AND reference = ${reference} FOR UPDATE`
        if (step.entry?.phase === "correct") {
          const earlier = yield* sql`SELECT 1 FROM journal
            WHERE app_id = ${appId} AND reference = ${reference} AND slot = ${slots.correct}`
          if (earlier.length > 0) return { _tag: "Corrected" } satisfies Resolved
        }
        const entry = step.entry?.phase === "correct" ? yield* covered(step.entry, appId, mode) : step.entry
        const [result] = yield* applyAll(sql)([{ ...step, entry, traceparent: yield* currentTraceparent }])
        if (result?._tag !== "Applied") return { _tag: "Stale" } satisfies Resolved
        yield* trail.write(resolutionEntry(audit, reference, entry))
        return result satisfies Resolved
      },
      (effect) => sql.withTransaction(effect),
      Effect.orDie
    )

    const positions = Effect.fn("FloatLedger.positions")(function* (appId: AppId, mode: Mode) {
      const rows =
        yield* sql`SELECT currency, available_minor, reserved_minor, collected_minor, paid_out_minor, provider_fees_minor,
          receivable_minor
        FROM float_positions WHERE app_id = ${appId} AND mode = ${mode}
          AND (available_minor, reserved_minor, collected_minor, credited_minor, fx_in_minor, receivable_minor) <> (0, 0, 0, 0, 0, 0)
        ORDER BY currency`
      return (yield* decodePositions(rows)).map(position)
    }, Effect.orDie)

    return FloatLedger.of({ open: tracedOpen(open), apply: traced(apply), resolve, adjust, positions })
  })
)
