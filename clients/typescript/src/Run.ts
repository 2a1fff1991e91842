import { sleep } from "./Attempts.ts"
import { GatewayError, isGatewayError } from "./Errors.ts"
import { stringify, verbatim } from "./Json.ts"
import { type PlannedRow, planOf, type RunPlan } from "./RunPlan.ts"
import type { Operations, Payout } from "./Schema.ts"
import type { MoneyOptions } from "./Transactions.ts"

type PayoutBody = Operations["POST /v1/payouts"]["body"]

/** One payout of a list. Its row is yours, and makes its key together with the run's name: `NAME-ROW`. */
export interface RunItem {
  readonly row: number
  readonly body: PayoutBody
}

/** What a run keeps, each before the next step: enough to go on from in another process. */
export type RunEntry =
  | { readonly type: "begun"; readonly at: string; readonly login: string; readonly bodies: ReadonlyArray<PlannedRow> }
  | { readonly type: "sending"; readonly row: number; readonly key: string }
  | { readonly type: "made"; readonly row: number; readonly key: string; readonly reference: string }
  | {
      readonly type: "refused"
      readonly row: number
      readonly key: string
      readonly code: string
      readonly reference: string | null
    }
  | { readonly type: "ended"; readonly row: number; readonly payout: Ended }

type Ended = Pick<Payout, "reference" | "status" | "fees_minor"> & { readonly failure: string | null }

/** Where a run keeps its entries. */
export interface RunStore {
  /** All that were kept, in their order. */
  readonly entries: () => Promise<ReadonlyArray<RunEntry>>
  /** Resolves once the entry outlives the process and the machine's crash. */
  readonly keep: (entry: RunEntry) => Promise<void>
}

export interface RunOptions {
  /** 1 to 60 letters, digits, `_` and `.`, and never used for another list. */
  readonly name: string
  readonly items: ReadonlyArray<RunItem>
  readonly store: RunStore
  /** Asked once the rows that are not sent yet are priced without an issue and the float covers them. False sends none of them. */
  readonly confirm: (plan: RunPlan) => boolean | Promise<boolean>
  /** How many are sent at once: 8 unless you say otherwise. */
  readonly atOnce?: number
  /** How long the outcomes are waited for once all are sent: 10 minutes unless you say otherwise. */
  readonly waitMs?: number
  /** The first pause between two looks at what is pending; each is half as long again, up to 10 s. */
  readonly pauseMs?: number
  /** No further row is sent. Those under way are waited for. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (progress: RunProgress) => void
}

export interface RunProgress {
  readonly rows: number
  readonly sent: number
  /** Successful, failed or refused. */
  readonly ended: number
}

/**
 * `not_sent`: under no key, or refused for want of float and free to be sent under its next one. `unknown`: sent, without an answer that can
 * be believed. `refused`: not made, for good.
 */
export type RunStatus = Payout["status"] | "not_sent" | "unknown" | "refused"

export interface RunRow {
  readonly row: number
  /** The key that it was sent under last, or will be first. */
  readonly key: string
  readonly reference: string | null
  readonly status: RunStatus
  readonly fees_minor: bigint | null
  readonly failure: string | null
}

export interface RunReport {
  readonly name: string
  /**
   * `finished`: every row has ended. `refused`: rows have issues, or the float lacks something: see `plan`. `declined`: by `confirm`.
   * `stopped`: by a refusal or a silence that would meet every row, or by your signal; run it again. `pending`: all are sent, some not ended.
   */
  readonly state: "finished" | "refused" | "declined" | "stopped" | "pending"
  /** Of what was not sent when the run began; null where everything was. */
  readonly plan: RunPlan | null
  readonly stoppedBy: GatewayError | null
  readonly rows: ReadonlyArray<RunRow>
}

/** The run cannot be what it says: its name, or a row that is not the one that was kept. */
export class RunError extends Error {
  override readonly name = "RunError"
  /** The row that differs; null where none is meant. */
  readonly row: number | null

  constructor(message: string, row: number | null = null) {
    super(message)
    this.row = row
  }
}

interface Calls {
  /** Whose keys the run's are, and where: another login knows none of them, and would pay each row again. */
  readonly login: string
  readonly create: (body: PayoutBody, options: MoneyOptions) => Promise<Payout>
  readonly get: (reference: string) => Promise<Payout>
  readonly quotes: (body: Operations["POST /v1/payouts/quotes"]["body"]) => Promise<Operations["POST /v1/payouts/quotes"]["data"]>
}

const NAME = /^[A-Za-z0-9_.]{1,60}$/
/** A key is known for 90 days; what is older is not sent again. */
const LONGEST_MS = 60 * 24 * 3_600_000
const WAIT_MS = 600_000
const LONGEST_PAUSE_MS = 10_000
/** Refused before anything was made, for a reason that a top-up takes away: the row gets its next key. */
const lacksFloat: ReadonlySet<string> = new Set(["insufficient_tenant_float", "insufficient_wallet_float"])
/** How often a terminal refusal that does not settle its key is asked for again. */
const STRIKES = 2

/** A row as its entries have it. */
interface Row {
  readonly row: number
  readonly text: string
  attempt: number
  /** The key that it was sent under last. */
  sentUnder: string | null
  sending: boolean
  reference: string | null
  ended: Ended | null
  refusedFor: string | null
}

/**
 * Pays a list, each row once, however often the process dies: run it again with the same name, rows and store. Nothing is sent unless every
 * row has a price and the float covers all of them.
 */
export const runPayouts = async (calls: Calls, options: RunOptions): Promise<RunReport> => {
  const { name, store } = options
  if (!NAME.test(name)) throw new RunError("a run's name is 1 to 60 letters, digits, _ and .")
  const bodies = options.items.map(({ body, row }) => ({ row, text: stringify(body) }))
  const kept = await store.entries()
  const begun = kept.find((entry) => entry.type === "begun")
  if (begun !== undefined) {
    if (begun.login !== calls.login) throw new RunError(`the run was begun as ${begun.login}: go on with that login`)
    requireSame(bodies, begun.bodies, begun.at)
  }
  const rows = rowsOf(name, bodies, kept)
  const run = new Run(calls, options, rows)
  // A refusal that was made before a top-up comes back here: whether the float is enough now, the prices say.
  await run.send(rows.filter(isUnderWay), false)
  const rest = rows.filter(isNotSent)
  let plan: RunPlan | null = null
  if (rest.length > 0 && !run.isStopped) {
    plan = await planOf(rest, calls.quotes)
    if (plan.issues.length > 0 || plan.totals.some(({ shortfall_minor }) => shortfall_minor > 0n))
      return run.report(plan, "refused")
    if (!(await options.confirm(plan))) return run.report(plan, "declined")
    if (begun === undefined) await store.keep({ type: "begun", at: new Date().toISOString(), login: calls.login, bodies })
    await run.send(rest)
  }
  await run.wait()
  return run.report(plan)
}

const isUnderWay = (row: Row): boolean => row.sending && row.reference === null && row.refusedFor === null
const isNotSent = (row: Row): boolean => !row.sending && row.refusedFor === null && row.reference === null
const isOpen = (row: Row): boolean => row.reference !== null && row.ended === null && row.refusedFor === null

const requireSame = (bodies: ReadonlyArray<PlannedRow>, kept: ReadonlyArray<PlannedRow>, at: string): void => {
  const before = new Map(kept.map(({ row, text }) => [row, text]))
  const differs = bodies.find(({ row, text }) => before.get(row) !== text)
  if (differs !== undefined) throw new RunError(`row ${differs.row} is not what the run began with`, differs.row)
  const now = new Set(bodies.map(({ row }) => row))
  const gone = kept.find(({ row }) => !now.has(row))
  if (gone !== undefined) throw new RunError(`row ${gone.row} is missing: the run began with it`, gone.row)
  if (Date.now() - Date.parse(at) > LONGEST_MS)
    throw new RunError(`the run began at ${at}: keys are not known for longer than 90 days`)
}

const rowsOf = (name: string, bodies: ReadonlyArray<PlannedRow>, kept: ReadonlyArray<RunEntry>): ReadonlyArray<Row> => {
  const rows = bodies.map(
    ({ row, text }): Row => ({
      row,
      text,
      attempt: 1,
      sentUnder: null,
      sending: false,
      reference: null,
      ended: null,
      refusedFor: null
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
const apply = (row: Row, entry: RunEntry): void => {
  switch (entry.type) {
    case "sending":
      row.sending = true
      row.sentUnder = entry.key
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
    case "begun":
      return
  }
}

class Run {
  readonly #calls: Calls
  readonly #options: RunOptions
  readonly #rows: ReadonlyArray<Row>
  #stoppedBy: GatewayError | null = null
  /** Before it nothing is sent: a refusal of one is for all. */
  #notBefore = 0

  constructor(calls: Calls, options: RunOptions, rows: ReadonlyArray<Row>) {
    this.#calls = calls
    this.#options = options
    this.#rows = rows
  }

  get isStopped(): boolean {
    return this.#stoppedBy !== null || this.#options.signal?.aborted === true
  }

  /** Sends rows, several at once and in their order, until one meets what every row would meet. */
  async send(rows: ReadonlyArray<Row>, stopsForFloat = true): Promise<void> {
    await this.#each(rows, (row) => this.#sendOne(row, stopsForFloat))
  }

  /** Asks for the outcomes until all are known, or the time is over. */
  async wait(): Promise<void> {
    const { pauseMs = 1_000, signal, waitMs = WAIT_MS } = this.#options
    const end = Date.now() + waitMs
    for (let pause = pauseMs; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
      await this.#each(this.#rows.filter(isOpen), async (row) => {
        const payout = await this.#calls.get(row.reference ?? "").catch(unlessTerminal)
        if (payout !== undefined) await this.#keepEnd(row, payout)
      })
      if (!this.#rows.some(isOpen) || this.isStopped || Date.now() + pause > end) return
      await sleep(pause, signal)
    }
  }

  report(plan: RunPlan | null, state: RunReport["state"] = this.#state()): RunReport {
    return { name: this.#options.name, state, plan, stoppedBy: this.#stoppedBy, rows: this.#rows.map((row) => this.#shown(row)) }
  }

  #state(): RunReport["state"] {
    if (this.#rows.some((row) => isUnderWay(row) || isNotSent(row))) return "stopped"
    return this.#rows.some(isOpen) ? "pending" : "finished"
  }

  async #each(rows: ReadonlyArray<Row>, work: (row: Row) => Promise<void>): Promise<void> {
    const { atOnce = 8 } = this.#options
    const waiting = [...rows]
    const worker = async (): Promise<void> => {
      for (let row = waiting.shift(); row !== undefined && !this.isStopped; row = waiting.shift()) await work(row)
    }
    await Promise.all(Array.from({ length: Math.max(1, atOnce) }, worker))
  }

  async #sendOne(row: Row, stopsForFloat: boolean): Promise<void> {
    const key = this.#keyOf(row)
    if (!row.sending) await this.#keep(row, { type: "sending", row: row.row, key })
    for (let strikes = 0; ; ) {
      await sleep(Math.max(0, this.#notBefore - Date.now()), this.#options.signal)
      const made = await this.#calls.create(verbatim<PayoutBody>(row.text), { idempotencyKey: key }).catch(known)
      if (!(made instanceof GatewayError)) {
        await this.#keep(row, { type: "made", row: row.row, key, reference: made.reference })
        return this.#keepEnd(row, made)
      }
      if (made.code === "rate_limited" && !this.isStopped) {
        this.#notBefore = Date.now() + Math.max(1, made.retryAfterSeconds ?? 1) * 1_000
        continue
      }
      if (made.settlesKey) {
        await this.#keep(row, { type: "refused", row: row.row, key, code: made.code, reference: made.reference ?? null })
        if (stopsForFloat && lacksFloat.has(made.code)) this.#stoppedBy ??= made
        return
      }
      // The first refusal of a key comes without proof that no earlier request had it: it is asked for once more.
      if (made.class === "terminal" && made.code !== "idempotency_key_reused" && ++strikes <= STRIKES) continue
      this.#stoppedBy ??= made
      return
    }
  }

  async #keepEnd(row: Row, { failure, fees_minor, reference, status }: Payout): Promise<void> {
    if (status !== "successful" && status !== "failed") return
    const payout: Ended = { reference, status, fees_minor, failure: failure?.code ?? null }
    await this.#keep(row, { type: "ended", row: row.row, payout })
  }

  async #keep(row: Row, entry: RunEntry): Promise<void> {
    await this.#options.store.keep(entry)
    apply(row, entry)
    const rows = this.#rows
    this.#options.onProgress?.({
      rows: rows.length,
      sent: rows.filter((one) => one.reference !== null || one.refusedFor !== null).length,
      ended: rows.filter((one) => one.ended !== null || one.refusedFor !== null).length
    })
  }

  #keyOf({ attempt, row }: Row): string {
    return `${this.#options.name}-${row}${attempt === 1 ? "" : `-${attempt}`}`
  }

  #shown(row: Row): RunRow {
    const { ended, reference, refusedFor } = row
    const shown = { row: row.row, key: this.#keyOf(row), reference, fees_minor: ended?.fees_minor ?? null }
    if (ended !== null) return { ...shown, status: ended.status, failure: ended.failure }
    if (refusedFor !== null) return { ...shown, status: reference === null ? "refused" : "failed", failure: refusedFor }
    if (reference !== null) return { ...shown, status: "pending", failure: null }
    return { ...shown, status: row.sending ? "unknown" : "not_sent", failure: null }
  }
}

const known = (error: unknown): GatewayError => {
  if (isGatewayError(error)) return error
  throw error
}

const unlessTerminal = (error: unknown): undefined => {
  if (!(error instanceof GatewayError) || error.class === "terminal") throw error
}
