import { Context } from "effect"

/** One kind of call to one account of a provider. Each part is one of a fixed set, so that there are few lines. */
export interface CallLine {
  readonly provider: string
  readonly mode: string
  readonly operation: string
}

/** How a call ended. `failure`: why nothing came of it; null where the provider answered, be it with a refusal. */
export interface CallEnd {
  readonly at: number
  readonly failure: string | null
}

/** The recent outcomes of the calls of one line. */
export interface CallsOfLine extends CallLine {
  /** Within `RECENT_MS`. */
  readonly calls: number
  readonly failures: number
  /** The last of them; null where there was none since the process began. */
  readonly lastAnswerAt: number | null
  readonly lastFailure: { readonly at: number; readonly why: string } | null
  /** The last three failed, or more than half of the last ten. It begins and ends with the calls, however many were made before. */
  readonly isFailing: boolean
}

/** How far back calls are counted. */
export const RECENT_MS = 300_000
const STEP_MS = 15_000
const LATEST_KEPT = 10
/** So many failures one after another tell already. */
const IN_A_ROW = 3

interface Step {
  readonly from: number
  calls: number
  failures: number
}

interface Line {
  readonly of: CallLine
  steps: Array<Step>
  lastAnswerAt: number | null
  lastFailure: CallsOfLine["lastFailure"]
  /** Whether each of the last calls failed, the newest at the end. */
  latest: ReadonlyArray<boolean>
}

const isRecent = (step: Step, now: number): boolean => step.from > now - RECENT_MS

/** In memory, and of one process: a request that was refused because its provider cannot be reached leaves no record behind. */
export const makeRecentCalls = () => {
  const lines = new Map<string, Line>()

  const lineOf = (of: CallLine): Line => {
    const name = `${of.provider} ${of.mode} ${of.operation}`
    const known = lines.get(name) ?? { of, steps: [], lastAnswerAt: null, lastFailure: null, latest: [] }
    lines.set(name, known)
    return known
  }

  const stepOf = (line: Line, at: number): Step => {
    const from = at - (at % STEP_MS)
    const last = line.steps.at(-1)
    if (last !== undefined && last.from >= from) return last
    const next = { from, calls: 0, failures: 0 }
    line.steps = [...line.steps.filter((step) => isRecent(step, at)), next]
    return next
  }

  return {
    record: (of: CallLine, { at, failure }: CallEnd): void => {
      const line = lineOf(of)
      const step = stepOf(line, at)
      step.calls += 1
      line.latest = [...line.latest, failure !== null].slice(-LATEST_KEPT)
      if (failure === null) {
        line.lastAnswerAt = at
        return
      }
      step.failures += 1
      line.lastFailure = { at, why: failure }
    },

    /** Lines without a recent call are left out. */
    read: (now: number): ReadonlyArray<CallsOfLine> =>
      [...lines.values()].flatMap(({ lastAnswerAt, lastFailure, latest, of, steps }) => {
        const recent = steps.filter((step) => isRecent(step, now))
        const calls = recent.reduce((sum, step) => sum + step.calls, 0)
        const failures = recent.reduce((sum, step) => sum + step.failures, 0)
        return calls === 0 ? [] : [{ ...of, calls, failures, lastAnswerAt, lastFailure, isFailing: fails(latest) }]
      })
  }
}

export type CallMemory = ReturnType<typeof makeRecentCalls>

/** The calls of one gateway. */
export const RecentCalls = Context.Reference<CallMemory>("gateway/runtime/RecentCalls", { defaultValue: makeRecentCalls })

const fails = (latest: ReadonlyArray<boolean>): boolean => {
  const inARow = latest.slice(-IN_A_ROW)
  const failures = latest.filter((failed) => failed).length
  return (
    (inARow.length === IN_A_ROW && inARow.every((failed) => failed)) || (failures >= IN_A_ROW && failures * 2 > latest.length)
  )
}
