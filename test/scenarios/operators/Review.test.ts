import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { creditOn, ledgerVerifies, Stack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

const delivered = (amount: bigint): Fact => ({
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(amount),
  currency: "UGX",
  fee: null,
  note: "status successful"
})
const reversed: Fact = {
  _tag: "Returned",
  amount: minor(20_000n),
  currency: "UGX",
  fee: minor(0n),
  charged: null,
  at: 0,
  note: "status successful, refunded"
}

/** A stack, and the operator's command line on its database. */
const given = Effect.gen(function* () {
  const { database, gateway } = yield* Stack
  const run = (...args: ReadonlyArray<string>) =>
    command({ DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }, ...args)
  const resolve = (reference: string, outcome: string, ...more: ReadonlyArray<string>) =>
    Effect.map(
      run("review", "resolve", reference, "--outcome", outcome, "--evidence", "their statement", "--json", ...more),
      ({ code, errors, output }) => (code === 0 ? JSON.parse(output) : { code, errors })
    )
  const tell = (reference: string, fact: Fact) =>
    Context.get(gateway.context, Settlement).apply({ reference: Reference.make(reference), fact, actor: "callback" })
  return { gateway, run, resolve, tell }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("reviews", (it) => {
  it.effect("a payout of unknown outcome is listed, and resolved once, as delivered or not", () =>
    Effect.gen(function* () {
      const { gateway, resolve, run, tell } = yield* given
      const tenant = yield* tenantOn(gateway, 100_000n)
      const hook = yield* webhooksOf(gateway, tenant)
      const [one, two] = [
        referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010"))),
        referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
      ]
      for (const reference of [one, two]) yield* tell(reference, delivered(9_999n))

      const listed: ReadonlyArray<Record<string, unknown>> = JSON.parse((yield* run("review", "list", "--json")).output)
      expect(listed.find(({ reference }) => reference === one)).toMatchObject({
        app_id: tenant.appId,
        kind: "payout",
        status: "pending",
        principal_minor: 10_000,
        held_fee_minor: 1_000,
        party: "••••0010",
        provider_said: "status successful; amount 9999 UGX; fee unsaid",
        history: [{ fact: "Opened" }, { fact: "Accepted" }, { fact: "Succeeded" }]
      })
      expect((yield* run("review", "list")).output).toContain("UGX 10000 (10000 minor)")

      expect(yield* resolve(one, "failed", "--amount-minor", "1")).toMatchObject({ code: 1 })
      const shown = JSON.parse((yield* run("transaction", "show", one, "--json")).output)
      expect([shown.revision, listed.find(({ reference }) => reference === one)?.["revision"]]).toStrictEqual([3, 3])
      yield* tell(one, delivered(9_998n))
      expect(yield* resolve(one, "successful", "--seen", "3")).toEqual({
        code: 1,
        errors: `the provider said something of ${one} since: it is at revision 4 now; look at it again before you rule`
      })
      expect(yield* resolve(one, "successful", "--seen", "none")).toMatchObject({ code: 2 })
      expect(yield* resolve(one, "successful", "--amount-minor", "9999", "--fee-minor", "800", "--seen", "4")).toMatchObject({
        app_id: tenant.appId,
        status: "successful",
        needs_review: false,
        fees_minor: 800,
        total_amount_minor: 10_799
      })
      expect(yield* resolve(one, "failed")).toEqual({ code: 1, errors: `no review of ${one} is open` })
      const both = yield* Effect.all([resolve(two, "failed"), resolve(two, "successful")], { concurrency: 2 })
      expect(both.filter(({ code }) => code === 1).length).toBe(1)
      const payout = yield* tenant.get(`/v1/payouts/${two}`)
      const isPaid = payout.body.data["status"] === "successful"
      expect(yield* tenant.float).toMatchObject(
        isPaid
          ? { available_minor: 78_201, reserved_minor: 0, paid_out_minor: 19_999 }
          : { available_minor: 89_201, reserved_minor: 0, paid_out_minor: 9_999 }
      )
      expect([...(yield* hook.types(2))].sort()).toEqual([isPaid ? "payout.successful" : "payout.failed", "payout.successful"])
      const { output } = yield* run("transaction", "show", one, "--json")
      expect(JSON.parse(output).history.at(-1)).toMatchObject({ actor: "review", fact: "Resolved", status: "successful" })
      const [row] = JSON.parse((yield* run("audit", "list", "--limit", "1", "--json")).output)
      expect(row).toMatchObject({
        action: "review resolve",
        subject: two,
        details: { outcome: isPaid ? "successful" : "failed" }
      })
    })
  )

  it.effect("a late success is corrected against the float; what the float cannot cover blocks payouts until it is covered", () =>
    Effect.gen(function* () {
      const { gateway, resolve, run, tell } = yield* given
      const tenant = yield* tenantOn(gateway, 12_000n)
      const late = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0001")))
      expect(yield* tenant.until(`/v1/payouts/${late}`, ({ status }) => status === "failed")).toBeDefined()
      const spent = yield* tenant.post("/v1/payouts", momoPayout("0010", { amount_minor: 9_000 }))
      expect(spent.status).toBe(201)
      yield* tell(late, delivered(10_000n))
      expect(yield* resolve(late, "successful")).toMatchObject({ status: "successful", fees_minor: 1_000, failure: null })
      expect(yield* verified(gateway)).toMatchObject({ ok: true })

      // 2,000 were left of the 11,000 that went: 9,000 are owed.
      expect(yield* tenant.float).toMatchObject({ available_minor: 0, reserved_minor: 10_000, paid_out_minor: 10_000 })
      const owing = yield* run("float", "list", tenant.appId, "--mode", "live", "--json")
      expect(JSON.parse(owing.output)).toMatchObject([{ currency: "UGX", available_minor: 0, receivable_minor: 9_000 }])
      yield* creditOn(gateway, tenant, 9_500n)
      expect(yield* tenant.float).toMatchObject({ available_minor: 500 })
      const refused = said(yield* tenant.post("/v1/payouts", momoPayout("0010", { amount_minor: 500 })))
      expect(refused).toMatchObject({ code: "insufficient_tenant_float", details: { shortfall_minor: 1_000 } })
      yield* creditOn(gateway, tenant, 1_000n)
      expect((yield* tenant.post("/v1/payouts", momoPayout("0010", { amount_minor: 500 }))).status).toBe(201)
      yield* tell(late, { ...reversed, amount: minor(10_000n) })
      expect(yield* tenant.float).toMatchObject({ available_minor: 10_000 })
    })
  )

  it.effect("a reversed collection is debited once, and later collections cover the receivable", () =>
    Effect.gen(function* () {
      const { gateway, resolve, tell } = yield* given
      const tenant = yield* tenantOn(gateway, 0n)
      const hook = yield* webhooksOf(gateway, tenant)
      const reference = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234")))
      yield* tenant.until(`/v1/collections/${reference}`, ({ status }) => status === "successful")
      expect((yield* tenant.post("/v1/payouts", momoPayout("0010", { amount_minor: 18_000 }))).status).toBe(201)
      yield* tell(reference, reversed)
      expect(yield* resolve(reference, "failed")).toMatchObject({
        status: "successful",
        needs_review: false,
        observed_amount_minor: 20_000,
        fees_minor: 300,
        failure: null,
        reversed: { amount_minor: 19_700, at: expect.any(String), reason: expect.any(String) }
      })
      expect([...(yield* hook.types(2))].sort()).toEqual(["collection.reversed", "collection.successful"])
      expect(yield* tenant.float).toMatchObject({ available_minor: 0, reserved_minor: 19_000, collected_minor: 0 })
      expect(yield* verified(gateway)).toMatchObject({ ok: true })

      const next = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1235")))
      yield* tenant.until(`/v1/collections/${next}`, ({ status }) => status === "successful")
      // 19,000 were owed, 19,700 came in.
      expect(yield* tenant.float).toMatchObject({ available_minor: 700, collected_minor: 20_000 })
      // The provider says it once more: the person knew.
      yield* tell(reference, reversed)
      expect(yield* resolve(reference, "failed")).toEqual({ code: 1, errors: `no review of ${reference} is open` })
      expect(yield* tenant.float).toMatchObject({ available_minor: 700 })
    })
  )

  it.effect("an exchange that the provider took back is undone in both currencies", () =>
    Effect.gen(function* () {
      const { gateway, resolve, tell } = yield* given
      const tenant = yield* tenantOn(gateway, 100_000n)
      const hook = yield* webhooksOf(gateway, tenant)
      const terms = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: 50_000 }
      const { body } = yield* tenant.post("/v1/fx/quote", terms)
      const reference = referenceOf(yield* tenant.post("/v1/fx/exchange", { quote_id: body.data["quote_id"] }))
      yield* tenant.until(`/v1/fx/exchanges/${reference}`, ({ status }) => status === "successful")
      yield* tell(reference, reversed)
      expect(yield* resolve(reference, "successful", "--fee-minor", "1")).toMatchObject({ code: 1 })
      expect(yield* resolve(reference, "failed")).toMatchObject({ status: "failed", needs_review: false })
      const positions = JSON.parse((yield* tenant.get("/v1/float")).text).data
      expect(positions).toMatchObject([{ currency: "UGX", available_minor: 100_000 }])
      // It took place after all: what was told last is what holds.
      yield* tell(reference, delivered(50_000n))
      expect(yield* resolve(reference, "successful")).toMatchObject({ status: "successful", needs_review: false })
      expect(JSON.parse((yield* tenant.get("/v1/float")).text).data).toMatchObject([
        { currency: "KES", available_minor: body.data["destination_amount_minor"] },
        { currency: "UGX", available_minor: 50_000 }
      ])
      const told = (yield* hook.count(3)).map(({ body }) => JSON.parse(body)).map(({ data, type }) => [type, data.version])
      expect(told.sort((one, other) => one[1] - other[1])).toEqual([
        ["fx.successful", 2],
        ["fx.failed", 4],
        ["fx.successful", 6]
      ])
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})
