/**
 * The phases of a call to a provider. `pace`: the wait for its account's turn. `wait`: until a connection was there and the request was written to it; of one that was opened for it `dns`,
 * `connect` and `tls` are parts. Then `first_byte`, the request's way and the provider's own time, and `body`. These words are in histories and in
 * the log: none is changed, and a new one is added.
 */
export const callPhases = ["pace", "wait", "dns", "connect", "tls", "first_byte", "body"] as const
export type CallPhase = (typeof callPhases)[number]

/** One HTTP call to a provider, and where its time went: milliseconds with a tenth. */
export interface CallTime {
  readonly provider: string
  /** As spans and the log name it. */
  readonly operation: string
  /** The status of the answer, or why there was none: `not_sent`, `timeout`, `unavailable` or `bad_response`. */
  readonly end: string
  readonly tookMs: number
  /** A phase that it did not come to, or did not need, is absent. */
  readonly phases: { readonly [P in CallPhase]?: number }
}

/** `alpha quotation 200 in 19.4 (wait 2.5 first_byte 16.6 body 0.3)`: the same text in a history and in a line of the log. */
export const callTimesText = (calls: ReadonlyArray<CallTime>): string =>
  calls
    .map(({ end, operation, phases, provider, tookMs }) => {
      const parts = callPhases.flatMap((phase) => (phases[phase] === undefined ? [] : [`${phase} ${phases[phase]}`]))
      return `${[provider, operation, end].map(oneWord).join(" ")} in ${tookMs} (${parts.join(" ")})`
    })
    .join(", ")

const oneWord = (name: string): string => name.replaceAll(/[^\w.-]/g, "_")

/** A note of the history that ends with the calls that were made for its line. Where there were none, it ends with none that a person or a provider wrote. */
export const noteWithCalls = (note: string, calls: ReadonlyArray<CallTime>): string => {
  if (calls.length > 0) return `${note}${note === "" ? "" : "; "}calls: ${callTimesText(calls)}`
  return noteAndCalls(note).calls.length === 0 ? note : note.replaceAll("calls: ", "calls : ")
}

const LAST_PART = /^(?:(.*); )?calls: (.*)$/s
const ONE = /^([\w.-]+) ([\w.-]+) ([\w.-]+) in (\d+(?:\.\d+)?) \(([^()]*)\)$/

/** The note and the calls that were put together. Words that are no call are somebody else's, and stay in the note. */
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
