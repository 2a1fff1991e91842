import { Effect, Option, Result } from "effect"
import { RateLimited } from "../../domain/errors/Retriable.ts"
import { queryOf, queryParameters } from "../../domain/StringToSign.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { type RateLimit, RateLimits } from "../../services/ports/RateLimits.ts"
import { TENANT_CHANGES_A_DAY } from "../../services/ports/TenantChanges.ts"
import { DEFAULT_PAGE, MAX_PAGE } from "../api/Page.ts"
import { MOST_QUOTES } from "../api/Payouts.ts"
import { TRANSACTIONS_A_PAGE } from "../api/TransactionQuery.ts"
import { isJsonObject, parseStrict } from "../json/StrictJson.ts"
import { clientAddress } from "./ClientAddress.ts"
import type { RequestSlots } from "./ConcurrencyLimit.ts"
import type { Match } from "./HttpRoutes.ts"
import { valuesOf } from "./RequestHeaders.ts"

export interface RateSettings {
  readonly rateLimits: {
    readonly reads: RateLimit | "off"
    readonly money: RateLimit | "off"
    readonly deliveries: RateLimit | "off"
  }
  /** Addresses and networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: ReadonlyArray<string>
  readonly requestSlots: RequestSlots
}

/** The rate limits as they apply to one request. */
export interface RateCheck {
  /** Takes a token from each of the request's buckets; fails at the first bucket that is empty. */
  readonly take: Effect.Effect<void, RateLimited>
  /** Returns the tokens: a replay of the request by another party must not use up its caller's rate. */
  readonly giveBack: Effect.Effect<void>
}

/** A signed request: its route, its caller and its client address. */
interface RatedRequest {
  readonly caller: Caller
  readonly method: string
  /** The target as it was sent, with its query. */
  readonly rawTarget: string
  readonly match: Match
  readonly rawHeaders: ReadonlyArray<string>
  readonly peer: string
  readonly body: Uint8Array
}

interface Bucket {
  readonly scope: "key" | "ip"
  readonly name: string
  readonly limit: RateLimit | "off"
  readonly tokens: number
}

/** Routes that move money or begin to. Everything else counts as a read. */
const moneyRoutes: ReadonlyArray<string> = [
  "/v1/collections",
  "/v1/collections/{reference}/authorize",
  "/v1/collections/otp",
  "/v1/payouts",
  "/v1/fx/exchange"
]

/** Whether a signed request counts as money or as a read, for rate limits and concurrency slots. */
export const kindOf = ({ match, method }: Pick<RatedRequest, "match" | "method">): "money" | "reads" =>
  method === "POST" && match._tag === "Found" && moneyRoutes.includes(match.route.template) ? "money" : "reads"

/** Each of these calls a tenant's endpoint. At the rate of reads one key could order millions of calls a day. */
const deliveryRoutes: ReadonlyArray<string> = [
  "/v1/webhooks/endpoint/test",
  "/v1/webhooks/endpoints/{name}/test",
  "/v1/webhooks/deliveries/{id}/redeliver"
]

/** These write to the tenant's audit stream. The limit keeps one key from filling it. */
const changeRoutes: ReadonlyArray<string> = [
  "PUT /v1/webhooks/endpoint",
  "DELETE /v1/webhooks/endpoint",
  "POST /v1/webhooks/endpoint/rotate-secret",
  "PUT /v1/webhooks/endpoints/{name}",
  "DELETE /v1/webhooks/endpoints/{name}",
  "POST /v1/webhooks/endpoints/{name}/rotate-secret",
  "POST /v1/webhooks/recover",
  "DELETE /v1/beneficiaries",
  "PUT /v1/float/alerts"
]

const MINUTE_MS = 60_000
const changesADay = { count: TENANT_CHANGES_A_DAY, windowMs: 24 * 60 * MINUTE_MS, burst: TENANT_CHANGES_A_DAY }

/** Resolving bank accounts has a limit of its own, because it can be used to guess account numbers (contract LIM-5). */
const resolution = {
  route: "/v1/reference/resolve-bank-account",
  key: { count: 30, windowMs: MINUTE_MS, burst: 30 },
  ip: { count: 600, windowMs: MINUTE_MS, burst: 600 }
} as const

/** Searching by a customer's number has its own limit, because it can find out whose numbers a tenant has (contract LIM-32). */
const search = {
  route: "/v1/transactions/search",
  key: { count: 30, windowMs: MINUTE_MS, burst: 30 },
  aDay: { count: 2_000, windowMs: 24 * 60 * MINUTE_MS, burst: 2_000 }
} as const

/** This many records of a list count as one read, because they cost about as much. */
const RECORDS_A_READ = 10
/** The lists and their default page sizes. */
const lists: Readonly<Record<string, number>> = {
  "/v1/transactions": TRANSACTIONS_A_PAGE,
  "/v1/fx/exchanges": TRANSACTIONS_A_PAGE,
  "/v1/beneficiaries": DEFAULT_PAGE,
  "/v1/events": DEFAULT_PAGE,
  "/v1/float/entries": DEFAULT_PAGE,
  "/v1/webhooks/deliveries": DEFAULT_PAGE
}

/** A bulk quote counts as one read per item. */
const QUOTES = "/v1/payouts/quotes"
const quotesIn = (body: Uint8Array): number =>
  Result.match(parseStrict(body), {
    onFailure: () => 1,
    onSuccess: (tree) => {
      const items = isJsonObject(tree) ? tree["items"] : undefined
      return Array.isArray(items) ? Math.min(Math.max(1, items.length), MOST_QUOTES) : 1
    }
  })

/** How many reads a request counts as. A page counts by the requested size, because its real size is known only afterwards. */
const readsOf = ({ body, match, method, rawTarget }: Pick<RatedRequest, "match" | "method" | "rawTarget" | "body">): number => {
  if (method === "POST" && match._tag === "Found" && match.route.template === QUOTES) return quotesIn(body)
  const page = match._tag === "Found" && (method === "GET" || method === "HEAD") ? lists[match.route.template] : undefined
  if (page === undefined) return 1
  const [, limit] = Option.getOrElse(queryParameters(queryOf(rawTarget)), () => []).find(([name]) => name === "limit") ?? []
  const records = limit === undefined ? page : Math.min(Number(limit) || 1, MAX_PAGE)
  return Math.max(1, Math.ceil(records / RECORDS_A_READ))
}

/**
 * An admin key reads other tenants' requests and responses, each time with an audit row. The limit is enough for an incident
 * and too low to copy a day's payments.
 */
const adminReads = { count: 120, windowMs: 60 * MINUTE_MS, burst: 120 } as const

/** All keys of a tenant in one mode together may send this many times the rate of one key. */
const OF_A_TENANT = 2

const ofTenant = (limit: RateLimit | "off"): RateLimit | "off" =>
  limit === "off" ? "off" : { ...limit, count: limit.count * OF_A_TENANT, burst: limit.burst * OF_A_TENANT }

/**
 * Rate limits; a request beyond them is refused with 429. There is a limit for each key, for all keys of a tenant together, for
 * the deliveries that a tenant orders, for its configuration changes and, for resolving bank accounts, for each client address.
 * A page of a list counts by its records.
 */
export const makeRequestRate = ({ rateLimits, trustedProxies }: Pick<RateSettings, "rateLimits" | "trustedProxies">) =>
  Effect.map(RateLimits, ({ giveBack, take }) => {
    const addressOf = clientAddress(trustedProxies)
    const bucketsOf = ({ body, caller, match, method, peer, rawHeaders, rawTarget }: RatedRequest): ReadonlyArray<Bucket> => {
      const template = match._tag === "Found" ? match.route.template : ""
      const kind = kindOf({ match, method })
      const key = `${caller.appId}:${caller.keyId}`
      const tenant = `${caller.appId}:${caller.mode}`
      const tokens = readsOf({ body, match, method, rawTarget })
      const own: ReadonlyArray<Bucket> = [
        { scope: "key", name: `${kind}:${key}`, limit: rateLimits[kind], tokens },
        { scope: "key", name: `${kind}:tenant:${tenant}`, limit: ofTenant(rateLimits[kind]), tokens }
      ]
      if (method === "POST" && deliveryRoutes.includes(template))
        return [...own, { scope: "key", name: `deliveries:tenant:${tenant}`, limit: rateLimits.deliveries, tokens }]
      if (changeRoutes.includes(`${method} ${template}`))
        return [...own, { scope: "key", name: `changes:tenant:${tenant}`, limit: changesADay, tokens }]
      if (template === search.route)
        return [
          ...own,
          { scope: "key", name: `searches:key:${key}`, limit: search.key, tokens },
          { scope: "key", name: `searches:tenant:${tenant}`, limit: ofTenant(search.key), tokens },
          { scope: "key", name: `searches_a_day:tenant:${tenant}`, limit: search.aDay, tokens }
        ]
      if (caller.role === "admin")
        return [...own, { scope: "key", name: `admin_reads:tenant:${tenant}`, limit: adminReads, tokens: 1 }]
      if (template !== resolution.route) return own
      return [
        ...own,
        { scope: "key", name: `bank_resolution:key:${key}`, limit: resolution.key, tokens },
        { scope: "key", name: `bank_resolution:tenant:${tenant}`, limit: ofTenant(resolution.key), tokens },
        {
          scope: "ip",
          name: `bank_resolution:ip:${addressOf(peer, valuesOf(rawHeaders, "x-forwarded-for"))}`,
          limit: resolution.ip,
          tokens
        }
      ]
    }
    return (request: RatedRequest): RateCheck => {
      const taken: Array<Effect.Effect<void>> = []
      return {
        take: Effect.gen(function* () {
          for (const { limit, name, scope, tokens } of bucketsOf(request)) {
            if (limit === "off") continue
            const answer = yield* take(name, limit, tokens)
            if (answer._tag === "Limited") return yield* new RateLimited({ scope, retry_after_seconds: answer.retryAfterSeconds })
            taken.push(giveBack(name, limit, tokens))
          }
        }),
        giveBack: Effect.suspend(() => Effect.all(taken, { discard: true }))
      }
    }
  })
