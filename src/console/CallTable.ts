import type { ComponentChild } from "preact"
import { type CallPhase, type CallTime, callPhases } from "../domain/CallTimes.ts"
import type { Instant } from "../domain/Instant.ts"
import { badge, code, table, time } from "./Elements.ts"

const phaseColumns = {
  pace: "Our pace",
  wait: "Waited for a connection",
  dns: "DNS",
  connect: "TCP",
  tls: "TLS",
  first_byte: "To the first byte",
  body: "Reading it"
} as const satisfies { readonly [P in CallPhase]: string }

const withoutAnswer: Readonly<Record<string, string>> = {
  not_sent: "nothing was sent",
  timeout: "no answer in time",
  unavailable: "the connection was lost",
  bad_response: "no answer that can be read"
}

/** Each provider call that a history names, and where its time went. */
export const callTable = (
  history: ReadonlyArray<{ readonly at: Instant; readonly calls?: ReadonlyArray<CallTime> }>
): ComponentChild =>
  table(
    "Each call to a provider, in its order. Of a connection that was opened for it, DNS, TCP and TLS are parts of the wait",
    ["Provider", "Call", "Answer", "Took", ...callPhases.map((phase) => phaseColumns[phase]), "Noted"],
    history.flatMap(({ at, calls = [] }) => calls.map((call) => callRow(call, at))),
    "No call was timed: none was made, or an earlier release made it."
  )

const callRow = ({ end, operation, phases: spent, provider, tookMs }: CallTime, at: Instant): ReadonlyArray<ComponentChild> => [
  code(provider),
  operation.replaceAll("_", " "),
  answerBadge(end),
  milliseconds(tookMs),
  ...callPhases.map((phase) => millisecondsOr(spent[phase])),
  time(at)
]

const answerBadge = (end: string): ComponentChild => {
  if (Object.hasOwn(withoutAnswer, end)) return badge(withoutAnswer[end] ?? end, end === "not_sent" ? "wait" : "bad")
  return badge(`HTTP ${end}`, end.startsWith("2") ? "good" : "wait")
}

const millisecondsOr = (ms: number | undefined): string => (ms === undefined ? "none" : milliseconds(ms))
const milliseconds = (ms: number): string => `${ms.toFixed(1)} ms`
