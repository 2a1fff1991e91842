import { Context, Effect, Option } from "effect"
import { isReference, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { sumPosted } from "../../domain/Ledger.ts"
import {
  differenceOf,
  differences,
  isBesideReview,
  isLeftOpen,
  type KnownBecause,
  knownBecause,
  lineOf,
  missingHere,
  type ProviderRecord,
  type ReconciliationDifference,
  refundDifferences,
  type Statement,
  type StatementLine,
  unreadableHere,
  unsteadyThere
} from "../../domain/ReconciliationDifference.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { MessageError } from "../../runtime/MessageError.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { Provider, StatusOutcome } from "../ports/Provider.ts"
import { ProviderRegistry, sentWith } from "../ports/ProviderRegistry.ts"
import { Transactions } from "../ports/Transactions.ts"
import { accountRecords } from "./AccountRecords.ts"
import { Clawbacks } from "./Clawbacks.ts"
import { pollProvider } from "./ProviderQuestion.ts"

/** An account in a mode. `previous`: the account before the current one, still configured; `unset`: no longer configured. */
type Account = "current" | "previous" | "unset"

export type ModeDifference = ReconciliationDifference & { readonly mode: Mode; readonly account: Account }

export interface ReconciliationReport {
  readonly ok: boolean
  readonly provider: string
  readonly day: string
  /**
   * `statement`: compared with the account's list. `questions`: the account lists nothing, so each record was polled, and
   * transactions that only the provider knows cannot be found.
   */
  readonly compared_by: Readonly<Record<string, "statement" | "questions">>
  /** `unreadable`: rows and whole lists of the provider that were left out. */
  readonly checked: { readonly ours: number; readonly theirs: number; readonly unreadable: number }
  /** The unexplained differences; each needs an operator. */
  readonly differences: ReadonlyArray<ModeDifference>
  /** Differences that are already booked or under review. */
  readonly known: ReadonlyArray<KnownDifference>
}
export type KnownDifference = ModeDifference & { readonly because: KnownBecause }

/** Why nothing was compared: one line for the operator. */
class NotReconciled extends MessageError("NotReconciled") {}

/** One account, and our records that were sent with it on the day. */
interface Compared {
  readonly provider: Provider
  readonly account: Account
  readonly ours: ReadonlyArray<Transaction>
}

const PAGE = 500
const DAY_MS = 86_400_000

/**
 * Compares the provider's records of one UTC day with ours. Differences are reported for an operator, and nothing is booked; a
 * refund in the statement that names one of our charges opens its review. This service reads both sides; the comparison itself
 * is in `domain/ReconciliationDifference`.
 */
export class Reconciliation extends Context.Service<
  Reconciliation,
  {
    /** `start`: the day's beginning. Refused for an unknown provider, one without an account, or an unreadable statement. */
    readonly reconcile: (provider: string, start: Instant, day: string) => Effect.Effect<ReconciliationReport, NotReconciled>
  }
>()("gateway/services/Reconciliation") {
  static readonly layer = layerOf(Reconciliation)(function* () {
    const registry = yield* ProviderRegistry
    const transactions = yield* Transactions
    const clawbacks = yield* Clawbacks

    /** Our records that were created on that day, read in pages. */
    const begunOn = Effect.fnUntraced(function* (provider: Provider, start: Instant) {
      const all: Array<Transaction> = []
      let after: Transaction | null = null
      for (;;) {
        const page: ReadonlyArray<Transaction> = yield* transactions.createdBetween(
          { provider: provider.name, mode: provider.mode, from: start, to: start + DAY_MS },
          after,
          PAGE
        )
        all.push(...page)
        if (page.length < PAGE) return all
        after = page.at(-1) ?? null
      }
    })

    const { byQuestions, byStatement, isOf } = accountComparison(registry, transactions)

    const inMode = Effect.fnUntraced(function* (accounts: ReadonlyArray<Provider>, start: Instant, day: string) {
      const [first] = accounts
      const all = first === undefined ? [] : yield* begunOn(first, start)
      const compared = yield* Effect.forEach(accounts, (provider, index) => {
        const account = index === 0 ? "current" : "previous"
        const ours = all.filter((record) => isOf(provider, record))
        return inAccount({ provider, account, ours }, day)
      })
      // A record that was sent with an account that is no longer configured cannot be compared.
      const unset = all
        .filter((record) => Option.isNone(sentWith(registry, record)))
        .map((record): ModeDifference => ({ mode: record.mode, account: "unset", ...differenceOf(record, "unanswered", null) }))
      return { ours: all.length, compared, unset }
    })

    const inAccount = Effect.fnUntraced(function* ({ account, ours, provider }: Compared, day: string) {
      const { mode, statement } = provider
      const listed =
        statement === undefined
          ? nothingListed
          : yield* Effect.catchTags(statement(day), {
              provider_error: () => new NotReconciled(`the statement of ${provider.name} (${mode}) cannot be read: try again`),
              StatementUnreadable: ({ why }) =>
                new NotReconciled(`the statement of ${provider.name} (${mode}) cannot be read: ${why}`)
            })
      const { refunds } = yield* clawbacks.ofStatement(provider, listed.lines)
      const noted = new Set(refunds.map(({ line }) => line))
      const others = { ...listed, lines: listed.lines.filter((line) => !noted.has(line)) }
      const compared = yield* statement === undefined ? byQuestions(provider, ours) : byStatement(provider, others, ours)
      const found = [...compared, ...refunds.flatMap(({ line, record }) => refundDifferences(record, line))]
      return {
        mode,
        comparedBy: statement === undefined ? ("questions" as const) : ("statement" as const),
        theirs: listed.lines.length,
        unreadable: listed.unreadable.length,
        found: found.map((difference): ModeDifference => ({ mode, account, ...difference }))
      }
    })

    const explain = Effect.fnUntraced(function* (difference: ModeDifference): Effect.fn.Return<ModeDifference | KnownDifference> {
      const { reference } = difference
      if (!isReference(reference)) return difference
      const found = yield* transactions.byReference(reference)
      if (Option.isNone(found)) return difference
      const posted = difference.kind === "fee" ? yield* transactions.entries(reference) : []
      const because = knownBecause(difference, {
        needsReview: found.value.transaction.needsReview,
        isOpen: ["requires_action", "pending"].includes(found.value.transaction.status),
        bookedDrift: sumPosted(posted, "drift")
      })
      if (because === null) return difference
      const isBeside = because === "in_review" && isBesideReview(difference, found.value.transaction)
      return { ...difference, because, ...(isBeside ? { takes_a_look: true as const } : {}) }
    })

    const reconcile = Effect.fn("Reconciliation.reconcile")(function* (name: string, start: Instant, day: string) {
      if (!registry.known.includes(name))
        return yield* new NotReconciled(`there is no provider ${name}: it is one of ${registry.known.join(", ")}`)
      const accounts = Mode.literals.map((mode) => registry.accounts(name, mode)).filter(({ length }) => length > 0)
      if (accounts.length === 0) return yield* new NotReconciled(`no account at ${name} is set`)
      const inModes = yield* Effect.forEach(accounts, (own) => inMode(own, start, day))
      const compared = inModes.flatMap((one) => one.compared)
      const all = yield* Effect.forEach(
        [...compared.flatMap(({ found }) => found), ...inModes.flatMap(({ unset }) => unset)],
        explain
      )
      const known = all.filter((one) => "because" in one)
      const unexplained = all.filter((one) => !("because" in one))
      return {
        ok: unexplained.length === 0,
        provider: name,
        day,
        compared_by: Object.fromEntries(compared.map(({ comparedBy, mode }) => [mode, comparedBy])),
        checked: {
          ours: inModes.reduce((sum, { ours }) => sum + ours, 0),
          theirs: compared.reduce((sum, { theirs }) => sum + theirs, 0),
          unreadable: compared.reduce((sum, { unreadable }) => sum + unreadable, 0)
        },
        differences: unexplained,
        known
      }
    })

    return { reconcile }
  })
}

const nothingListed: Statement = { lines: [], unreadable: [], unsteady: [] }

const QUESTIONS_AT_ONCE = 4

/** Compares an account at a provider with our records: by its statement, and by polls for records that this lacks. */
export const accountComparison = (registry: ProviderRegistry["Service"], transactions: Transactions["Service"]) => {
  const { isOf, oursOf } = accountRecords(registry, transactions)

  const byStatement = Effect.fnUntraced(function* (
    provider: Provider,
    { lines, unreadable, unsteady }: Statement,
    ours: ReadonlyArray<Transaction>
  ) {
    const own = new Map<string, Transaction>(ours.map((record) => [record.reference, record]))
    const about = new Map<string, { readonly record: Transaction; readonly lines: Array<StatementLine> }>()
    const ownerless: Array<StatementLine> = []
    const tell = (record: Transaction, line: StatementLine) => {
      const entry = about.get(record.reference) ?? { record, lines: [] }
      entry.lines.push(line)
      about.set(record.reference, entry)
    }
    for (const line of lines) {
      const named = line.reference === null ? undefined : own.get(line.reference)
      // A row in the other direction, such as money that came back, is another movement, whatever it names.
      const known = named?.kind === line.direction ? named : undefined
      const record = known ?? Option.getOrUndefined(yield* oursOf(provider, line))
      if (record === undefined) ownerless.push(line)
      else tell(record, line)
    }
    // A payment may be listed on a neighbouring day, or late: a record is polled before it is reported as missing.
    const unlisted = ours.filter(({ reference }) => !about.has(reference))
    const byPoll: Array<ReconciliationDifference> = []
    for (const { answer, record } of yield* questions(provider, unlisted)) {
      // A row without our reference is matched by the provider's own, which the poll returns.
      const line = ownerless.find((one) => one.direction === record.kind && one.providerReference === handleIn(answer))
      if (line === undefined) byPoll.push(...answered(record, answer))
      else {
        ownerless.splice(ownerless.indexOf(line), 1)
        tell(record, line)
      }
    }
    const open = [...about.values()].filter(({ lines: [first, ...more], record }) => {
      return first !== undefined && more.length === 0 && isLeftOpen(record, first)
    })
    for (const { answer, record } of yield* questions(
      provider,
      open.map((entry) => entry.record)
    )) {
      about.delete(record.reference)
      byPoll.push(...answered(record, answer))
    }
    // A failed movement moved no money. A movement that the provider itself made may name the payment that it is about.
    const missing = yield* Effect.forEach(
      ownerless.filter(({ status }) => status !== "failed"),
      (line) => Effect.map(oursOf(provider, { ...line, direction: null }), (about) => missingHere(line, Option.getOrNull(about)))
    )
    return [
      ...unreadable.map(unreadableHere),
      ...unsteady.map(unsteadyThere),
      ...missing,
      ...[...about.values()].flatMap((entry) => compareLines(entry.record, entry.lines)),
      ...byPoll
    ]
  })

  const questions = (provider: Provider, ours: ReadonlyArray<Transaction>) =>
    Effect.forEach(ours, (record) => Effect.map(pollProvider(provider, record), (answer) => ({ record, answer })), {
      concurrency: QUESTIONS_AT_ONCE
    })

  const byQuestions = (provider: Provider, ours: ReadonlyArray<Transaction>) =>
    Effect.map(questions(provider, ours), (all) => all.flatMap(({ answer, record }) => answered(record, answer)))

  return { isOf, byStatement, byQuestions }
}

/** Several movements for one record of ours are one difference: money moved more than once, whatever each of them says. */
const compareLines = (
  record: Transaction,
  [first, ...more]: ReadonlyArray<StatementLine>
): ReadonlyArray<ReconciliationDifference> => {
  if (first === undefined) return []
  const moved = [first, ...more].filter(({ status }) => status !== "failed")
  if (moved.length > 1)
    return [
      differenceOf(record, "doubled", moved.map(({ providerReference }) => providerReference).join(", "), moved.flatMap(lineOf))
    ]
  const line = moved[0] ?? first
  return differences(record, line).map((one) => (one.kind === "fee" ? { ...one, row: line.providerReference } : one))
}

const answered = (record: Transaction, answer: StatusOutcome): ReadonlyArray<ReconciliationDifference> => {
  const theirs = theirsIn(answer)
  return theirs === undefined ? [differenceOf(record, "unanswered", null)] : differences(record, theirs)
}

const handleIn = (answer: StatusOutcome): string | undefined =>
  "providerReference" in answer ? (answer.providerReference ?? undefined) : undefined

/** Undefined when the answer proves nothing. */
const theirsIn = (answer: StatusOutcome): ProviderRecord | undefined => {
  const unsaid = { amount: null, currency: null, fee: null, providerReference: handleIn(answer) ?? null }
  switch (answer._tag) {
    case "Succeeded":
      return { ...unsaid, status: "successful", amount: answer.amount, currency: answer.currency, fee: answer.fee }
    case "Returned":
      return { status: "returned", ...unsaid }
    case "Refused":
      return { status: "failed", ...unsaid }
    case "StillPending":
      return { status: answer.isUnfinished === true ? "failed" : "pending", ...unsaid }
    case "NotFound":
      return { status: "absent" }
    default:
      return undefined
  }
}
