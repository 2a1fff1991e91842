import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn } from "../../support/Stack.ts"

const RESOLVE = "/v1/reference/resolve-bank-account"
const account = { country: "UG", bank_code: "01", account_number: "903000121234" }
const A_MINUTE = 30

layer(Stack.layer({ RATE_LIMIT_MONEY: "1/h:2" }), { excludeTestServices: true })("too many requests", (it) => {
  it.effect("for account names beyond the rate of a key are 429, while another key of the tenant still works", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      let [answered, refused] = [0, yield* tenant.post(RESOLVE, account)]
      // On a slow machine one more comes back meanwhile.
      for (; refused.status === 200; answered++) refused = yield* tenant.post(RESOLVE, account)
      expect(answered).toBeGreaterThanOrEqual(A_MINUTE)
      expect(said(refused)).toMatchObject({ status: 429, code: "rate_limited", class: "retriable", details: { scope: "key" } })
      expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(2)
      expect((yield* tenant.get("/v1/float")).status).toBe(200)
      expect((yield* (yield* keyOn(gateway, tenant.appId, "live")).post(RESOLVE, account)).status).toBe(200)
    })
  )

  it.effect("that move money beyond the configured rate are 429 and store nothing, while reads still work", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      const statuses = yield* Effect.forEach(["/v1/payouts", "/v1/collections", "/v1/fx/exchange"], (target) =>
        Effect.map(tenant.post(target, {}, "one key"), ({ status }) => status)
      )
      expect(statuses).toEqual([422, 422, 429])
      expect(Number((yield* tenant.post("/v1/payouts", {})).headers.get("retry-after"))).toBeGreaterThan(3500)
      expect((yield* tenant.post("/v1/payouts/quote", {})).status).toBe(422)
      expect((yield* tenant.get("/v1/float")).status).toBe(200)
    })
  )
})

layer(Stack.layer({ RATE_LIMIT_REFUSALS: "1/h:3", EVERSEND_TEST_PACE_MONEY: "1/m:1" }), { excludeTestServices: true })(
  "requests beyond a bound",
  (it) => {
    it.effect(
      "2. that the pace of the provider's account would hold back are 503 with the time to wait, and record and send nothing",
      () =>
        Effect.gen(function* () {
          const { gateway } = yield* Stack
          const sql = Context.get(gateway.context, SqlClient.SqlClient)
          const tenant = yield* tenantOn(gateway, 100_000n, { mode: "test" })
          const quote = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: 10_000 }
          const quote_id: unknown = (yield* tenant.post("/v1/fx/quote", quote)).body.data["quote_id"]
          expect((yield* tenant.post("/v1/payouts", momoPayout("1234", { amount_minor: 1_000 }))).status).toBe(201)
          const held = [
            yield* tenant.post("/v1/payouts", momoPayout("1235", { amount_minor: 1_000 })),
            yield* tenant.post("/v1/collections", momoCharge("1236")),
            yield* tenant.post("/v1/fx/exchange", { quote_id })
          ]
          for (const answer of held) {
            expect(said(answer)).toMatchObject({ status: 503, code: "provider_error", class: "retriable" })
            const seconds = Number(answer.headers.get("retry-after"))
            expect(seconds).toBeGreaterThan(3)
            expect(seconds).toBeLessThanOrEqual(60)
          }
          expect(yield* sql`SELECT 1 FROM transactions WHERE app_id = ${tenant.appId}`).toHaveLength(1)
          // The quote is not spent.
          expect(yield* sql`SELECT 1 FROM fx_quotes WHERE app_id = ${tenant.appId} AND taken_by IS NULL`).toHaveLength(1)
        })
    )

    it.effect("are stored up to a bound; beyond it the key stays free, and requests that are not refused still work", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        const tenant = yield* tenantOn(gateway, 10_000n)
        const unaffordable = momoPayout("1234", { amount_minor: 1_000_000 })
        const answers = yield* Effect.forEach([1, 2, 3, 4, 5], (at) => tenant.post("/v1/payouts", unaffordable, `key-${at}`))
        const refused = { status: 422, code: "insufficient_tenant_float" }
        const limited = { status: 429, code: "rate_limited", class: "retriable", details: { scope: "key" } }
        expect(answers.map(said)).toMatchObject([refused, refused, refused, limited, limited])
        const kept = sql`SELECT count(*)::int AS keys, max(octet_length(answer_body)) < 1024 AS small
        FROM idempotency_keys WHERE app_id = ${tenant.appId}`
        expect(yield* kept).toStrictEqual([{ keys: 3, small: true }])
        expect((yield* tenant.post("/v1/payouts", unaffordable, "key-1")).headers.get("idempotency-replayed")).toBe("true")
        expect((yield* tenant.post("/v1/payouts", momoPayout("1234", { amount_minor: 1_000 }), "key-4")).status).toBe(201)
      })
    )
  }
)
