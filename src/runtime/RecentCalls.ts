import { Context } from "effect"

/** One kind of call to one account of a provider. Each field has a fixed set of values, so that there are few keys. */
interface CallKey {
  readonly provider: string
  readonly mode: string
  readonly operation: string
}

/** How a call ended. `failure` is why it got no answer; null where the provider answered, even with a refusal. */
export interface CallEnd {
  readonly at: number
  readonly failure: string | null
}

/** The recent outcomes of the calls of one key. */
export interface CallCounts extends CallKey {
  /** Within `RECENT_MS`. */
  readonly calls: number
  readonly failures: number
  /** The latest of each; null where there was none since the process started. */
  readonly lastAnswerAt: number | null
  readonly lastFailure: { readonly at: number; readonly why: string } | null
  /** Whether the last three calls failed, or more than half of the last ten, however many calls were made before. */
  readonly isFailing: boolean
}

/** How far back calls are counted. */
export const RECENT_MS = 300_000
const BUCKET_MS = 15_000
const LATEST_KEPT = 10
/** This many consecutive failures are enough. */
const IN_A_ROW = 3

interface Bucket {
  readonly from: number
  calls: number
  failures: number
}

interface CallHistory {
  readonly of: CallKey
  buckets: Array<Bucket>
  lastAnswerAt: number | null
  lastFailure: CallCounts["lastFailure"]
  /** Whether each of the last calls failed, the newest at the end. */
  latest: ReadonlyArray<boolean>
}

const isRecent = (bucket: Bucket, now: number): boolean => bucket.from > now - RECENT_MS

/** Kept in memory, for one process: a request that was refused because its provider cannot be reached leaves no record. */
export const makeCallCounts = () => {
  const histories = new Map<string, CallHistory>()

  const historyOf = (of: CallKey): CallHistory => {
    const name = `${of.provider} ${of.mode} ${of.operation}`
    const known = histories.get(name) ?? { of, buckets: [], lastAnswerAt: null, lastFailure: null, latest: [] }
    histories.set(name, known)
    return known
  }

  const bucketOf = (history: CallHistory, at: number): Bucket => {
    const from = at - (at % BUCKET_MS)
    const last = history.buckets.at(-1)
    if (last !== undefined && last.from >= from) return last
    const next = { from, calls: 0, failures: 0 }
    history.buckets = [...history.buckets.filter((bucket) => isRecent(bucket, at)), next]
    return next
  }

  return {
    record: (of: CallKey, { at, failure }: CallEnd): void => {
      const history = historyOf(of)
      const bucket = bucketOf(history, at)
      bucket.calls += 1
      history.latest = [...history.latest, failure !== null].slice(-LATEST_KEPT)
      if (failure === null) {
        history.lastAnswerAt = at
        return
      }
      bucket.failures += 1
      history.lastFailure = { at, why: failure }
    },

    /** Keys without a recent call are left out. */
    read: (now: number): ReadonlyArray<CallCounts> =>
      [...histories.values()].flatMap(({ buckets, lastAnswerAt, lastFailure, latest, of }) => {
        const recent = buckets.filter((bucket) => isRecent(bucket, now))
        const calls = recent.reduce((sum, bucket) => sum + bucket.calls, 0)
        const failures = recent.reduce((sum, bucket) => sum + bucket.failures, 0)
        return calls === 0 ? [] : [{ ...of, calls, failures, lastAnswerAt, lastFailure, isFailing: fails(latest) }]
      })
  }
}

export type CallMemory = ReturnType<typeof makeCallCounts>

export const RecentCalls = Context.Reference<CallMemory>("gateway/runtime/RecentCalls", { defaultValue: makeCallCounts })

const fails = (latest: ReadonlyArray<boolean>): boolean => {
  const inARow = latest.slice(-IN_A_ROW)
  const failures = latest.filter((failed) => failed).length
  return (
    (inARow.length === IN_A_ROW && inARow.every((failed) => failed)) || (failures >= IN_A_ROW && failures * 2 > latest.length)
  )
}
