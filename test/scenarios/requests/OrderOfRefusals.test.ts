import { layer } from "@effect/vitest"
import { Context, Effect, Result } from "effect"
import { expect } from "vitest"
import { newDenial } from "../../../src/domain/Denylist.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Corridors } from "../../../src/services/ports/Corridors.ts"
import { Denylist } from "../../../src/services/ports/Denylist.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { bankPayout, momoCharge } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { type Gateway, Stack, tenantOn } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

/** A request that would go through, and everything that one of the violations below can spoil of it. */
interface Attempt {
  readonly target: "/v1/payouts" | "/v1/collections"
  readonly body: Record<string, unknown>
  readonly headers: Record<string, string>
  readonly cut: boolean
  readonly flooded: boolean
  readonly wish: { readonly capabilities?: readonly ["fx"]; readonly status?: "frozen" }
  readonly float: bigint
  readonly reused: boolean
  readonly charged: boolean
  readonly denied: boolean
  readonly hour: number
}

interface Violation {
  readonly code: string
  readonly status: number
  readonly spoil: (attempt: Attempt) => Attempt
}

const FLOOR = 10_000
/** So many money posts of one key at once, and no more in the time that a test takes. */
const BURST = 4

const but = (change: Partial<Attempt>) => (attempt: Attempt) => ({ ...attempt, ...change })
const body = (change: object) => (attempt: Attempt) => ({ ...attempt, body: { ...attempt.body, ...change } })
const destination = (change: object) => (attempt: Attempt) => ({
  ...attempt,
  body: { ...attempt.body, destination: { ...Object(attempt.body["destination"]), ...change } }
})
const header = (name: string, value: string) => (attempt: Attempt) => ({
  ...attempt,
  headers: { ...attempt.headers, [name]: value }
})

// The order of refusals of a request that moves money (contract ERR-10), as one list for each operation.

const beforeTheBody: ReadonlyArray<Violation> = [
  { code: "payload_too_large", status: 413, spoil: body({ padding: "x".repeat(70_000) }) },
  { code: "unauthorized", status: 401, spoil: header("x-gateway-signature", `v1=${"0".repeat(64)}`) },
  { code: "unsupported_media_type", status: 415, spoil: header("content-type", "text/plain") },
  { code: "cross_origin_denied", status: 403, spoil: header("origin", "https://shop.example") },
  { code: "rate_limited", status: 429, spoil: but({ flooded: true }) },
  { code: "validation_failed", status: 400, spoil: but({ cut: true }) },
  { code: "mode_mismatch", status: 400, spoil: body({ mode: "live" }) },
  { code: "idempotency_key_required", status: 400, spoil: header("idempotency-key", "") },
  { code: "unknown_currency", status: 422, spoil: body({ currency: "ABC" }) },
  { code: "inexact_amount", status: 422, spoil: body({ amount_minor: 10_000.5 }) },
  { code: "validation_failed", status: 422, spoil: body({ country: "Uganda" }) }
]

const beforeTheParty: ReadonlyArray<Violation> = [
  { code: "idempotency_key_reused", status: 422, spoil: but({ reused: true }) },
  {
    code: "capability_not_allowed",
    status: 403,
    spoil: (attempt) => ({ ...attempt, wish: { ...attempt.wish, capabilities: ["fx"] } })
  },
  { code: "tenant_frozen", status: 403, spoil: (attempt) => ({ ...attempt, wish: { ...attempt.wish, status: "frozen" } }) },
  { code: "corridor_unsupported", status: 422, spoil: body({ country: "TZ" }) },
  { code: "amount_above_maximum", status: 422, spoil: body({ amount_minor: 20_001 }) }
]

const afterTheParty: ReadonlyArray<Violation> = [
  { code: "amount_below_minimum", status: 422, spoil: body({ amount_minor: FLOOR - 1 }) },
  { code: "velocity_limit_exceeded", status: 422, spoil: but({ hour: 0 }) }
]

const payouts: ReadonlyArray<Violation> = [
  ...beforeTheBody,
  { code: "amount_type_required", status: 400, spoil: body({ destination_currency: "KES" }) },
  ...beforeTheParty,
  { code: "destination_blocked", status: 403, spoil: but({ denied: true }) },
  ...afterTheParty,
  { code: "bank_account_unresolvable", status: 422, spoil: destination({ account_number: "903000120016" }) },
  { code: "insufficient_tenant_float", status: 422, spoil: but({ float: 0n }) }
]

const collections: ReadonlyArray<Violation> = [
  ...beforeTheBody,
  ...beforeTheParty,
  { code: "screening_denied", status: 403, spoil: but({ denied: true }) },
  ...afterTheParty,
  { code: "duplicate_charge_in_flight", status: 409, spoil: but({ charged: true }) }
]

const deny = Effect.fnUntraced(function* ({ context }: Gateway, { body, target }: Attempt) {
  const isPayout = target === "/v1/payouts"
  const { account_number, msisdn } = Object(isPayout ? body["destination"] : body["source"])
  const [kind, value] = isPayout ? (["destination", account_number] as const) : (["screened_number", msisdn] as const)
  const denial = Result.getOrThrow(newDenial(kind, String(value), { country: null, isAccount: isPayout }))
  yield* Context.get(context, Denylist).add(kind, denial, "a test", auditEntry())
})

/** A collection corridor has no minimum of its own. */
const withFloor = Effect.fnUntraced(function* ({ context }: Gateway) {
  const corridors = Context.get(context, Corridors)
  const row = (yield* corridors.list).find(
    ({ country, direction, method }) => country === "UG" && direction === "collection" && method === "momo"
  )
  if (row !== undefined && row.minimum === null) yield* corridors.put({ ...row, minimum: minor(BigInt(FLOOR)) }, auditEntry())
})

const send = Effect.fnUntraced(function* (attempt: Attempt) {
  const { gateway } = yield* Stack
  yield* withFloor(gateway)
  const { charged, hour, reused, target } = attempt
  const tenant = yield* tenantOn(gateway, attempt.float, { mode: "test", ...attempt.wish })
  const direction = target === "/v1/payouts" ? "payout" : "collection"
  const limit = { mode: "test", direction, window: "hour", count: hour + (charged ? 1 : 0) } as const
  yield* Context.get(gateway.context, VelocityLimits).set(tenant.appId, limit, auditEntry())
  if (charged) yield* tenant.post(target, { ...good(target).body, source: attempt.body["source"] })
  if (reused) yield* tenant.post(target, good(target).body, "the-key")
  if (attempt.denied) yield* deny(gateway, attempt)
  if (attempt.flooded) yield* Effect.replicateEffect(tenant.call("POST", target, "{"), BURST)
  const text = JSON.stringify(attempt.body)
  const { "idempotency-key": key = "the-key", ...headers } = attempt.headers
  return yield* tenant.call("POST", target, attempt.cut ? text.slice(0, -1) : text, {
    ...(key === "" ? {} : { "idempotency-key": key }),
    ...headers
  })
})

let parties = 4000
const good = (target: Attempt["target"]): Attempt => ({
  target,
  body: target === "/v1/payouts" ? bankPayout(`${parties++}`) : chargeOf(`2567${parties++}0010`),
  headers: {},
  cut: false,
  flooded: false,
  wish: {},
  float: 100_000n,
  reused: false,
  charged: false,
  denied: false,
  hour: 60
})

/** A charge that stays live at the provider. */
const chargeOf = (msisdn: string) => momoCharge("0010", { source: { type: "momo", msisdn, network: "MTN", country: "UG" } })

const pairsOf = (order: ReadonlyArray<Violation>) =>
  order.flatMap((first, index) => {
    const second = order[index + 1]
    return second === undefined ? [] : [{ first, second, name: `${first.code} before ${second.code}` }]
  })

layer(Stack.layer({ RATE_LIMIT_MONEY: `1/h:${BURST}` }), { excludeTestServices: true })("the order of refusals", (it) => {
  const orders = [
    ["/v1/payouts", payouts],
    ["/v1/collections", collections]
  ] as const
  for (const [target, order] of orders) {
    it.effect(`of ${target} starts from a request that succeeds`, () =>
      Effect.map(send(good(target)), ({ status }) => expect(status).toBe(201))
    )

    it.effect.each(order)(`of ${target} includes $code ($status) when only that is wrong`, ({ code, spoil, status }) =>
      Effect.map(send(spoil(good(target))), (answer) => expect(said(answer)).toMatchObject({ code, status }))
    )

    it.effect.each(pairsOf(order))(`of ${target} puts $name`, ({ first, second }) =>
      Effect.map(send(first.spoil(second.spoil(good(target)))), (answer) =>
        expect(said(answer)).toMatchObject({ code: first.code, status: first.status })
      )
    )
  }
})
