import { createHash, createHmac } from "node:crypto"
import { canonicalQuery } from "../../src/domain/StringToSign.ts"
import { type Random, seeded } from "../../test/support/Random.ts"
import type { Key } from "../chaos/Client.ts"

/** One answer as it came over the wire. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** With the head. */
  readonly bytes: number
}

/** One request of a case, and what its answer has to be beyond what every answer has to be. */
export interface Asked {
  readonly method: string
  readonly target: string
  /** The body, where it is text. */
  readonly sent: string
  /** What is wrong with the answer; undefined where it is right. */
  readonly fault?: (answer: Answer) => string | undefined
  /** A part of a sum of its own, such as a provider. */
  readonly of?: string
}

export interface Case {
  /** Written one after another. */
  readonly pieces: ReadonlyArray<Buffer>
  readonly asked: ReadonlyArray<Asked>
  /**
   * Whether every request is HTTP/1.1 and complete. Then each is answered, in order, on a connection that goes on. What is not whole has a
   * connection of its own, which the client half closes, and may be answered with anything or nothing.
   */
  readonly whole: boolean
  /** Whether the client of a case that is not whole resets its connection instead of ending it. */
  readonly isReset?: boolean
}

/** Whom a fuzz run asks, and as whom. */
export interface Target {
  readonly port: number
  /** The text of a 401: the same whatever was wrong. */
  readonly unauthorized: string
  /** Its money must not move: it signs nothing but reads. */
  readonly victim: Key
  /** Moves its money as it likes. */
  readonly spender: Key
  readonly callbacks: ReadonlyArray<CallbackPath>
}

export interface CallbackPath {
  readonly provider: string
  readonly mode: "live" | "test"
  readonly path: string
  /** Of what this provider was sent and has left open. */
  readonly pending: ReadonlyArray<string>
}

/** The spender comes last: what it sets off goes on beside whatever follows. */
export const whats = ["raw", "signed", "callbacks", "json"] as const
export type What = (typeof whats)[number]

/** The choices of one case: the same seed, kind and number make the same ones, whatever was played before. */
export const choicesOf = (seed: number, what: What, index: number): Random =>
  seeded(createHash("sha256").update(`${seed} ${what} ${index}`).digest().readUInt32BE(0))

export type Headers = ReadonlyArray<readonly [name: string, value: string]>

export interface Plain {
  readonly method: string
  readonly target: string
  readonly headers: Headers
  readonly body: string | Buffer
}

/** A request as its headers stand; with a body it says how long that is. */
export const bytesOf = ({ body, headers, method, target }: Plain): Buffer => {
  const content = typeof body === "string" ? Buffer.from(body) : body
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)]
  if (content.length > 0) lines.push(`Content-Length: ${content.length}`)
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), content])
}

export interface Signing {
  readonly key: Key
  readonly host: string
  readonly method: string
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  readonly body: string
}

/** The string to sign. Where the query has no canonical form it stands as it was sent. */
export const textOf = ({ body, host, key, method, nonce, target, timestamp }: Signing): string => {
  const mark = target.indexOf("?")
  const [path, query] = mark === -1 ? [target, ""] : [target.slice(0, mark), target.slice(mark + 1)]
  const canonical = canonicalQuery(query)
  const ignored = method === "GET" || method === "DELETE" || method === "HEAD"
  const hash = createHash("sha256")
    .update(ignored ? "" : body)
    .digest("hex")
  const written = canonical._tag === "Some" ? canonical.value : query
  return ["v1", key.app_id, key.key_id, host.toLowerCase(), method, path, written, timestamp, nonce, hash].join("\n")
}

export const signatureOf = (secret: string, text: string): string =>
  `v1=${createHmac("sha256", secret).update(text).digest("hex")}`

export const signingHeaders = (signing: Signing): Headers => [
  ["Host", signing.host],
  ["X-Gateway-Key", `${signing.key.app_id}.${signing.key.key_id}.${signing.key.api_key}`],
  ["X-Gateway-Timestamp", signing.timestamp],
  ["X-Gateway-Nonce", signing.nonce],
  ["X-Gateway-Signature", signatureOf(signing.key.signing_secret, textOf(signing))]
]

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

const WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
export const word = (random: Random, length: number): string =>
  Array.from({ length }, () => WORD[random.below(WORD.length)]).join("")

const REFERENCE = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
export const reference = (random: Random): string => Array.from({ length: 26 }, () => REFERENCE[random.below(32)]).join("")

/** Bytes of any kind. */
export const noise = (random: Random, length: number): Buffer => Buffer.from(Array.from({ length }, () => random.below(256)))
