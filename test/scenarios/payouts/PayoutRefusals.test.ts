import { expect, layer } from "@effect/vitest"
import { Context, Effect, Result } from "effect"
import { newDenial } from "../../../src/domain/Denylist.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Capability } from "../../../src/domain/Tenant.ts"
import { Denylist } from "../../../src/services/ports/Denylist.ts"
import { bankPayout, momoCharge, momoPayout, walletPayout } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { changeCorridor, keyOn, requestsTo, Stack, tenantOn } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const PAYOUTS = "/v1/payouts"
const refused = (code: string, details: object = {}, status = 422) => ({ status, code, class: "terminal", details })
const nowhere = (method: string, country = "UG", currency = "UGX") =>
  refused("corridor_unsupported", { country, currency, direction: "payout", method })

layer(Stack.layer(), { excludeTestServices: true })("the reasons to refuse a payout", (it) => {
  const short: ReadonlyArray<readonly [promise: string, float: bigint, body: object, details: object]> = [
    [
      "with the cheaper method that fits",
      21_000n,
      bankPayout("1234", { amount_minor: 20_000 }),
      {
        amount_minor: 20_000,
        estimated_fee_minor: 5_400,
        shortfall_minor: 4_400,
        suggested_method: "momo",
        suggested_total_minor: 21_000
      }
    ],
    [
      "without advice where no other method fits",
      20_999n,
      bankPayout("1234", { amount_minor: 20_000 }),
      { amount_minor: 20_000, estimated_fee_minor: 5_400, shortfall_minor: 4_401 }
    ],
    ["by the last unit", 10_999n, momoPayout("1234"), { amount_minor: 10_000, estimated_fee_minor: 1_000, shortfall_minor: 1 }],
    ["by all of it", 0n, walletPayout("1234"), { amount_minor: 10_000, estimated_fee_minor: 500, shortfall_minor: 10_500 }]
  ]
  for (const [promise, float, body, details] of short) {
    it.effect(`a float that is too small: ${promise}`, () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway, float)
        expect(said(yield* tenant.post(PAYOUTS, body))).toStrictEqual(refused("insufficient_tenant_float", details))
        expect((yield* tenant.float)["available_minor"] ?? 0).toBe(Number(float))
      })
    )
  }

  // Issue 38, line 10.
  it.effect(
    "a mobile-money recipient without a name where the corridor asks for one; a name is screened, sent, and shown masked",
    () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        yield* changeCorridor(gateway, { country: "UG", method: "momo" }, { requiresName: true })
        const tenant = yield* tenantOn(gateway, 1_000_000n)
        const before = yield* requestsTo(simulator)
        const payout = momoPayout("1238")
        const named = (name: string) => ({ ...payout, destination: { ...payout.destination, name } })
        const issue = (message: string) => ({
          code: "validation_failed",
          details: { issues: [{ path: "destination.name", message }] }
        })
        expect(said(yield* tenant.post(PAYOUTS, payout))).toMatchObject(issue("is required in this corridor"))
        expect(said(yield* tenant.post(PAYOUTS, named(" \u200B ")))).toMatchObject({ code: "validation_failed" })
        const denials = Context.get(gateway.context, Denylist)
        const denied = Result.getOrThrow(newDenial("screened_name", "Kabuye Zerida", { country: null, isAccount: false }))
        yield* denials.add("screened_name", denied, "a test", auditEntry())
        expect(said(yield* tenant.post(PAYOUTS, named("ZERIDA  Kabuyé")))).toMatchObject({ code: "screening_denied" })
        expect(yield* requestsTo(simulator)).toStrictEqual(before)

        const key = "names-1238"
        const paid = yield* tenant.post(PAYOUTS, named("Ng'ang'a Wanjirũ Kamau"), key)
        expect(said(paid)).toStrictEqual({ status: 201 })
        expect((yield* tenant.post(PAYOUTS, named("Ng'ang'a Wanjirũ Kamau"), key)).text).toBe(paid.text)
        expect(said(yield* tenant.post(PAYOUTS, named("Somebody Else"), key))).toMatchObject({ code: "idempotency_key_reused" })
        expect((yield* tenant.get("/v1/beneficiaries")).body.data).toMatchObject({
          items: [{ type: "momo", account_name: "N••••••• W•••••• K••••", masked_destination: "••••1238" }]
        })
        yield* changeCorridor(gateway, { country: "UG", method: "momo" }, { requiresName: false })
      })
  )

  it.effect("the minimum and maximum of each method, to the unit", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      yield* changeCorridor(gateway, { country: "UG", method: "wallet" }, { maximum: minor(50_000n) })
      const tenant = yield* tenantOn(gateway, 1_000_000n)
      const sent = (body: object) => Effect.map(tenant.post(PAYOUTS, body), said)
      const below = (minimum_minor: number, method: string) => refused("amount_below_minimum", { minimum_minor, method })
      const above = refused("amount_above_maximum", { maximum_minor: 50_000, scope: "corridor" })
      expect(yield* sent(momoPayout("1234", { amount_minor: 499 }))).toStrictEqual(below(500, "momo"))
      expect(yield* sent(momoPayout("1234", { amount_minor: 500 }))).toStrictEqual({ status: 201 })
      expect(yield* sent(bankPayout("1234", { amount_minor: 9_999 }))).toStrictEqual(below(10_000, "bank"))
      expect(yield* sent(bankPayout("1234", { deduct_fee_from_amount: true }))).toStrictEqual(below(10_000, "bank"))
      expect(yield* sent(bankPayout("1234", { amount_minor: 15_400, deduct_fee_from_amount: true }))).toStrictEqual({
        status: 201
      })
      expect(yield* sent(walletPayout("1234", { amount_minor: 50_001 }))).toStrictEqual(above)
      expect(yield* sent(walletPayout("1234", { amount_minor: 50_000 }))).toStrictEqual({ status: 201 })
    })
  )

  it.effect("a bank payout without the recipient's number, where the corridor says that one is required", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      yield* changeCorridor(gateway, { country: "UG", method: "bank" }, { requiresMsisdn: true })
      const tenant = yield* tenantOn(gateway, 1_000_000n)
      const before = yield* requestsTo(simulator)
      const payout = bankPayout("1241")
      const issues = [{ path: "destination.msisdn", message: "is required in this corridor" }]
      for (const path of [PAYOUTS, `${PAYOUTS}/quote`])
        expect(said(yield* tenant.post(path, payout))).toStrictEqual(refused("validation_failed", { issues }))
      expect(yield* requestsTo(simulator)).toStrictEqual(before)
      const numbered = { ...payout, destination: { ...payout.destination, msisdn: "+256772001241" } }
      expect(said(yield* tenant.post(PAYOUTS, numbered))).toStrictEqual({ status: 201 })
      yield* changeCorridor(gateway, { country: "UG", method: "bank" }, { requiresMsisdn: false })
    })
  )

  it.effect("a corridor that does not exist, is switched off, or does not pay that currency", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const sent = (body: object) => Effect.map(tenant.post(PAYOUTS, body), said)
      expect(yield* sent(momoPayout("1234", { country: "NG", currency: "NGN" }))).toStrictEqual(nowhere("momo", "NG", "NGN"))
      expect(yield* sent(momoPayout("1234", { country: "TZ", currency: "TZS" }))).toStrictEqual(nowhere("momo", "TZ", "TZS"))
      expect(yield* sent(momoPayout("1234", { currency: "KES" }))).toStrictEqual(nowhere("momo", "UG", "KES"))
      const across = momoPayout("1234", { destination_currency: "KES", amount_type: "SOURCE" })
      expect(yield* sent(across)).toStrictEqual(nowhere("momo", "UG", "KES"))
      yield* changeCorridor(gateway, { country: "RW", method: "momo" }, { active: false })
      const rwanda = momoPayout("", {
        country: "RW",
        currency: "RWF",
        destination: { type: "momo", msisdn: "250788001234", network: "MTN", country: "RW" }
      })
      expect(yield* sent(rwanda)).toStrictEqual(nowhere("momo", "RW", "RWF"))
      yield* changeCorridor(gateway, { country: "RW", method: "momo" }, { active: true })
      expect(yield* sent(rwanda)).toMatchObject({ code: "insufficient_tenant_float" })
    })
  )

  it.effect("are checked in the contract's order, before any provider call", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      yield* changeCorridor(gateway, { country: "KE", method: "momo" }, { maximum: minor(60_000n) })
      const capabilities: ReadonlyArray<Capability> = ["collections"]
      const noGrant = yield* tenantOn(gateway, 0n, { capabilities, status: "frozen" })
      const frozen = yield* tenantOn(gateway, 0n, { status: "frozen" })
      const test = yield* tenantOn(gateway, 0n, { mode: "test" })
      const lost = momoPayout("1234", { country: "NG", currency: "NGN", amount_minor: 900_000 })
      const kenya = {
        currency: "KES",
        country: "KE",
        destination: { ...momoPayout("").destination, msisdn: "254712001234", country: "KE" }
      }
      const before = (yield* requestsTo(simulator)).length
      const answers = [
        // 403 capability before 403 frozen, before 422 corridor, before 422 test ceiling, before the corridor's window.
        yield* noGrant.post(PAYOUTS, lost),
        yield* frozen.post(PAYOUTS, lost),
        yield* test.post(PAYOUTS, lost),
        yield* test.post(
          PAYOUTS,
          momoPayout("", { ...kenya, destination: { ...kenya.destination, network: "MPESA" }, amount_minor: 70_001 })
        ),
        // The corridor's window before the float.
        yield* test.post(PAYOUTS, momoPayout("1234", { amount_minor: 499 }))
      ]
      expect(answers.map(said)).toStrictEqual([
        refused("capability_not_allowed", { capability: "payouts" }, 403),
        refused("tenant_frozen", {}, 403),
        nowhere("momo", "NG", "NGN"),
        refused("amount_above_maximum", { maximum_minor: 70_000, scope: "test_mode" }),
        refused("amount_below_minimum", { minimum_minor: 500, method: "momo" })
      ])
      expect((yield* requestsTo(simulator)).length).toBe(before)
    })
  )
})

layer(Stack.layer(), { excludeTestServices: true })("the read of a transaction", (it) => {
  it.effect("answers the same bytes at every URL of a record", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      for (const [address, body] of [
        [PAYOUTS, momoPayout("1234")],
        ["/v1/collections", momoCharge("1234")]
      ] as const) {
        const reference = referenceOf(yield* tenant.post(address, body))
        yield* tenant.until(`/v1/transactions/${reference}`, ({ status }) => status === "successful")
        const own = yield* tenant.get(`${address}/${reference}`)
        expect(own.body.data).toMatchObject({ id: reference, reference, status: "successful" })
        expect((yield* tenant.get(`/v1/transactions/${reference}`)).text).toBe(own.text)
      }
    })
  )

  it.effect("answers the same 404 for a record that is absent, another tenant's, of another kind or of the other mode", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const stranger = yield* tenantOn(gateway)
      const inTest = yield* keyOn(gateway, tenant.appId, "test")
      const payout = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("1234")))
      const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234")))
      const answers = yield* Effect.all([
        tenant.get(`${PAYOUTS}/${"0".repeat(26)}`),
        tenant.get(`${PAYOUTS}/nothing`),
        stranger.get(`${PAYOUTS}/${payout}`),
        stranger.get(`/v1/transactions/${payout}`),
        inTest.get(`/v1/transactions/${payout}`),
        tenant.get(`/v1/collections/${payout}`),
        tenant.get(`${PAYOUTS}/${charge}`),
        stranger.get(`/v1/collections/${charge}`)
      ])
      expect(said(answers[0])).toStrictEqual(refused("not_found", {}, 404))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect((yield* tenant.get(`/v1/transactions/${payout}`)).status).toBe(200)
    })
  )
})
