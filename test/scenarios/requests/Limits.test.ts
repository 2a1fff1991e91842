import { layer } from "@effect/vitest"
import { Context, Effect, Result } from "effect"
import { expect } from "vitest"
import { type DenylistKind, newDenial } from "../../../src/domain/Denylist.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { VelocityLimit } from "../../../src/domain/VelocityLimits.ts"
import { Denylist } from "../../../src/services/ports/Denylist.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { bankPayout, momoCharge, momoPayout, walletPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { callsOf, Stack, tenantOn, verified } from "../../support/Stack.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const limited = Effect.fnUntraced(function* (limit: Partial<VelocityLimit>, float = 1_000_000n) {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway, float)
  const limits = Context.get(gateway.context, VelocityLimits)
  yield* limits.set(tenant.appId, { mode: "live", direction: "payout", window: "hour", count: 1, ...limit }, auditEntry())
  return tenant
})

// 64 at once may wait for a slow machine: that is no provider that says nothing.
layer(Stack.layer({ PROVIDER_TIMEOUT_MS: "5000" }), { excludeTestServices: true })("limits, over real HTTP", (it) => {
  it.effect("lets exactly as many payouts through as the hourly limit, of 64 at once", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* limited({ count: 20 })
      const answers = yield* Effect.forEach(
        Array.from({ length: 64 }, (_, index) => `${1000 + index}`),
        (ending) => tenant.post("/v1/payouts", momoPayout(ending)),
        { concurrency: "unbounded" }
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
      const refusals = answers.filter(({ status }) => status !== 201).map(said)
      expect(refusals).toHaveLength(44)
      for (const refusal of refusals) {
        expect(refusal).toMatchObject({
          status: 422,
          code: "velocity_limit_exceeded",
          class: "retriable",
          details: { window: "hour" }
        })
      }
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
    })
  )

  it.effect("counts each recipient separately, and releases the key of a refused payout", () =>
    Effect.gen(function* () {
      const tenant = yield* limited({ window: "destination", count: 1 })
      expect((yield* tenant.post("/v1/payouts", momoPayout("2001"))).status).toBe(201)
      const refused = yield* tenant.post("/v1/payouts", momoPayout("2001"), "again")
      expect(said(refused)).toMatchObject({ code: "velocity_limit_exceeded", details: { window: "destination" } })
      expect((yield* tenant.post("/v1/payouts", momoPayout("2002"), "again")).status).toBe(201)
    })
  )

  it.effect("counts a recipient as one in every spelling, and a number as one by momo and by wallet", () =>
    Effect.gen(function* () {
      const tenant = yield* limited({ window: "destination", count: 1 })
      const bank = bankPayout("2010")
      const to = (change: object) => ({ ...bank, destination: { ...bank.destination, ...change } })
      const wallet = (handle: object) => walletPayout("", { destination: { type: "wallet", country: "UG", ...handle } })
      const recipients = [
        [
          bank,
          to({ account_number: "9030-0012 2010" }),
          to({ account_number: "\u200B903000122010\u00A0" }),
          to({ bank_code: "01 " })
        ],
        [momoPayout("2011"), wallet({ msisdn: "+256 772 122 011" })],
        [wallet({ email: "bob2012@x.org" }), wallet({ email: "BOB2012@X.ORG" })],
        [wallet({ tag: "jane2013" }), wallet({ tag: "Jane2013 " }), wallet({ tag: "@jane2013" })]
      ]
      for (const [first, ...again] of recipients) {
        expect((yield* tenant.post("/v1/payouts", first)).status).toBe(201)
        for (const body of again)
          expect([body, said(yield* tenant.post("/v1/payouts", body))]).toMatchObject([body, { code: "velocity_limit_exceeded" }])
      }
    })
  )

  it.effect("takes a failed payout out of the count", () =>
    Effect.gen(function* () {
      const tenant = yield* limited({ count: 1 })
      expect(said(yield* tenant.post("/v1/payouts", momoPayout("0001")))).toMatchObject({ code: "payout_rejected_by_provider" })
      expect((yield* tenant.post("/v1/payouts", momoPayout("2003"))).status).toBe(201)
      expect(said(yield* tenant.post("/v1/payouts", momoPayout("2004")))).toMatchObject({ code: "velocity_limit_exceeded" })
    })
  )

  it.effect("counts the charges of each payer", () =>
    Effect.gen(function* () {
      const tenant = yield* limited({ direction: "collection", window: "destination", count: 0 })
      expect(said(yield* tenant.post("/v1/collections", momoCharge("2005")))).toMatchObject({
        status: 422,
        code: "velocity_limit_exceeded",
        details: { window: "destination" }
      })
    })
  )

  it.effect("lets exactly as many charges of one tenant through as the hourly limit, of 32 at once, each of another payer", () =>
    Effect.gen(function* () {
      const tenant = yield* limited({ direction: "collection", count: 5 })
      const answers = yield* Effect.forEach(
        Array.from({ length: 32 }, (_, index) => `${3000 + index}`),
        (ending) => tenant.post("/v1/collections", momoCharge(ending)),
        { concurrency: "unbounded" }
      )
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
      for (const refusal of answers.filter(({ status }) => status !== 201).map(said))
        expect(refusal).toMatchObject({ status: 422, code: "velocity_limit_exceeded", details: { window: "hour" } })
    })
  )

  it.effect("never pays out more than the provider account's ceiling for the day", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const limits = Context.get(gateway.context, VelocityLimits)
      const tenant = yield* tenantOn(gateway, 1_000_000n, { currency: "KES" })
      const pay = (ending: string) => tenant.post("/v1/payouts", kenya(ending))
      yield* limits.setCeiling("eversend", "KES", minor(2n * 13_000n), auditEntry())
      const answers = yield* Effect.forEach(["2101", "2102", "2103", "2104"], pay, { concurrency: "unbounded" })
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
      for (const refusal of answers.filter(({ status }) => status !== 201).map(said)) {
        expect(refusal).toMatchObject({ status: 422, code: "global_ceiling_reached", class: "retriable" })
      }
    })
  )
})

const kenya = (ending: string) => ({
  amount_minor: 10_000,
  currency: "KES",
  country: "KE",
  method: "momo",
  destination: { type: "momo", msisdn: `+25471234${ending}`, network: "MPESA", country: "KE" }
})

const denied = Effect.fnUntraced(function* (kind: DenylistKind, value: string, isAccount = false) {
  const { gateway } = yield* Stack
  const denial = Result.getOrThrow(newDenial(kind, value, { country: null, isAccount }))
  return yield* Context.get(gateway.context, Denylist).add(kind, denial, "a test", auditEntry())
})

layer(Stack.layer(), { excludeTestServices: true })("denied destinations and names, over real HTTP", (it) => {
  it.effect("a blocked destination is refused however it is written, before any provider is called", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const payout = momoPayout("2201")
      yield* denied("destination", ` +${payout.destination.msisdn.replace(/(\d{3})/g, "$1 ")}`)
      expect(said(yield* tenant.post("/v1/payouts", payout))).toMatchObject({
        status: 403,
        code: "destination_blocked",
        class: "terminal"
      })
      expect(yield* callsOf(simulator)).toHaveLength(0)
      const wallet = walletPayout("", { destination: { type: "wallet", country: "UG", msisdn: payout.destination.msisdn } })
      yield* denied("destination", "AC-2204\u200B")
      const account = (number: string) => ({
        ...bankPayout("2204"),
        destination: { ...bankPayout("2204").destination, account_number: number }
      })
      const person = momoPayout("2206")
      yield* denied("destination", person.destination.msisdn.replace(/^\+?256/, "002560"))
      for (const body of [wallet, person, account("ac2204"), account("A\u200BC 2204")])
        expect([body, said(yield* tenant.post("/v1/payouts", body))]).toMatchObject([body, { code: "destination_blocked" }])
    })
  )

  it.effect(
    "a phone and an account with the same digits are blocked each for itself, and a row that names neither blocks both",
    () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const digits = (ending: string) => momoPayout(ending).destination.msisdn.replace(/^\+/, "")
        const account = (ending: string) => {
          const { destination, ...payout } = bankPayout(ending)
          return { ...payout, destination: { ...destination, account_number: digits(ending) } }
        }
        const codeOf = (body: object) => Effect.map(tenant.post("/v1/payouts", body), ({ body }) => body.error?.code)
        const codes = (ending: string) => Effect.all([codeOf(momoPayout(ending)), codeOf(account(ending))])
        const blocked = "destination_blocked"
        expect(yield* denied("destination", digits("2211"))).toBe(true)
        expect(yield* codes("2211")).toStrictEqual([blocked, undefined])
        expect(yield* denied("destination", digits("2212"), true)).toBe(true)
        expect(yield* codes("2212")).toStrictEqual([undefined, blocked])
        // The second of the two has a row of its own, and neither is added twice.
        expect(yield* denied("destination", digits("2212"))).toBe(true)
        expect([yield* denied("destination", digits("2212")), yield* denied("destination", digits("2212"), true)]).toStrictEqual([
          false,
          false
        ])
        expect(yield* codes("2212")).toStrictEqual([blocked, blocked])
        // As the release before wrote it.
        const { masked, spelling } = Result.getOrThrow(
          newDenial("destination", digits("2213"), { country: null, isAccount: false })
        )
        yield* Context.get(gateway.context, Denylist).add(
          "destination",
          { masked, spelling, party: null },
          "a test",
          auditEntry()
        )
        expect(yield* codes("2213")).toStrictEqual([blocked, blocked])
      })
  )

  it.effect("a screened name is refused in any order, case and accent, and a screened number on either side", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      yield* denied("screened_name", "DÓE, jane mary")
      const payout = bankPayout("2202")
      const named = { ...payout, destination: { ...payout.destination, account_name: "Jane  Mary Doe" } }
      expect(said(yield* tenant.post("/v1/payouts", named))).toMatchObject({ status: 403, code: "screening_denied" })
      const charge = momoCharge("2203")
      const payer = (details: object) => ({ ...momoCharge("2207"), payer: details })
      yield* denied("screened_number", "+256 772 800 077")
      yield* denied("screened_number", "Fraud@Example.org")
      for (const details of [{ phone: "0772800077" }, { phone: "+2560772-800077" }, { email: "fraud@example.org" }])
        expect([details, said(yield* tenant.post("/v1/collections", payer(details)))]).toMatchObject([
          details,
          { code: "screening_denied" }
        ])
      yield* denied("screened_number", charge.source.msisdn)
      expect(said(yield* tenant.post("/v1/collections", charge))).toMatchObject({ status: 403, code: "screening_denied" })
    })
  )
})
