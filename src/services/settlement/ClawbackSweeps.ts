import { Clock, Effect, Exit, Option } from "effect"
import { personRuledFailed } from "../../domain/Contradiction.ts"
import { Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Statement } from "../../domain/ReconciliationDifference.ts"
import { AccountSweeps } from "../ports/AccountSweeps.ts"
import type { Provider } from "../ports/Provider.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { Transactions } from "../ports/Transactions.ts"
import { accountRecords } from "./AccountRecords.ts"
import { Clawbacks } from "./Clawbacks.ts"
import { OutcomePoller } from "./OutcomePoller.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How often a process checks whether an account is due. */
const LOOK_EVERY = "5 minutes"
/** A sweep that failed, or whose process died, is retried after this long. */
const AGAIN_MS = HOUR_MS
const LISTS_EVERY_MS = 6 * HOUR_MS
const STATEMENTS_EVERY_MS = DAY_MS
/** The ages at which a day's statement is read again, because one read may miss a row. */
const STATEMENT_AGES_DAYS: ReadonlyArray<number> = [1, 3, 7, 14, 30, 45]

/**
 * Searches each account for clawbacks of collections, which may come weeks after their success: in its lists of disputes and
 * refunds, or otherwise in the statements of past days. Without either, the poller polls each charge by its schedule.
 */
export const makeClawbackSweeps = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const transactions = yield* Transactions
  const sweeps = yield* AccountSweeps
  const clawbacks = yield* Clawbacks
  const poller = yield* OutcomePoller
  const { oursOf } = accountRecords(registry, transactions)

  /** False when nothing was learnt about a charge, because its poll was rejected or failed. */
  const ofLine = Effect.fnUntraced(function* (provider: Provider, line: Parameters<typeof oursOf>[1]) {
    const record = Option.getOrUndefined(yield* oursOf(provider, line))
    if (record?.kind !== "collection" || record.status !== "successful") return true
    if (record.needsReview || record.reversed !== null || personRuledFailed(record)) return true
    const stored = yield* transactions.byReference(record.reference)
    return Option.isNone(stored) || (yield* poller.poll(stored.value, "reconciler")).learnt
  })

  /** Notes refunds that are separate movements. Anything else in the statement only triggers a poll of the charges themselves. */
  const ofStatement = Effect.fnUntraced(function* (provider: Provider, day: string) {
    const listed: Pick<Statement, "isPart" | "lines"> = yield* provider.statement?.(day) ?? Effect.succeed({ lines: [] })
    const { isPart = false, lines } = listed
    const back = lines.filter(
      ({ direction, status }) => direction === "collection" && (status === "returned" || status === "failed")
    )
    const learnt = yield* Effect.forEach(back, (line) => Effect.exit(ofLine(provider, line)))
    for (const exit of learnt)
      if (Exit.isFailure(exit))
        yield* Effect.logError("a charge that a statement shows as taken back could not be asked for", exit.cause)
    const { isWhole } = yield* clawbacks.ofStatement(provider, lines)
    return isWhole && !isPart && learnt.every((exit) => Exit.isSuccess(exit) && exit.value)
  })

  const ofStatements = Effect.fnUntraced(function* (provider: Provider, now: Instant) {
    const days = STATEMENT_AGES_DAYS.map((age) => iso(now - age * DAY_MS).slice(0, "2026-01-31".length))
    // A day that cannot be read does not hide the others.
    const read = yield* Effect.forEach(days, (day) => Effect.catch(ofStatement(provider, day), () => Effect.succeed(false)))
    return !read.includes(false)
  })

  const sweep = Effect.fn("ClawbackSweeps.sweep")(function* (name: string, mode: Mode, now: Instant) {
    const accounts = registry.accounts(name, mode)
    const [current] = accounts
    if (current?.collections === undefined) return
    const isListed = current.collections.clawbacks !== undefined
    if (!isListed && current.statement === undefined) return
    if (!(yield* sweeps.claim(name, mode, now, now + AGAIN_MS))) return
    const read = yield* Effect.forEach(accounts, (account) =>
      isListed ? clawbacks.ofAccount(account) : ofStatements(account, now)
    )
    if (read.includes(false))
      return yield* Effect.logWarning("what was taken back of collections could not be read: it is read again").pipe(
        Effect.annotateLogs({ provider: name, mode })
      )
    yield* sweeps.done(name, mode, now + (isListed ? LISTS_EVERY_MS : STATEMENTS_EVERY_MS))
  })

  return Effect.gen(function* () {
    for (const provider of registry.known)
      for (const mode of Mode.literals) {
        const exit = yield* Effect.exit(sweep(provider, mode, yield* Clock.currentTimeMillis))
        const named = Effect.annotateLogs({ provider, mode })
        if (Exit.isFailure(exit)) yield* named(Effect.logError("a look for what was taken back broke", exit.cause))
      }
  })
})

/** Runs for as long as the process does. */
export const clawbackSweeps = Effect.flatMap(makeClawbackSweeps, (round) => Effect.forever(Effect.delay(round, LOOK_EVERY)))
