import { sleep } from "./Attempts.ts"
import type { Call } from "./Connection.ts"
import { GatewayError, isGatewayError } from "./Errors.ts"
import { parse, stringify, verbatim } from "./Json.ts"
import {
  apply,
  type Ended,
  hasAnswer,
  isFailureContested,
  isNotSent,
  isOpen,
  isUnderWay,
  lacksFloat,
  type Row,
  type RunEntry,
  RunError,
  type RunStore,
  requireSame,
  rowsOf
} from "./RunJournal.ts"
import { isRunName, keyOf, type MadeUnder, type Taken, takenMessage } from "./RunName.ts"
import { planOf, type RunPlan } from "./RunPlan.ts"
import type { Operations, Payout } from "./Schema.ts"

type PayoutBody = Operations["POST /v1/payouts"]["body"]

/** One payout of a list. Its row is yours, and makes its key together with the run's name: `NAME-ROW`. */
export interface RunItem {
  readonly row: number
  readonly body: PayoutBody
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
 * `not_sent`: under no key, or refused for now. After a refusal for want of float it goes under its next key, after any other under the same.
 * `unknown`: sent, without an answer that can be believed, or failed with `needs_review`, so that it may be paid. `refused`: not made, for good.
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

interface Calls {
  /** Whose keys the run's are, and where. Another tenant, or the other mode, knows none of them, and would pay each row again. */
  readonly holder: () => Promise<string>
  /** The key that is used, as runs of an earlier release name their holder. */
  readonly keyName: string
  readonly create: (call: Pick<Call, "body" | "idempotencyKey" | "stop" | "onReplay">) => Promise<Payout>
  readonly get: (reference: string) => Promise<Payout>
  readonly quotes: (body: Operations["POST /v1/payouts/quotes"]["body"]) => Promise<Operations["POST /v1/payouts/quotes"]["data"]>
  readonly madeUnder: MadeUnder
}

/** A signed request's clock is no further from the gateway's: what is older than a run by more than this is no payout of it. */
const CLOCKS_MS = 150_000
const WAIT_MS = 600_000
const LONGEST_PAUSE_MS = 10_000
/** How often a refusal for good that does not settle its key is asked for again. */
const STRIKES = 2
/** Refusals for now that come after the key was looked for: it has made nothing, and is free. */
const freesKey: ReadonlySet<string> = new Set(["velocity_limit_exceeded", "global_ceiling_reached", "provider_error"])

/**
 * Pays a list, each row once, however often the process dies: run it again with the same name, rows and store. Nothing is sent unless every
 * row has a price and the float covers all of them.
 */
export const runPayouts = async (calls: Calls, options: RunOptions): Promise<RunReport> => {
  const { name, store } = options
  if (!isRunName(name)) throw new RunError("a run's name is 1 to 60 letters, digits, _ and .")
  const bodies = options.items.map(({ body, row }) => ({ row, text: stringify(body) }))
  const kept = await store.entries()
  const begun = kept.find((entry) => entry.type === "begun")
  if (begun !== undefined) {
    if (begun.login !== calls.keyName && begun.login !== (await calls.holder()))
      throw new RunError(`the run was begun as ${begun.login}: go on with that login`)
    requireSame(bodies, begun.bodies, begun.at)
  }
  const rows = rowsOf(name, bodies, kept)
  const run = new Run(calls, options, { rows, begunAt: begun?.at, taken: kept.find((entry) => entry.type === "taken") })
  // A refusal that was made before a top-up comes back here: whether the float is enough now, the prices say.
  await run.send(rows.filter(isUnderWay), false)
  await run.requireOwnName()
  const rest = rows.filter(isNotSent)
  let plan: RunPlan | null = null
  if (rest.length > 0 && !run.isStopped) {
    plan = await planOf(rest, calls.quotes)
    if (plan.issues.length > 0 || plan.totals.some(({ shortfall_minor }) => shortfall_minor > 0n))
      return run.report(plan, "refused")
    if (!(await options.confirm(plan))) return run.report(plan, "declined")
    if (begun === undefined) await run.begin({ type: "begun", at: new Date().toISOString(), login: await calls.holder(), bodies })
    // Alone: where an earlier run had the name, its key is mostly that run's.
    if (!rows.some(hasAnswer)) await run.send(rest.slice(0, 1))
    await run.send(rest.filter(isNotSent))
    await run.requireOwnName()
  }
  await run.wait()
  return run.report(plan)
}

/** What is known when it is begun or gone on with. */
interface Known {
  readonly rows: ReadonlyArray<Row>
  readonly begunAt: string | undefined
  readonly taken: Taken | undefined
}

class Run {
  readonly #calls: Calls
  readonly #options: RunOptions
  readonly #rows: ReadonlyArray<Row>
  #begunAt: number
  /** When the process that began the run made its first payout, by the gateway's clock: never, until then. Undefined in a later process. */
  #ownSince: number | undefined
  #taken: Taken | undefined
  #stoppedBy: GatewayError | null = null
  /** What holds up some recipients alone: the rest of the list is paid meanwhile. */
  #heldUpBy: GatewayError | null = null
  /** Before it nothing is sent: a refusal of one is for all. */
  #notBefore = 0

  constructor(calls: Calls, options: RunOptions, { begunAt, rows, taken }: Known) {
    this.#calls = calls
    this.#options = options
    this.#rows = rows
    this.#begunAt = begunAt === undefined ? Date.now() : Date.parse(begunAt)
    this.#taken = taken
  }

  get isStopped(): boolean {
    return this.#isHalted || this.#taken !== undefined
  }

  /** What was sent is not asked for any more, either. */
  get #isHalted(): boolean {
    return this.#stoppedBy !== null || this.#isAborted
  }

  get #isAborted(): boolean {
    return this.#options.signal?.aborted === true
  }

  async begin(entry: Extract<RunEntry, { type: "begun" }>): Promise<void> {
    await this.#options.store.keep(entry)
    this.#begunAt = Date.parse(entry.at)
    this.#ownSince = Number.POSITIVE_INFINITY
  }

  /** Throws once a row has met a key that an earlier run used. */
  async requireOwnName(): Promise<void> {
    if (this.#taken === undefined) return
    await this.#look()
    throw new RunError(await takenMessage(this.#options.name, this.#taken, this.#rows, this.#calls.madeUnder))
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
      await this.#look()
      // A contested failure waits for an operator, which takes longer than a run.
      if (!this.#rows.some((row) => isOpen(row) && !row.contested) || this.isStopped || Date.now() + pause > end) return
      await sleep(pause, signal)
    }
  }

  /** Asks once for the outcomes that are not known yet. */
  async #look(): Promise<void> {
    await this.#each(this.#rows.filter(isOpen), async (row) => {
      const payout = await this.#calls.get(row.reference ?? "").catch(unlessTerminal)
      if (payout !== undefined) await this.#keepEnd(row, payout)
    })
  }

  report(plan: RunPlan | null, state: RunReport["state"] = this.#state()): RunReport {
    return {
      name: this.#options.name,
      state,
      plan,
      stoppedBy: this.#stoppedBy ?? this.#heldUpBy,
      rows: this.#rows.map((row) => this.#shown(row))
    }
  }

  #state(): RunReport["state"] {
    if (this.#rows.some((row) => isUnderWay(row) || isNotSent(row))) return "stopped"
    return this.#rows.some(isOpen) ? "pending" : "finished"
  }

  async #each(rows: ReadonlyArray<Row>, work: (row: Row) => Promise<void>): Promise<void> {
    const { atOnce = 8 } = this.#options
    const waiting = [...rows]
    const worker = async (): Promise<void> => {
      for (let row = waiting.shift(); row !== undefined && !this.#isHalted; row = waiting.shift()) await work(row)
    }
    await Promise.all(Array.from({ length: Math.max(1, atOnce) }, worker))
  }

  async #sendOne(row: Row, stopsForFloat: boolean): Promise<void> {
    const key = keyOf(this.#options.name, row.row, row.attempt)
    let mayBeKnown = row.sending
    for (let strikes = 0; ; ) {
      await sleep(Math.max(0, this.#notBefore - Date.now()), this.#options.signal)
      if (this.#isAborted || (this.isStopped && !row.sending)) return
      if (!row.sending) await this.#keep(row, { type: "sending", row: row.row, key })
      // The key was known before this journal says that it was sent.
      let isForeign = false
      let isReplay = false
      const onReplay = (attempt: number): void => {
        isReplay = true
        isForeign = attempt === 1 && !mayBeKnown
      }
      const made = await this.#create(row.text, key, onReplay)
      if (made === undefined) return
      if (!(made instanceof GatewayError)) {
        if (this.#isEarlier(made, isForeign)) return this.#keepTaken(row, key)
        if (this.#ownSince !== undefined && !isReplay) this.#ownSince = Math.min(this.#ownSince, Date.parse(made.created_at))
        await this.#keep(row, { type: "made", row: row.row, key, reference: made.reference })
        return this.#keepEnd(row, made)
      }
      if (made.code === "rate_limited" && !this.isStopped) {
        this.#notBefore = Date.now() + Math.max(1, made.retryAfterSeconds ?? 1) * 1_000
        continue
      }
      if ((isForeign || made.code === "idempotency_key_reused") && (await this.#isEarlierKey(key)))
        return this.#keepTaken(row, key)
      const neverFits = isAboveCap(made, row.text)
      if (made.settlesKey || (neverFits && (!mayBeKnown || strikes === STRIKES))) {
        await this.#keep(row, { type: "refused", row: row.row, key, code: made.code, reference: made.reference ?? null })
        if (stopsForFloat && lacksFloat.has(made.code)) this.#stoppedBy ??= made
        return
      }
      if (freesKey.has(made.code) && !mayBeKnown) await this.#keep(row, { type: "not_sent", row: row.row, key })
      if (isOfRecipient(made)) {
        this.#heldUpBy ??= made
        return
      }
      mayBeKnown = true
      // The first refusal of a key comes without proof that no earlier request had it: it is asked for once more.
      if ((made.class === "terminal" || neverFits) && ++strikes <= STRIKES) continue
      this.#stoppedBy ??= made
      return
    }
  }

  /** Whether a payout is an earlier run's. `isForeign`: it was made by no request that this journal knows of. */
  #isEarlier({ created_at }: Pick<Payout, "created_at">, isForeign: boolean): boolean {
    const at = Date.parse(created_at)
    // The process that begins a run knows all of its requests, unless another goes on with a copy of its journal meanwhile.
    return at < this.#begunAt - CLOCKS_MS || (isForeign && this.#ownSince !== undefined && !(at >= this.#ownSince))
  }

  /** The same of a key that answers with a refusal. A journal that was begun before may be an older copy: then only the payout's age says it. */
  async #isEarlierKey(key: string): Promise<boolean> {
    if (this.#ownSince !== undefined) return true
    const made = await this.#calls.madeUnder(key).catch(unlessTerminal)
    return made !== undefined && this.#isEarlier(made, true)
  }

  /** Undefined where it was stopped before anything was sent. */
  async #create(text: string, idempotencyKey: string, onReplay: (attempt: number) => void) {
    const { signal: stop } = this.#options
    return this.#calls.create({ body: verbatim<PayoutBody>(text), idempotencyKey, stop, onReplay }).catch((error: unknown) => {
      if (isGatewayError(error)) return error
      if (stop?.aborted === true) return undefined
      throw error
    })
  }

  async #keepTaken(row: Row, key: string): Promise<void> {
    const taken = { row: row.row, key }
    await this.#keep(row, { type: "taken", ...taken })
    this.#taken ??= taken
  }

  async #keepEnd(row: Row, made: Payout): Promise<void> {
    const { failure, fees_minor, reference, status } = made
    row.contested = isFailureContested(made)
    if (row.contested || (status !== "successful" && status !== "failed")) return
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

  #shown(row: Row): RunRow {
    const { ended, reference, refusedFor } = row
    const shown = {
      row: row.row,
      key: keyOf(this.#options.name, row.row, row.attempt),
      reference,
      fees_minor: ended?.fees_minor ?? null
    }
    if (ended !== null) return { ...shown, status: ended.status, failure: ended.failure }
    if (refusedFor !== null) return { ...shown, status: reference === null ? "refused" : "failed", failure: refusedFor }
    if (reference !== null) return { ...shown, status: row.contested ? "unknown" : "pending", failure: null }
    return { ...shown, status: row.sending ? "unknown" : "not_sent", failure: null }
  }
}

const unlessTerminal = (error: unknown): undefined => {
  if (!(error instanceof GatewayError) || error.class === "terminal") throw error
}

/** Whether it is the recipient who was paid too often or too much for now: the other rows are not held up. */
const isOfRecipient = ({ code, details }: GatewayError): boolean => {
  if (code !== "velocity_limit_exceeded") return false
  const { applies_to: subject, window }: { applies_to?: unknown; window?: unknown } = details
  return window === "destination" || subject === "destination"
}

/** Whether a row will fit into no window of a cap of amounts. Where the fee or the rate makes its amount, a later one may. */
const isAboveCap = ({ code, details }: GatewayError, text: string): boolean => {
  if (code !== "velocity_limit_exceeded" || !("scope" in details && "maximum_minor" in details)) return false
  const { maximum_minor: maximum, scope } = details
  const body: Readonly<Record<string, unknown>> = Object(parse(text))
  const amount = body["amount_minor"]
  const isFixed = body["deduct_fee_from_amount"] !== true && body["amount_type"] !== "DESTINATION"
  return scope === "amount" && isFixed && typeof amount === "bigint" && typeof maximum === "bigint" && amount > maximum
}
