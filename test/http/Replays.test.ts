import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { InternalError } from "../../src/domain/errors/Ambiguous.ts"
import { TenantFrozen } from "../../src/domain/errors/Terminal.ts"
import { routes } from "../../src/http/edge/HttpRoutes.ts"
import { type EdgeClient, onEdge } from "../support/EdgeClient.ts"
import type { EdgeOptions } from "../support/EdgeServer.ts"
import { signed } from "../support/RawHttp.ts"

interface Attempt {
  readonly name: string
  readonly status: number
  readonly target?: string
  readonly headers?: ReadonlyArray<readonly [string, string]>
  readonly body?: string
  /** A request that comes before it, with a nonce of its own. */
  readonly before?: Attempt
  readonly edge?: EdgeOptions
}

const json = ["content-type", "application/json"] as const
const key = ["idempotency-key", "k"] as const
const destination = { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
const payout = { amount_minor: 1000, currency: "UGX", country: "UG", method: "momo", destination }
const charge = { amount_minor: 1000, currency: "UGX", country: "UG", method: "momo", source: destination }
const authorization = { otp: { pin_id: "p", pin: "1" }, source: destination }
const text = (body: object) => JSON.stringify(body)
const paid: Attempt = { name: "paid", status: 201 }

/** Requests to operations that have a key, by the first thing that is wrong with them. */
const attempts: ReadonlyArray<Attempt> = [
  { name: "that succeeded", status: 201 },
  { name: "to collect", status: 201, target: "/v1/collections", body: text(charge) },
  { name: "of another media type", status: 415, headers: [["content-type", "text/plain"], key] },
  { name: "from another origin", status: 403, headers: [json, key, ["origin", "https://shop.example"]] },
  {
    name: "beyond the rate limit",
    status: 429,
    before: paid,
    edge: { rate: { count: 1, windowMs: 3_600_000, burst: 1 } }
  },
  { name: "without a place", status: 429, edge: { places: { money: 0, reads: 100 } } },
  { name: "that is no JSON", status: 400, body: "{" },
  { name: "of another mode", status: 400, body: text({ ...payout, mode: "test" }) },
  { name: "without a key", status: 400, headers: [json] },
  { name: "of an unknown currency", status: 422, body: text({ ...payout, currency: "ABC" }) },
  { name: "with a field that is wrong", status: 422, body: text({ ...payout, country: "Uganda" }) },
  { name: "with a key of another request", status: 422, body: text({ ...payout, amount_minor: 2000 }), before: paid },
  { name: "whose key is in use", status: 409, before: paid },
  { name: "that its step refused", status: 403, edge: { createPayout: () => Effect.fail(new TenantFrozen({})) } },
  { name: "that broke", status: 500, edge: { createPayout: () => Effect.die(new InternalError({ request_id: "r" })) } },
  { name: "to exchange", status: 400, target: "/v1/fx/exchange", body: "{" },
  { name: "to authorize with a body that is wrong", status: 422, target: "/v1/collections/R/authorize", body: "{}" },
  { name: "to authorize", status: 200, target: "/v1/collections/R/authorize", body: text(authorization) },
  {
    name: "to authorize without a key",
    status: 200,
    target: "/v1/collections/R/authorize",
    headers: [json],
    body: text(authorization)
  },
  { name: "to authorize with neither", status: 422, target: "/v1/collections/R/authorize", headers: [json], body: "{}" }
]

const ask = async ({ ask }: EdgeClient, { body = text(payout), headers = [json, key], target = "/v1/payouts" }: Attempt) => {
  const all = [...signed("POST", target, body), ...headers]
  const once = () => ask("POST", target, all, body)
  return { once, first: await once() }
}

describe("a request to an operation that has a key, sent a second time with its nonce,", () => {
  it.each(attempts)("is 401 and does nothing: one $name ($status)", async (attempt) => {
    const story = onEdge(async (client) => {
      const { behind } = client
      if (attempt.before !== undefined) await ask(client, attempt.before)
      const { first, once } = await ask(client, attempt)
      expect(first.status).toBe(attempt.status)
      const done = () => [behind.payouts.length, behind.collections.length, behind.authorized.length, [...behind.claims]]
      const before = done()
      const again = await once()
      expect([again.status, JSON.parse(again.text).error.code]).toEqual([401, "unauthorized"])
      expect(done()).toEqual(before)
      expect(behind.logs.filter((line) => line.includes("a signature was refused"))).toHaveLength(1)
    }, attempt.edge)
    await story()
  })

  it(
    "takes no token of its caller's rate limit",
    onEdge(
      async (client) => {
        const { once } = await ask(client, paid)
        for (let time = 0; time < 10; time++) expect((await once()).status).toBe(401)
        expect((await ask(client, { ...paid, headers: [json, ["idempotency-key", "other"]] })).first.status).toBe(201)
        expect((await ask(client, { ...paid, headers: [json, ["idempotency-key", "third"]] })).first.status).toBe(429)
      },
      { rate: { count: 1, windowMs: 3_600_000, burst: 2 } }
    )
  )

  it(
    "at the same time, is done once",
    onEdge(async (client) => {
      const all = [...signed("POST", "/v1/payouts", text(payout)), json, key]
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.ask("POST", "/v1/payouts", all, text(payout))))
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(19)
      expect(client.behind.payouts).toHaveLength(1)
    })
  )

  it("is tried here for every operation that has a key", () => {
    const keyed = [...routes.values()].flatMap(({ name, operation }) => (operation?.idempotencyKey === undefined ? [] : [name]))
    const tried = attempts.map(({ target = "/v1/payouts" }) => `POST ${target.replace("/R/", "/{reference}/")}`)
    expect([...new Set(tried)].sort()).toEqual(keyed.sort())
  })
})
