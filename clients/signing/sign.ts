/**
 * Signs requests to the payment gateway. One file, no dependency: copy it into your project. Node 20, Deno and Bun run it.
 *
 *     const headers = signedHeaders(key, "POST", "https://api.gateway.example/v1/payouts", body)
 *     await fetch(url, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body })
 *
 * Sign the exact bytes that you send: serialize the body once, sign that text, send that text.
 */
import { createHash, createHmac, randomBytes } from "node:crypto"
import process from "node:process"
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

/** What `gateway key issue --json` prints. */
export interface Key {
  readonly app_id: string
  readonly key_id: string
  readonly api_key: string
  readonly signing_secret: string
}

/** What is signed besides the key. */
export interface Request {
  readonly method: string
  /** The `Host` header as it is sent, with the port if it has one. */
  readonly host: string
  /** The path, and the query if there is one, exactly as they are sent: `/v1/transactions?limit=20`. */
  readonly target: string
  /** Unix time in whole seconds. */
  readonly timestamp: string
  /** 16 to 64 characters of `A-Z a-z 0-9 _ -`, new for each request. */
  readonly nonce: string
  readonly body: Uint8Array
}

/** The four headers of one request. Call it again for each attempt: a nonce is taken once, and a timestamp lasts two minutes. */
export const signedHeaders = (key: Key, method: string, url: string, body: Uint8Array | string = ""): Record<string, string> => {
  const { host, pathname, search } = new URL(url)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = randomBytes(16).toString("hex")
  const request = { method, host, target: pathname + search, timestamp, nonce, body: Buffer.from(body) }
  return {
    "X-Gateway-Key": `${key.app_id}.${key.key_id}.${key.api_key}`,
    "X-Gateway-Timestamp": timestamp,
    "X-Gateway-Nonce": nonce,
    "X-Gateway-Signature": signature(key, request)
  }
}

/** The value of `X-Gateway-Signature`. */
export const signature = (key: Key, request: Request): string =>
  `v1=${createHmac("sha256", key.signing_secret).update(stringToSign(key, request)).digest("hex")}`

/** Ten fields, joined by newlines, with none at the end. Print it when a signature is refused. */
export const stringToSign = (key: Key, { body, host, method, nonce, target, timestamp }: Request): string => {
  const verb = method.toUpperCase()
  const [path = "", ...query] = target.split("?")
  const signed = verb === "GET" || verb === "DELETE" ? "" : body
  return [
    "v1",
    key.app_id,
    key.key_id,
    host.toLowerCase(),
    verb,
    path,
    canonicalQuery(query.join("?")),
    timestamp,
    nonce,
    createHash("sha256").update(signed).digest("hex")
  ].join("\n")
}

/** Each name and value decoded and encoded again, sorted by name and then by value. A `+` is a plus and not a space. */
export const canonicalQuery = (query: string): string =>
  query
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const [name = "", ...value] = part.split("=")
      return [reencoded(name), reencoded(value.join("="))] as const
    })
    .sort(([name, value], [otherName, otherValue]) => order(name, otherName) || order(value, otherValue))
    .map(([name, value]) => `${name}=${value}`)
    .join("&")

const reencoded = (text: string): string =>
  encodeURIComponent(decodeURIComponent(text)).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** Run as a program: one request a line as JSON on standard input, one signature a line on standard output. */
const main = async (): Promise<void> => {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue
    const { body_base64, ...request } = JSON.parse(line)
    console.log(signature(request, { ...request, body: Buffer.from(body_base64 ?? "", "base64") }))
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) await main()
