import { it as alone, expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { bankPayout, momoCharge, momoPayout, walletPayout } from "../../support/RequestBodies.ts"
import { client, referenceOf, said } from "../../support/SignedClient.ts"
import {
  asOwner,
  creditOn,
  executionsOf,
  gatewayOn,
  givenStack,
  Stack,
  tenantOn,
  verified,
  webhooksOf
} from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

type Tenant = Effect.Success<ReturnType<typeof tenantOn>>

const PAYOUTS = "/v1/payouts"
const FLOAT = 1_000_000n

const at = (ending: string) => ({ type: "momo", msisdn: `25677334${ending}`, network: "MTN", country: "UG" })
/** To the payer of `momoCharge(ending)`. */
const refund = (ending: string, refund_of: string, amount_minor: number, change: object = {}) =>
  momoPayout(ending, { destination: at(ending), amount_minor, refund_of, ...change })

/** UGX 20,000 that came in. */
const collected = Effect.fnUntraced(function* (tenant: Tenant, ending: string) {
  const reference = referenceOf(yield* tenant.post("/v1/collections", momoCharge(ending)))
  yield* tenant.until(`/v1/collections/${reference}`, ({ status }) => status === "successful")
  return reference
})

const refundedOf = (tenant: Tenant, reference: string) =>
  Effect.map(tenant.get(`/v1/collections/${reference}`), ({ body }) => (body.data as Record<string, unknown>)["refunded_minor"])

/** A refusal at `refund_of`, by its message. */
const issueOf = (answer: Parameters<typeof said>[0]) => {
  expect(said(answer)).toMatchObject({ status: 422, code: "validation_failed", class: "terminal" })
  const { issues } = JSON.parse(answer.text).error.details
  expect(issues).toHaveLength(1)
  expect(issues[0].path).toBe("refund_of")
  return issues[0].message
}

const delivered = (amount: bigint, fee = 0n): Fact => ({
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(amount),
  currency: "UGX",
  fee: minor(fee),
  note: "status successful"
})
const refused: Fact = {
  _tag: "Refused",
  providerReference: null,
  kind: "other",
  failure: { code: "provider_rejected", message: "no" },
  note: "status failed"
}
const cameBack = (amount: bigint, fee = 0n): Fact => ({
  _tag: "Returned",
  amount: minor(amount),
  currency: "UGX",
  fee: minor(fee),
  charged: null,
  at: 0,
  note: "status refunded"
})

const given = Effect.gen(function* () {
  const { database, gateway } = yield* Stack
  const tell = (reference: string, fact: Fact) =>
    Context.get(gateway.context, Settlement).apply({ reference: Reference.make(reference), fact, actor: "callback" })
  const rule = (reference: string, outcome: string) =>
    command(
      { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) },
      "review",
      "resolve",
      reference,
      "--outcome",
      outcome,
      "--evidence",
      "their statement",
      "--json"
    )
  const tenant = yield* tenantOn(gateway, FLOAT)
  /** UGX 20,000 that came in from a number whose transactions stay pending until this test says what became of them. */
  const paidIn = Effect.gen(function* () {
    const reference = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010")))
    yield* tell(reference, delivered(20_000n))
    return reference
  })
  const begun = (collection: string, amount: number) =>
    Effect.map(tenant.post(PAYOUTS, refund("0010", collection, amount)), referenceOf)
  return { gateway, tenant, tell, rule, paidIn, begun, sql: Context.get(gateway.context, SqlClient.SqlClient) }
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("a payout that refunds a collection", (it) => {
  it.effect("goes to its payer in parts, up to what it brought; both show it, events too, and the statement has its type", () =>
    Effect.gen(function* () {
      const { gateway, tenant } = yield* given
      const { simulator } = yield* Stack
      const hook = yield* webhooksOf(gateway, tenant)
      const collection = yield* collected(tenant, "5001")
      expect(yield* refundedOf(tenant, collection)).toBe(0)

      const first = yield* tenant.post(PAYOUTS, refund("5001", collection, 15_000))
      expect(first.body.data).toMatchObject({ status: "pending", amount_minor: 15_000, refund_of: collection })
      expect(yield* refundedOf(tenant, collection)).toBe(15_000)
      yield* tenant.until(`${PAYOUTS}/${referenceOf(first)}`, ({ status }) => status === "successful")
      expect(yield* refundedOf(tenant, collection)).toBe(15_000)

      expect(issueOf(yield* tenant.post(PAYOUTS, refund("5001", collection, 5_001)))).toBe(
        "must bring back no more than is left of it: 5000 minor UGX"
      )
      const rest = referenceOf(yield* tenant.post(PAYOUTS, refund("5001", collection, 5_000)))
      yield* tenant.until(`${PAYOUTS}/${rest}`, ({ status }) => status === "successful")
      const { body } = yield* tenant.get("/v1/transactions?kind=collection")
      expect(body.data).toMatchObject({ items: [{ reference: collection, refunded_minor: 20_000, reversed: null }] })
      expect(yield* executionsOf(simulator, rest)).toMatchObject([{ direction: "payout" }])

      const { text } = yield* tenant.get(`/v1/float/entries?currency=UGX&reference=${rest}`)
      expect(JSON.parse(text).data.items.map(({ type }: { type: string }) => type)).toEqual(["reserve", "refund"])
      const refunds = JSON.parse((yield* tenant.get("/v1/float/entries?currency=UGX&type=refund")).text).data.items
      expect(refunds.map(({ reference }: { reference: string }) => reference)).toEqual([referenceOf(first), rest])
      const told = (yield* hook.count(3)).map(({ body: bytes }) => JSON.parse(bytes))
      expect(told.find(({ data }) => data.reference === collection).data).toMatchObject({ refunded_minor: 0 })
      expect(told.find(({ data }) => data.reference === rest).data).toMatchObject({ refund_of: collection })
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
    })
  )

  it.effect("is refused at refund_of for everything that is not a refund to the payer, and nothing is reserved", () =>
    Effect.gen(function* () {
      const { gateway, sql, tenant } = yield* given
      const collection = yield* collected(tenant, "5002")
      const other = yield* tenantOn(gateway, FLOAT)
      const foreign = yield* collected(other, "5002")
      const payout = referenceOf(yield* tenant.post(PAYOUTS, momoPayout("5002")))
      yield* tenant.until(`${PAYOUTS}/${payout}`, ({ status }) => status === "successful")
      const open = referenceOf(yield* tenant.post("/v1/collections", momoCharge("0010")))
      yield* creditOn(gateway, { appId: tenant.appId, mode: "live" }, 100_000n, "KES")
      const before = yield* tenant.float

      const absent = "0".repeat(26)
      for (const name of [absent, foreign, payout, "not a reference"])
        expect(issueOf(yield* tenant.post(PAYOUTS, refund("5002", name, 5_000)))).toBe(
          "must be the reference of a collection of yours, in this key's mode"
        )
      expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", open, 5_000)))).toBe("must be of a collection that is successful")
      const wrong = "must be of a collection whose payer is the destination"
      expect(issueOf(yield* tenant.post(PAYOUTS, refund("5003", collection, 5_000)))).toBe(wrong)
      for (const body of [bankPayout, walletPayout])
        expect(issueOf(yield* tenant.post(PAYOUTS, body("5002", { refund_of: collection, amount_minor: 10_000 })))).toBe(wrong)
      const abroad = refund("5002", collection, 5_000, { destination_currency: "KES", amount_type: "SOURCE" })
      expect(said(yield* tenant.post(PAYOUTS, abroad))).toMatchObject({ status: 422 })
      const [kept] = yield* sql<{ party_hash: Uint8Array }>`SELECT party_hash FROM transactions WHERE reference = ${collection}`
      const hashIs = (hash: Uint8Array | null) =>
        sql`UPDATE transactions SET party_hash = ${hash} WHERE reference = ${collection}`
      yield* hashIs(null)
      expect(issueOf(yield* tenant.post(PAYOUTS, refund("5002", collection, 5_000)))).toBe(
        "is of a collection whose payer's number is not known, or not any more"
      )
      yield* hashIs(kept?.party_hash ?? null)
      expect(yield* tenant.float).toEqual(before)
    })
  )

  it.effect(
    "counts while its outcome is unknown, frees its amount where it fails or comes back, and is refused beside an open case",
    () =>
      Effect.gen(function* () {
        const { begun, paidIn, rule, tell, tenant } = yield* given
        const collection = yield* paidIn
        const unknown = yield* begun(collection, 20_000)
        expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", collection, 1_000)))).toContain("0 minor UGX")
        yield* tell(unknown, refused)
        expect(yield* refundedOf(tenant, collection)).toBe(0)

        const second = yield* begun(collection, 20_000)
        yield* tell(second, delivered(20_000n))
        yield* tell(second, cameBack(20_000n))
        expect(yield* refundedOf(tenant, collection)).toBe(0)
        const third = yield* begun(collection, 12_000)
        expect(yield* refundedOf(tenant, collection)).toBe(12_000)
        yield* tell(third, delivered(12_000n))

        yield* tell(collection, cameBack(20_000n))
        expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", collection, 1_000)))).toContain("a person looks at")
        const ruled = yield* rule(collection, "failed")
        expect(ruled.code).toBe(0)
        // Taken back after it was refunded: what is right is booked, and an operator is told.
        expect(JSON.parse(ruled.output)).toMatchObject({ refunded_minor: 12_000, reversed: { amount_minor: 20_000 } })
        expect(ruled.errors).toContain("a collection was refunded by more than it brought")
        expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", collection, 1_000)))).toContain("0 minor UGX")
      })
  )

  it.effect("counts by what was sent and did not come back, and not by the fee that came back with it", () =>
    Effect.gen(function* () {
      const { begun, paidIn, tell, tenant } = yield* given
      const collection = yield* paidIn
      const first = yield* begun(collection, 20_000)
      yield* tell(first, delivered(20_000n, 1_000n))
      yield* tell(first, cameBack(8_000n, 1_000n))
      const { body } = yield* tenant.get(`${PAYOUTS}/${first}`)
      expect(body.data).toMatchObject({ fees_minor: 1_000, returned: { amount_minor: 9_000 } })
      expect(yield* refundedOf(tenant, collection)).toBe(12_000)
      expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", collection, 8_001)))).toContain("8000 minor UGX")
      yield* begun(collection, 8_000)
      expect(yield* refundedOf(tenant, collection)).toBe(20_000)
    })
  )

  it.effect("is refused where 100 payouts refund the collection, and by no number of rulings", () =>
    Effect.gen(function* () {
      const { begun, paidIn, sql, tell, tenant } = yield* given
      const collection = yield* paidIn
      const failed = yield* begun(collection, 1_000)
      yield* tell(failed, refused)
      // As so many rulings on it leave it.
      yield* sql`UPDATE counters SET used = used + 200 WHERE name = 'refund' AND subject = ${collection}`
      yield* tell(yield* begun(collection, 1_000), refused)
      yield* sql`INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
        SELECT app_id, mode, member, created_at + n * interval '1 microsecond', reference FROM metadata_members, generate_series(1, 98) AS n
        WHERE reference = ${failed}`
      expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", collection, 1_000)))).toBe(
        "must have at most 100 payouts that refund it"
      )
    })
  )

  it.effect("is named by ledger verify where its collection no longer finds it, and could be refunded again", () =>
    Effect.gen(function* () {
      const { begun, gateway, paidIn, tenant } = yield* given
      const sql = yield* asOwner((yield* Stack).database)
      const collection = yield* paidIn
      const first = yield* begun(collection, 20_000)
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      yield* sql`DELETE FROM metadata_members WHERE reference = ${first}`
      const second = yield* begun(collection, 20_000)
      expect(yield* refundedOf(tenant, collection)).toBe(20_000)
      const found = `it refunds ${collection}, of which as much could be refunded again`
      const subject = `${tenant.appId}/${first}`
      expect((yield* verified(gateway)).differences).toStrictEqual([{ rule: "refunds_are_found", subject, found }])
      // As the runbook says.
      yield* sql`INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
        SELECT t.app_id, t.mode, m, t.created_at, t.reference FROM transactions t, metadata_members_of(t.record) AS m
        WHERE t.reference IN (${first}, ${second}) ON CONFLICT DO NOTHING`
      expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      expect(yield* refundedOf(tenant, collection)).toBe(40_000)
    })
  )

  it.effect(
    "counts again where its provider says later that it was paid, and a person rules so; an operator is told where it is too much",
    () =>
      Effect.gen(function* () {
        const { begun, gateway, paidIn, rule, tell, tenant } = yield* given
        const collection = yield* paidIn
        const late = yield* begun(collection, 20_000)
        yield* tell(late, refused)
        const again = yield* begun(collection, 15_000)
        yield* tell(again, delivered(15_000n))
        expect(yield* refundedOf(tenant, collection)).toBe(15_000)
        yield* tell(late, delivered(20_000n))
        // Its provider may have paid it: what is left of the collection is not paid out beside it.
        expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", collection, 5_000)))).toContain("0 minor UGX")
        const ruled = yield* rule(late, "successful")
        expect([ruled.code, ruled.errors]).toMatchObject([
          0,
          expect.stringContaining("a collection was refunded by more than it brought")
        ])
        expect(yield* refundedOf(tenant, collection)).toBe(35_000)
        expect(issueOf(yield* tenant.post(PAYOUTS, refund("0010", collection, 1_000)))).toContain("0 minor UGX")
        expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      })
  )
})

alone.live("of refunds at once on two nodes exactly as many are opened as the collection brought", () =>
  Effect.gen(function* () {
    const overrides = { RECONCILER_SCHEDULE: "1h", PROVIDER_TIMEOUT_MS: "8000" }
    const { database, gateway: one, simulator } = yield* givenStack(overrides)
    const two = yield* gatewayOn(database, simulator, overrides)
    const tenant = yield* tenantOn(one, FLOAT)
    const onTwo = client(two, tenant.key)
    const collection = yield* collected(tenant, "5004")
    const answers = yield* Effect.forEach(
      Array.from({ length: 16 }, (_, index) => index),
      (index) => (index % 2 === 0 ? tenant : onTwo).post(PAYOUTS, refund("5004", collection, 2_000)),
      { concurrency: "unbounded" }
    )
    const opened = answers.filter(({ status }) => status === 201)
    // On a busy machine one may get no price in time, and takes no part.
    const priced = answers.filter(({ status }) => status !== 503)
    expect(opened).toHaveLength(Math.min(10, priced.length))
    expect(yield* refundedOf(tenant, collection)).toBe(2_000 * opened.length)
    for (const answer of priced.filter(({ status }) => status !== 201)) expect(issueOf(answer)).toContain("0 minor UGX")
    for (const answer of opened) yield* tenant.until(`${PAYOUTS}/${referenceOf(answer)}`, ({ status }) => status === "successful")
    expect(yield* verified(one)).toMatchObject({ ok: true, differences: [] })
  })
)
