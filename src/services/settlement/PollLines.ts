import { Clock, Effect, Random } from "effect"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { TurnedAway } from "../../runtime/CallTurn.ts"

/** What is turned away is asked again within this time of when the account takes calls again, however many wait before it. */
const LONGEST_LINE_MS = 30_000

/** References of those that wait; the first to come is forgotten beyond these, and so waits once more. */
const REMEMBERED = 10_000

/**
 * When polls that were turned away come again: soon, one after another at the pace of their account, so that the oldest is asked first and what is due at
 * other providers is reached meanwhile. Whoever comes while others wait goes behind them. A line is this process's; other nodes have their own, hence the
 * jitter.
 */
export const makePollLines = () => {
  const lines = new Map<string, { end: Instant; intervalMs: number }>()
  const waiting = new Set<string>()
  const lineOf = ({ account = "", currency, mode, provider }: LedgerRecord) => `${provider} ${mode} ${account} ${currency}`

  const join = Effect.fnUntraced(function* (record: LedgerRecord, { intervalMs, retryAfterMs }: TurnedAway) {
    const earliest = (yield* Clock.currentTimeMillis) + retryAfterMs
    const jitter = (yield* Random.next) * intervalMs
    const at = Math.min(Math.max(lines.get(lineOf(record))?.end ?? 0, earliest), earliest + LONGEST_LINE_MS)
    lines.set(lineOf(record), { end: at + intervalMs, intervalMs })
    waiting.add(record.reference)
    const [oldest] = waiting
    if (oldest !== undefined && waiting.size > REMEMBERED) waiting.delete(oldest)
    return Math.round(at + jitter)
  })

  return {
    join,
    /** When one comes again that comes while others wait; null where it is its turn. */
    behind: Effect.fnUntraced(function* (record: LedgerRecord) {
      const line = lines.get(lineOf(record))
      const isTurn = waiting.delete(record.reference) || line === undefined || line.end <= (yield* Clock.currentTimeMillis)
      return isTurn ? null : yield* join(record, { intervalMs: line.intervalMs, retryAfterMs: 0 })
    })
  }
}
