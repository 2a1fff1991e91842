import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Result, Schema } from "effect"
import { LedgerRecord } from "../../domain/Exchange.ts"
import { entrySlots, type Posting } from "../../domain/Ledger.ts"
import type { ApplyStep, OpenStep } from "../../services/ports/FloatLedger.ts"
import type { Traced } from "./StepTracing.ts"

/** One column of a batch: the rows' values travel as one array of PostgreSQL's own form, which costs it less than JSON by far. */
export interface Column<Row> {
  readonly type: keyof typeof types
  readonly of: (row: Row) => string | number | bigint | boolean | Uint8Array | null
}

const types = {
  text: PgTypes.OID.text,
  int: PgTypes.OID.int4,
  bigint: PgTypes.OID.int8,
  boolean: PgTypes.OID.bool,
  bytea: PgTypes.OID.bytea,
  timestamptz: PgTypes.OID.timestamptz
} as const

/** The parameters of one kind of row, of which the first has the number `first`. */
export const columnsOf = <Row>(columns: Readonly<Record<string, Column<Row>>>, first: number) => {
  const all = Object.entries(columns)
  const parameter = (name: string) => `$${first + all.findIndex(([one]) => one === name)}::${columns[name]?.type}[]`
  return {
    next: first + all.length,
    count: `cardinality($${first}::${all[0]?.[1].type}[])`,
    /**
     * FROM: one row a step, numbered from one, of the columns that are named. Behind a SELECT the planner does not see how long an array is:
     * it would find a plan for this very length cheaper, and plan the whole statement anew each time, which takes longer than a lone step.
     */
    rows: (alias: string, names: ReadonlyArray<string>) =>
      `unnest(${names.map((name) => `(SELECT ${parameter(name)})`).join(", ")}) WITH ORDINALITY AS ${alias}(${names.join(", ")}, ord)`,
    /** One row's value, taken where it is written down and nowhere before: what is long is not carried from part to part. */
    value: (name: string, ord: string) => `(${parameter(name)})[${ord}]`,
    parameters: (rows: ReadonlyArray<Row>) =>
      all.map(([, { of, type }]) =>
        Result.getOrThrow(
          PgTypes.array(
            rows.map((row) => withoutNul(of(row))),
            types[type]
          )
        )
      )
  }
}

/** PostgreSQL keeps no NUL, and a provider's word with one in it must not keep a fact from being written. */
export const withoutNul = <A>(value: A): A | string =>
  typeof value === "string" && value.includes("\u0000") ? value.replaceAll("\u0000", "") : value

const encodeRecord = Schema.encodeSync(Schema.toCodecJson(LedgerRecord))

/** Without NUL, also where JSON has a way to write it: one such text in a record, and no SQL could take that record apart any more. */
const recordText = (record: LedgerRecord): string => {
  const text = JSON.stringify(encodeRecord(record))
  return text.includes("\\u0000")
    ? JSON.stringify(JSON.parse(text), (_, value: unknown) => (typeof value === "string" ? withoutNul(value) : value))
    : text
}

type Step = Traced<OpenStep> | Traced<ApplyStep>

const recordOf = (step: Step): LedgerRecord => ("transaction" in step ? step.transaction : step.next)

// What both statements know of a step, and what they write of it.

export const keyColumns = {
  app_id: { type: "text", of: (step) => recordOf(step).appId },
  mode: { type: "text", of: (step) => recordOf(step).mode },
  reference: { type: "text", of: (step) => recordOf(step).reference },
  slot: { type: "text", of: ({ entry }) => (entry === null ? null : entrySlots[entry.phase]) },
  phase: { type: "text", of: ({ entry }) => entry?.phase ?? null },
  event_id: { type: "text", of: ({ event }) => event?.id ?? null },
  at: { type: "timestamptz", of: ({ line }) => line.at }
} satisfies Readonly<Record<string, Column<Step>>>

export const writtenColumns = {
  status: { type: "text", of: (step) => recordOf(step).status },
  needs_review: { type: "boolean", of: (step) => recordOf(step).needsReview },
  provider: { type: "text", of: (step) => recordOf(step).provider },
  provider_reference: { type: "text", of: (step) => recordOf(step).providerReference },
  record: { type: "text", of: (step) => recordText(recordOf(step)) },
  next_poll_at: { type: "timestamptz", of: ({ nextPollAt }) => nextPollAt },
  event_type: { type: "text", of: ({ event }) => event?.type ?? null },
  event_body: { type: "text", of: ({ event }) => event?.body ?? null },
  actor: { type: "text", of: ({ line }) => line.actor },
  fact: { type: "text", of: ({ line }) => line.fact },
  note: { type: "text", of: ({ line }) => line.note }
} satisfies Readonly<Record<string, Column<Step>>>

/** What a row of the journal stores of a step, from `at` to the digests of the texts that it writes; `e` is its entry. */
export const journalValues = ({ value }: { readonly value: (name: string, ord: string) => string }, ord: string): string => {
  const of = (name: string) => value(name, ord)
  return `${["at", "actor", "fact", "note", "status", "slot", "phase"].map(of).join(", ")},
    coalesce(e.currencies, '{}'), coalesce(e.accounts, '{}'), coalesce(e.amounts, '{}'),
    record_digest(${of("record")}), event_digest(${of("event_id")}, ${of("event_type")}, ${of("event_body")})`
}

/** The postings of each step, as the journal keeps them. */
export const entries = (lines: string): string =>
  `(SELECT step, array_agg(currency) AS currencies, array_agg(account) AS accounts, array_agg(amount) AS amounts FROM ${lines} GROUP BY step)`

/** A posting of a step's entry, with the number of the step. */
export interface NumberedPosting extends Posting {
  readonly ord: number
}

export const postingColumns = {
  step: { type: "int", of: ({ ord }) => ord },
  currency: { type: "text", of: ({ currency }) => currency },
  account: { type: "text", of: ({ account }) => account },
  amount: { type: "bigint", of: ({ amount }) => amount }
} satisfies Readonly<Record<string, Column<NumberedPosting>>>

export const postingsOf = (steps: ReadonlyArray<Step>): ReadonlyArray<NumberedPosting> =>
  steps.flatMap(({ entry }, index) => (entry === null ? [] : entry.postings.map((line) => ({ ...line, ord: index + 1 }))))
