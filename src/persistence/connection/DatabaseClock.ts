import { hostname, uptime } from "node:os"
import { Clock, Context, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { MachineClocks } from "../../domain/ClockDoubt.ts"
import { CLOCKS_DIFFER_AT_MOST_MS } from "../../domain/ClockDoubt.ts"
import { type ClockLeap, withLeap } from "../../domain/ClockLeaps.ts"
import { LatestTime } from "../../runtime/LatestTime.ts"
import { ClockTrust } from "../../services/ports/ClockWatch.ts"
import { DatabaseError } from "./DatabaseError.ts"
import { Moment } from "./Rows.ts"

/** How often the database's time is read. */
const READ_EVERY_MS = 1_000
/** A machine whose clock differs by more than this is reported as wrong, even though that clock decides nothing. */
const SKEW_AT_MOST_MS = 2_000
/**
 * Beyond this the process is not ready. It is more than the clocks of two machines in a cluster differ: when a standby takes
 * over whose clock is three seconds off, all nodes differ by as much at once, and none of them is at fault.
 */
export const READY_SKEW_AT_MOST_MS = CLOCKS_DIFFER_AT_MOST_MS

const NANOS_A_MICRO = 1_000n
const NANOS_A_MS = 1_000_000n
const JUMP_NANOS = BigInt(SKEW_AT_MOST_MS) * NANOS_A_MS

/** This machine's clock minus the database's, in milliseconds. A change of either clock shows at once. */
export class ClockSkew extends Context.Service<ClockSkew, { readonly milliseconds: Effect.Effect<number> }>()(
  "gateway/persistence/ClockSkew"
) {}

export interface DatabaseTime {
  /** The latest time that it may be: the monotonic clock of a suspended machine stops, but its time of day continues. */
  readonly latest: () => number
  /** The program's clock from now on: the database's time, behind it by at most one read's round trip and never ahead of it. */
  readonly clock: Clock.Clock
  readonly skew: ClockSkew["Service"]
  /** The leaps of that time, further than the time that passed, or without proof: an earlier record may be younger. */
  readonly leaps: Effect.Effect<ReadonlyArray<ClockLeap>>
  /** The first time that was read. */
  readonly begunAt: number
  /** Reads the database's time again. When the read fails, the clock continues as before. */
  readonly reread: Effect.Effect<void>
}

/**
 * The database's time, for a program whose own clock may be wrong. `readMicros` returns the database's time in microseconds.
 *
 * Leases, grace periods, expiries and windows decide about money, and several machines decide them together, so they share the
 * one clock that all of them can read. Between two reads the time advances by the machine's monotonic clock, which cannot be
 * set. It is never ahead of the database's, so a row that seems old enough here is old enough there when the statement arrives.
 * `watchedUntil`: the last time until which some gateway had watched that clock.
 */
export const makeDatabaseTime = Effect.fnUntraced(function* <E, R>(
  readMicros: Effect.Effect<bigint, E, R>,
  watchedUntil: () => number = () => Number.POSITIVE_INFINITY
) {
  const machine = yield* Clock.Clock
  const reading = Effect.gen(function* () {
    const askedAt = machine.monotonicTimeNanosUnsafe()
    const nanos = (yield* readMicros) * NANOS_A_MICRO
    const answeredAt = machine.monotonicTimeNanosUnsafe()
    // The database read its clock between the question and the answer, so the monotonic clock's origin lies between these two.
    return { earliest: nanos - answeredAt, latest: nanos - askedAt }
  })

  /** The time of day minus the monotonic clock: changes when the former is set, or the latter is suspended with the machine. */
  const offset = () => machine.currentTimeNanosUnsafe() - machine.monotonicTimeNanosUnsafe()

  let origin = (yield* reading).earliest
  const now = () => machine.monotonicTimeNanosUnsafe() + origin
  const nowMs = () => Number(now() / NANOS_A_MS)
  const begun = nowMs()
  const unwatchedSince = begun - watchedUntil() > CLOCKS_DIFFER_AT_MOST_MS ? watchedUntil() : begun
  let leaps: ReadonlyArray<ClockLeap> = unwatchedSince < begun ? [{ from: unwatchedSince, to: begun }] : []
  let offsetThen = offset()
  const reread = Effect.gen(function* () {
    const read = yield* Effect.exit(reading)
    if (Exit.isFailure(read)) return
    const { earliest, latest } = read.value
    if (earliest - origin > JUMP_NANOS || origin - latest > JUMP_NANOS)
      yield* Effect.logWarning("the database's clock was set, or this machine stood still; its new time is used")
    // An earlier, faster read may be more precise, unless one of the two clocks was set since.
    const from = earliest - origin > JUMP_NANOS ? nowMs() : null
    if (origin < earliest || origin > latest) origin = earliest
    if (from !== null) leaps = withLeap(leaps, { from, to: nowMs() })
    offsetThen = offset()
  })

  const clock = clockFrom(machine, now)
  const millis = () => clock.currentTimeMillisUnsafe()
  const skew = { milliseconds: Effect.sync(() => machine.currentTimeMillisUnsafe() - millis()) }
  const suspendedMs = () => Math.max(0, Number((offset() - offsetThen) / NANOS_A_MS))
  const latest = () => millis() + suspendedMs()
  return { clock, latest, skew, leaps: Effect.sync(() => leaps), begunAt: begun, reread }
})

const decodeTimes = Schema.decodeUnknownEffect(
  Schema.NonEmptyArray(
    Schema.Struct({ micros: Schema.BigInt, trustedUntil: Schema.NullOr(Moment), noncesUntil: Schema.NullOr(Moment) })
  )
)

/** The database's time as the program's `Clock`, for everything that is built on this Layer. */
export const DatabaseClock = Layer.effectContext(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const machine = yield* Clock.Clock
    let [trustedUntil, noncesUntil] = [0, Number.NEGATIVE_INFINITY]
    const readMicros =
      sql`SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros, w.trusted_until AS "trustedUntil",
        w.nonces_until AS "noncesUntil" FROM (VALUES (1)) AS always LEFT JOIN clock_watch w ON true`.pipe(
        Effect.flatMap((rows) => Effect.orDie(decodeTimes(rows))),
        Effect.map(([read]) => {
          trustedUntil = read.trustedUntil ?? 0
          // Learn what may have been removed before any later time is used.
          noncesUntil = Math.max(noncesUntil, read.noncesUntil ?? noncesUntil)
          return read.micros
        }),
        Effect.withTracerEnabled(false)
      )
    const { begunAt, clock, latest, leaps, reread, skew } = yield* DatabaseError.explain("read the time of the database")(
      makeDatabaseTime(readMicros, () => trustedUntil)
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(READ_EVERY_MS), reread)))
    yield* Effect.forkScoped(warnOfSkew(skew))
    return Context.make(ClockSkew, skew).pipe(
      Context.add(Clock.Clock, clock),
      Context.add(LatestTime, latest),
      Context.add(MachineTime, machineTimeBy(machine)),
      Context.add(ClockTrust, {
        trustedUntil: Effect.sync(() => trustedUntil),
        noncesUntil: Effect.sync(() => noncesUntil),
        leaps,
        begunAt
      })
    )
  })
)

/** Logs a warning each time that the machine's clock becomes wrong. */
const warnOfSkew = Effect.fnUntraced(function* ({ milliseconds }: ClockSkew["Service"]) {
  let wasWrong = false
  for (;;) {
    const skew = yield* milliseconds
    const isWrong = Math.abs(skew) > SKEW_AT_MOST_MS
    if (isWrong && !wasWrong)
      yield* Effect.logWarning("the clock of this machine is wrong; the database's time is used").pipe(
        Effect.annotateLogs({ skew_ms: skew })
      )
    wasWrong = isWrong
    yield* Effect.sleep(READ_EVERY_MS)
  }
})

/** A clock whose time of day comes from `nanos`, in nanoseconds since 1970. Elapsed time and sleeping are the machine's. */
const clockFrom = (machine: Clock.Clock, nanos: () => bigint): Clock.Clock => {
  const millis = () => Number(nanos() / NANOS_A_MS)
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => machine.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: machine.monotonicTimeNanos,
    sleep: (duration) => machine.sleep(duration)
  }
}

const MS_PER_SECOND = 1000

/** This machine's clocks, read through a clock that was not replaced by the database's. */
const machineTimeBy = (machine: Clock.Clock) => ({
  name: hostname(),
  read: Effect.sync(
    (): MachineClocks => ({ timeOfDay: machine.currentTimeMillisUnsafe(), uptimeMs: Math.round(uptime() * MS_PER_SECOND) })
  )
})

/** The machine's own clocks, independent of the program's clock. */
export const MachineTime = Context.Reference<{ readonly name: string; readonly read: Effect.Effect<MachineClocks> }>(
  "gateway/persistence/MachineTime",
  { defaultValue: () => ({ name: hostname(), read: Effect.flatMap(Clock.Clock, (clock) => machineTimeBy(clock).read) }) }
)
