import type { PlannedRow } from "./RunPlan.ts"
import type { Payout } from "./Schema.ts"

/** What a run keeps, each before the next step: enough to go on from in another process. */
export type RunEntry =
  | { readonly type: "begun"; readonly at: string; readonly login: string; readonly bodies: ReadonlyArray<PlannedRow> }
  | { readonly type: "sending"; readonly row: number; readonly key: string }
  /** Refused for now before anything was made: the same key may be sent later. */
  | { readonly type: "not_sent"; readonly row: number; readonly key: string }
  | { readonly type: "made"; readonly row: number; readonly key: string; readonly reference: string }
  | {
      readonly type: "refused"
      readonly row: number
      readonly key: string
      readonly code: string
      readonly reference: string | null
    }
  | { readonly type: "ended"; readonly row: number; readonly payout: Ended }
  /** Another run had the name before: nothing more is sent under it. */
  | { readonly type: "taken"; readonly row: number; readonly key: string }

export type Ended = Pick<Payout, "reference" | "status" | "fees_minor"> & { readonly failure: string | null }

/** It failed or expired, and its provider contradicts that: money may have moved, and an operator has to establish it. */
export const isFailureContested = ({ needs_review, status }: { readonly needs_review?: boolean; readonly status: string }) =>
  needs_review === true && (status === "failed" || status === "expired")

/** Where a run keeps its entries. */
export interface RunStore {
  /** All that were kept, in their order. */
  readonly entries: () => Promise<ReadonlyArray<RunEntry>>
  /** Resolves once the entry outlives the process and the machine's crash. */
  readonly keep: (entry: RunEntry) => Promise<void>
}

/** The run cannot be what it says: its name, which may be an earlier run's, or a row that is not the one that was kept. */
export class RunError extends Error {
  override readonly name = "RunError"
  /** The row that differs; null where none is meant. */
  readonly row: number | null

  constructor(message: string, row: number | null = null) {
    super(message)
    this.row = row
  }
}

/** A key is known for 90 days; what is older is not sent again. */
const LONGEST_MS = 60 * 24 * 3_600_000
/** Refused before anything was made, for a reason that a top-up takes away: the row gets its next key. */
export const lacksFloat: ReadonlySet<string> = new Set(["insufficient_tenant_float", "insufficient_wallet_float"])
/** A row as its entries have it. */
export interface Row {
  readonly row: number
  readonly text: string
  attempt: number
  /** The key that it was sent under last. */
  sentUnder: string | null
  sending: boolean
  reference: string | null
  /** Its payout's failure is contested, which no entry says: it is read again. */
  contested: boolean
  ended: Ended | null
  refusedFor: string | null
  /** Its key is an earlier run's: nothing of it is this run's. */
  taken: boolean
}

/** Sent, and without an answer: it may be paid. */
export const isUnderWay = (row: Row): boolean => row.sending && row.reference === null && row.refusedFor === null && !row.taken
export const isNotSent = (row: Row): boolean => !row.sending && row.refusedFor === null && row.reference === null
export const isOpen = (row: Row): boolean => row.reference !== null && row.ended === null && row.refusedFor === null
export const hasFailed = (row: Row): boolean => row.refusedFor !== null || row.ended?.status === "failed"
/** Made, and not known to have failed. */
export const isPaidOrPending = (row: Row): boolean => row.reference !== null && !hasFailed(row)
/** The gateway has said of one of its keys what came of it. */
export const hasAnswer = (row: Row): boolean => row.reference !== null || row.refusedFor !== null || row.attempt > 1

export const requireSame = (bodies: ReadonlyArray<PlannedRow>, kept: ReadonlyArray<PlannedRow>, at: string): void => {
  const before = new Map(kept.map(({ row, text }) => [row, text]))
  const differs = bodies.find(({ row, text }) => before.get(row) !== text)
  if (differs !== undefined) throw new RunError(`row ${differs.row} is not what the run began with`, differs.row)
  const now = new Set(bodies.map(({ row }) => row))
  const gone = kept.find(({ row }) => !now.has(row))
  if (gone !== undefined) throw new RunError(`row ${gone.row} is missing: the run began with it`, gone.row)
  if (Date.now() - Date.parse(at) > LONGEST_MS)
    throw new RunError(`the run began at ${at}: keys are not known for longer than 90 days`)
}

export const rowsOf = (name: string, bodies: ReadonlyArray<PlannedRow>, kept: ReadonlyArray<RunEntry>): ReadonlyArray<Row> => {
  const rows = bodies.map(
    ({ row, text }): Row => ({
      row,
      text,
      attempt: 1,
      sentUnder: null,
      sending: false,
      reference: null,
      contested: false,
      ended: null,
      refusedFor: null,
      taken: false
    })
  )
  const byRow = new Map(rows.map((row) => [row.row, row]))
  if (byRow.size !== rows.length) throw new RunError(`two rows of ${name} have one number`)
  for (const entry of kept) {
    const row = entry.type === "begun" ? undefined : byRow.get(entry.row)
    if (row !== undefined) apply(row, entry)
  }
  return rows
}

/** The one place that says what an entry means. */
export const apply = (row: Row, entry: RunEntry): void => {
  switch (entry.type) {
    case "sending":
      row.sending = true
      row.sentUnder = entry.key
      return
    case "not_sent":
      if (entry.key === row.sentUnder) row.sending = false
      return
    case "made":
      row.reference = entry.reference
      return
    case "refused":
      // Of an earlier key, and late: it says nothing of the one that the row was sent under since.
      if (entry.key !== row.sentUnder) return
      row.sending = false
      if (lacksFloat.has(entry.code)) row.attempt++
      else row.refusedFor = entry.code
      if (!lacksFloat.has(entry.code)) row.reference = entry.reference
      return
    case "ended":
      row.ended = entry.payout
      return
    case "taken":
      row.taken = true
      return
    case "begun":
      return
  }
}
