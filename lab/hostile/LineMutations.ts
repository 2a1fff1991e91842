import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import type { Random } from "../../test/support/Random.ts"
import type { Spoken } from "./HostileLine.ts"

// What the machines between a provider and us make of its answers.

export interface Mutation {
  readonly name: string
  /** The answer means what it meant: whoever reads it has to come to the same. */
  readonly isTolerable: boolean
  /** Null where it does not fit the answer. */
  readonly change: (spoken: Spoken, random: Random) => Spoken | null
}

const reencoded =
  (encoding: string, encode: (body: Buffer) => Buffer) =>
  (spoken: Spoken): Spoken | null =>
    spoken.body.length === 0
      ? null
      : { ...spoken, headers: { ...spoken.headers, "content-encoding": encoding }, body: encode(spoken.body) }

const labelled = (type: string) => (spoken: Spoken) => ({ ...spoken, headers: { ...spoken.headers, "content-type": type } })

const carried: ReadonlyArray<Mutation> = [
  { name: "gzip that nobody asked for", isTolerable: true, change: reencoded("gzip", gzipSync) },
  { name: "deflate that nobody asked for", isTolerable: true, change: reencoded("deflate", deflateSync) },
  { name: "brotli that nobody asked for", isTolerable: true, change: reencoded("br", brotliCompressSync) },
  { name: "gzip that says nothing of it", isTolerable: false, change: (spoken) => ({ ...spoken, body: gzipSync(spoken.body) }) },
  {
    name: "a byte order mark",
    isTolerable: true,
    change: (spoken) =>
      spoken.body.length === 0 ? null : { ...spoken, body: Buffer.concat([Buffer.from("\ufeff"), spoken.body]) }
  },
  {
    name: "blank lines around it",
    isTolerable: true,
    change: (spoken) =>
      spoken.body.length === 0
        ? null
        : { ...spoken, body: Buffer.concat([Buffer.from("\n \r\n"), spoken.body, Buffer.from("\n\n")]) }
  },
  { name: "JSON under text/plain", isTolerable: false, change: labelled("text/plain") },
  { name: "JSON under text/html", isTolerable: false, change: labelled("text/html; charset=UTF-8") },
  { name: "a content type with a semicolon too many", isTolerable: true, change: labelled("application/json;") },
  { name: "a charset with a semicolon too many", isTolerable: true, change: labelled("application/json; charset=utf-8;") },
  { name: "an unsolicited 100", isTolerable: false, change: (spoken) => ({ ...spoken, early: 100 }) },
  {
    name: "early hints",
    isTolerable: true,
    change: (spoken) => ({ ...spoken, early: 103 })
  },
  {
    name: "the clock of the provider an hour ahead",
    isTolerable: true,
    change: (spoken) => ({ ...spoken, headers: { ...spoken.headers, date: new Date(Date.now() + HOUR_MS).toUTCString() } })
  },
  {
    name: "success under 201",
    isTolerable: false,
    change: (spoken) => (spoken.status === 200 ? { ...spoken, status: 201 } : null)
  },
  {
    name: "an error under 200",
    isTolerable: false,
    change: (spoken) => (spoken.status >= 400 ? { ...spoken, status: 200 } : null)
  }
]

const HOUR_MS = 3_600_000

const HTML = { "content-type": "text/html" }
const page = (status: number, headers: Spoken["headers"] = {}): Spoken => ({
  early: null,
  status,
  headers: { ...HTML, ...headers },
  body: Buffer.from("<html><head><title>Request Rejected</title></head><body>Support ID: 1777</body></html>")
})

/** In place of the answer; the provider may have done what it was asked to. */
const others: ReadonlyArray<Mutation> = [
  page(429),
  page(429, { "retry-after": "1" }),
  page(503),
  page(503, { "retry-after": "Wed, 21 Oct 2099 07:28:00 GMT" }),
  page(502),
  page(504),
  page(403),
  page(200)
].map((spoken) => ({
  name: `a page under ${spoken.status}${"retry-after" in spoken.headers ? " with Retry-After" : ""}`,
  isTolerable: false,
  change: () => spoken
}))

const empty: Mutation = {
  name: "an answer without a body",
  isTolerable: false,
  change: (spoken) => (spoken.body.length === 0 ? null : { ...spoken, body: Buffer.alloc(0) })
}

export const lineMutations: ReadonlyArray<Mutation> = [...carried, ...others, empty]
