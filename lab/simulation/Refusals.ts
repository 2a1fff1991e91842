import { codesAtMost } from "./CodeFaults.ts"
import { executedOf, feeCharged, isReversed, MINUTE, PAYOUT_FEE } from "./Movement.ts"
import { type Heard, refusalIn, type Seen, type Stored, type Told, wasFrozen } from "./Seen.ts"

const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
export const TEST_CEILING = 20_000n
/** An earlier charge counts this long; one that waited for its code was placed after it was recorded. */
export const LOOK_BACK_MS = 15 * MINUTE
const CODE_MS = 10 * MINUTE
const CODES_AT_MOST = 3

type Reason = (one: Told, heard: Heard, seen: Seen, details: Readonly<Record<string, unknown>>) => boolean

/** Refusals that nothing gave a reason for, by the judge's own count. */
export const unjustified = (one: Told, seen: Seen): ReadonlyArray<string> =>
  one.answers.flatMap((heard) => {
    const refusal = refusalIn(heard.body)
    if (refusal === undefined) return []
    const reason = reasons[refusal.code]
    if (reason === undefined) return [`${one.key}: refused with ${refusal.code}, which nothing here can cause`]
    // What is repeated was decided for an earlier request.
    const since = heard.isReplay ? one.askedAt : heard.askedAt
    const asked = { ...heard, askedAt: since - seen.offAtMostMs, answeredAt: heard.answeredAt + seen.offAtMostMs }
    return reason(one, asked, seen, refusal.details) ? [] : [`${one.key}: refused with ${refusal.code} for no reason`]
  })

const always: Reason = () => true

/** Had not ended when the request was sent, as far as it has ended at all. */
const wasOpen = ({ endedAt }: Stored, { askedAt }: Heard): boolean => endedAt === null || endedAt >= askedAt

const others = (one: Told, { records, told }: Seen, heard: Heard) =>
  told.flatMap((other) => {
    const record = records.get(other.reference ?? "")
    const isThere = other !== one && record !== undefined && record.createdAt <= heard.answeredAt
    return isThere && other.mode === one.mode ? [{ ...other, record }] : []
  })

/** An answer that took its time, or was given by a clock that was off, may have been decided in any of several windows. */
const windowsOf = ({ answeredAt, askedAt }: Heard, length: number): ReadonlyArray<number> => {
  const first = Math.floor(askedAt / length)
  return Array.from({ length: Math.floor(answeredAt / length) - first + 1 }, (_, index) => first + index)
}

const isFull: Reason = (one, heard, seen) => {
  const cap = seen.caps.get(`${one.appId}/${one.mode}`)
  if (cap === undefined) return false
  const counted = others(one, seen, heard).filter(
    ({ appId, kind, party, record }) =>
      appId === one.appId &&
      kind === one.kind &&
      (kind === "payout" ? record.status !== "failed" || wasOpen(record, heard) : party === one.party)
  )
  return windowsOf(heard, HOUR).some(
    (hour) => counted.filter(({ record }) => Math.floor(record.createdAt / HOUR) === hour).length >= cap
  )
}

const isOverCeiling: Reason = (one, heard, seen) => {
  const { ceiling } = seen
  if (ceiling === null) return false
  const counted = others(one, seen, heard).filter(
    ({ kind, record }) => kind === "payout" && (record.status !== "failed" || wasOpen(record, heard))
  )
  return windowsOf(heard, DAY).some((day) => {
    const sum = counted
      .filter(({ record }) => Math.floor(record.createdAt / DAY) === day)
      .reduce((total, { amount }) => total + amount + PAYOUT_FEE, 0n)
    return sum + one.amount + PAYOUT_FEE > ceiling.amount
  })
}

/** The refusal names a recent charge of the same number that succeeded, was live, or ended while this request was there. */
const isGuarded: Reason = (one, heard, seen, { already_succeeded, reference }) => {
  const earlier = others(one, seen, heard).find((other) => other.reference === reference)
  if (earlier === undefined) return false
  const { appId, kind, party, record } = earlier
  return (
    kind === "collection" &&
    appId === one.appId &&
    party === one.party &&
    record.createdAt + LOOK_BACK_MS + (seen.needsCode ? CODE_MS : 0) > heard.askedAt &&
    (record.status === "successful" || wasOpen(record, heard)) &&
    (already_succeeded === undefined || executedOf(seen.movements, earlier.reference).length > 0)
  )
}

/** The least that can have been there, while the request was, is less than what it needed; and no more is said to be missing. */
const isShort: Reason = (one, heard, seen, { shortfall_minor }) => {
  const missing = one.amount + (one.kind === "payout" ? PAYOUT_FEE : 0n) - leastAvailable(one, heard, seen)
  if (one.kind === "exchange") return missing > 0n
  return typeof shortfall_minor === "number" && shortfall_minor > 0 && BigInt(shortfall_minor) <= missing
}

const leastAvailable = (one: Told, heard: Heard, seen: Seen): bigint =>
  others(one, seen, heard)
    .filter(({ appId }) => appId === one.appId)
    .reduce(
      (sum, { amount, kind, record, reference }) => {
        const isEnded = !wasOpen(record, heard)
        const [moved] = isEnded ? executedOf(seen.movements, reference) : []
        // What was taken back may have been heard of before its success, and leaves nothing either way.
        if (kind === "collection") return moved === undefined || isReversed(moved) ? sum : sum + moved.amount - moved.fee
        if (isEnded && record.status === "failed") return sum
        if (kind === "exchange") return sum - amount
        return sum - amount - (moved === undefined ? PAYOUT_FEE : feeCharged(moved.fee))
      },
      seen.credits.get(`${one.appId}/${one.mode}/UGX`) ?? 0n
    )

const isAboveCeiling: Reason = ({ amount, mode }, _, __, { maximum_minor, scope }) =>
  mode === "test" && scope === "test_mode" && maximum_minor === Number(TEST_CEILING) && amount > TEST_CEILING

const isRejected: Reason = ({ reference }, _, { records }) =>
  ["failed", "expired", "successful"].includes(records.get(reference ?? "")?.status ?? "")

const reasons: Readonly<Record<string, Reason | undefined>> = {
  velocity_limit_exceeded: isFull,
  global_ceiling_reached: isOverCeiling,
  duplicate_charge_in_flight: isGuarded,
  insufficient_tenant_float: isShort,
  amount_above_maximum: isAboveCeiling,
  payout_rejected_by_provider: isRejected,
  charge_rejected_by_provider: isRejected,
  otp_incorrect: ({ pin, reference }, _, { wrongCodes }) =>
    wrongCodes.some((one) => one.reference === reference && one.pin === pin),
  tenant_frozen: ({ appId }, heard, { freezes }) => wasFrozen(freezes, appId, heard),
  quote_expired: ({ kind }) => kind === "exchange",
  // A day after its end a quote is forgotten.
  not_found: ({ askedAt, kind }, { answeredAt }) => kind === "exchange" && answeredAt - askedAt > DAY,
  rate_limited: (one, heard, seen) => one.pin === null && seen.needsCode && codesAtMost(one, heard, seen) >= CODES_AT_MOST,
  // The outside is silent, or another request has the key: nothing here is decided by a count.
  request_in_progress: always,
  indeterminate_outcome: always,
  provider_unavailable: always,
  provider_timeout: always,
  provider_bad_response: always,
  provider_error: always
}
