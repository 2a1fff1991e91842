import type { Random } from "../../test/support/Random.ts"
import { type Case, noise, type Target, word } from "./Case.ts"

// Requests that break the grammar of HTTP.

/** At least one of the requests breaks the grammar, ends too soon, or has its bytes changed. */
export const brokenCase = (random: Random, { port }: Target, count: number): Case => {
  const requests = Array.from({ length: count }, () => brokenRequest(random, port))
  const all = Buffer.concat(requests)
  const bytes = random.chance(0.4) ? changedBytes(random, all) : all
  const asked = requests.map(() => ({ method: "", target: "", sent: "" }))
  return { pieces: cut(random, bytes), asked, whole: false, isReset: random.chance(bytes.includes("CONNECT") ? 0.5 : 0.1) }
}

const brokenRequest = (random: Random, port: number): Buffer => {
  if (random.chance(0.03)) return random.pick(otherProtocols)(random)
  const end = random.pick(["\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\n\r\n"])
  const headers = [
    ...hostLines(random, port),
    ...Array.from({ length: random.below(3) }, () => (random.chance(0.5) ? strangeHeader(random) : brokenHeader(random))),
    ...framing(random)
  ]
  const head = [brokenLine(random, port), ...headers].join(end) + end + (random.chance(0.95) ? end : "")
  return Buffer.concat([Buffer.from(head, "latin1"), brokenBody(random)])
}

const hostLines = (random: Random, port: number): ReadonlyArray<string> =>
  random.pick([[`Host: 127.0.0.1:${port}`], [], ["Host: a", "Host: b"], ["Host: "], ["Host: \u00e9\u00ff"]])

const brokenLine = (random: Random, port: number): string => {
  const method = random.pick([
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "get",
    "G\u0000T",
    "",
    "GET GET",
    "M".repeat(300),
    "CONNECT",
    "PRI",
    "\t"
  ])
  const target = random.pick([
    "/health",
    "/v1/payouts",
    "*",
    `http://127.0.0.1:${port}/v1/float`,
    `127.0.0.1:${port}`,
    "/a b",
    "/\u0000",
    "/\u00ff\u00fe",
    `/${"a".repeat(random.below(20_000))}`,
    "/../../etc/passwd",
    "?",
    "#",
    ""
  ])
  const version = random.pick([
    "HTTP/1.1",
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/0.9",
    "HTTP/2.0",
    "HTTP/1.10",
    "http/1.1",
    "HTTP/1.1 x",
    ""
  ])
  return `${method} ${target} ${version}`
}

const brokenHeader = (random: Random): string =>
  random.pick<() => string>([
    () => "no colon",
    () => ": no name",
    () => "Name : space",
    () => " folded",
    () => `X: ${"x".repeat(random.below(30_000))}`,
    () => Array.from({ length: random.below(600) }, (_, at) => `X-${at}: ${at}`).join("\r\n"),
    () => "X: a\u0000b",
    () => "X: a\rb",
    () => `X\u00e9: ${word(random, 5)}`,
    () => "Connection: close, keep-alive, Upgrade, te",
    () => "Trailer: Content-Length"
  ])()

/** How long the body is said to be. */
const framing = (random: Random): ReadonlyArray<string> =>
  random.pick([
    [],
    ["Content-Length: 10"],
    ["Content-Length: -1"],
    ["Content-Length: +5"],
    ["Content-Length: 0x10"],
    ["Content-Length: 5, 5"],
    ["Content-Length: 5", "Content-Length: 6"],
    ["Content-Length: 99999999999999999999999"],
    ["Content-Length: 70000"],
    ["Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Content-Length: 5"],
    ["Transfer-Encoding: chunked, identity"],
    ["Transfer-Encoding: xchunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding : chunked"],
    ["Transfer-Encoding:\u000bchunked"]
  ])

const brokenBody = (random: Random): Buffer =>
  random.pick<() => Buffer>([
    () => Buffer.alloc(0),
    () => Buffer.from("{}"),
    () => Buffer.from("0\r\n\r\n"),
    () => Buffer.from("5;ext=1\r\nhello\r\n0\r\nTrailer: x\r\n\r\n"),
    () => Buffer.from("-1\r\nx\r\n"),
    () => Buffer.from("FFFFFFFFFFFFFFFFF\r\nx"),
    () => Buffer.from("5\r\nhelloworld\r\n0\r\n\r\n"),
    () => Buffer.from("zz\r\n"),
    () => Buffer.from("GET /health HTTP/1.1\r\nHost: smuggled\r\n\r\n"),
    () => Buffer.alloc(random.below(80_000), 120),
    () => noise(random, random.below(200))
  ])()

const otherProtocols: readonly [(random: Random) => Buffer, ...ReadonlyArray<(random: Random) => Buffer>] = [
  () => Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000", "latin1"),
  (random) => Buffer.concat([Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), noise(random, 200)]),
  () => Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0]),
  () => Buffer.from("PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET /health HTTP/1.1\r\n\r\n"),
  (random) => noise(random, 1 + random.below(2000))
]

const changedBytes = (random: Random, bytes: Buffer): Buffer => {
  const parts = Buffer.from(bytes)
  const at = random.below(parts.length)
  const [before, after] = [parts.subarray(0, at), parts.subarray(at)]
  return random.pick<() => Buffer>([
    () => before,
    () => Buffer.concat([before, noise(random, 1 + random.below(8)), after]),
    () => Buffer.concat([before, after.subarray(1 + random.below(8))]),
    () => Buffer.concat([before, Buffer.from([random.below(256)]), after.subarray(1)]),
    () => Buffer.concat([before, after.subarray(0, 50), after])
  ])()
}

/** One that HTTP allows and that means nothing here. */
export const strangeHeader = (random: Random): string =>
  random.pick<() => string>([
    () => `Content-Type: ${random.pick(["application/json", "text/plain", "multipart/form-data; boundary=x", "*/*", ""])}`,
    () => `X-Forwarded-For: ${random.pick(["127.0.0.1", "::1", "unknown", "1,2,3", word(random, 40)])}`,
    () => `Traceparent: ${random.pick(["00-0-0-01", word(random, 55), ""])}`,
    () => "Expect: 100-continue",
    () => "Range: bytes=0-0,5-1",
    () => `Cookie: ${word(random, random.below(500))}`,
    () => `Origin: ${random.pick(["null", "https://evil.example", "file://", "x"])}`,
    () => `Accept-Encoding: ${random.pick(["gzip, br", "*;q=0", word(random, 9)])}`,
    () => `${word(random, 1 + random.below(40))}: ${word(random, random.below(300))}`,
    () => `X-Gateway-Key: ${random.pick(["a.b.c", "demo.k_1.ak_1", "..", word(random, 30)])}`,
    () => `X-Gateway-Signature: v1=${"0".repeat(random.below(80))}`,
    () => "Upgrade: h2c",
    () => "X-HTTP-Method-Override: DELETE"
  ])()

/** The same bytes in one write or several. */
export const cut = (random: Random, bytes: Buffer): ReadonlyArray<Buffer> => {
  if (random.chance(0.7) || bytes.length < 2) return [bytes]
  const places = Array.from({ length: 1 + random.below(3) }, () => 1 + random.below(bytes.length - 1)).toSorted((a, b) => a - b)
  const bounds = [0, ...places, bytes.length]
  return bounds.slice(1).map((end, at) => bytes.subarray(bounds[at] ?? 0, end))
}
