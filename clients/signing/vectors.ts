/**
 * Makes `docs/integrating/signing-vectors.json`: requests, what is signed for each, and the signature.
 *
 *     npm run signing-vectors
 *
 * The gateway's own code makes them; the files beside this one, written apart from it, must come to the same signatures.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { pathToFileURL } from "node:url"
import { Option, Redacted } from "effect"
import { canonicalQuery, stringToSign } from "../../src/domain/StringToSign.ts"
import { bodyHash, signature } from "../../src/services/admission/Signature.ts"
import { type Random, seeded } from "../../test/support/Random.ts"

export const VECTORS_FILE = join(import.meta.dirname, "../../docs/integrating/signing-vectors.json")

const RANDOM_VECTORS = 260

const keys = [
  {
    app_id: "acme",
    key_id: "k_7Qm2",
    api_key: "ak_5f0c2f6d9b1e4a7c8d3e2f1a0b9c8d7e",
    signing_secret: "ss_1f8b6a3c5d7e9f0213243546"
  },
  { app_id: "shop-9", key_id: "k_test-1", api_key: "ak_0000000000000000", signing_secret: "ss_f0e1d2c3b4a5968778695a4b3c2d1e0f" }
] as const

interface Case {
  readonly name: string
  readonly method: string
  readonly target: string
  readonly host?: string
  readonly body?: string | Uint8Array
  readonly timestamp?: string
  readonly nonce?: string
}

const PAYOUT = '{"amount_minor":1000,"currency":"UGX","country":"UG","method":"momo"}'
const list = (query: string, name: string): Case => ({ name, method: "GET", target: `/v1/transactions?${query}` })

/** One for each thing that can be misread. */
const written: ReadonlyArray<Case> = [
  { name: "a read", method: "GET", target: "/v1/float" },
  { name: "a body", method: "POST", target: "/v1/payouts", body: PAYOUT },
  { name: "the same body with a final newline is another body", method: "POST", target: "/v1/payouts", body: `${PAYOUT}\n` },
  {
    name: "the same body with spaces is another body",
    method: "POST",
    target: "/v1/payouts",
    body: PAYOUT.replaceAll(":", ": ")
  },
  { name: "the body is hashed as bytes of UTF-8", method: "POST", target: "/v1/payouts", body: '{"narration":"thé 商店 💸"}' },
  {
    name: "a body that is not text",
    method: "POST",
    target: "/v1/payouts",
    body: Uint8Array.from({ length: 256 }, (_, at) => at)
  },
  { name: "an empty body", method: "POST", target: "/v1/webhooks/endpoint/test" },
  { name: "GET signs the hash of nothing, whatever its body", method: "GET", target: "/v1/float", body: PAYOUT },
  {
    name: "DELETE signs the hash of nothing, whatever its body",
    method: "DELETE",
    target: "/v1/webhooks/endpoint",
    body: PAYOUT
  },
  { name: "PUT signs its body", method: "PUT", target: "/v1/webhooks/endpoint", body: '{"url":"https://a.example/h"}' },
  { name: "the method is signed in upper case", method: "post", target: "/v1/payouts", body: PAYOUT },
  { name: "get in lower case is GET", method: "get", target: "/v1/float", body: PAYOUT },
  { name: "the host is signed in lower case", method: "GET", target: "/v1/float", host: "API.Gateway.Example" },
  { name: "the host keeps its port", method: "GET", target: "/v1/float", host: "127.0.0.1:8080" },
  { name: "an IPv6 host keeps its brackets", method: "GET", target: "/v1/float", host: "[::1]:8080" },
  { name: "the path is not decoded", method: "GET", target: "/v1/payouts/a%2Fb" },
  { name: "the path keeps the case of its escapes", method: "GET", target: "/v1/payouts/%e9%E9A" },
  { name: "the path keeps double slashes and dots", method: "GET", target: "/v1//payouts/../float" },
  { name: "a question mark without a query", method: "GET", target: "/v1/float?" },
  list("b=2&a=1", "sorted by name"),
  list("a-b=1&a=1", "sorted by name, and not as a whole pair"),
  list("a%2Bb=1&a=1&a.b=2&a~=3", "sorted as encoded"),
  list("a=2&a=10&a=1", "sorted by value where the name is the same, as text"),
  list("p=9&p=10&10=a&9=b", "digits are text"),
  list("b=1&B=2&a=3&A=4", "upper case comes first"),
  list("a=1&a=1", "a pair that is there twice stays twice"),
  list("a", "a name without an equals sign"),
  list("a&a=&a=0", "no value and an empty value are the same"),
  list("=1&=", "an empty name"),
  list("&a=1&&b=2&", "empty parts are dropped"),
  list("&&&", "nothing but empty parts"),
  list("q=a+b", "a plus is a plus"),
  list("q=a%2Bb", "an encoded plus is the same plus"),
  list("q=a%20b", "a space is %20"),
  list("q=%c3%a9", "escapes become upper case"),
  list("q=%41%7E%2D%5F%2E", "needless escapes go"),
  list("q=!'()*", "these five are escaped, which many libraries leave"),
  list("q=~a.b_c-d", "these four are not escaped"),
  list("q=/a?b:c@d;e,f$g", "reserved characters are escaped"),
  list("q=a=b=c", "only the first equals sign parts name and value"),
  list("q=a%26b%3Dc", "an encoded ampersand stays within its value"),
  list("param[10]=x&param[2]=y", "brackets are escaped"),
  list("q=%F0%9F%92%B8&q=%E5%95%86", "characters of three and four bytes"),
  list("q=100%25&q=%2541", "a percent sign is decoded once"),
  list("q=%00%0A%0D%09", "control characters"),
  list("metadata.order=A-17&limit=20&created_from=2026-11-20T10:00:00Z", "a list as it is really asked for"),
  { name: "the shortest nonce", method: "GET", target: "/v1/float", nonce: "n".repeat(16) },
  { name: "the longest nonce", method: "GET", target: "/v1/float", nonce: "Nn0_-".repeat(13).slice(0, 64) },
  { name: "another time is another signature", method: "GET", target: "/v1/float", timestamp: "1795000001" }
]

const alphabet = [
  "a",
  "b",
  "A",
  "Z",
  "0",
  "9",
  "-",
  "_",
  ".",
  "~",
  "!",
  "*",
  "'",
  "(",
  ")",
  "/",
  "?",
  ":",
  "+",
  "%20",
  "%2b",
  "%2B",
  "%26",
  "%3d"
]
const letters = [...alphabet, "%25", "%C3%A9", "%e2%82%ac", "%F0%9F%98%80", "%41", "%7e", "[", "]", "@", ",", ";", "$"] as const
const targets = ["/v1/payouts", "/v1/transactions", "/v1/beneficiaries", "/v1/payouts/tx%2F1", "/health/detail"] as const
const hosts = ["api.gateway.example", "API.GATEWAY.EXAMPLE:8443", "127.0.0.1:8080", "localhost:8080"] as const

const drawn = (random: Random, at: number): Case => {
  const text = (most: number) =>
    Array.from({ length: random.below(most + 1) }, () => random.pick([letters[0], ...letters])).join("")
  const part = () => (random.chance(0.1) ? "" : random.chance(0.2) ? text(4) : `${text(4)}=${text(6)}`)
  const query = Array.from({ length: random.below(7) }, part).join("&")
  return {
    name: `drawn ${at}`,
    method: random.pick(["GET", "POST", "PUT", "DELETE"]),
    host: random.pick(hosts),
    target: `${random.pick(targets)}${random.chance(0.85) ? `?${query}` : ""}`,
    body: Uint8Array.from({ length: random.below(64) }, () => random.below(256)),
    timestamp: String(1_795_000_000 + random.below(100_000)),
    nonce: Array.from({ length: 16 + random.below(49) }, () => random.pick(["a", "Z", "0", "_", "-", "q"])).join("")
  }
}

const vector = (given: Case, at: number) => {
  const { app_id, api_key, key_id, signing_secret } = keys[at % 2] ?? keys[0]
  const {
    body = "",
    host = "api.gateway.example",
    method,
    name,
    nonce = "n0nce-AAAABBBBCCCC",
    target,
    timestamp = "1795000000"
  } = given
  const bytes = Buffer.from(body)
  const read = ["GET", "DELETE"].includes(method.toUpperCase())
  const hash = bodyHash(read ? new Uint8Array() : bytes)
  const fields = { appId: app_id, keyId: key_id, host, method, target, timestamp, nonce, bodyHash: hash }
  const text = Option.getOrThrow(stringToSign(fields))
  const [, query = ""] = target.split(/\?(.*)/s)
  return {
    name,
    app_id,
    key_id,
    api_key,
    signing_secret,
    method,
    host,
    target,
    timestamp,
    nonce,
    body_base64: bytes.toString("base64"),
    body_sha256: hash,
    canonical_query: Option.getOrThrow(canonicalQuery(query)),
    string_to_sign: text,
    signature: `v1=${Buffer.from(signature(Redacted.make(signing_secret), text)).toString("hex")}`
  }
}

export type Vector = ReturnType<typeof vector>

export const vectors = (): ReadonlyArray<Vector> => {
  const random = seeded(1)
  const all = [...written, ...Array.from({ length: RANDOM_VECTORS }, (_, at) => drawn(random, at + 1))]
  return all.map(vector)
}

/** One vector a line, so that a program reads it line by line and a change shows as a line. */
export const vectorsText = (): string =>
  `[\n${vectors()
    .map((each) => JSON.stringify(each))
    .join(",\n")}\n]\n`

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(VECTORS_FILE, vectorsText())
