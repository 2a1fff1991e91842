import { Clock, Context, Effect, Metric } from "effect"
import type { Mode } from "../domain/Ids.ts"
import { ActingTenant, asWait, CallKind, isPatient, MoneyTurn, tellTurnedAway } from "../runtime/CallTurn.ts"
import { annotateTraced } from "../runtime/Tracing.ts"
import type { RateLimit, RateLimits } from "../services/ports/RateLimits.ts"
import type { ProviderCall, ProviderResponse, Transport } from "./Transport.ts"

/** How many calls an account may make, in total and of each kind. */
export type Pace = Readonly<Record<"all" | CallKind, RateLimit | "off">>

/** The account of the calls, and its pace. */
interface PacedAccount {
  readonly provider: string
  readonly mode: Mode
  /** Distinguishes the current account of a mode from the previous one. */
  readonly turn: string
  readonly pace: Pace
}

/** The account that is being opened, when it has a pace, and the store of its tokens. Null outside a gateway. */
export const PaceOf = Context.Reference<PacedAccount | null>("gateway/providers/PaceOf", { defaultValue: () => null })
export const PaceBuckets = Context.Reference<RateLimits["Service"] | null>("gateway/providers/PaceBuckets", {
  defaultValue: () => null
})

/** A call keeps at least half of its time for the provider's response, and waits no longer than this. */
const LONGEST_WAIT_MS = 7_500
/** Polls are repeated, so they wait no longer than this. */
const POLL_WAIT_MS = 1_000
/** A request begins no money call that would wait longer. Less than a call itself may wait, because others begin as well. */
const BEGUN_WITHIN_MS = 3_000
/**
 * The same for a tenant none of whose calls waits. However many calls one tenant makes, they leave this much of the time to the
 * first calls of others.
 */
const FIRST_BEGUN_WITHIN_MS = 4_500
/** The share of its time that any other call may wait while another one of its tenant waits. The rest is for other tenants' first. */
const SHARE_OF_FURTHER_CALLS = 2 / 3
/** One commit lies between admitting a request and sending its call. */
const ADMITTED_FOR_MS = 1_000
/** After a 429 that names no time, and the most that a `Retry-After` can cause. */
const UNSAID_MS = 2_000
const LONGEST_RETRY_AFTER_MS = 300_000
const LOGGED_EVERY_MS = 60_000
const TOO_MANY = 429

const waits = Metric.counter("gateway_provider_pace_wait_seconds_total", {
  description: "How long calls waited for the pace of their account at a provider, in seconds.",
  incremental: true
})
const turnedAway = Metric.counter("gateway_provider_calls_turned_away_total", {
  description: "Calls that were turned away, by the pace of the account (by: pace) or by the provider (by: provider).",
  incremental: true
})

const kinds: ReadonlyArray<CallKind> = ["money", "quote", "status", "other"]

/** Starts the counters at zero, because an alert does not notice the first increase of a counter that did not exist. */
export const noneTurnedAway = ({ mode, provider }: PacedAccount) =>
  Effect.forEach(
    kinds.flatMap((kind) => (["pace", "provider"] as const).map((by) => ({ provider, mode, kind, by }))),
    (labels) => Metric.update(Metric.withAttributes(turnedAway, labels), 0),
    { discard: true }
  )

/** When a `Retry-After` (seconds or a date) ends, in milliseconds from now. Undefined when it is neither. */
export const retryAfterMs = (header: string, now: number): number | undefined => {
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : undefined
  const date = seconds === undefined && /^[A-Z][a-z]{2}, /.test(header.trim()) ? Date.parse(header) - now : undefined
  const waited = seconds ?? date
  return waited === undefined || Number.isNaN(waited) ? undefined : Math.min(Math.max(waited, 0), LONGEST_RETRY_AFTER_MS)
}

/** For how long a provider asks us to stop: after a 429, or a 503 with a `Retry-After`. Undefined for any other response. */
const askedToWait = (response: ProviderResponse, now: number): number | undefined => {
  if (response._tag !== "Answered") return undefined
  const closedMs = retryAfterMs(response.retryAfter ?? "", now)
  if (response.status === TOO_MANY) return closedMs ?? UNSAID_MS
  return response.status === 503 ? closedMs : undefined
}

/** The calls of one account at its pace. */
interface PacedTransport extends Transport {
  /** How long a money call of `part` would wait, when that is too long for a request. Otherwise 0, and it is expected. */
  readonly heldMs: (part: string) => Effect.Effect<number>
}

/**
 * Before it leaves, every call takes a token of its account and of its kind, waiting if necessary. A call that would wait too
 * long is `NotSent`. When a provider rejects a call with 429, the account is closed until the time that it names, and the
 * caller learns that the call was rejected.
 */
export const paced = (
  transport: Transport,
  { mode, pace, provider, turn }: PacedAccount,
  buckets: RateLimits["Service"]
): PacedTransport => {
  const bucketsOf = (kind: CallKind, part: string) => {
    const name = ["pace", provider, mode, turn, part].join(":")
    return [
      { bucket: `${name}:${kind}`, limit: pace[kind] },
      { bucket: name, limit: pace.all }
    ].flatMap(({ bucket, limit }) => (limit === "off" ? [] : [{ bucket, limit }]))
  }
  const interval = (kind: CallKind) =>
    Math.max(...[pace[kind], pace.all].map((limit) => (limit === "off" ? 0 : limit.windowMs / limit.count)))

  /**
   * Waits for a token from each bucket; when one cannot be had in time, none is taken. The account's bucket comes last, after
   * the kind's: otherwise calls that queue for their kind would hold tokens that polls could use.
   */
  const takeTurn = (kind: CallKind, part: string, longestMs: number) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const taken: Array<{ readonly bucket: string; readonly limit: RateLimit }> = []
        const giveBack = Effect.suspend(() =>
          Effect.forEach(taken, ({ bucket, limit }) => buckets.giveBack(bucket, limit, 1), { discard: true })
        )
        let waitMs = 0
        for (const one of bucketsOf(kind, part)) {
          // Uninterruptible, because an interrupted caller would lose the token that it is about to get.
          const said = yield* buckets.reserve(one.bucket, one.limit, longestMs - waitMs)
          if (said._tag === "Limited") {
            yield* giveBack
            return { isTaken: false, waitMs: said.retryAfterSeconds * 1000 }
          }
          taken.push(one)
          waitMs += said.waitMs
          yield* Effect.onInterrupt(restore(said.waitMs > 0 ? asWait(Effect.sleep(said.waitMs)) : Effect.void), () => giveBack)
        }
        return { isTaken: true, waitMs }
      })
    )

  /** How long a money call that begins now would wait; when that is too long, a lower bound. Takes no token. */
  const moneyWait = Effect.fnUntraced(function* (part: string, withinMs: number) {
    let waitMs = 0
    for (const { bucket, limit } of bucketsOf("money", part)) {
      const looked = Effect.tap(buckets.reserve(bucket, limit, withinMs), ({ _tag }) =>
        _tag === "Reserved" ? buckets.giveBack(bucket, limit, 1) : Effect.void
      )
      const said = yield* Effect.uninterruptible(looked)
      if (said._tag === "Limited") return { isHeld: true, waitMs: said.retryAfterSeconds * 1000 }
      waitMs = Math.max(waitMs, said.waitMs)
    }
    return { isHeld: false, waitMs }
  })

  const logged = new Map<string, number>()
  const tell = Effect.fnUntraced(function* (kind: CallKind, by: "pace" | "provider") {
    yield* Metric.update(Metric.withAttributes(turnedAway, { provider, mode, kind, by }), 1)
    const now = yield* Clock.currentTimeMillis
    if (now - (logged.get(by) ?? Number.NEGATIVE_INFINITY) < LOGGED_EVERY_MS) return
    logged.set(by, now)
    const line =
      by === "pace"
        ? Effect.logInfo("calls to a provider wait for the pace of our account")
        : Effect.logWarning("a provider turned a call away: our account is left alone for as long as it says")
    yield* Effect.annotateLogs(line, { provider, mode })
  })

  /** As this process knows it. */
  const closedUntil = new Map<string, number>()
  const close = Effect.fnUntraced(function* (part: string, forMs: number) {
    closedUntil.set(part, Math.max(closedUntil.get(part) ?? 0, (yield* Clock.currentTimeMillis) + forMs))
    yield* Effect.forEach(bucketsOf("other", part).slice(-1), ({ bucket, limit }) => buckets.close(bucket, limit, forMs), {
      discard: true
    })
  })

  /** How many calls wait for a token, by part, kind and tenant. */
  const waiting = new Map<string, number>()
  const lineOf = (kind: CallKind, part: string) => Effect.map(ActingTenant, (tenant) => `${part} ${kind} ${tenant ?? ""}`)
  const waitsIn = (line: string): number => waiting.get(line) ?? 0
  const inLine = <A>(line: string, call: Effect.Effect<A>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => void waiting.set(line, waitsIn(line) + 1)),
      () => call,
      () => Effect.sync(() => (waitsIn(line) > 1 ? waiting.set(line, waitsIn(line) - 1) : waiting.delete(line)))
    )

  /** Money calls of admitted requests that have not begun, by part. */
  const expected = new Map<string, ReadonlyArray<Expected>>()
  const expect = Effect.fnUntraced(function* (part: string, one: Expected) {
    const forget = () =>
      void expected.set(
        part,
        (expected.get(part) ?? []).filter((other) => other !== one)
      )
    expected.set(part, [...(expected.get(part) ?? []), one])
    const turn = yield* MoneyTurn
    if (turn === null) return
    turn.forget()
    turn.forget = forget
  })
  const begin = (part: string) =>
    Effect.map(MoneyTurn, (turn) => {
      if (turn === null) expected.set(part, (expected.get(part) ?? []).slice(1))
      else turn.forget()
    })

  const call = Effect.fnUntraced(function* (one: ProviderCall): Effect.fn.Return<ProviderResponse> {
    const kind = yield* CallKind
    const part = one.account ?? ""
    if (kind === "money") yield* begin(part)
    const longest = (yield* isPatient) ? Math.min(LONGEST_WAIT_MS, one.timeoutMs / 2) : POLL_WAIT_MS
    const line = yield* lineOf(kind, part)
    // A money call was let through already.
    const isFurther = kind !== "money" && (yield* ActingTenant) !== null && waitsIn(line) > 0
    const turn = takeTurn(kind, part, isFurther ? longest * SHARE_OF_FURTHER_CALLS : longest)
    const { isTaken, waitMs } = yield* inLine(line, turn)
    const turnAway = Effect.fnUntraced(function* (forMs: number): Effect.fn.Return<ProviderResponse> {
      yield* tell(kind, "pace")
      yield* tellTurnedAway({ retryAfterMs: forMs, intervalMs: interval(kind) })
      return { _tag: "NotSent", note: "the pace of the account at the provider" }
    })
    if (!isTaken) return yield* turnAway(waitMs)
    if (waitMs > 0) {
      yield* Metric.update(Metric.withAttributes(waits, { provider, mode, kind }), waitMs / 1000)
      yield* annotateTraced(() => ({ "gateway.pace_wait_ms": waitMs }))
      // Others may have been rejected in the meantime.
      const closedFor = (closedUntil.get(part) ?? 0) - (yield* Clock.currentTimeMillis)
      if (closedFor > 0) return yield* turnAway(closedFor)
    }
    const response = yield* transport.call({ ...one, timeoutMs: one.timeoutMs - waitMs, paceMs: waitMs })
    const leftAlone = askedToWait(response, yield* Clock.currentTimeMillis)
    if (leftAlone !== undefined) {
      yield* close(part, leftAlone)
      yield* tell(kind, "provider")
      // A 503 is a failure of the provider, even when it names a time.
      if (response._tag === "Answered" && response.status === TOO_MANY)
        yield* tellTurnedAway({ retryAfterMs: leftAlone, intervalMs: interval(kind) })
    }
    return response
  })

  const heldMs = Effect.fnUntraced(function* (part: string) {
    const now = yield* Clock.currentTimeMillis
    const begun = (expected.get(part) ?? []).filter(({ at }) => now - at < ADMITTED_FOR_MS)
    expected.set(part, begun)
    const line = yield* lineOf("money", part)
    const isFirst = (yield* ActingTenant) !== null && waitsIn(line) === 0 && begun.every((other) => other.line !== line)
    const withinMs = isFirst ? FIRST_BEGUN_WITHIN_MS : BEGUN_WITHIN_MS
    const { isHeld, waitMs } = yield* moneyWait(part, withinMs)
    if (isHeld) return yield* Effect.as(tell("money", "pace"), waitMs)
    // When there is a token now, there may be as many as the bucket holds.
    const before = waitMs > 0 ? begun.length : Math.max(0, begun.length + 1 - burstOf(pace))
    const behind = waitMs + before * interval("money")
    if (behind > withinMs) return yield* Effect.as(tell("money", "pace"), behind)
    yield* expect(part, { at: now, line })
    return 0
  })

  return { call, heldMs }
}

interface Expected {
  readonly at: number
  /** Of its tenant. */
  readonly line: string
}

/** How many money calls can leave at once from a full bucket. */
const burstOf = ({ all, money }: Pace): number =>
  Math.min(...[all, money].map((limit) => (limit === "off" ? Number.POSITIVE_INFINITY : limit.burst)))
