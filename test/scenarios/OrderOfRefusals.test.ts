import { layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { expect } from "vitest"
import { Denials } from "../../src/services/ports/Denials.ts"
import { Limits } from "../../src/services/ports/Limits.ts"
import { auditEntry } from "../support/GivenDatabase.ts"
import { bankPayout } from "../support/GivenRequests.ts"
import { said } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"

/** A payout that would go through, and everything that one of the violations below can spoil of it. */
interface Attempt {
  readonly body: Record<string, unknown>
  readonly headers: Record<string, string>
  readonly cut: boolean
  readonly wish: { readonly capabilities?: ReadonlyArray<"collections">; readonly status?: "frozen" }
  readonly float: bigint
  readonly reused: boolean
  readonly blocked: boolean
  readonly hour: number
}

interface Violation {
  readonly code: string
  readonly status: number
  readonly spoil: (attempt: Attempt) => Attempt
}

const body = (change: object) => (attempt: Attempt) => ({ ...attempt, body: { ...attempt.body, ...change } })
const destination = (change: object) => (attempt: Attempt) => ({
  ...attempt,
  body: { ...attempt.body, destination: { ...Object(attempt.body["destination"]), ...change } }
})
const header = (name: string, value: string) => (attempt: Attempt) => ({
  ...attempt,
  headers: { ...attempt.headers, [name]: value }
})

// decisions.md section 2, "Order of refusals on a money-moving POST", as one list.
const order: ReadonlyArray<Violation> = [
  { code: "payload_too_large", status: 413, spoil: body({ padding: "x".repeat(70_000) }) },
  { code: "unauthorized", status: 401, spoil: header("x-gateway-signature", `v1=${"0".repeat(64)}`) },
  { code: "unsupported_media_type", status: 415, spoil: header("content-type", "text/plain") },
  { code: "cross_origin_denied", status: 403, spoil: header("origin", "https://shop.example") },
  { code: "validation_failed", status: 400, spoil: (attempt) => ({ ...attempt, cut: true }) },
  { code: "mode_mismatch", status: 400, spoil: body({ mode: "live" }) },
  { code: "idempotency_key_required", status: 400, spoil: header("idempotency-key", "") },
  { code: "unknown_currency", status: 422, spoil: body({ currency: "ABC" }) },
  { code: "inexact_amount", status: 422, spoil: body({ amount_minor: 10_000.5 }) },
  { code: "validation_failed", status: 422, spoil: body({ country: "Uganda" }) },
  { code: "amount_type_required", status: 400, spoil: body({ destination_currency: "KES" }) },
  { code: "idempotency_key_reused", status: 422, spoil: (attempt) => ({ ...attempt, reused: true }) },
  {
    code: "capability_not_allowed",
    status: 403,
    spoil: (attempt) => ({ ...attempt, wish: { ...attempt.wish, capabilities: ["collections"] } })
  },
  { code: "tenant_frozen", status: 403, spoil: (attempt) => ({ ...attempt, wish: { ...attempt.wish, status: "frozen" } }) },
  { code: "corridor_unsupported", status: 422, spoil: body({ country: "TZ" }) },
  { code: "amount_above_maximum", status: 422, spoil: body({ amount_minor: 20_001 }) },
  { code: "destination_blocked", status: 403, spoil: (attempt) => ({ ...attempt, blocked: true }) },
  { code: "amount_below_minimum", status: 422, spoil: body({ amount_minor: 9_999 }) },
  { code: "velocity_limit_exceeded", status: 422, spoil: (attempt) => ({ ...attempt, hour: 0 }) },
  { code: "bank_account_unresolvable", status: 422, spoil: destination({ account_number: "903000120016" }) },
  { code: "insufficient_tenant_float", status: 422, spoil: (attempt) => ({ ...attempt, float: 0n }) }
]

// Two that spoil the same member cannot stand in one request.
const apart = new Set(["corridor_unsupported/amount_above_maximum"])

const send = Effect.fnUntraced(function* (attempt: Attempt) {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway, attempt.float, { mode: "test", ...attempt.wish })
  const limit = { mode: "test", direction: "payout", window: "hour", count: attempt.hour } as const
  yield* Context.get(gateway.context, Limits).set(tenant.appId, limit, auditEntry())
  if (attempt.blocked) {
    const account = String(Object(attempt.body["destination"])["account_number"])
    yield* Context.get(gateway.context, Denials).add("destination", Redacted.make(account), "a test", auditEntry())
  }
  if (attempt.reused) yield* tenant.post("/v1/payouts", bankPayout("7777"), "the-key")
  const text = JSON.stringify(attempt.body)
  const { "idempotency-key": key = "the-key", ...headers } = attempt.headers
  return yield* tenant.call("POST", "/v1/payouts", attempt.cut ? text.slice(0, -1) : text, {
    ...(key === "" ? {} : { "idempotency-key": key }),
    ...headers
  })
})

let account = 4000
const good = (): Attempt => ({
  body: bankPayout(`${account++}`),
  headers: {},
  cut: false,
  wish: {},
  float: 100_000n,
  reused: false,
  blocked: false,
  hour: 60
})

layer(Stack.layer(), { excludeTestServices: true })("the order of refusals of a payout", (it) => {
  it.effect("has a payout that goes through when nothing is wrong with it", () =>
    Effect.map(send(good()), ({ status }) => expect(status).toBe(201))
  )

  it.effect.each(order)("knows $code ($status) by itself", ({ code, spoil, status }) =>
    Effect.map(send(spoil(good())), (answer) => expect(said(answer)).toMatchObject({ code, status }))
  )

  const pairs = order.flatMap((first, index) => {
    const second = order[index + 1]
    return second === undefined || apart.has(`${first.code}/${second.code}`)
      ? []
      : [{ first, second, name: `${first.code} before ${second.code}` }]
  })
  it.effect.each(pairs)("answers $name", ({ first, second }) =>
    Effect.map(send(first.spoil(second.spoil(good()))), (answer) =>
      expect(said(answer)).toMatchObject({ code: first.code, status: first.status })
    )
  )
})
