import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { EventType } from "../../../src/domain/Event.ts"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { ledgerVerifies, Stack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"
import { auditEntry, masterKey } from "../../support/TestDatabase.ts"

const given = Effect.gen(function* () {
  const { database, gateway } = yield* Stack
  const variables = { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }
  return { gateway, run: (...args: ReadonlyArray<string>) => command(variables, ...args) }
})

/** What the provider says of a transaction. */
const hear = Effect.fnUntraced(function* (reference: string, fact: Fact) {
  const { gateway } = yield* Stack
  yield* Context.get(gateway.context, Settlement).apply({ reference: Reference.make(reference), fact, actor: "callback" })
})
const tell = (reference: string, amount: bigint, fee: bigint | null) =>
  hear(reference, {
    _tag: "Succeeded",
    providerReference: null,
    amount: minor(amount),
    currency: "UGX",
    fee: fee === null ? null : minor(fee),
    note: "status successful"
  })
const tellReversed = (reference: string, amount: bigint) =>
  hear(reference, {
    _tag: "Returned",
    amount: minor(amount),
    currency: "UGX",
    fee: minor(0n),
    charged: null,
    at: 0,
    note: "status reversed"
  })

const resolve = Effect.fnUntraced(function* (reference: string, outcome: string, ...more: ReadonlyArray<string>) {
  const { run } = yield* given
  const flags = ["--outcome", outcome, "--evidence", "their statement", "--json", ...more]
  const { code, errors, output } = yield* run("review", "resolve", reference, ...flags)
  return code === 0 ? JSON.parse(output) : { code, errors }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("what a person's ruling books", (it) => {
  it.effect("a failed payout that was delivered after all counts again in its limits and in the caps of amounts", () =>
    Effect.gen(function* () {
      const { gateway } = yield* given
      const tenant = yield* tenantOn(gateway, 100_000n)
      const limits = Context.get(gateway.context, VelocityLimits)
      const cap = { mode: "live", direction: "payout", window: "day", currency: "UGX", amount: minor(15_000n) } as const
      yield* limits.setCap(tenant.appId, cap, auditEntry())
      yield* eventually(limits.caps(tenant.appId), (known) => known.length === 1)
      const failed = yield* tenant.post("/v1/payouts", momoPayout("0001"))
      expect(said(failed)).toMatchObject({ code: "payout_rejected_by_provider" })
      expect((yield* tenant.post("/v1/payouts", { ...momoPayout("1061"), amount_minor: 5_000 })).status).toBe(201)
      yield* tell(referenceOf(failed), 10_000n, 1_000n)
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
      expect(yield* resolve(referenceOf(failed), "successful")).toMatchObject({ status: "successful" })
      expect(said(yield* tenant.post("/v1/payouts", { ...momoPayout("1062"), amount_minor: 500 }))).toMatchObject({
        code: "velocity_limit_exceeded",
        details: { scope: "amount", applies_to: "tenant", maximum_minor: 15_000, used_minor: 15_000 }
      })
    })
  )

  it.effect(
    "a collection of which another amount came in is credited net of the fee that the provider named, and told in order",
    () =>
      Effect.gen(function* () {
        const { gateway, run } = yield* given
        const [tenant, other] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
        const hook = yield* webhooksOf(gateway, tenant, EventType.literals)
        const [known, unknown] = [
          referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010"))),
          referenceOf(yield* other.post("/v1/collections", momoCharge("0010")))
        ]
        yield* tell(known, 19_000n, 285n)
        yield* tell(unknown, 19_000n, null)
        const { output } = yield* run("review", "list")
        expect(output).toContain(
          `review resolve ${known} --outcome successful --evidence "..." [--amount-minor N --fee-minor N] [--seen 3]`
        )
        expect(output).toContain("; without another amount the fee is 285")
        expect(output).toContain(
          `review resolve ${unknown} --outcome successful --evidence "..." [--amount-minor N] --fee-minor N [--seen 3]`
        )
        expect(yield* resolve(unknown, "successful")).toEqual({
          code: 1,
          errors: "the provider named no fee for 19000 minor UGX: say with --fee-minor what it took, 0 where it took nothing"
        })
        expect(yield* resolve(known, "successful")).toMatchObject({ observed_amount_minor: 19_000, fees_minor: 285 })
        expect(yield* tenant.float).toMatchObject({ available_minor: 18_715, collected_minor: 19_000, provider_fees_minor: 285 })
        const told = (yield* hook.count(4))
          .map(({ body }) => JSON.parse(body))
          .filter(({ data }) => data.reference === known)
          .sort((one, other) => one.data.version - other.data.version)
        expect(told.map(({ data, type }) => [data.version, type])).toEqual([
          [1, "collection.pending"],
          [2, "collection.updated"],
          [3, "collection.updated"],
          [4, "collection.successful"]
        ])
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        // What a node of the release before reads has words that it knows.
        expect(yield* sql`SELECT type FROM events WHERE reference = ${known} ORDER BY created_at, type`).toStrictEqual([
          { type: "collection.pending" },
          { type: "webhook.test" },
          { type: "webhook.test" },
          { type: "collection.successful" }
        ])
        const listed = (yield* tenant.get("/v1/webhooks/deliveries")).body.data["items"] ?? []
        expect(listed).toHaveLength(4)
        expect(JSON.stringify(listed)).not.toContain("webhook.test")
      })
  )

  it.effect(
    "a charge that was closed, and succeeded at a fee that nobody knows, is credited when a person or the contract says the fee",
    () =>
      Effect.gen(function* () {
        const { gateway, run } = yield* given
        const [tenant, other] = [yield* tenantOn(gateway, 0n), yield* tenantOn(gateway, 0n)]
        const charge = Effect.fnUntraced(function* (of: typeof tenant) {
          const reference = referenceOf(yield* of.post("/v1/collections", momoCharge("0010")))
          const failure = { code: "provider_rejected", message: "no" } as const
          yield* hear(reference, { _tag: "Refused", providerReference: null, kind: "other", failure, note: "" })
          yield* tell(reference, 20_000n, null)
          yield* tell(reference, 20_000n, null)
          return reference
        })
        const [ruled, mended] = [yield* charge(tenant), yield* charge(other)]
        expect((yield* tenant.get(`/v1/collections/${ruled}`)).body.data).toMatchObject({ status: "failed", needs_review: true })
        expect(yield* tenant.float).toStrictEqual({})
        const { output } = yield* run("review", "list")
        expect(output).toContain("it is closed as failed, and later the provider said that it succeeded")
        expect(output).toContain(`review resolve ${ruled} --outcome successful --evidence "..." [--amount-minor N] --fee-minor N`)
        expect(yield* resolve(ruled, "successful")).toMatchObject({
          errors: expect.stringMatching(/^the provider named no fee for 20000 minor UGX/)
        })
        const credited = { status: "successful", needs_review: false, fees_minor: 300, late_success: true }
        expect(yield* resolve(ruled, "successful", "--fee-minor", "300")).toMatchObject(credited)
        yield* tell(mended, 20_000n, 300n)
        expect((yield* other.get(`/v1/collections/${mended}`)).body.data).toMatchObject(credited)
        for (const one of [tenant, other])
          expect(yield* one.float).toMatchObject({ available_minor: 19_700, collected_minor: 20_000, provider_fees_minor: 300 })
      })
  )

  it.effect("no ruling makes a float that cannot be read, and one of a large amount takes two people, by command too", () =>
    Effect.gen(function* () {
      const { gateway } = yield* given
      const tenant = yield* tenantOn(gateway, 0n)
      const reference = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010")))
      yield* tell(reference, 19_000n, 285n)
      const most = "9007199254740991"
      const rule = (...more: ReadonlyArray<string>) => resolve(reference, "successful", "--fee-minor", "0", ...more)
      expect(yield* rule("--amount-minor", most)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(/a ruling books at most 40000/)
      })
      // What the provider says itself is no digit too many of a person's.
      yield* tell(reference, 9_007_199_254_740_991n, 0n)
      expect(yield* rule()).toMatchObject({ code: 1, errors: expect.stringMatching(/takes two people.*--no-second-person/) })
      expect(yield* rule("--no-second-person")).toMatchObject({ status: "successful" })
      expect(yield* tenant.float).toMatchObject({ available_minor: 9_007_199_254_740_991 })

      const next = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1234")))
      const record = yield* tenant.until(`/v1/collections/${next}`, ({ needs_review }) => needs_review === true)
      expect(record).toMatchObject({ status: "pending" })
      // Issue 37, line 4: the provider's success alone passes the bound as little as a person's ruling.
      const { output } = yield* (yield* given).run("transaction", "show", next)
      expect(output).toContain("not booked: the float cannot hold that much")
      expect(yield* resolve(next, "successful", "--fee-minor", "0")).toEqual({
        code: 1,
        errors: "the float cannot hold that much: its largest amount is 9007199254740991"
      })
      expect(yield* tenant.float).toMatchObject({ available_minor: 9_007_199_254_740_991 })
    })
  )

  it.effect("the fee that the provider kept of what failed or was taken back is the tenant's, until it moved after all", () =>
    Effect.gen(function* () {
      const { gateway } = yield* given
      const tenant = yield* tenantOn(gateway, 100_000n)
      const payout = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010")))
      yield* tell(payout, 9_999n, null)
      expect(yield* resolve(payout, "failed", "--fee-minor", "1001")).toMatchObject({
        errors: expect.stringMatching(/^a fee of 1000 minor UGX was held/)
      })
      expect(yield* resolve(payout, "failed", "--fee-minor", "300")).toMatchObject({ status: "failed", fees_minor: 300 })
      expect(yield* tenant.float).toMatchObject({ available_minor: 99_700, reserved_minor: 0, provider_fees_minor: 300 })
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
      yield* tell(payout, 10_000n, null)
      expect(yield* resolve(payout, "successful", "--fee-minor", "800")).toMatchObject({ status: "successful", fees_minor: 800 })
      expect(yield* tenant.float).toMatchObject({ available_minor: 89_200, paid_out_minor: 10_000, provider_fees_minor: 800 })

      const charge = referenceOf(yield* tenant.post("/v1/collections", momoCharge("1236")))
      yield* tenant.until(`/v1/collections/${charge}`, ({ status }) => status === "successful")
      yield* tellReversed(charge, 20_000n)
      expect(yield* resolve(charge, "failed", "--fee-minor", "100")).toMatchObject({ reversed: { amount_minor: 19_800 } })
      expect(yield* tenant.float).toMatchObject({ available_minor: 89_100, collected_minor: 0, provider_fees_minor: 900 })
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
      yield* tell(charge, 20_000n, 300n)
      expect(yield* resolve(charge, "successful")).toMatchObject({ reversed: null, fees_minor: 300 })
      expect(yield* tenant.float).toMatchObject({ available_minor: 108_900, collected_minor: 20_000, provider_fees_minor: 1_100 })
    })
  )

  it.effect(
    "each further truth about a collection is ruled, booked and told: another amount, a reversal, and a dispute that was won",
    () =>
      Effect.gen(function* () {
        const { gateway } = yield* given
        const tenant = yield* tenantOn(gateway, 1_000n)
        const hook = yield* webhooksOf(gateway, tenant, EventType.literals)
        const charge = Effect.fnUntraced(function* (payer: string) {
          const reference = referenceOf(yield* tenant.post("/v1/collections", momoCharge(payer)))
          yield* tenant.until(`/v1/collections/${reference}`, ({ status }) => status === "successful")
          return reference
        })
        const told = Effect.fnUntraced(function* (reference: string, count: number) {
          const ofIt = (yield* hook.count(count))
            .map(({ body }) => JSON.parse(body))
            .filter(({ data }) => data.reference === reference)
          const inOrder = ofIt.sort((one, other) => one.data.version - other.data.version)
          expect(inOrder.map(({ data }) => data.version)).toEqual(inOrder.map((_, at) => at + 1))
          return inOrder.map(({ type }) => type).filter((type) => type !== "collection.updated")
        })

        // 19,000 of 20,000 came in, and were taken back later. The dispute is won.
        const one = yield* charge("1234")
        yield* tell(one, 19_000n, 285n)
        expect(yield* resolve(one, "successful", "--amount-minor", "19000", "--fee-minor", "285")).toMatchObject({
          fees_minor: 285
        })
        expect(yield* tenant.float).toMatchObject({ available_minor: 19_715, collected_minor: 19_000, provider_fees_minor: 285 })
        yield* tellReversed(one, 19_000n)
        expect(yield* resolve(one, "failed")).toMatchObject({ reversed: { amount_minor: 18_715 } })
        expect(yield* tenant.float).toMatchObject({ available_minor: 1_000, collected_minor: 0, provider_fees_minor: 0 })
        expect(yield* resolve(one, "failed")).toEqual({ code: 1, errors: `no review of ${one} is open` })
        yield* tell(one, 19_000n, 285n)
        expect(yield* resolve(one, "successful")).toMatchObject({
          reversed: null,
          observed_amount_minor: 19_000,
          fees_minor: 285
        })
        expect(yield* tenant.float).toMatchObject({ available_minor: 19_715, collected_minor: 19_000, provider_fees_minor: 285 })
        expect(yield* told(one, 9)).toEqual([
          "collection.pending",
          "collection.successful",
          "collection.corrected",
          "collection.reversed",
          "collection.corrected"
        ])

        // Reversed, paid after all, and reversed again.
        const two = yield* charge("1235")
        for (const outcome of ["failed", "successful", "failed"]) {
          yield* outcome === "failed" ? tellReversed(two, 20_000n) : tell(two, 20_000n, 300n)
          expect(yield* resolve(two, outcome)).toMatchObject({
            needs_review: false,
            observed_amount_minor: 20_000,
            fees_minor: 300
          })
          expect(yield* tenant.float).toMatchObject({ available_minor: outcome === "failed" ? 19_715 : 39_415 })
        }
        expect(yield* told(two, 18)).toEqual([
          "collection.pending",
          "collection.successful",
          "collection.reversed",
          "collection.corrected",
          "collection.reversed"
        ])
      })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})
