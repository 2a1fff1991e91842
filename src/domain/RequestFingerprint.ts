import { Redacted } from "effect"
import type { AppId, Mode } from "./Ids.ts"
import { json } from "./Json.ts"

/** The scope of an idempotency key (contract IDEM-4): the same key in another scope is another key. */
export interface IdempotencyScope {
  readonly appId: AppId
  readonly mode: Mode
  /** The route's method and template, as "POST /v1/payouts". */
  readonly endpoint: string
  readonly key: string
}

/**
 * The parts that a repeat of an idempotency key must have in common: method, route template, path parameters and the decoded body with
 * defaults applied, secrets in plain text. Key order and white space do not matter. Only a keyed HMAC of it is stored, because it contains
 * a person's number.
 */
export const fingerprintText = (endpoint: string, params: Readonly<Record<string, string>>, body: unknown): string =>
  json([endpoint, sorted(params), sorted(body)])

const sorted = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return Redacted.value(value)
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== "object" || "toJSON" in value) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, sorted(Reflect.get(value, key))]))
}
