import type { ComponentChild } from "preact"
import type { Instant } from "../domain/Instant.ts"
import { type CallCounts, RECENT_MS } from "../runtime/RecentCalls.ts"
import { elapsed } from "../services/Attention.ts"
import { badge, table, time } from "./Elements.ts"

/** The meaning of a call's failure, for a person who has to find out whose fault it is. */
const meanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the provider's machine refuses connections",
  ENOTFOUND: "its name is not known to DNS",
  EAI_AGAIN: "DNS does not answer",
  UND_ERR_CONNECT_TIMEOUT: "no connection could be made in time",
  ECONNRESET: "the connection was cut before an answer came",
  UND_ERR_SOCKET: "the connection was closed before an answer came",
  "no answer in time": "it took the request and did not answer",
  "HTTP 401": "it does not accept our credentials",
  "HTTP 403": "it does not accept our credentials",
  "HTTP 500": "it failed there",
  "HTTP 502": "it is out of order",
  "HTTP 503": "it is out of order",
  "HTTP 504": "it is out of order"
}

export const whyText = (why: string): string => (Object.hasOwn(meanings, why) ? `${meanings[why]} (${why})` : why)

/** One line for each account whose calls are failing now, for the list of what needs attention. */
export const failingCalls = (lines: ReadonlyArray<CallCounts>): ReadonlyArray<string> => {
  const failing = lines.filter(({ isFailing }) => isFailing)
  const accounts = [...new Set(failing.map(({ mode, provider }) => `${provider} ${mode}`))]
  return accounts.map((account) => {
    const own = failing.filter(({ mode, provider }) => `${provider} ${mode}` === account)
    const counts = own.map(({ calls, failures, operation }) => `${failures} of ${calls} ${operation.replaceAll("_", " ")} calls`)
    const [last] = own.flatMap(({ lastFailure }) => lastFailure ?? []).sort((one, other) => other.at - one.at)
    return `calls to ${account} fail: ${counts.join(", ")} at this node within ${RECENT_MINUTES} minutes${last === undefined ? "" : `; ${whyText(last.why)}`}`
  })
}

const MINUTE_MS = 60_000
const RECENT_MINUTES = RECENT_MS / MINUTE_MS

export const callTable = (lines: ReadonlyArray<CallCounts>, now: Instant): ComponentChild =>
  table(
    `By this node, within ${RECENT_MINUTES} minutes`,
    ["Provider", "Call", "Made", "Failed", "Last answer", "Last failure", "Why it failed"],
    [...lines]
      .sort((one, other) => Number(other.isFailing) - Number(one.isFailing) || other.calls - one.calls)
      .map((line) => [
        `${line.provider}, ${line.mode}`,
        line.operation.replaceAll("_", " "),
        String(line.calls),
        line.failures === 0 ? badge("none", "good") : badge(String(line.failures), line.isFailing ? "bad" : "wait"),
        line.lastAnswerAt === null ? "none since the node started" : `${elapsed(now, line.lastAnswerAt)} ago`,
        line.lastFailure === null ? "none" : time(line.lastFailure.at),
        line.lastFailure === null ? "" : whyText(line.lastFailure.why)
      ]),
    "None was made."
  )
