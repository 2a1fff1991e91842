import { Effect, Option } from "effect"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import {
  differenceOf,
  differences,
  missingHere,
  type ProviderRecord,
  type ReconciliationDifference,
  type Statement,
  type StatementLine,
  unreadableHere,
  unsteadyThere
} from "../../domain/ReconciliationDifference.ts"
import type { Provider, StatusOutcome } from "../ports/Provider.ts"
import type { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import type { Transactions } from "../ports/Transactions.ts"
import { accountRecords } from "./AccountRecords.ts"
import { pollProvider } from "./ProviderQuestion.ts"

const QUESTIONS_AT_ONCE = 4

/** One account at a provider against ours: by what it lists, and by asking for each that it does not list. */
export const accountComparison = (registry: ProviderRegistry["Service"], transactions: Transactions["Service"]) => {
  const { isOf, oursOf } = accountRecords(registry, transactions)

  const byStatement = Effect.fnUntraced(function* (
    provider: Provider,
    { lines, unreadable, unsteady }: Statement,
    ours: ReadonlyArray<LedgerRecord>
  ) {
    const own = new Map<string, LedgerRecord>(ours.map((record) => [record.reference, record]))
    const about = new Map<string, { readonly record: LedgerRecord; readonly lines: Array<StatementLine> }>()
    const ownerless: Array<StatementLine> = []
    const tell = (record: LedgerRecord, line: StatementLine) => {
      const entry = about.get(record.reference) ?? { record, lines: [] }
      entry.lines.push(line)
      about.set(record.reference, entry)
    }
    for (const line of lines) {
      const known = line.reference === null ? undefined : own.get(line.reference)
      const record = known ?? Option.getOrUndefined(yield* oursOf(provider, line))
      if (record === undefined) ownerless.push(line)
      else tell(record, line)
    }
    // Days have edges, and an account may be slow to list: what is not in the statement is polled before it is said to be missing.
    const unlisted = ours.filter(({ reference }) => !about.has(reference))
    const asked: Array<ReconciliationDifference> = []
    for (const { answer, record } of yield* questions(provider, unlisted)) {
      // A list that does not show our reference is joined by the provider's own, which the answer names.
      const line = ownerless.find((one) => one.direction === record.kind && one.providerReference === handleIn(answer))
      if (line === undefined) asked.push(...answered(record, answer))
      else {
        ownerless.splice(ownerless.indexOf(line), 1)
        tell(record, line)
      }
    }
    return [
      ...unreadable.map(unreadableHere),
      ...unsteady.map(unsteadyThere),
      // What failed there moved nothing, whoever tried it.
      ...ownerless.filter(({ status }) => status !== "failed").map(missingHere),
      ...[...about.values()].flatMap((entry) => compareLines(entry.record, entry.lines)),
      ...asked
    ]
  })

  const questions = (provider: Provider, ours: ReadonlyArray<LedgerRecord>) =>
    Effect.forEach(ours, (record) => Effect.map(pollProvider(provider, record), (answer) => ({ record, answer })), {
      concurrency: QUESTIONS_AT_ONCE
    })

  const byQuestions = (provider: Provider, ours: ReadonlyArray<LedgerRecord>) =>
    Effect.map(questions(provider, ours), (all) => all.flatMap(({ answer, record }) => answered(record, answer)))

  return { isOf, byStatement, byQuestions }
}

/** Several movements for one record of ours are one difference: money moved more than once, whatever each of them says. */
const compareLines = (
  record: LedgerRecord,
  [first, ...more]: ReadonlyArray<StatementLine>
): ReadonlyArray<ReconciliationDifference> => {
  if (first === undefined) return []
  const moved = [first, ...more].filter(({ status }) => status !== "failed")
  if (moved.length > 1)
    return [differenceOf(record, "doubled", moved.map(({ providerReference }) => providerReference).join(", "))]
  return differences(record, moved[0] ?? first)
}

const answered = (record: LedgerRecord, answer: StatusOutcome): ReadonlyArray<ReconciliationDifference> => {
  const theirs = theirsIn(answer)
  return theirs === undefined ? [differenceOf(record, "unanswered", null)] : differences(record, theirs)
}

const handleIn = (answer: StatusOutcome): string | undefined =>
  "providerReference" in answer ? (answer.providerReference ?? undefined) : undefined

/** Undefined where the answer says nothing. */
const theirsIn = (answer: StatusOutcome): ProviderRecord | undefined => {
  const unsaid = { amount: null, currency: null, fee: null }
  switch (answer._tag) {
    case "Succeeded":
      return { status: "successful", amount: answer.amount, currency: answer.currency, fee: answer.fee }
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
