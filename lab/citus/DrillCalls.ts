import type { Operation } from "../chaos/Load.ts"
import type { Heard } from "../chaos/Receiver.ts"

/** One request, as its tenant saw it. */
export interface Sent {
  readonly phase: string
  /** Whether its tenant is on the worker that is disturbed. */
  readonly isDisturbed: boolean
  /** 0 where no answer came. */
  readonly status: number
  readonly milliseconds: number
  /** Since its phase began. */
  readonly sinceMs: number
  readonly operation: Operation
}

/** A request that took longer felt the fault. */
export const SLOW_MS = 1_000

interface Seen {
  readonly requests: number
  readonly failed: number
  readonly statuses: string
  readonly p50: number
  readonly p99: number
  readonly slowest: number
  /** How long after the phase's begin the last request was sent that took longer than a second. */
  readonly last_slow_after: number
  /** From the end of a payout until its event arrived. */
  readonly webhook_p50: number
  readonly webhook_slowest: number
}

interface Phase {
  readonly name: string
  readonly others: Seen
  readonly own: Seen
}

/** By phase, in the order in which they began. */
export const callsOf = (calls: ReadonlyArray<Sent>, heard: Heard): ReadonlyArray<Phase> =>
  [...new Set(calls.map(({ phase }) => phase))].map((name) => {
    const all = calls.filter(({ phase }) => phase === name)
    const of = (wanted: boolean) =>
      seen(
        all.filter(({ isDisturbed }) => isDisturbed === wanted),
        heard
      )
    return { name, others: of(false), own: of(true) }
  })

const seen = (calls: ReadonlyArray<Sent>, heard: Heard): Seen => {
  const took = calls.map(({ milliseconds }) => milliseconds)
  const lags = calls.flatMap(({ operation }) => lagOf(operation, heard) ?? [])
  const statuses = Map.groupBy(calls, ({ status }) => status)
  return {
    requests: calls.length,
    failed: calls.filter(({ status }) => status !== 201).length,
    statuses: [...statuses].map(([status, own]) => `${status}: ${own.length}`).join(", "),
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    slowest: quantile(took, 1),
    last_slow_after: Math.round(
      Math.max(0, ...calls.filter(({ milliseconds }) => milliseconds > SLOW_MS).map(({ sinceMs }) => sinceMs))
    ),
    webhook_p50: quantile(lags, 0.5),
    webhook_slowest: quantile(lags, 1)
  }
}

const lagOf = ({ reference = "" }: Operation, heard: Heard): number | undefined => {
  const [arrived, ended] = [heard.firstAt(reference), heard.newest(reference)?.["completed_at"]]
  return arrived === undefined || typeof ended !== "string" ? undefined : arrived - Date.parse(ended)
}

const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((one, other) => one - other)
  return Math.round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0)
}
