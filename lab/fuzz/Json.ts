import * as fc from "fast-check"
import { isTree, type Tree } from "../../src/http/description/OpenApiSchemas.ts"
import { changed, type Field, fieldsOf, sampleOf } from "../../test/support/BodyFields.ts"
import { hostileBody } from "../../test/support/HostileBodies.ts"
import { bodySchemaOf, interfaceDescription } from "../../test/support/InterfaceDescription.ts"
import type { Random } from "../../test/support/Random.ts"
import { bytesOf, type Case, nowSeconds, reference, signingHeaders, type Target, word } from "./Case.ts"

// Requests of a tenant whose signature holds: whatever it writes into paths, queries, headers and bodies.

interface Route {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly fields: ReadonlyArray<Field>
  readonly query: ReadonlyArray<string>
}

const entries = (node: unknown): ReadonlyArray<[string, unknown]> => (isTree(node) ? Object.entries(node) : [])

const queryOf = (operation: unknown): ReadonlyArray<string> => {
  const parameters = isTree(operation) ? operation["parameters"] : undefined
  const named = Array.isArray(parameters) ? parameters.filter((one) => isTree(one) && one["in"] === "query") : []
  return named.map((one) => String(one.name))
}

const routes: ReadonlyArray<Route> = entries(interfaceDescription()["paths"]).flatMap(([path, item]) =>
  entries(item).flatMap(([method, operation]) => {
    if (!path.startsWith("/v1/")) return []
    const body = bodySchemaOf(operation)
    const fields = body === undefined ? [] : fieldsOf(body)
    return [{ method: method.toUpperCase(), path, body, fields, query: queryOf(operation) }]
  })
)
const withBody = routes.filter(({ fields }) => fields.length > 0)
const one = <A>(random: Random, list: ReadonlyArray<A>): A => {
  const [first, ...rest] = list
  if (first === undefined) throw new Error("nothing to choose from")
  return random.pick([first, ...rest])
}

export const jsonCase = (random: Random, target: Target, index: number): Case => {
  const route = random.chance(0.7) ? one(random, withBody) : one(random, routes)
  const method = random.chance(0.95) ? route.method : random.pick(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
  const path = route.path.replace(/\{\w+\}/g, () => segment(random))
  const query = random.chance(route.query.length > 0 ? 0.8 : 0.1) ? `?${queryText(random, route.query)}` : ""
  const made = method === "GET" || method === "DELETE" ? { text: "", isInexact: false } : bodyText(random, route, index)
  const { isInexact, text } = made
  const nonce = `json-${String(index).padStart(12, "0")}-${word(random, 8)}`
  const host = `127.0.0.1:${target.port}`
  const asked = { method, target: path + query, body: text }
  const signing = { key: target.spender, host, ...asked, timestamp: String(nowSeconds()), nonce }
  const own = [...signingHeaders(signing), ...ownHeaders(random, index)]
  const fault = (answer: { status: number; text: string }) => {
    if (answer.status === 401 && !query.includes("%")) return `401 for a signature that holds: ${answer.text}`
    return isInexact && answer.status < 300 ? `${answer.status} for an amount that is none` : undefined
  }
  return {
    pieces: [bytesOf({ ...asked, headers: own })],
    asked: [{ method, target: asked.target, sent: text, fault }],
    whole: true
  }
}

const segment = (random: Random): string =>
  random.pick<() => string>([
    () => reference(random),
    () => random.pick(["UG", "KE", "GH", "NG", "ZZ", "otp", "quote"]),
    () => word(random, 1 + random.below(120)),
    () => encodeURIComponent(random.pick(["../..", "\u0000", "ü", "a/b", "%", "' OR 1=1 --", "\ud83d\ude00"])),
    () => random.pick(["..", ".", "~", "%2e%2e", "-1", "0"])
  ])()

const VALUES = [
  "",
  "0",
  "-1",
  "100",
  "101",
  "1e9",
  "true",
  "null",
  "UGX",
  "payout",
  "pending",
  "2026-01-01T00:00:00.000Z",
  "%00",
  "%ff"
]
const queryText = (random: Random, names: ReadonlyArray<string>): string => {
  const parts = Array.from({ length: 1 + random.below(4) }, () => {
    const name = names.length > 0 && random.chance(0.8) ? one(random, names) : word(random, 5)
    const value = random.chance(0.6) ? one(random, VALUES) : encodeURIComponent(word(random, random.below(60)))
    return random.chance(0.9) ? `${name}=${value}` : name
  })
  return parts.join("&")
}

const ownHeaders = (random: Random, index: number): ReadonlyArray<readonly [string, string]> => [
  [
    "Content-Type",
    random.chance(0.95) ? "application/json" : random.pick(["text/plain", "application/json; charset=latin1", "x"])
  ],
  ...(random.chance(0.9)
    ? [["Idempotency-Key", random.chance(0.9) ? `k-${index}` : random.pick(["same", " ", "x".repeat(300), "k"])] as const]
    : []),
  ...(random.chance(0.05) ? [["X-Confirm-Purge", random.pick(["true", "me", ""])] as const] : []),
  ...(random.chance(0.05) ? [["X-Audit-Reason", word(random, random.below(50))] as const] : [])
]

interface Body {
  readonly text: string
  /** Whether an amount in it is no whole number of minor units, so that the request must be refused. */
  readonly isInexact: boolean
}

const bodyText = (random: Random, { body, fields }: Route, index: number): Body => {
  const exact = (text: string): Body => ({ text, isInexact: false })
  if (fields.length === 0) return exact(random.pick(["", "{}", "null", "[]"]))
  const kind = random.below(100)
  if (kind < 8) return exact(JSON.stringify(distinct(sampleOf(body), index)))
  if (kind < 55) {
    const field = one(random, fields)
    return exact(JSON.stringify(changed(distinct(field.body, index), field.path, anyJson(random, 3))))
  }
  if (kind < 75) return withAmount(random, fields, index)
  if (kind < 85) return exact(JSON.stringify(anyJson(random, 5)))
  if (kind < 86) return exact(fc.sample(hostileBody, { seed: index, numRuns: 1 })[0] ?? "")
  return exact(brokenJson(random, JSON.stringify(sampleOf(body))))
}

/** Other numbers each time, so that neither a limit of one number nor a charge that is open refuses everything. */
const distinct = (body: Tree, index: number): Tree => {
  const number = `25677${String(1_000_000 + (index % 8_999_999))}`
  const withNumber = (part: unknown) => (isTree(part) && "msisdn" in part ? { ...part, msisdn: number } : part)
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, withNumber(value)]))
}

const INEXACT = [
  "-1",
  "0",
  "0.5",
  "5000.5",
  "1e-3",
  "99999999999999999999",
  "1e300",
  '"5000"',
  "null",
  "true",
  "[5000]",
  "{}",
  "5000.00000000000000001"
]
const STRANGE = [
  "1.0",
  "1e3",
  "5E3",
  "-0",
  "9007199254740991",
  "9007199254740993",
  "01",
  "+1",
  "0x10",
  "NaN",
  "Infinity",
  "1_000",
  "5000 ",
  "٥"
]

const withAmount = (random: Random, fields: ReadonlyArray<Field>, index: number): Body => {
  const amounts = fields.filter(({ name, path }) => path.length === 1 && name.endsWith("_minor"))
  const field = one(random, amounts.length > 0 ? amounts : fields)
  const isInexact = amounts.length > 0 && random.chance(0.5)
  const literal = isInexact ? one(random, INEXACT) : one(random, STRANGE)
  const marked = JSON.stringify(changed(distinct(field.body, index), field.path, "\u0001amount"))
  return { text: marked.replace('"\\u0001amount"', literal), isInexact }
}

const STRINGS = [
  "",
  " ",
  "x",
  "\u0000",
  "\ud800",
  "\u202e",
  "4242424242424242",
  "UGX",
  "null",
  "__proto__",
  "2026-02-30",
  "💸",
  "A".repeat(5000)
]
const NUMBERS = [0, -1, 1, 1.5, 5000, 2 ** 31, 2 ** 53, 1e300, -1e300, 5e-324]

const anyJson = (random: Random, depth: number): unknown => {
  const kind = random.below(depth > 0 ? 8 : 5)
  if (kind === 0) return null
  if (kind === 1) return random.chance(0.5)
  if (kind === 2) return one(random, NUMBERS)
  if (kind < 5) return random.chance(0.7) ? one(random, STRINGS) : word(random, random.below(300))
  if (kind === 5) return Array.from({ length: random.below(5) }, () => anyJson(random, depth - 1))
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [
      random.chance(0.5)
        ? one(random, ["type", "currency", "country", "metadata", "constructor", "toString", ""])
        : word(random, 6),
      anyJson(random, depth - 1)
    ])
  )
}

/** A text that was JSON, or nearly is. */
const brokenJson = (random: Random, text: string): string => {
  const at = random.below(text.length)
  return random.pick<() => string>([
    () => text.slice(0, at),
    () => `${text}${text}`,
    () => `\ufeff${text}`,
    () => text.replace("{", '{"amount_minor":1,'),
    () => text.replace("{", '{"__proto__":{"amount_minor":1},'),
    () => `${text.slice(0, -1)},}`,
    () => `${text.slice(0, at)}${word(random, 3)}${text.slice(at)}`,
    () => text.replaceAll('"', "'"),
    () => `${"[".repeat(1 + random.below(20_000))}`,
    () => `/* */${text}`,
    () => `${text.slice(0, at)}\u0000${text.slice(at)}`,
    () => JSON.stringify(text)
  ])()
}
