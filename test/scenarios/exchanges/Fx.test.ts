import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, creditOn, executionsOf, keyOn, Stack, tenantOn, verified } from "../../support/Stack.ts"

const FROM_UGX = { source_currency: "UGX", destination_currency: "KES" }
// The simulator's rate: 129 KES for 3,700 UGX, cut off after fourteen decimals.
const RATE = "0.03486486486486"
const reference = expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/)
const moment = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)

const quoteOf = (tenant: { post: (target: string, body: unknown) => Effect.Effect<Answer> }, source = 50_000) =>
  Effect.map(
    tenant.post("/v1/fx/quote", { ...FROM_UGX, source_amount_minor: source }),
    ({ body }): string => body.data["quote_id"] ?? ""
  )

const positions = (tenant: { get: (target: string) => Effect.Effect<Answer> }) =>
  Effect.map(tenant.get("/v1/float"), ({ text }): Record<string, readonly [number, number]> => {
    const rows: ReadonlyArray<Record<string, never>> = JSON.parse(text).data
    return Object.fromEntries(
      rows.map(({ available_minor, currency, reserved_minor }) => [currency, [available_minor ?? 0, reserved_minor ?? 0]])
    )
  })

const notFound = { status: 404, code: "not_found", class: "terminal", details: {} }

layer(Stack.layer({ RECONCILER_SCHEDULE: "300ms,600ms,1s", CIRCUIT_OPEN: "1m" }), { excludeTestServices: true })(
  "exchanges",
  (it) => {
    it.effect("a quote by source says what it buys, rounded down to the other currency's minor unit", () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway)
        const answer = yield* tenant.post("/v1/fx/quote", { ...FROM_UGX, source_amount_minor: 100_000 })
        expect(answer.status).toBe(200)
        expect(answer.body.data).toStrictEqual({
          quote_id: reference,
          source_currency: "UGX",
          source_amount_minor: 100_000,
          destination_currency: "KES",
          destination_amount_minor: 348_648,
          rate: RATE,
          fee_minor: 0,
          fee_currency: "UGX",
          expires_at: moment,
          is_test_mode: false
        })
        expect(Date.parse(answer.body.data["expires_at"] ?? "") - Date.now()).toBeLessThanOrEqual(30_000)
      })
    )

    it.effect("a quote by destination uses the smallest source that reaches it", () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway)
        const { body } = yield* tenant.post("/v1/fx/quote", { ...FROM_UGX, destination_amount_minor: 1_000 })
        // 286 UGX buy 9.97 KES, 287 buy 10.00.
        expect(body.data).toMatchObject({ source_amount_minor: 287, destination_amount_minor: 1_000 })
      })
    )

    it.effect(
      "an amount that buys less than one minor unit is below the minimum, and the answer names the smallest amount that buys one",
      () =>
        Effect.gen(function* () {
          const tenant = yield* tenantOn((yield* Stack).gateway)
          const answer = yield* tenant.post("/v1/fx/quote", {
            source_currency: "UGX",
            destination_currency: "USD",
            source_amount_minor: 36
          })
          const details = { minimum_minor: 37, method: "wallet" }
          expect(said(answer)).toStrictEqual({ status: 422, code: "amount_below_minimum", class: "terminal", details })
        })
    )

    it.effect("one amount and two currencies make a quote; anything else is refused", () =>
      Effect.gen(function* () {
        const tenant = yield* tenantOn((yield* Stack).gateway)
        const quote = (body: object) => Effect.map(tenant.post("/v1/fx/quote", body), said)
        const invalid = (path: string) => ({
          status: 422,
          code: "validation_failed",
          class: "terminal",
          details: { issues: [{ path, message: expect.any(String) }] }
        })
        expect(yield* quote(FROM_UGX)).toStrictEqual(invalid("source_amount_minor"))
        expect(yield* quote({ ...FROM_UGX, source_amount_minor: 5, destination_amount_minor: 5 })).toStrictEqual(
          invalid("destination_amount_minor")
        )
        expect(yield* quote({ ...FROM_UGX, destination_currency: "UGX", source_amount_minor: 5 })).toStrictEqual(
          invalid("destination_currency")
        )
        expect(yield* quote({ ...FROM_UGX, destination_currency: "XXX", source_amount_minor: 5 })).toMatchObject({
          code: "unknown_currency"
        })
        expect(yield* tenant.call("POST", "/v1/fx/quote", '{"source_amount_minor":1.0}')).toMatchObject({ status: 422 })
      })
    )

    it.effect("an exchange debits one position and credits the other to the unit, once for each key", () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const quote_id = yield* quoteOf(tenant)
        const body = { quote_id, metadata: { order: 7, rate: 1.5 } }
        const first = yield* tenant.post("/v1/fx/exchange", body, "the-key")
        expect(first.status).toBe(201)
        expect(first.body.data).toStrictEqual({
          reference,
          status: "successful",
          needs_review: false,
          quote_id,
          ...FROM_UGX,
          source_amount_minor: 50_000,
          destination_amount_minor: 174_324,
          rate: RATE,
          fee_minor: 0,
          fee_currency: "UGX",
          metadata: { order: 7, rate: 1.5 },
          is_test_mode: false,
          failure: null,
          version: 2,
          created_at: moment,
          updated_at: moment,
          completed_at: moment
        })
        const again = yield* tenant.post("/v1/fx/exchange", body, "the-key")
        expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toStrictEqual([201, first.text, "true"])
        expect(yield* positions(tenant)).toStrictEqual({ KES: [174_324, 0], UGX: [50_000, 0] })
        expect(yield* executionsOf(simulator, referenceOf(first))).toHaveLength(1)

        const read = yield* tenant.get(`/v1/fx/exchanges/${referenceOf(first)}`)
        expect(read.body.data).toStrictEqual(first.body.data)
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        const raw =
          yield* sql`SELECT record->>'rawDestinationAmount' AS raw FROM transactions WHERE reference = ${referenceOf(first)}`
        expect(raw).toStrictEqual([{ raw: "1743.24" }])
        expect(yield* verified(gateway)).toMatchObject({ ok: true })
      })
    )

    it.effect("a quote is valid for one exchange, and only for its own tenant and mode", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const [tenant, stranger] = [yield* tenantOn(gateway), yield* tenantOn(gateway)]
        const quote_id = yield* quoteOf(tenant)
        const test = yield* keyOn(gateway, tenant.appId, "test")
        for (const foreign of [stranger, test])
          expect(said(yield* foreign.post("/v1/fx/exchange", { quote_id }))).toStrictEqual(notFound)
        expect(said(yield* tenant.post("/v1/fx/exchange", { quote_id: "nothing" }))).toStrictEqual(notFound)

        const made = yield* tenant.post("/v1/fx/exchange", { quote_id })
        const used = { status: 422, code: "quote_expired", class: "terminal", details: { quote_id } }
        expect(said(yield* tenant.post("/v1/fx/exchange", { quote_id }))).toStrictEqual(used)
        for (const foreign of [stranger, test])
          expect(said(yield* foreign.get(`/v1/fx/exchanges/${referenceOf(made)}`))).toStrictEqual(notFound)
        expect(yield* positions(test)).toStrictEqual({})
      })
    )

    it.effect("exactly one of many requests with the same quote and different keys exchanges", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const quote_id = yield* quoteOf(tenant, 1_000)
        const answers = yield* Effect.forEach(Array(16).keys(), () => tenant.post("/v1/fx/exchange", { quote_id }), {
          concurrency: "unbounded"
        })
        expect(answers.map(({ status }) => status).toSorted()).toStrictEqual([201, ...Array<number>(15).fill(422)])
        expect(yield* positions(tenant)).toStrictEqual({ KES: [3_486, 0], UGX: [99_000, 0] })
      })
    )

    it.effect("an exchange is not found at the endpoints of payouts and collections, nor theirs at the exchanges'", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const exchange = referenceOf(yield* tenant.post("/v1/fx/exchange", { quote_id: yield* quoteOf(tenant) }))
        const payout = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
        for (const path of ["transactions", "payouts", "collections"])
          expect(said(yield* tenant.get(`/v1/${path}/${exchange}`))).toStrictEqual(notFound)
        expect(said(yield* tenant.get(`/v1/fx/exchanges/${payout}`))).toStrictEqual(notFound)
      })
    )

    it.effect("an exchange's history begins with who was asked for the price of its quote, and what came of each", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const quote_id = yield* quoteOf(tenant)
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        const noted = sql`SELECT candidates FROM fx_quotes WHERE quote_id = ${quote_id}`
        expect(yield* noted).toStrictEqual([{ candidates: "eversend priced" }])
        // As if another one had been asked first.
        yield* sql`UPDATE fx_quotes SET candidates = 'pawapay no_price; eversend priced' WHERE quote_id = ${quote_id}`
        const exchange = referenceOf(yield* tenant.post("/v1/fx/exchange", { quote_id }))
        expect(yield* sql`SELECT note FROM transaction_history WHERE reference = ${exchange} AND line = 1`).toStrictEqual([
          { note: "candidates: pawapay no_price; eversend used #1" }
        ])
      })
    )

    it.effect("an expired quote exchanges nothing", () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const quote_id = yield* quoteOf(tenant)
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        yield* sql`UPDATE fx_quotes SET expires_at = now() - interval '1 second' WHERE quote_id = ${quote_id}`
        // Others of this file are still being asked for.
        const orders = Effect.map(callsOf(simulator), (calls) => calls.filter((call) => call.startsWith("POST ")))
        const before = yield* orders
        expect(said(yield* tenant.post("/v1/fx/exchange", { quote_id }))).toStrictEqual({
          status: 422,
          code: "quote_expired",
          class: "terminal",
          details: { quote_id }
        })
        expect(yield* orders).toStrictEqual(before)
      })
    )

    it.effect("an exchange beyond the float is refused, and the quote stays valid", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 30_000n)
        const quote_id = yield* quoteOf(tenant)
        expect(said(yield* tenant.post("/v1/fx/exchange", { quote_id }))).toStrictEqual({
          status: 422,
          code: "insufficient_tenant_float",
          class: "terminal",
          details: { amount_minor: 50_000, estimated_fee_minor: 0, shortfall_minor: 20_000 }
        })
        yield* creditOn(gateway, tenant, 20_000n)
        expect((yield* tenant.post("/v1/fx/exchange", { quote_id })).body.data).toMatchObject({ status: "successful" })
        expect(yield* positions(tenant)).toStrictEqual({ KES: [174_324, 0], UGX: [0, 0] })
      })
    )

    it.effect("an exchange that the provider's circuit would hold back is 503, and the quote stays valid", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        // In the mode that no other story of this file exchanges in.
        const tenant = yield* tenantOn(gateway, 100_000n, { mode: "test" })
        const quote_id = yield* quoteOf(tenant, 5_000)
        const failing = { call: Effect.fail("down"), verdict: () => "unreachable" as const, instead: Effect.fail("held") }
        const line = { provider: "eversend", mode: "test", operation: "exchange" } as const
        const call = Effect.exit(Context.get(gateway.context, Circuits).through(line, failing))
        yield* Effect.forEach(Array(500).keys(), () => call, { discard: true })
        const sql = Context.get(gateway.context, SqlClient.SqlClient)
        expect(said(yield* tenant.post("/v1/fx/exchange", { quote_id }))).toMatchObject({ status: 503, code: "provider_error" })
        expect(yield* sql`SELECT 1 FROM fx_quotes WHERE quote_id = ${quote_id} AND taken_by IS NULL`).toHaveLength(1)
      })
    )
  }
)
