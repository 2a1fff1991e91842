import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import type { VelocityLimit } from "../../../src/domain/VelocityLimits.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { authorize, demandCodes, pinIdOf, RIGHT, sourceOf, waiting, wrapped } from "../../support/OtpRequests.ts"
import { momoCharge } from "../../support/RequestBodies.ts"
import { type Answer, eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, keyOn, Stack, tenantOn, verified } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const CODE = "/v1/collections/otp"
const COLLECTIONS = "/v1/collections"
type Tenant = Effect.Success<ReturnType<typeof tenantOn>>

const byHand = (tenant: Tenant, ending: string) => tenant.post(CODE, { country: "UG", source: sourceOf(ending) })
const byCharge = (tenant: Tenant, ending: string, key?: string) => tenant.post(COLLECTIONS, momoCharge(ending), key)
const limited = (scope: "code" | "number") => ({
  status: 429,
  code: "rate_limited",
  class: "retriable",
  details: { scope, retry_after_seconds: expect.any(Number) }
})

const given = Effect.fnUntraced(function* (...own: ReadonlyArray<Partial<VelocityLimit>>) {
  const { gateway } = yield* Stack
  yield* demandCodes(gateway, "UG")
  const tenant = yield* tenantOn(gateway, 0n)
  const limits = Context.get(gateway.context, VelocityLimits)
  for (const one of own)
    yield* limits.set(tenant.appId, { mode: "live", direction: "code", window: "hour", count: 4, ...one }, auditEntry())
  return { gateway, tenant }
})

const textsIn = Effect.gen(function* () {
  const { simulator } = yield* Stack
  return (yield* callsOf(simulator)).filter((call) => call === "POST /v1/collections/otp").length
})

layer(Stack.layer({ PROVIDER_TIMEOUT_MS: "2000" }), { excludeTestServices: true })("codes that are texted to payers", (it) => {
  it.effect(
    "are as many an hour as the tenant's limit, of 16 at once, by request and by charge alike; the next says when to try again",
    () =>
      Effect.gen(function* () {
        const { tenant } = yield* given({ count: 6 })
        const before = yield* textsIn
        const answers = yield* Effect.forEach(
          Array.from({ length: 16 }, (_, index) => `${2_000 + index}`),
          (ending, index) => (index % 2 === 0 ? byHand(tenant, ending) : byCharge(tenant, ending)),
          { concurrency: "unbounded" }
        )
        expect(answers.filter(({ status }) => status === 201)).toHaveLength(6)
        for (const answer of answers.filter(({ status }) => status !== 201)) {
          expect(said(answer)).toStrictEqual(limited("code"))
          expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(3_600)
        }
        expect(yield* textsIn).toBe(before + 6)
      })
  )

  it.effect("are as many a day as the tenant's limit, separately for each mode", () =>
    Effect.gen(function* () {
      const { gateway, tenant } = yield* given({ window: "day", count: 1 })
      const test = yield* keyOn(gateway, tenant.appId, "test")
      expect((yield* byHand(tenant, "2101")).status).toBe(201)
      expect(said(yield* byHand(tenant, "2102"))).toStrictEqual(limited("code"))
      expect((yield* byHand(test, "2103")).status).toBe(201)
    })
  )

  it.effect("are at most sixty an hour in test mode by default", () =>
    Effect.gen(function* () {
      const { gateway, tenant } = yield* given()
      const test = yield* keyOn(gateway, tenant.appId, "test")
      const answers = yield* Effect.forEach(
        Array.from({ length: 61 }, (_, index) => `${3_000 + index}`),
        (ending) => byHand(test, ending),
        { concurrency: 16 }
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(60)
      expect(answers.filter(({ status }) => status === 429).map(said)).toStrictEqual([limited("code")])
    })
  )

  it.effect("are at most three in ten minutes for one number of a tenant, in both modes together", () =>
    Effect.gen(function* () {
      const { gateway, tenant } = yield* given()
      const test = yield* keyOn(gateway, tenant.appId, "test")
      const other = yield* tenantOn(gateway, 0n)
      for (const sent of [yield* byHand(tenant, "2201"), yield* byCharge(test, "2201"), yield* byCharge(tenant, "2201")])
        expect(sent.status).toBe(201)
      const before = yield* textsIn
      for (const refused of [yield* byHand(tenant, "2201"), yield* byHand(test, "2201"), yield* byCharge(tenant, "2201", "key")])
        expect(said(refused)).toStrictEqual(limited("number"))
      expect(yield* textsIn).toBe(before)
      // The refusal made nothing of the key, and another tenant's codes are its own.
      expect(said(yield* byCharge(tenant, "2202", "key"))).toStrictEqual({ status: 201 })
      expect((yield* byHand(other, "2201")).status).toBe(201)
    })
  )

  it.effect("are not counted for the number when the tenant's limit refuses them", () =>
    Effect.gen(function* () {
      const { gateway, tenant } = yield* given({ count: 0 })
      for (let time = 0; time < 4; time++) expect(said(yield* byHand(tenant, "2301"))).toStrictEqual(limited("code"))
      const limits = Context.get(gateway.context, VelocityLimits)
      yield* limits.set(tenant.appId, { mode: "live", direction: "code", window: "hour", count: 9 }, auditEntry())
      yield* eventually(byHand(tenant, "2301"), ({ status }) => status === 201)
    })
  )

  it.effect("count where the provider did not answer, because they may have arrived, and not where it refused", () =>
    Effect.gen(function* () {
      const { simulator } = yield* Stack
      const { tenant } = yield* given({ count: 2 })
      const next = (ending: string) =>
        Effect.promise(() => simulator.control("POST", "/next", { provider: "eversend", operation: "otp", ending }))
      yield* next("0001")
      expect(said(yield* byHand(tenant, "2401"))).toMatchObject({ status: 503, code: "provider_error" })
      yield* next("0007")
      expect(said(yield* byHand(tenant, "2402"))).toMatchObject({ status: 503, code: "provider_error" })
      expect((yield* byHand(tenant, "2403")).status).toBe(201)
      expect(said(yield* byHand(tenant, "2404"))).toStrictEqual(limited("code"))
    })
  )
})

layer(Stack.layer(), { excludeTestServices: true })("a code", (it) => {
  const chargesIn = Effect.gen(function* () {
    const { simulator } = yield* Stack
    return (yield* callsOf(simulator)).filter((call) => call === "POST /v1/collections/momo").length
  })

  it.effect("of another tenant, of the other mode or of another number is a wrong code, and the provider is not called", () =>
    Effect.gen(function* () {
      const { gateway, tenant } = yield* given()
      const test = yield* keyOn(gateway, tenant.appId, "test")
      const stranger = yield* tenantOn(gateway, 0n)
      const foreign = [
        yield* byHand(stranger, "2501"),
        yield* byHand(test, "2501"),
        yield* byHand(tenant, "2502"),
        // Nobody's.
        undefined
      ]
      const { pinId, reference } = yield* waiting(tenant, "2501")
      const before = yield* chargesIn
      const answers: Array<Answer> = []
      for (const code of foreign) {
        const pin_id = code === undefined ? "VE0" : pinIdOf(code)
        answers.push(yield* authorize(tenant, reference, wrapped(pin_id, RIGHT, "2501")))
        const created = yield* tenant.post(COLLECTIONS, momoCharge("2501", { otp: { pin_id, pin: RIGHT } }))
        expect(said(created)).toStrictEqual({
          status: 422,
          code: "otp_incorrect",
          class: "retriable",
          details: { reference: referenceOf(created), attempts_remaining: 4 }
        })
        const again = yield* authorize(tenant, referenceOf(created), wrapped(pin_id, RIGHT, "2501"))
        expect(said(again)).toMatchObject({ code: "otp_incorrect", details: { attempts_remaining: 4 } })
      }
      expect(answers.map(said)).toMatchObject(
        [4, 3, 2, 1].map((attempts_remaining) => ({ code: "otp_incorrect", details: { reference, attempts_remaining } }))
      )
      expect(yield* chargesIn).toBe(before)
      // The tenant's own is still good.
      expect(said(yield* authorize(tenant, reference, wrapped(pinId, RIGHT, "2501")))).toStrictEqual({ status: 200 })
      expect(yield* chargesIn).toBe(before + 1)
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
    })
  )
})
