import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { asked, callsOf, executionsOf, type Gateway, ledgerVerifies, Stack, tenantOn } from "../../support/Stack.ts"

const reference = expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/)
const unheard = (code: string) => ({ status: 503, code, class: "ambiguous", details: { reference } })
const rejected = {
  status: 422,
  code: "payout_rejected_by_provider",
  class: "terminal",
  details: { reference, failure_code: "provider_rejected" }
}

interface Story {
  readonly ending: string
  readonly promise: string
  readonly answer: object
  readonly end: "successful" | "failed" | "held"
}

const stories: ReadonlyArray<Story> = [
  { ending: "0001", promise: "a refusal in the answer returns the float at once", answer: rejected, end: "failed" },
  { ending: "0002", promise: "a failure after acceptance returns the float", answer: rejected, end: "failed" },
  {
    ending: "0003",
    promise: "an exchange executed without an answer is found and booked once",
    answer: unheard("provider_timeout"),
    end: "successful"
  },
  {
    ending: "0004",
    promise: "an exchange neither executed nor answered keeps the float reserved",
    answer: unheard("provider_timeout"),
    end: "held"
  },
  {
    ending: "0005",
    promise: "an exchange executed with HTTP 500 is found and booked once",
    answer: unheard("provider_unavailable"),
    end: "successful"
  },
  {
    ending: "0006",
    promise: "an exchange executed with an HTML answer is found and booked once",
    answer: unheard("provider_bad_response"),
    end: "successful"
  },
  {
    ending: "0007",
    promise: "a reset connection keeps the float reserved",
    answer: unheard("provider_unavailable"),
    end: "held"
  },
  { ending: "0010", promise: "stays pending while the provider says so", answer: unheard("provider_unavailable"), end: "held" },
  {
    ending: "0013",
    promise: "an empty pool at the provider returns the float",
    answer: { status: 422, code: "insufficient_wallet_float", class: "terminal", details: { reference } },
    end: "failed"
  },
  {
    ending: "0017",
    promise: "a temporary failure keeps the float reserved",
    answer: unheard("provider_unavailable"),
    end: "held"
  }
]

const floats = {
  successful: { KES: [174_324, 0], UGX: [50_000, 0] },
  failed: { UGX: [100_000, 0] },
  held: { UGX: [50_000, 50_000] }
}
const events = { successful: ["fx.successful"], failed: ["fx.failed"], held: [] }

/** An open exchange has been asked for so often before its story ends. */
const ASKED = 3

const positions = (tenant: { get: (target: string) => Effect.Effect<Answer> }) =>
  Effect.map(tenant.get("/v1/float"), ({ text }): Record<string, readonly [number, number]> => {
    const rows: ReadonlyArray<Record<string, never>> = JSON.parse(text).data
    return Object.fromEntries(
      rows.map(({ available_minor, currency, reserved_minor }) => [currency, [available_minor ?? 0, reserved_minor ?? 0]])
    )
  })

const quoted = (tenant: { post: (target: string, body: unknown) => Effect.Effect<Answer> }, source_amount_minor = 50_000) =>
  Effect.map(
    tenant.post("/v1/fx/quote", { source_currency: "UGX", destination_currency: "KES", source_amount_minor }),
    ({ body }): string => body.data["quote_id"] ?? ""
  )

const told = ({ context }: Gateway, about: string) =>
  Effect.map(
    Context.get(context, SqlClient.SqlClient)<{
      type: string
      body: string
    }>`SELECT type, body FROM events WHERE reference = ${about}`,
    (rows) => rows.map(({ body, type }) => [type, JSON.parse(body).data])
  )

// The provider's callback comes later than a call may take: what the answer alone tells is seen in the answer.
const quick = Stack.layer({ PROVIDER_TIMEOUT_MS: "500", RECONCILER_SCHEDULE: "700ms,900ms,1100ms,1300ms" }, { delayMs: 1_000 })

/** Reads go on meanwhile: the exchanges of other stories are asked for. */
const ordersOf = (simulator: Parameters<typeof callsOf>[0]) =>
  Effect.map(callsOf(simulator), (calls) => calls.filter((call) => call.startsWith("POST ")))

layer(quick, { excludeTestServices: true })("every ending of an exchange", (it) => {
  for (const { answer, end, ending, promise } of stories) {
    it.effect(`${ending}: ${promise}`, () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const quote_id = yield* quoted(tenant)
        yield* Effect.promise(() => simulator.control("POST", "/next", { provider: "eversend", operation: "exchange", ending }))
        const first = yield* tenant.post("/v1/fx/exchange", { quote_id }, "the-key")
        expect(said(first)).toStrictEqual(answer)
        const own = referenceOf(first)
        if (end === "held") yield* asked(simulator, own, ASKED)
        const path = `/v1/fx/exchanges/${own}`
        const data = yield* tenant.until(path, ({ status }) => status === (end === "held" ? "pending" : end))

        expect(yield* positions(tenant)).toStrictEqual(floats[end])
        expect(yield* executionsOf(simulator, own)).toHaveLength(end === "successful" ? 1 : 0)
        // Its event carries the record as every read shows it, to the byte.
        expect(yield* told(gateway, own)).toStrictEqual(events[end].map((type) => [type, data]))

        const again = yield* tenant.post("/v1/fx/exchange", { quote_id }, "the-key")
        const repeated = { successful: { status: 201 }, failed: answer, held: { status: 409, code: "request_in_progress" } }
        expect(said(again)).toMatchObject(repeated[end])
      })
    )
  }

  it.effect("0015: opens a review when the provider takes the exchange back", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const quote_id = yield* quoted(tenant)
      const next = { provider: "eversend", operation: "exchange", ending: "0015" }
      yield* Effect.promise(() => simulator.control("POST", "/next", next))
      const made = yield* tenant.post("/v1/fx/exchange", { quote_id })
      expect(said(made)).toStrictEqual({ status: 201 })
      const path = `/v1/fx/exchanges/${referenceOf(made)}`
      expect(yield* tenant.until(path, ({ needs_review }) => needs_review === true)).toMatchObject({ status: "successful" })
      expect(yield* positions(tenant)).toStrictEqual(floats.successful)
    })
  )

  it.effect("is refused to a frozen tenant, and to one without the capability, before the provider is called", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const frozen = yield* tenantOn(gateway, 100_000n, { status: "frozen" })
      const denied = yield* tenantOn(gateway, 100_000n, { capabilities: ["payouts"] })
      const quote_id = yield* quoted(frozen)
      const before = yield* ordersOf(simulator)
      const terminal = { status: 403, class: "terminal" }
      expect(said(yield* frozen.post("/v1/fx/exchange", { quote_id }))).toStrictEqual({
        ...terminal,
        code: "tenant_frozen",
        details: {}
      })
      const ungranted = { ...terminal, code: "capability_not_allowed", details: { capability: "fx" } }
      expect(said(yield* denied.post("/v1/fx/exchange", { quote_id }))).toStrictEqual(ungranted)
      const query = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: 5 }
      expect(said(yield* denied.post("/v1/fx/quote", query))).toStrictEqual(ungranted)
      expect(yield* ordersOf(simulator)).toStrictEqual(before)
    })
  )

  it.effect("needs an Idempotency-Key and a well-formed quote", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway)
      expect(said(yield* tenant.call("POST", "/v1/fx/exchange", {}))).toMatchObject({
        status: 400,
        code: "idempotency_key_required"
      })
      expect(said(yield* tenant.post("/v1/fx/exchange", {}))).toMatchObject({ status: 422, code: "validation_failed" })
      expect(said(yield* tenant.post("/v1/fx/exchange", { quote_id: "x", mode: "test" }))).toMatchObject({
        code: "mode_mismatch"
      })
    })
  )

  it.effect("in test mode applies the ceiling to the source amount and moves only the test float", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      const tenant = yield* tenantOn(gateway, 100_000n, { mode: "test" })
      const tooMuch = yield* quoted(tenant, 20_001)
      const before = yield* ordersOf(simulator)
      expect(said(yield* tenant.post("/v1/fx/exchange", { quote_id: tooMuch }))).toStrictEqual({
        status: 422,
        code: "amount_above_maximum",
        class: "terminal",
        details: { maximum_minor: 20_000, scope: "test_mode" }
      })
      expect(yield* ordersOf(simulator)).toStrictEqual(before)
      const { body } = yield* tenant.post("/v1/fx/exchange", { quote_id: yield* quoted(tenant, 20_000) })
      expect(body.data).toMatchObject({ status: "successful", is_test_mode: true, destination_amount_minor: 69_729 })
      expect(yield* positions(tenant)).toStrictEqual({ KES: [69_729, 0], UGX: [80_000, 0] })
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})
