import type { Random } from "../../test/support/Random.ts"
import { brokenCase, cut, strangeHeader } from "./Broken.ts"
import { type Answer, type Case, type Target, word } from "./Case.ts"

// Bytes on a socket: requests that nobody signs, each broken in some way or in none, up to eight on a connection.

const MOST_AT_ONCE = 8

export const rawCase = (random: Random, target: Target): Case => {
  const count = 1 + random.below(MOST_AT_ONCE)
  return random.chance(0.4) ? wholeCase(random, target, count) : brokenCase(random, target, count)
}

const PAGES = ["/openapi.json", "/docs", "/docs/contract/signing.md"] as const
const OPEN = ["/health", "/health", "/health/", "/Health", "/nothing", "/%68ealth", "/health/..", "/docs/../health"] as const
const SIGNED = [
  "/v1/payouts",
  "/v1/collections",
  "/v1/float",
  "/v1/transactions",
  "/v1/fx/exchange",
  "/v1/payouts/01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "/v1",
  "/V1/payouts",
  "//v1//float",
  "/v1/%70ayouts",
  "/health/detail"
] as const
const METHODS = ["GET", "GET", "POST", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"] as const

/** Complete requests, written at once: each has its own answer, in order. */
const wholeCase = (random: Random, { port, unauthorized }: Target, count: number): Case => {
  const made = Array.from({ length: count }, (_, at) => {
    const method = random.pick(METHODS)
    const path = random.chance(0.02) ? random.pick(PAGES) : random.pick(random.chance(0.5) ? OPEN : SIGNED)
    const target = random.chance(0.3) ? `${path}?${queryText(random)}` : path
    const id = `${word(random, 8)}-${at}`
    const body = random.chance(0.4) ? bodyText(random) : ""
    const headers = [
      `Host: 127.0.0.1:${port}`,
      `X-Request-Id: ${id}`,
      ...Array.from({ length: random.below(4) }, () => strangeHeader(random))
    ]
    return { method, target, body, id, bytes: framed(random, `${method} ${target} HTTP/1.1`, headers, body) }
  })
  return {
    pieces: cut(random, Buffer.concat(made.map(({ bytes }) => bytes))),
    asked: made.map(({ body, id, method, target }) => ({
      method,
      target,
      sent: body,
      fault: (answer: Answer) => unsignedFault(answer, target, id, unauthorized)
    })),
    whole: true
  }
}

const isOpen = (path: string) => path === "/health" || PAGES.some((page) => page === path)

/** Nobody signed anything: no answer tells more than that, and none is another request's. */
const unsignedFault = ({ headers, status, text }: Answer, target: string, id: string, unauthorized: string) => {
  if (headers["x-request-id"] !== id)
    return `is the answer to ${headers["x-request-id"]}, not to ${id}: ${status} ${text.slice(0, 400)}`
  if (status < 300 && !isOpen(target.split("?")[0] ?? "")) return `${status}: ${text.slice(0, 100)}`
  return status === 401 && text !== "" && text !== unauthorized ? `another 401: ${text.slice(0, 200)}` : undefined
}

const framed = (random: Random, line: string, headers: ReadonlyArray<string>, body: string): Buffer => {
  const head = (more: ReadonlyArray<string>) => `${[line, ...headers, ...more].join("\r\n")}\r\n\r\n`
  if (body === "") return Buffer.from(head([]), "latin1")
  const bytes = Buffer.from(body)
  if (random.chance(0.7)) return Buffer.concat([Buffer.from(head([`Content-Length: ${bytes.length}`]), "latin1"), bytes])
  const at = random.below(bytes.length)
  const chunks = [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0)
  const parts = chunks.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")])
  return Buffer.concat([Buffer.from(head(["Transfer-Encoding: chunked"]), "latin1"), ...parts, Buffer.from("0\r\n\r\n")])
}

const queryText = (random: Random): string =>
  random.pick<() => string>([
    () => word(random, 1 + random.below(20)),
    () => `limit=${random.below(1000)}&cursor=${word(random, 9)}`,
    () => "%zz=%",
    () => `a=${"b".repeat(random.below(4000))}`,
    () => "&&&=&=&",
    () => "%ff%fe=%00"
  ])()

const bodyText = (random: Random): string =>
  random.pick<() => string>([
    () => "{}",
    () => '{"amount_minor":5000,"currency":"UGX"}',
    () => word(random, 1 + random.below(200)),
    () => `{"a":${"[".repeat(random.below(3000))}`,
    () => "x".repeat(1 + random.below(70_000))
  ])()
