import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AppId, Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { type Posting, slotOf } from "../../domain/Ledger.ts"
import { nearestAmount } from "../../domain/Money.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import {
  type ApplyOutcome,
  type ApplyStep,
  FloatLedger,
  type OpenOutcome,
  type OpenStep
} from "../../services/ports/FloatLedger.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { callOf, callOfTenant, columnsOf, storable } from "../connection/Columns.ts"
import { Distribution } from "../connection/Distribution.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"
import { isLockTimeout, makeBatcher, onOwnConnection } from "../connection/StepBatch.ts"
import { deliverNewer, isNewer } from "../transactions/NewerEventTypes.ts"
import { storedNote } from "../transactions/StoredNote.ts"
import { decodePositions, isFullFloat, manualEntries, positionOf } from "./ManualEntries.ts"
import { openStatement, openStatementOfTenant } from "./OpenSteps.ts"
import { stepColumns } from "./StepColumns.ts"
import { linkedBatch, type Traced, withRootTraceparent, withTraceparent } from "./StepTracing.ts"

const OpenRow = Schema.Struct({
  verdict: Schema.Literals(["Opened", "ClaimLost", "Frozen", "PayerBusy", "OverCap", "ShortFloat"]),
  failed_window: Schema.Number,
  reservable: Schema.BigInt
})
const ApplyRow = Schema.Struct({ applied: Schema.Boolean })

const decodeOpenRows = Schema.decodeUnknownEffect(Schema.Array(OpenRow))
const decodeApplyRows = Schema.decodeUnknownEffect(Schema.Array(ApplyRow))

const openedOf = ({ failed_window, reservable, verdict }: typeof OpenRow.Type): OpenOutcome => {
  // The functions count windows from one.
  if (verdict === "OverCap") return { _tag: "OverCap", counter: failed_window - 1 }
  return verdict === "ShortFloat" ? { _tag: "ShortFloat", available: nearestAmount(reservable) } : { _tag: verdict }
}

const openAll = (sql: SqlClient.SqlClient, statementFor: typeof openStatement) => (steps: ReadonlyArray<Traced<OpenStep>>) =>
  onOwnConnection(sql)(sql.unsafe(...statementFor(steps))).pipe(
    Effect.flatMap(decodeOpenRows),
    Effect.map((rows): ReadonlyArray<OpenOutcome> => rows.map(openedOf)),
    linkedBatch("open", steps, ({ transaction }) => transaction)
  )

const applyAll = (sql: SqlClient.SqlClient, statementFor: typeof applyStatement) => (steps: ReadonlyArray<Traced<ApplyStep>>) =>
  withNewerEvents(sql, steps, onOwnConnection(sql)(Effect.flatMap(sql.unsafe(...statementFor(steps)), decodeApplyRows))).pipe(
    Effect.map((rows) => rows.map(({ applied }): ApplyOutcome => ({ _tag: applied ? "Applied" : "Stale" }))),
    linkedBatch("apply", steps, ({ next }) => next)
  )

/** The deliveries of newer event types, in the commit of the steps that cause them. */
const withNewerEvents = <E>(
  sql: SqlClient.SqlClient,
  steps: ReadonlyArray<ApplyStep>,
  applied: Effect.Effect<ReadonlyArray<typeof ApplyRow.Type>, E>
) => {
  if (!steps.some(({ event }) => event !== null && isNewer(event.type))) return applied
  const eventsIn = (rows: ReadonlyArray<typeof ApplyRow.Type>) =>
    steps.flatMap(({ event }, at) => (event !== null && isNewer(event.type) && rows[at]?.applied === true ? [event] : []))
  return sql.withTransaction(Effect.tap(applied, (rows) => deliverNewer(sql, eventsIn(rows))))
}

/**
 * FloatLedger on PostgreSQL: batches steps and calls the database functions that commit them. `open_step` and `open_steps` make
 * a float reservation, `apply_step` and `apply_steps` settle or release it; the singular form is for a single step.
 *
 * It owns float_positions, journal and float_adjustments, and the writes to transactions, events and deliveries that belong to
 * a money step.
 *
 * Each call is one commit. It locks every row on which it decides, in one order for all calls, so that concurrent steps wait
 * for each other. A key's fence and a record's revision prevent a second commit.
 */
export const FloatLedgerPg = layerOf(FloatLedger)(function* () {
  const sql = yield* SqlClient.SqlClient
  const randomSource = yield* RandomSource
  const trail = auditTrail(sql, (yield* Vault).hash)
  const { isDistributed } = yield* Distribution
  const everyTenant = yield* EveryTenant
  const onTenantServer = yield* OnTenantServer
  const openBatch = openAll(sql, isDistributed ? openStatementOfTenant : openStatement)
  const applyBatch = applyAll(sql, isDistributed ? applyStatementOfTenant : applyStatement)
  const { adjust, resolve } = manualEntries({ sql, randomSource, trail, applyAll: applyBatch })

  const open = yield* makeBatcher({
    statement: openBatch,
    recover: recoverOpen(sql, onTenantServer),
    laneOf: ({ transaction }) => transaction.appId,
    ...everyTenant.lanesOf(({ transaction }: OpenStep) => transaction.appId),
    isLockTimeout
  })
  const apply = yield* makeBatcher({
    // When one float of a batch is full, the steps run again one by one.
    statement: (steps: ReadonlyArray<Traced<ApplyStep>>) =>
      Effect.catchIf(
        applyBatch(steps),
        (error) => steps.length === 1 && isFullFloat(error),
        () => Effect.succeed<ReadonlyArray<ApplyOutcome>>([{ _tag: "FullFloat" }])
      ),
    recover: recoverApply(sql, onTenantServer),
    laneOf: ({ next }) => next.appId,
    ...everyTenant.lanesOf(({ next }: ApplyStep) => next.appId),
    isLockTimeout
  })

  const positions = Effect.fn("FloatLedger.positions")(function* (appId: AppId, mode: Mode) {
    const rows = yield* onTenantServer(
      appId
    )(sql`SELECT currency, available_minor, reserved_minor, collected_minor, paid_out_minor, provider_fees_minor,
          credited_minor, debited_minor, fx_in_minor, fx_out_minor, returned_minor, receivable_minor
        FROM float_positions WHERE app_id = ${appId} AND mode = ${mode}
          AND (available_minor, reserved_minor, collected_minor, credited_minor, fx_in_minor, receivable_minor) <> (0, 0, 0, 0, 0, 0)
        ORDER BY currency`)
    return (yield* decodePositions(rows)).map(positionOf)
  }, Effect.orDie)

  return { open: withRootTraceparent(open), apply: withTraceparent(apply), resolve, adjust, positions }
})

// A connection can break after the commit of a money step and before its result arrives. The step then runs again and is
// refused. These two functions find out whether this step was committed, or whether another request was faster.

/** ClaimLost means Opened when the key is linked to this step's own transaction. */
const recoverOpen = (sql: SqlClient.SqlClient, onTenantServer: OnTenantServer) =>
  Effect.fnUntraced(function* ({ claim, transaction }: OpenStep, result: OpenOutcome) {
    if (result._tag !== "ClaimLost") return result
    const { appId, endpoint, key, mode } = claim.scope
    const read = sql`SELECT 1 FROM idempotency_keys
      WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${claim.fence}
        AND reference = ${transaction.reference}`
    const rows = yield* onTenantServer(appId)(read)
    return rows.length === 1 ? ({ _tag: "Opened" } satisfies OpenOutcome) : result
  })

/** Stale means Applied when this step's own row is in the journal. */
const recoverApply = (sql: SqlClient.SqlClient, onTenantServer: OnTenantServer) =>
  Effect.fnUntraced(function* ({ expectedRevision, line, next: { appId, reference } }: ApplyStep, result: ApplyOutcome) {
    if (result._tag !== "Stale") return result
    const read = sql`SELECT 1 FROM journal
      WHERE app_id = ${appId} AND reference = ${reference} AND revision = ${expectedRevision + 1n} AND at = ${iso(line.at)}::timestamptz
        AND actor = ${line.actor} AND fact = ${line.fact} AND note = ${storedNote(line)} AND status = ${line.status}`
    const rows = yield* onTenantServer(appId)(read)
    return rows.length === 1 ? ({ _tag: "Applied" } satisfies ApplyOutcome) : result
  })

type TracedApplyStep = Traced<ApplyStep>

/** One value of each posting, as a PostgreSQL array literal: currencies, accounts and amounts need no quotes. */
const arrayOf = ({ entry }: TracedApplyStep, of: (posting: Posting) => string | bigint): string =>
  `{${entry === null ? "" : entry.postings.map(of).join(",")}}`

const steps = columnsOf<TracedApplyStep>({
  ...stepColumns,
  expected_revision: { type: "bigint", of: ({ expectedRevision }) => expectedRevision },
  raw_request: { type: "text", of: ({ raw }) => raw?.request ?? null },
  raw_response: { type: "text", of: ({ raw }) => raw?.response ?? null },
  slot: { type: "text", of: ({ entry }) => (entry === null ? null : slotOf(entry)) },
  phase: { type: "text", of: ({ entry }) => entry?.phase ?? null },
  currencies: { type: "text", of: (step) => arrayOf(step, ({ currency }) => currency) },
  accounts: { type: "text", of: (step) => arrayOf(step, ({ account }) => account) },
  amounts: { type: "text", of: (step) => arrayOf(step, ({ amount }) => amount) },
  give_back: { type: "boolean", of: ({ restoreLimits }) => restoreLimits },
  accepted: { type: "boolean", of: ({ savesBeneficiary }) => savesBeneficiary },
  wipe: { type: "boolean", of: ({ wipeDestination }) => wipeDestination },
  endpoint: { type: "text", of: ({ response }) => response?.claim.scope.endpoint ?? null },
  key: { type: "text", of: ({ response }) => response?.claim.scope.key ?? null },
  fence: { type: "bigint", of: ({ response }) => response?.claim.fence ?? null },
  answer_status: { type: "int", of: ({ response }) => response?.response.status ?? null },
  answer_body: {
    type: "bytea",
    of: ({ response }) => (response === null ? null : Buffer.from(storable(response.response.body)))
  }
})

/** The functions that apply one fact, or a batch of them. */
const applyStepCall = `SELECT applied FROM ${callOf("apply_step", steps.names)}`
const applyStepsCall = `SELECT applied FROM ${callOf("apply_steps", steps.names)}`
/** The same on Citus, for steps of one tenant. */
const applyStepOfTenantCall = `SELECT applied FROM ${callOfTenant("apply_step", steps.names)}`
const applyStepsOfTenantCall = `SELECT applied FROM ${callOfTenant("apply_steps", ["app", ...steps.names])}`

/** The statement for these steps, and its parameters. For one step the single form is cheaper, for several the batch. */
export const applyStatement = (all: ReadonlyArray<TracedApplyStep>): readonly [string, ReadonlyArray<unknown>] => {
  const [step] = all
  return step !== undefined && all.length === 1 ? [applyStepCall, steps.values(step)] : [applyStepsCall, steps.arrays(all)]
}

/** The same on Citus, where all steps are of one tenant. */
export const applyStatementOfTenant = (all: ReadonlyArray<TracedApplyStep>): readonly [string, ReadonlyArray<unknown>] => {
  const [step] = all
  return step !== undefined && all.length === 1
    ? [applyStepOfTenantCall, steps.values(step)]
    : [applyStepsOfTenantCall, [step?.next.appId ?? "", ...steps.arrays(all)]]
}
