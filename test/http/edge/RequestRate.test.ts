import { describe, it } from "@effect/vitest"
import { Effect, Exit, Option, SchemaAST } from "effect"
import { HttpApi } from "effect/http-api"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { Api } from "../../../src/http/api/Api.ts"
import { clientAddress } from "../../../src/http/edge/ClientAddress.ts"
import { routeOf } from "../../../src/http/edge/HttpRoutes.ts"
import { NO_BODY } from "../../../src/http/edge/RequestBody.ts"
import { makeRequestRate } from "../../../src/http/edge/RequestRate.ts"
import { RateLimitsMemory } from "../../../src/persistence/requests/RateLimitsMemory.ts"
import { onEdge } from "../../support/EdgeClient.ts"

const rate = { count: 1, windowMs: 1000, burst: 2 }
const JSON_BODY = [["Content-Type", "application/json"]] as const
const error = (answer: { text: string }) => JSON.parse(answer.text).error

const found = (method: string, template: string) => {
  const route = { method, template, name: `${method} ${template}`, operation: undefined }
  return { _tag: "Found", route, params: {} } as const
}

describe("the rate limit", () => {
  it(
    "gives each key a burst of reads and one of money requests, then says when to try again",
    onEdge(
      async ({ signed }) => {
        const statuses = async (method: string, target: string) => [
          (await signed(method, target, JSON_BODY, method === "POST" ? "{" : "")).status,
          (await signed(method, target, JSON_BODY, method === "POST" ? "{" : "")).status,
          (await signed(method, target, JSON_BODY, method === "POST" ? "{" : "")).status
        ]
        expect(await statuses("GET", "/v1/float")).toEqual([200, 200, 429])
        expect(await statuses("POST", "/v1/payouts")).toEqual([400, 400, 429])
        const refused = await signed("GET", "/v1/nowhere")
        expect(refused.status).toBe(429)
        expect(refused.headers["retry-after"]).toBe("1")
        expect(error(refused)).toMatchObject({
          code: "rate_limited",
          retriable: true,
          details: { scope: "key", retry_after_seconds: 1 }
        })
      },
      { rate }
    )
  )

  it(
    "is checked after the signature, the content type and the origin, and before the body",
    onEdge(
      async ({ ask, signed }) => {
        for (const _ of [1, 2, 3]) expect((await ask("GET", "/v1/float")).status).toBe(401)
        const text = [["Content-Type", "text/plain"]] as const
        for (const _ of [1, 2, 3]) expect((await signed("POST", "/v1/payouts", text, "{")).status).toBe(415)
        for (const _ of [1, 2, 3])
          expect((await signed("GET", "/v1/float", [["Origin", "https://evil.example"]])).status).toBe(403)
        for (const _ of [1, 2]) await signed("POST", "/v1/payouts", JSON_BODY, "{")
        expect((await signed("POST", "/v1/payouts", JSON_BODY, "{")).status).toBe(429)
        expect((await ask("GET", "/health")).status).toBe(200)
      },
      { rate }
    )
  )

  it.effect("lets a key resolve 30 bank accounts a minute and an address 600", () =>
    Effect.gen(function* () {
      const check = yield* makeRequestRate({ rateLimits: { reads: "off", money: "off", deliveries: "off" }, trustedProxies: [] })
      const by = (keyId: string, peer: string) =>
        check({
          caller: { appId: AppId.make(`acme-${keyId}`), keyId, mode: "live", role: "tenant" },
          method: "POST",
          match: found("POST", "/v1/reference/resolve-bank-account"),
          rawTarget: "/",
          body: NO_BODY,
          rawHeaders: ["X-Forwarded-For", "203.0.113.1"],
          peer
        }).take
      const refusal = Effect.fnUntraced(function* (keyId: string, peer: string) {
        const exit = yield* Effect.exit(Effect.flip(by(keyId, peer)))
        return Exit.isSuccess(exit) ? exit.value.scope : null
      })
      for (let at = 0; at < 600; at++) expect(yield* refusal(`k${at % 20}`, "192.0.2.1")).toBe(null)
      expect(yield* refusal("k0", "192.0.2.2")).toBe("key")
      expect(yield* refusal("another", "192.0.2.1")).toBe("ip")
      expect(yield* refusal("another", "192.0.2.2")).toBe(null)
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("lets a key search 30 times a minute, and a tenant 60 times, and 2,000 times a day", () =>
    Effect.gen(function* () {
      const check = yield* makeRequestRate({ rateLimits: { reads: "off", money: "off", deliveries: "off" }, trustedProxies: [] })
      const searches = Effect.fnUntraced(function* (keyId: string, times: number) {
        let taken = 0
        for (let at = 0; at < times; at++) {
          const asked = check({
            caller: { appId: AppId.make("acme"), keyId, mode: "live", role: "reader" },
            method: "POST",
            match: found("POST", "/v1/transactions/search"),
            rawTarget: "/",
            body: NO_BODY,
            rawHeaders: [],
            peer: "192.0.2.1"
          }).take
          if (Exit.isSuccess(yield* Effect.exit(asked))) taken++
        }
        return taken
      })
      expect([yield* searches("a", 1_000), yield* searches("b", 100), yield* searches("c", 100)]).toStrictEqual([30, 30, 0])
      let today = 60
      for (let minutes = 0; minutes < 60; minutes++) {
        yield* TestClock.adjust("1 minute")
        for (const keyId of ["a", "b"]) today += yield* searches(keyId, 31)
      }
      expect(today).toBeLessThan(2_100)
      expect(today).toBeGreaterThanOrEqual(2_000)
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("holds for all keys of a tenant together, in each mode, and for no other tenant", () =>
    Effect.gen(function* () {
      const money = { count: 1, windowMs: 1000, burst: 3 }
      const check = yield* makeRequestRate({ rateLimits: { reads: "off", money, deliveries: "off" }, trustedProxies: [] })
      const refusals = Effect.fnUntraced(function* (appId: string, mode: "live" | "test", template: string) {
        let refused = 0
        for (let at = 0; at < 100; at++) {
          const asked = check({
            caller: { appId: AppId.make(appId), keyId: `k${at}`, mode, role: "tenant" },
            method: "POST",
            match: found("POST", template),
            rawTarget: "/",
            body: NO_BODY,
            rawHeaders: [],
            peer: `192.0.2.${at}`
          }).take
          if (Exit.isFailure(yield* Effect.exit(asked))) refused++
        }
        return refused
      })
      expect(yield* refusals("acme", "live", "/v1/payouts")).toBe(94)
      expect(yield* refusals("acme", "test", "/v1/payouts")).toBe(94)
      expect(yield* refusals("other", "live", "/v1/payouts")).toBe(94)
      expect(yield* refusals("acme", "live", "/v1/reference/resolve-bank-account")).toBe(40)
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("counts a list of payouts to price as one read for each of them, and a body that is none as one", () =>
    Effect.gen(function* () {
      const reads = { count: 1, windowMs: 1000, burst: 150 }
      const check = yield* makeRequestRate({ rateLimits: { reads, money: "off", deliveries: "off" }, trustedProxies: [] })
      const caller = { appId: AppId.make("acme"), keyId: "k", mode: "live", role: "tenant" } as const
      const match = found("POST", "/v1/payouts/quotes")
      const isTaken = (text: string) => {
        const body = Buffer.from(text)
        const asked = check({ caller, method: "POST", match, rawTarget: "/", rawHeaders: [], peer: "", body })
        return Effect.map(Effect.exit(asked.take), Exit.isSuccess)
      }
      const list = (length: number) => JSON.stringify({ items: Array.from({ length }, () => 1) })
      expect([yield* isTaken(list(100)), yield* isTaken(list(49)), yield* isTaken("{"), yield* isTaken(list(1))]).toStrictEqual([
        true,
        true,
        true,
        false
      ])
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("counts a page of a list by the records that it is asked for, ten a read, and never more than a bucket holds", () =>
    Effect.gen(function* () {
      const reads = { count: 1, windowMs: 1000, burst: 12 }
      const check = yield* makeRequestRate({ rateLimits: { reads, money: "off", deliveries: "off" }, trustedProxies: [] })
      let keys = 0
      /** How many of a dozen requests of a key that is full go through, and the whole seconds after which there is room for one more. */
      const allowed = Effect.fnUntraced(function* (path: string, query: string, method = "GET") {
        const caller = { appId: AppId.make(`acme-${keys++}`), keyId: "k", mode: "live", role: "tenant" } as const
        const match = found(method === "HEAD" ? "GET" : method, path)
        const asked = check({
          caller,
          method,
          match,
          rawTarget: `${path}${query}`,
          body: NO_BODY,
          rawHeaders: [],
          peer: "192.0.2.1"
        })
        const exits = yield* Effect.forEach(Array.from({ length: 13 }), () => Effect.exit(asked.take))
        const all = exits.filter(Exit.isSuccess).length
        yield* asked.giveBack
        expect(Exit.isSuccess(yield* Effect.exit(asked.take)), "what was taken is given back").toBe(true)
        return all
      })
      expect({
        hundred: yield* allowed("/v1/transactions", "?limit=100"),
        encoded: yield* allowed("/v1/transactions", "?kind=payout&%6Cimit=%35%30"),
        head: yield* allowed("/v1/transactions", "?limit=60", "HEAD"),
        twenty: yield* allowed("/v1/transactions", ""),
        one: yield* allowed("/v1/transactions", "?limit=1"),
        mistaken: yield* allowed("/v1/transactions", "?limit=1000000"),
        deliveries: yield* allowed("/v1/webhooks/deliveries", ""),
        beneficiaries: yield* allowed("/v1/beneficiaries", "?limit=40"),
        purge: yield* allowed("/v1/beneficiaries", "?limit=100", "DELETE"),
        single: yield* allowed("/v1/payouts/{reference}", "?limit=100")
      }).toStrictEqual({
        hundred: 1,
        encoded: 2,
        head: 2,
        twenty: 6,
        one: 12,
        mistaken: 1,
        deliveries: 2,
        beneficiaries: 3,
        purge: 12,
        single: 12
      })
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("counts a page of every list so", () =>
    Effect.gen(function* () {
      const pages: Array<string> = []
      HttpApi.reflect(Api, {
        onGroup: () => {},
        onEndpoint: ({ endpoint }) => {
          const ast = endpoint.method === "GET" ? endpoint.query?.ast : undefined
          const names = ast !== undefined && SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => name) : []
          if (names.includes("limit")) pages.push(routeOf(endpoint).template)
        }
      })
      const reads = { count: 1, windowMs: 60_000, burst: 10 }
      const check = yield* makeRequestRate({ rateLimits: { reads, money: "off", deliveries: "off" }, trustedProxies: [] })
      const free = yield* Effect.filter(pages, (template) => {
        const caller = { appId: AppId.make("acme"), keyId: template, mode: "live", role: "tenant" } as const
        const whole = { body: NO_BODY, rawHeaders: [], peer: "" }
        const asked = check({
          caller,
          method: "GET",
          match: found("GET", template),
          rawTarget: `${template}?limit=100`,
          ...whole
        })
        return Effect.andThen(asked.take, Effect.map(Effect.exit(asked.take), Exit.isSuccess)).pipe(Effect.tap(asked.giveBack))
      })
      expect(pages.length).toBeGreaterThan(5)
      expect(free).toStrictEqual([])
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("lets a page through whose key can never hold that many reads", () =>
    Effect.gen(function* () {
      const rateLimits = { reads: { count: 1, windowMs: 1000, burst: 2 }, money: "off", deliveries: "off" } as const
      const check = yield* makeRequestRate({ rateLimits, trustedProxies: [] })
      const caller = { appId: AppId.make("acme"), keyId: "k", mode: "live", role: "tenant" } as const
      const match = found("GET", "/v1/transactions")
      const asked = check({
        caller,
        method: "GET",
        match,
        rawTarget: "/v1/transactions?limit=100",
        body: NO_BODY,
        rawHeaders: [],
        peer: ""
      })
      yield* asked.take
      expect((yield* Effect.flip(asked.take)).retry_after_seconds).toBe(2)
      yield* TestClock.adjust("2 seconds")
      yield* asked.take
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("bounds the webhook deliveries that all keys of a tenant order, tests and redeliveries together", () =>
    Effect.gen(function* () {
      const deliveries = { count: 10, windowMs: 60_000, burst: 10 }
      const check = yield* makeRequestRate({ rateLimits: { reads: "off", money: "off", deliveries }, trustedProxies: [] })
      const refusal = Effect.fnUntraced(function* (appId: string, method: string, template: string) {
        const caller = { appId: AppId.make(appId), keyId: template, mode: "live", role: "tenant" } as const
        const match = found(method, template)
        const asked = check({ caller, method, match, rawTarget: "/", body: NO_BODY, rawHeaders: [], peer: "192.0.2.1" }).take
        return Option.map(yield* Effect.option(Effect.flip(asked)), ({ scope }) => scope)
      })
      const [test, again] = ["/v1/webhooks/endpoint/test", "/v1/webhooks/deliveries/{id}/redeliver"] as const
      const named = "/v1/webhooks/endpoints/{name}/test"
      for (let at = 0; at < 5; at++)
        for (const template of [at % 2 === 0 ? test : named, again])
          expect(yield* refusal("acme", "POST", template)).toEqual(Option.none())
      for (const template of [test, named, again]) expect(yield* refusal("acme", "POST", template)).toEqual(Option.some("key"))
      expect(yield* refusal("acme", "GET", "/v1/webhooks/deliveries")).toEqual(Option.none())
      expect(yield* refusal("other", "POST", test)).toEqual(Option.none())
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("lets the admin keys of a tenant read 120 times an hour together, and other keys as often as they may", () =>
    Effect.gen(function* () {
      const rateLimits = { reads: "off", money: "off", deliveries: "off" } as const
      const rateOf = yield* makeRequestRate({ rateLimits, trustedProxies: [] })
      const read = (keyId: string, role: "admin" | "tenant") =>
        Effect.exit(
          rateOf({
            caller: { appId: AppId.make("acme"), keyId, mode: "live", role },
            method: "GET",
            match: found("GET", "/v1/transactions/00000000000000000000000001"),
            rawTarget: "/v1/transactions/00000000000000000000000001",
            body: NO_BODY,
            rawHeaders: [],
            peer: "10.0.0.1"
          }).take
        )
      const reads = yield* Effect.forEach(Array.from({ length: 121 }), (_, turn) => read(turn % 2 === 0 ? "k1" : "k2", "admin"))
      expect(reads.map(Exit.isSuccess)).toEqual([...Array.from({ length: 120 }, () => true), false])
      expect(Exit.isSuccess(yield* read("k3", "tenant"))).toBe(true)
      yield* TestClock.adjust("30 seconds")
      expect(Exit.isSuccess(yield* read("k1", "admin"))).toBe(true)
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it.effect("bounds the changes that all keys of a tenant make to 200 a day, and says when the next is possible", () =>
    Effect.gen(function* () {
      const rateLimits = { reads: "off", money: "off", deliveries: "off" } as const
      const check = yield* makeRequestRate({ rateLimits, trustedProxies: [] })
      const changes = [
        ["PUT", "/v1/webhooks/endpoint"],
        ["DELETE", "/v1/webhooks/endpoint"],
        ["POST", "/v1/webhooks/endpoint/rotate-secret"],
        ["PUT", "/v1/webhooks/endpoints/{name}"],
        ["DELETE", "/v1/webhooks/endpoints/{name}"],
        ["POST", "/v1/webhooks/endpoints/{name}/rotate-secret"],
        ["POST", "/v1/webhooks/recover"],
        ["DELETE", "/v1/beneficiaries"]
      ] as const
      const refusal = Effect.fnUntraced(function* (appId: string, [method, template]: readonly [string, string]) {
        const caller = { appId: AppId.make(appId), keyId: method, mode: "live", role: "tenant" } as const
        const match = found(method, template)
        const asked = check({ caller, method, match, rawTarget: "/", body: NO_BODY, rawHeaders: [], peer: "192.0.2.1" }).take
        return Option.getOrNull(yield* Effect.option(Effect.flip(asked)))
      })
      for (let at = 0; at < 25; at++) for (const change of changes) expect(yield* refusal("acme", change)).toBe(null)
      for (const change of changes)
        expect(yield* refusal("acme", change)).toMatchObject({ scope: "key", retry_after_seconds: 432 })
      expect(yield* refusal("acme", ["GET", "/v1/webhooks/endpoint"])).toBe(null)
      expect(yield* refusal("acme", ["GET", "/v1/beneficiaries"])).toBe(null)
      expect(yield* refusal("other", ["DELETE", "/v1/beneficiaries"])).toBe(null)
      yield* TestClock.adjust("432 seconds")
      expect(yield* refusal("acme", ["DELETE", "/v1/beneficiaries"])).toBe(null)
    }).pipe(Effect.provide(RateLimitsMemory))
  )

  it("believes X-Forwarded-For only from a trusted proxy, and only its last address that is not a trusted proxy", () => {
    const address = clientAddress(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"])
    expect(address("203.0.113.9", ["1.1.1.1"])).toBe("203.0.113.9")
    expect(address("10.1.2.3", ["1.1.1.1, 198.51.100.4"])).toBe("198.51.100.4")
    expect(address("::ffff:10.1.2.3", ["1.1.1.1", "198.51.100.4, 192.0.2.7"])).toBe("198.51.100.4")
    expect(address("2001:db8::1", ["2001:db9::2"])).toBe("2001:db9::2")
    expect(address("10.1.2.3", ["not an address"])).toBe("10.1.2.3")
    expect(address("10.1.2.3", [])).toBe("10.1.2.3")
    expect(address("", ["1.1.1.1"])).toBe("")
  })
})
