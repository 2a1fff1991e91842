import { callbackCase } from "./Callbacks.ts"
import { type Case, choicesOf, type Target, type What } from "./Case.ts"
import { type Heard, makeClient } from "./Client.ts"
import { jsonCase } from "./Json.ts"
import { faultsOf } from "./Judge.ts"
import { rawCase } from "./Raw.ts"
import { signedCase } from "./Signed.ts"

const CLIENTS = 24
/** What is printed of failures; all are counted. */
const FAILURES_KEPT = 20
const EXCERPT = 2_000

const makers = { raw: rawCase, json: jsonCase, signed: signedCase, callbacks: callbackCase }

export interface Part {
  readonly what: What
  readonly seed: number
  /** The number of the first case. */
  readonly from: number
  /** How many requests to send, cases as a whole. */
  readonly requests: number
}

/** What is kept of a part. */
export interface Counts {
  readonly what: What
  readonly from: number
  /** The number of the case after the last. */
  readonly until: number
  readonly requests: number
  /** Requests of each part that is counted by itself, such as a provider. */
  readonly of: Readonly<Record<string, number>>
  readonly statuses: Readonly<Record<string, number>>
  readonly slowestMs: number
  readonly largestBytes: number
  readonly found: number
}

export interface Played {
  readonly counts: Counts
  /** Each with the command that plays it again. */
  readonly failures: ReadonlyArray<string>
}

/** Plays cases one after another with many clients, until so many requests were sent or nobody answers any more. */
export const play = async (target: Target, { from, requests, seed, what }: Part, isOver = () => false): Promise<Played> => {
  const of: Record<string, number> = {}
  const statuses: Record<string, number> = {}
  const failures: Array<string> = []
  const sum = { requests: 0, found: 0, slowestMs: 0, largestBytes: 0, next: from }
  const note = (index: number, one: Case, heard: Heard) => {
    for (const { of: part } of one.asked) if (part !== undefined) of[part] = (of[part] ?? 0) + 1
    for (const { bytes, status } of heard.answers) {
      statuses[status] = (statuses[status] ?? 0) + 1
      sum.largestBytes = Math.max(sum.largestBytes, bytes)
    }
    sum.slowestMs = Math.max(sum.slowestMs, Math.round(heard.ms))
    const faults = faultsOf(one, heard)
    if (faults.length === 0) return
    sum.found += 1
    if (failures.length < FAILURES_KEPT)
      failures.push(
        `npm run fuzz -- --seed ${seed} --what ${what} --from ${index} --requests 1\n  ${faults.join("\n  ")}\n  ${shown(one)}`
      )
  }
  const client = async (_: unknown, at: number) => {
    const { close, play: send } = makeClient(target.port, `127.0.0.${2 + (at % 8)}`)
    while (sum.requests < requests && !isOver()) {
      const index = sum.next++
      const one = makers[what](choicesOf(seed, what, index), target, index)
      sum.requests += one.asked.length
      note(index, one, await send(one))
    }
    close()
  }
  await Promise.all(Array.from({ length: Math.min(CLIENTS, requests) }, client))
  const { next, ...rest } = sum
  return { counts: { what, from, until: next, of, statuses, ...rest }, failures }
}

const shown = ({ pieces }: Case): string => JSON.stringify(Buffer.concat(pieces).toString("latin1").slice(0, EXCERPT))
