import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { paymentId } from "../../../src/providers/pawapay/Wire.ts"
import { simulatedPawapay } from "../../../src/simulator/pawapay/Simulator.ts"
import { ContractBench, collectionsOf, payoutsOf } from "../../providers/contract/Fixture.ts"
import { newReference } from "../../providers/contract/Orders.ts"
import { askOrder, chargeOrder, party, payoutOrder } from "../../providers/pawapay/Orders.ts"
import { eventually } from "../../support/SignedClient.ts"

// The simulator's own manners, on the wire.

const call = Effect.fnUntraced(function* (
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  authorization: string | null = "Bearer simulated-live-token"
) {
  const { baseUrl } = yield* ContractBench
  const text = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }
  const headers = authorization === null ? {} : { authorization }
  return yield* Effect.promise(async () => {
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...text })
    const json: unknown = await answer.json()
    return { status: answer.status, json }
  })
})

const asked = (change: object = {}) => ({
  amount: "20000",
  currency: "UGX",
  payer: { type: "MMO", accountDetails: { provider: "MTN_MOMO_UGA", phoneNumber: "256770001234" } },
  ...change
})
const numbered = (provider: string, phoneNumber: string) => ({
  payer: { type: "MMO", accountDetails: { provider, phoneNumber } }
})
const deposit = (change: object = {}, depositId = paymentId(newReference())) =>
  call("POST", "/deposits", { depositId, ...asked(change) })
const refusal = (failureCode: string, status = 200) => ({
  status,
  json: { status: "REJECTED", failureReason: { failureCode, failureMessage: expect.any(String) } }
})

layer(ContractBench.layer(simulatedPawapay), { excludeTestServices: true })("pawaPay's simulator", (it) => {
  it.effect("ignores a repeated identifier, and executes it once", () =>
    Effect.gen(function* () {
      const { executions } = yield* ContractBench
      const reference = newReference()
      const once = deposit({ clientReferenceId: reference }, paymentId(reference))
      expect(yield* once).toMatchObject({ status: 200, json: { depositId: paymentId(reference), status: "ACCEPTED" } })
      expect(yield* once).toMatchObject({ status: 200, json: { depositId: paymentId(reference), status: "DUPLICATE_IGNORED" } })
      yield* eventually(executions(reference), ({ length }) => length === 1)
      expect(yield* once).toMatchObject({ json: { status: "DUPLICATE_IGNORED" } })
      expect(yield* executions(reference)).toMatchObject([{ amount_minor: 20_000, client_reference: reference }])
    })
  )

  it.effect("accepts metadata as a list and returns it as one object", () =>
    Effect.gen(function* () {
      const id = paymentId(newReference())
      yield* deposit({ metadata: [{ orderId: "ORD-1" }, { customer: "c", isPII: true }], customerMessage: "Invoice 12" }, id)
      expect(yield* call("GET", `/deposits/${id}`)).toMatchObject({
        status: 200,
        json: {
          status: "FOUND",
          data: {
            depositId: id,
            amount: "20000",
            currency: "UGX",
            country: "UGA",
            customerMessage: "Invoice 12",
            metadata: { orderId: "ORD-1", customer: "c" }
          }
        }
      })
    })
  )

  it.effect("answers HTTP 200 for an unknown payment, also for another kind and another account's", () =>
    Effect.gen(function* () {
      const id = paymentId(newReference())
      const none = { status: 200, json: { status: "NOT_FOUND" } }
      expect(yield* call("GET", `/payouts/${id}`)).toEqual(none)
      yield* deposit({}, id)
      expect(yield* call("GET", `/payouts/${id}`)).toEqual(none)
      expect(yield* call("GET", `/deposits/${id}`, undefined, "Bearer simulated-test-token")).toEqual(none)
      expect(yield* call("GET", `/deposits/${id}`)).toMatchObject({ json: { status: "FOUND" } })
    })
  )

  it.effect("refuses every request without its own token", () =>
    Effect.gen(function* () {
      expect(yield* call("GET", "/wallet-balances", undefined, null)).toMatchObject(refusal("NO_AUTHENTICATION", 401))
      expect(yield* call("POST", "/payouts", {}, "Bearer guess")).toMatchObject(refusal("AUTHENTICATION_ERROR", 403))
      expect((yield* call("GET", "/nothing")).status).toBe(404)
    })
  )

  it.effect("refuses an unreadable request with HTTP 400, and a rejected one with HTTP 200", () =>
    Effect.gen(function* () {
      expect(yield* call("POST", "/deposits", "{")).toMatchObject(refusal("INVALID_INPUT", 400))
      expect(yield* deposit({ amount: 20_000 })).toMatchObject(refusal("INVALID_INPUT", 400))
      expect(yield* deposit({}, "not-a-uuid")).toMatchObject(refusal("INVALID_PARAMETER", 400))
      expect(yield* deposit({}, "00000000-0000-1000-8000-000000000000")).toMatchObject(refusal("INVALID_PARAMETER", 400))
      expect(yield* deposit({ customerMessage: "abc" })).toMatchObject(refusal("INVALID_PARAMETER", 400))
      expect(yield* deposit({ currency: "KES" })).toMatchObject(refusal("INVALID_CURRENCY"))
      expect(yield* deposit(numbered("MTN_UGA", "256770001234"))).toMatchObject(refusal("INVALID_PROVIDER"))
      expect(yield* deposit(numbered("MTN_MOMO_UGA", "254770001234"))).toMatchObject(refusal("INVALID_PHONE_NUMBER"))
      expect(yield* deposit(numbered("MTN_MOMO_UGA", "+256770001234"))).toMatchObject(refusal("INVALID_PHONE_NUMBER"))
    })
  )

  it.effect("accepts the decimals and amounts of the network, and returns no identifier with a refused amount", () =>
    Effect.gen(function* () {
      const kenya = { currency: "KES", ...numbered("MPESA_KEN", "254703456789") }
      const tigo = { currency: "TZS", ...numbered("TIGO_TZA", "255713456789") }
      expect(yield* deposit({ ...kenya, amount: "10.5" })).toMatchObject(refusal("INVALID_AMOUNT"))
      expect(yield* deposit({ ...kenya, amount: "10.00" })).toMatchObject(refusal("INVALID_AMOUNT"))
      expect(yield* deposit({ ...tigo, amount: "100.5" })).toMatchObject(refusal("INVALID_AMOUNT"))
      for (const amount of ["0", "-5", "1e3", "007", "1,000", ""])
        expect(yield* deposit({ ...kenya, amount })).toMatchObject(refusal("INVALID_AMOUNT"))
      for (const amount of ["250001", "99999999999"]) {
        const refused = yield* deposit({ ...kenya, amount })
        expect(refused).toMatchObject(refusal("AMOUNT_OUT_OF_BOUNDS"))
        expect(refused.json).toMatchObject({ depositId: null })
      }
      expect(yield* deposit({ amount: "499" })).toMatchObject(refusal("AMOUNT_OUT_OF_BOUNDS"))
      expect(yield* deposit({ ...kenya, amount: "250000" })).toMatchObject({ json: { status: "ACCEPTED" } })
    })
  )

  it.effect("asks Orange's payers in Burkina Faso for their own code", () =>
    Effect.gen(function* () {
      const orange = { currency: "XOF", amount: "1000", ...numbered("ORANGE_BFA", "22602345678") }
      expect(yield* deposit(orange)).toMatchObject(refusal("MISSING_PARAMETER", 400))
      expect(yield* deposit({ ...orange, preAuthorisationCode: "123456" })).toMatchObject({ json: { status: "ACCEPTED" } })
    })
  )

  const scenarios = [
    ["019", "limit_exceeded"],
    ["029", "payer_not_found"],
    ["039", "declined_by_payer"],
    ["049", "insufficient_funds"],
    ["059", "provider_rejected"],
    ["069", "unknown"]
  ] as const
  for (const [suffix, code] of scenarios)
    it.effect(`plays pawaPay's own test number ${suffix} of a payer: ${code}`, () =>
      Effect.gen(function* () {
        const { live } = yield* ContractBench
        const order = chargeOrder({ source: party("UG", "MTN", `256783456${suffix}`) })
        expect(yield* collectionsOf(live).charge(order)).toMatchObject({ _tag: "Accepted" })
        const answer = yield* eventually(
          collectionsOf(live).fetchStatus(askOrder(order.reference)),
          ({ _tag }) => _tag !== "StillPending"
        )
        expect(answer).toMatchObject({ _tag: "Refused", failure: { code } })
      })
    )

  it.effect("plays pawaPay's own test numbers of recipients, and the one that never ends", () =>
    Effect.gen(function* () {
      const payouts = payoutsOf((yield* ContractBench).live)
      const outcomes = [
        ["089", { _tag: "Refused", failure: { code: "invalid_destination" } }],
        ["099", { _tag: "Refused", failure: { code: "limit_exceeded" } }],
        ["119", { _tag: "Refused", failure: { code: "unknown" } }],
        ["129", { _tag: "StillPending", note: "ENQUEUED" }],
        ["789", { _tag: "Succeeded", amount: 20_000n, fee: null }]
      ] as const
      for (const [suffix, outcome] of outcomes) {
        const order = payoutOrder({ destination: party("UG", "MTN", `256783456${suffix}`) })
        yield* payouts.send(order)
        const answer = yield* eventually(payouts.fetchStatus(askOrder(order.reference)), ({ _tag }) => _tag === outcome._tag)
        expect(answer).toMatchObject(outcome)
      }
    })
  )

  it.effect("answers a status question badly when it is told to", () =>
    Effect.gen(function* () {
      const { control, live } = yield* ContractBench
      const order = payoutOrder()
      yield* payoutsOf(live).send(order)
      const ask = payoutsOf(live).fetchStatus(askOrder(order.reference))
      for (const [ending, reason] of [
        ["0005", "unavailable"],
        ["0006", "bad_response"],
        ["0007", "unavailable"],
        ["0017", "unavailable"]
      ]) {
        yield* control("next", { provider: "pawapay", operation: "payout_status", ending })
        expect(yield* ask).toMatchObject({ _tag: "Unknown", reason })
      }
      yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
    })
  )
})
