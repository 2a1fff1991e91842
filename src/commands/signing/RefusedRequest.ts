import { Option } from "effect"
import { clockSkewSeconds, isNonce, parseKeyHeader, parseSignature } from "../../domain/StringToSign.ts"
import type { KeyFile } from "./SignedHeaders.ts"

/** The part of a request that is wrong, and what to do about it. */
export interface SignatureMismatch {
  readonly part: "key" | "timestamp" | "nonce" | "signature" | "host" | "method" | "path" | "query" | "body" | "secret" | "string"
  readonly detail: string
}

/** A header's values by its name in lower case, in the order in which they are in the file. */
export type HeaderValues = ReadonlyMap<string, ReadonlyArray<string>>

/**
 * Reads `Name: value` lines. It understands curl's marks: `>` before sent headers, and `<` before received ones, of which only
 * `Date` is used. Lines that are no header are skipped.
 */
export const readHeaders = (text: string): HeaderValues => {
  const headers = new Map<string, Array<string>>()
  for (const line of text.split(/\r?\n/)) {
    const [, mark = "", name = "", value = ""] = /^([<>]?)\s*([A-Za-z][A-Za-z0-9-]*)\s*:\s*(.*?)\s*$/.exec(line) ?? []
    if (name === "" || (mark === "<" && name.toLowerCase() !== "date")) continue
    const values = headers.get(name.toLowerCase()) ?? []
    values.push(value)
    headers.set(name.toLowerCase(), values)
  }
  return headers
}

export const headerOf = (headers: HeaderValues, name: string): string => headers.get(name)?.[0] ?? ""

/** The gateway's own default limits (contract SIG-9). */
const MAX_AGE_SECONDS = 120
const MAX_AHEAD_SECONDS = 30

const parts = [
  ["x-gateway-key", "key"],
  ["x-gateway-timestamp", "timestamp"],
  ["x-gateway-nonce", "nonce"],
  ["x-gateway-signature", "signature"]
] as const

/** The faults of the headers by themselves, before anything is computed. */
export const headerMismatches = (headers: HeaderValues, key: KeyFile, nowMs: number): ReadonlyArray<SignatureMismatch> => [
  ...parts.flatMap(([name, part]) => {
    const count = headers.get(name)?.length ?? 0
    if (count === 1) return []
    return [{ part, detail: count === 0 ? `${name} is missing` : `${name} is sent ${count} times; send it once` }]
  }),
  ...(headers.has("x-gateway-key") ? keyMismatches(headerOf(headers, "x-gateway-key"), key) : []),
  ...(headers.has("x-gateway-timestamp") ? timestampMismatches(headers, nowMs) : []),
  ...(!headers.has("x-gateway-nonce") || isNonce(headerOf(headers, "x-gateway-nonce"))
    ? []
    : [{ part: "nonce" as const, detail: "the nonce must be 16 to 64 characters of A-Z a-z 0-9 _ -" }]),
  ...(!headers.has("x-gateway-signature") || Option.isSome(parseSignature(headerOf(headers, "x-gateway-signature")))
    ? []
    : [{ part: "signature" as const, detail: "the signature must be v1= and 64 lower-case hexadecimal digits" }])
]

const keyMismatches = (header: string, key: KeyFile): ReadonlyArray<SignatureMismatch> => {
  const named = Option.getOrUndefined(parseKeyHeader(header))
  if (named === undefined)
    return [{ part: "key", detail: "X-Gateway-Key must be APP_ID.KEY_ID.API_KEY: three parts, joined by dots" }]
  const wrong = (what: string, ours: string): SignatureMismatch => ({
    part: "key",
    detail: `the ${what} is not the key file's${ours}`
  })
  return [
    ...(named.appId === key.app_id ? [] : [wrong("app_id", `: ${named.appId}, and not ${key.app_id}`)]),
    ...(named.keyId === key.key_id ? [] : [wrong("key_id", `: ${named.keyId}, and not ${key.key_id}`)]),
    ...(named.apiKey === key.api_key ? [] : [wrong("api_key", ", which is the api_key of another key, or cut short")])
  ]
}

/** The request was refused at the response's `Date` where the file has it, otherwise now. */
const timestampMismatches = (headers: HeaderValues, nowMs: number): ReadonlyArray<SignatureMismatch> => {
  const timestamp = headerOf(headers, "x-gateway-timestamp")
  const answered = Date.parse(headerOf(headers, "date"))
  const isAnswered = !Number.isNaN(answered)
  const skew = Option.getOrUndefined(clockSkewSeconds(timestamp, isAnswered ? answered : nowMs))
  if (skew === undefined)
    return [
      {
        part: "timestamp",
        detail: `${timestamp} is not Unix time in whole seconds${/^\d{13}$/.test(timestamp) ? ": these are milliseconds" : ""}`
      }
    ]
  const when = isAnswered ? "when the gateway answered" : "now"
  if (skew > MAX_AHEAD_SECONDS)
    return [
      {
        part: "timestamp",
        detail: `the timestamp was ${skew} s ahead ${when}; at most ${MAX_AHEAD_SECONDS} s are accepted: set the clock`
      }
    ]
  if (-skew > MAX_AGE_SECONDS)
    return [
      {
        part: "timestamp",
        detail: `the timestamp was ${-skew} s old ${when}; at most ${MAX_AGE_SECONDS} s are accepted: ${isAnswered ? "set the clock, and sign again for each attempt" : "put the response's Date line into the file to know whether it was when the request was sent"}`
      }
    ]
  return []
}
