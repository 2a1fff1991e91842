import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Capability } from "../../../src/domain/Tenant.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { changeCorridor, gatewayOn, requestsTo, Stack, tenantOn } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const CORRIDORS = "/v1/reference/corridors"
const refundsReason = { supported: false, reason: "refund_orchestration_not_implemented" }
const provider = "eversend"

layer(Stack.layer(), { excludeTestServices: true })("what a tenant may do", (it) => {
  it.effect("is always seven rows in a fixed order, with a reason only where something is not supported", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      expect((yield* tenant.get("/v1/capabilities")).body).toStrictEqual({
        code: 200,
        message: "ok",
        data: [
          { capability: "collections", provider, supported: true },
          { capability: "payouts", provider, supported: true },
          { capability: "refunds", provider, ...refundsReason },
          { capability: "fx", provider, supported: true },
          { capability: "balances", provider, supported: false, reason: "not_permitted" },
          { capability: "reference_data", provider, supported: true },
          { capability: "bank_resolution", provider, supported: true }
        ]
      })
    })
  )

  it.effect("says not_permitted for every missing capability, and needs none to be read", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n, { capabilities: [] })
      const reason = (capability: Capability) =>
        capability === "refunds" ? refundsReason : { supported: false, reason: "not_permitted" }
      expect((yield* tenant.get("/v1/capabilities")).body.data).toStrictEqual(
        Capability.literals.map((capability) => ({ capability, provider, ...reason(capability) }))
      )
    })
  )

  it.effect(
    "says provider_not_supported where the mode has no account at the provider, as every call then does, as a terminal error",
    () =>
      Effect.gen(function* () {
        const { database, simulator } = yield* Stack
        const noAccount = { EVERSEND_TEST_CLIENT_ID: "", EVERSEND_TEST_CLIENT_SECRET: "", EVERSEND_TEST_WEBHOOK_SECRET: "" }
        const gateway = yield* Effect.orDie(gatewayOn(database, simulator, noAccount))
        const tenant = yield* tenantOn(gateway, 0n, { mode: "test", capabilities: Capability.literals })
        const { body } = yield* tenant.get("/v1/capabilities")
        expect(body.data).toContainEqual({
          capability: "payouts",
          provider,
          supported: false,
          reason: "provider_not_supported"
        })
        expect(body.data).toContainEqual({ capability: "refunds", provider, ...refundsReason })
        const refusals = [
          ["/v1/reference/banks/UG", "reference_data"],
          ["/v1/reference/countries", "reference_data"],
          ["/v1/balances", "balances"]
        ] as const
        for (const [path, capability] of refusals)
          expect(said(yield* tenant.get(path))).toStrictEqual({
            status: 501,
            code: "provider_capability_unsupported",
            class: "terminal",
            details: { capability, reason: "provider_not_supported" }
          })
        const unsupported = { status: 422, code: "corridor_unsupported", class: "terminal" }
        expect(said(yield* tenant.post("/v1/payouts", momoPayout("1234")))).toMatchObject(unsupported)
        expect(said(yield* tenant.call("POST", "/v1/payouts/quote", momoPayout("1234")))).toMatchObject(unsupported)
        expect(said(yield* tenant.post("/v1/collections", momoCharge("1234")))).toMatchObject(unsupported)
        const { country, source } = momoCharge("1234")
        expect(said(yield* tenant.call("POST", "/v1/collections/otp", { country, source }))).toMatchObject(unsupported)
      })
  )
})

layer(Stack.layer(), { excludeTestServices: true })("corridors", (it) => {
  it.effect("are all listed with every field, the inactive ones too, to a tenant without any capability", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n, { capabilities: [] })
      const { body, status } = yield* tenant.get(CORRIDORS)
      expect(status).toBe(200)
      const key = { country: "UG", currency: "UGX", direction: "payout", method: "bank" }
      expect(body.data).toContainEqual({
        ...key,
        active: true,
        provider,
        networks: [],
        minimum_minor: 10_000,
        maximum_minor: null,
        exponent: 0,
        customer_action: "none",
        requires_redirect_url: false,
        requires_msisdn: false,
        requires_name: false,
        requires_branch: false,
        requires_sender: false,
        destination_currencies: expect.arrayContaining(["UGX"]),
        availability: "operational",
        inactive_reason: null,
        updated_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
      })
      expect(body.data).toContainEqual(
        expect.objectContaining({ country: "CM", direction: "collection", method: "momo", active: false })
      )
      expect(body.data).toContainEqual(expect.objectContaining({ country: "KE", method: "momo", exponent: 2 }))
    })
  )

  it.effect("refuse every charge while they are inactive, before the provider is called", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const before = yield* requestsTo(simulator)
      const momo = { country: "CM", currency: "XAF", source: { type: "momo", msisdn: "237670001234", network: "MTN" } }
      const card = { method: "card", source: { type: "card" }, redirect_url: "https://shop.example/done" }
      for (const [change, key] of [
        [momo, { country: "CM", currency: "XAF", method: "momo" }],
        [card, { country: "UG", currency: "UGX", method: "card" }]
      ] as const) {
        const details = { ...key, direction: "collection" }
        expect(said(yield* tenant.post("/v1/collections", momoCharge("", change)))).toStrictEqual({
          status: 422,
          code: "corridor_unsupported",
          class: "terminal",
          details
        })
      }
      expect(yield* requestsTo(simulator)).toStrictEqual(before)
    })
  )

  it.effect(
    "are active only where payments go: not in a mode, nor for a pin or by a method, in which no provider serves them",
    () =>
      Effect.gen(function* () {
        const { database, simulator } = yield* Stack
        const noAccount = { EVERSEND_TEST_CLIENT_ID: "", EVERSEND_TEST_CLIENT_SECRET: "", EVERSEND_TEST_WEBHOOK_SECRET: "" }
        const gateway = yield* Effect.orDie(gatewayOn(database, simulator, noAccount))
        const [live, test] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n, { mode: "test" })]
        const momo = `${CORRIDORS}?country=UG&direction=payout&method=momo`
        const unserved = { active: false, inactive_reason: "no provider serves it", availability: "down" }
        const refused = { status: 422, code: "corridor_unsupported", class: "terminal" }

        expect(said(yield* test.post("/v1/payouts", momoPayout("1234")))).toMatchObject(refused)
        expect((yield* test.get(momo)).body.data).toMatchObject([unserved])
        expect((yield* test.get(`${CORRIDORS}?active=true`)).body.data).toStrictEqual([])
        const open = { active: true, inactive_reason: null, availability: "operational" }
        expect((yield* live.get(momo)).body.data).toMatchObject([open])

        yield* changeCorridor(gateway, { country: "UG", method: "momo" }, { providers: ["eversend", "paystack"] })
        yield* Context.get(gateway.context, Tenants).pin(live.appId, "paystack", auditEntry())
        expect(said(yield* live.post("/v1/payouts", momoPayout("1234")))).toMatchObject(refused)
        expect((yield* live.get(momo)).body.data).toMatchObject([{ ...unserved, provider: "paystack" }])
        yield* Context.get(gateway.context, Tenants).pin(live.appId, null, auditEntry())
        expect((yield* live.get(momo)).body.data).toMatchObject([open])

        yield* changeCorridor(
          gateway,
          { country: "UG", method: "card", direction: "collection" },
          { active: true, inactiveReason: null }
        )
        const card = { method: "card", source: { type: "card" }, redirect_url: "https://shop.example/done" }
        expect(said(yield* live.post("/v1/collections", momoCharge("", card)))).toMatchObject(refused)
        expect((yield* live.get(`${CORRIDORS}?country=UG&method=card`)).body.data).toMatchObject([unserved])
      })
  )

  it.effect("follow an operator's change without a restart", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* changeCorridor(gateway, { country: "ZM", method: "momo" }, { active: false, inactiveReason: "maintenance" })
      expect((yield* tenant.get(CORRIDORS)).body.data).toContainEqual(
        expect.objectContaining({ country: "ZM", direction: "payout", active: false, inactive_reason: "maintenance" })
      )
    })
  )
})

layer(Stack.layer(), { excludeTestServices: true })("refunds", (it) => {
  const REFUNDS = "/v1/refunds"
  const body = { original_reference: "0123456789ABCDEFGHJKMNPQRS" }
  const refused = {
    status: 501,
    code: "provider_capability_unsupported",
    class: "terminal",
    details: { capability: "refunds", reason: "refund_orchestration_not_implemented" }
  }

  it.effect("are 501 for every tenant: without the capability, without a key, for any original, frozen or not", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n, { capabilities: [], status: "frozen" })
      const before = yield* requestsTo(simulator)
      const full = { ...body, amount_minor: 500, reason: "damaged", is_test_mode: false }
      for (const asked of [body, full, { original_reference: "nobody's" }]) {
        const answer = yield* tenant.call("POST", REFUNDS, asked)
        expect(said(answer)).toStrictEqual(refused)
        expect(answer.headers.get("x-gateway-ignored")).toBeNull()
      }
      expect(yield* requestsTo(simulator)).toStrictEqual(before)
    })
  )

  it.effect("refuse a body that breaks the rules, or claims another mode, before anything else", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const code = (asked: unknown) => Effect.map(tenant.call("POST", REFUNDS, asked), ({ body: { error } }) => error?.["code"])
      expect(yield* code({})).toBe("validation_failed")
      expect(yield* code({ original_reference: 7 })).toBe("validation_failed")
      expect(yield* code({ ...body, amount_minor: -1 })).toBe("validation_failed")
      expect(yield* code({ ...body, amount_minor: 1.5 })).toBe("inexact_amount")
      expect(yield* code({ ...body, reason: 1 })).toBe("validation_failed")
      expect(yield* code({ ...body, mode: "test" })).toBe("mode_mismatch")
      expect(said(yield* tenant.call("POST", REFUNDS, "{"))).toMatchObject({ status: 400, code: "validation_failed" })
    })
  )
})
