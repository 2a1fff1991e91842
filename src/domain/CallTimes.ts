import { oneWord } from "./Candidates.ts"
/**
 * The phases of a call to a provider. `pace` is the wait for the account's rate limiter. `wait` lasts until a connection was
 * available and the request was written to it; where a connection was opened for the call, `dns`, `connect` and `tls` are parts
 * of it. `first_byte` is the network's round trip and the provider's own time, and `body` the rest of the answer. Histories and
 * logs contain these words: do not change one, only add new ones.
 */
export const callPhases = ["pace", "wait", "dns", "connect", "tls", "first_byte", "body"] as const
export type CallPhase = (typeof callPhases)[number]

/** One HTTP call to a provider and where its time went, in milliseconds with one decimal. */
export interface CallTime {
  readonly provider: string
  /** The name that spans and the log use. */
  readonly operation: string
  /** The HTTP status of the answer, or why there was none: `not_sent`, `timeout`, `unavailable` or `bad_response`. */
  readonly end: string
  readonly tookMs: number
  /** A phase that the call did not reach, or did not need, is absent. */
  readonly phases: { readonly [P in CallPhase]?: number }
}

/** `alpha quotation 200 in 19.4 (wait 2.5 first_byte 16.6 body 0.3)`: the same text in a history and in a log line. */
export const callTimesText = (calls: ReadonlyArray<CallTime>): string =>
  calls
    .map(({ end, operation, phases, provider, tookMs }) => {
      const parts = callPhases.flatMap((phase) => (phases[phase] === undefined ? [] : [`${phase} ${phases[phase]}`]))
      return `${[provider, operation, end].map(oneWord).join(" ")} in ${tookMs} (${parts.join(" ")})`
    })
    .join(", ")

/**
 * A note for the history, followed by the calls that were made for its line. Without calls, a note that a person or a provider
 * wrote is escaped so that it cannot be read as ending with calls.
 */
export const noteWithCalls = (note: string, calls: ReadonlyArray<CallTime>): string => {
  if (calls.length > 0) return `${note}${note === "" ? "" : "; "}calls: ${callTimesText(calls)}`
  return noteAndCalls(note).calls.length === 0 ? note : note.replaceAll("calls: ", "calls : ")
}

const LAST_PART = /^(?:(.*); )?calls: (.*)$/s
const ONE = /^([\w.-]+) ([\w.-]+) ([\w.-]+) in (\d+(?:\.\d+)?) \(([^()]*)\)$/

/** Splits a stored note into its text and its calls. A part that does not parse as a call stays in the note. */
export const noteAndCalls = (stored: string): { readonly note: string; readonly calls: ReadonlyArray<CallTime> } => {
  const [, note = "", text = ""] = LAST_PART.exec(stored) ?? []
  const calls = text.split(", ").map(callOf)
  return isWhole(calls) ? { note, calls } : { note: stored, calls: [] }
}

const isWhole = (calls: ReadonlyArray<CallTime | null>): calls is ReadonlyArray<CallTime> => calls.every((call) => call !== null)

const callOf = (text: string): CallTime | null => {
  const [, provider = "", operation = "", end = "", took, parts = ""] = ONE.exec(text) ?? []
  if (took === undefined) return null
  const given = new Map([...parts.matchAll(/(\w+) (\d+(?:\.\d+)?)/g)].map(([, name, ms]) => [name, Number(ms)] as const))
  const phases = Object.fromEntries(
    callPhases.flatMap((phase) => {
      const ms = given.get(phase)
      return ms === undefined ? [] : [[phase, ms] as const]
    })
  )
  return { provider, operation, end, tookMs: Number(took), phases }
}
