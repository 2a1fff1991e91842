import dns from "node:dns"
import http from "node:http"
import https from "node:https"
import { expect, layer } from "@effect/vitest"
import Paystack from "@paystack/paystack-sdk"
import { Effect, Layer, Schema } from "effect"
import { vi } from "vitest"
import { simulatedPaystack } from "../../../src/simulator/paystack/Simulator.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, bank, chargeOrder, momo, newReference, payoutOrder } from "../contract/Orders.ts"

// Somebody else's idea of Paystack's wire drives the simulator, so that it and the adapter cannot share one misunderstanding.

const PAYSTACK = "https://api.paystack.co"

/** What the SDK sends to Paystack goes to the simulator, and nothing goes anywhere else: no name is looked up. */
const redirected = Layer.effectDiscard(
  Effect.gen(function* () {
    const { baseUrl } = yield* ContractBench
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const lookups = vi.spyOn(dns, "lookup").mockImplementation(() => {
          throw new Error("a name is looked up")
        })
        const requests = vi.spyOn(https, "request").mockImplementation((url, options, answered) => {
          if (url !== PAYSTACK || typeof options === "function") throw new Error(`a request to ${url}`)
          return http.request(baseUrl, options ?? {}, answered)
        })
        return { lookups, requests }
      }),
      ({ lookups, requests }) =>
        Effect.sync(() => {
          const asked = [...lookups.mock.calls]
          lookups.mockRestore()
          requests.mockRestore()
          expect(asked).toEqual([])
        })
    )
  })
)

const sdk = new Paystack("sk_live_simulated")

const Answer = Schema.Struct({
  status: Schema.Boolean,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Unknown)
})
const decodeAnswer = Schema.decodeUnknownSync(Answer)

/** One call of the SDK. It throws for no refusal: what was answered is in `status`. */
const call = (resource: string, method: string, parameters?: object, by: Paystack = sdk) =>
  Effect.promise(async () => decodeAnswer(await by[resource]?.[method]?.(parameters)))

const Code = Schema.Struct({ recipient_code: Schema.String })
const Rows = Schema.Array(Schema.Struct({ reference: Schema.String, status: Schema.String }))
const rowsOf = Schema.decodeUnknownSync(Rows)
const Charged = Schema.Struct({ status: Schema.String })
const statusOf = ({ data }: typeof Answer.Type): string => Schema.decodeUnknownSync(Charged)(data).status

const ghana = momo("GH", "GHS", "MTN", "23320000")
const nigeria = bank("NG", "NGN", "058", "001200")

const charge = (provider: string, phone: string, reference: string) =>
  call("charge", "create", {
    email: "ama@shop.example",
    amount: 12_345,
    reference,
    mobile_money: { phone, provider },
    metadata: { cart: 7 }
  })

layer(Layer.provideMerge(redirected, ContractBench.layer(simulatedPaystack)), { excludeTestServices: true })(
  "Paystack's SDK",
  (it) => {
    it.effect("charges a phone and reads the same outcome as the adapter", () =>
      Effect.gen(function* () {
        const { live } = yield* ContractBench
        const reference = newReference()
        const own = reference.toLowerCase()
        const placed = yield* charge("mtn", "0200001234", own)
        expect(placed).toMatchObject({
          status: true,
          message: "Charge attempted",
          data: { reference: own, status: "pay_offline" }
        })
        yield* eventually(call("charge", "check", { reference: own }), (answer) => statusOf(answer) === "success")
        const verified = yield* call("transaction", "verify", { reference: own })
        expect(verified).toMatchObject({
          status: true,
          data: {
            domain: "live",
            status: "success",
            reference: own,
            amount: 12_345,
            currency: "GHS",
            fees: 186,
            channel: "mobile_money"
          }
        })
        const fact = yield* collectionsOf(live).fetchStatus(yield* askOrder(ghana, reference))
        expect(fact).toMatchObject({ _tag: "Succeeded", amount: 12_345n, currency: "GHS", fee: 186n })
      })
    )

    it.effect("submits the voucher that Telecel asks for", () =>
      Effect.gen(function* () {
        const reference = "voucher-of-the-sdk"
        const submit = (otp: string) => call("charge", "submitOtp", { otp, reference })
        expect(statusOf(yield* charge("vod", "0200001234", reference))).toBe("send_otp")
        expect(yield* submit("000000")).toMatchObject({ status: false, message: "Provided registration token is invalid" })
        expect(statusOf(yield* submit("123456"))).toBe("pay_offline")
        yield* eventually(call("transaction", "verify", { reference }), (answer) => statusOf(answer) === "success")
      })
    )

    it.effect("is refused for a used reference, an unknown charge and an unknown key", () =>
      Effect.gen(function* () {
        const reference = "used-once-by-the-sdk"
        expect(statusOf(yield* charge("mtn", "0200000010", reference))).toBe("pay_offline")
        expect(yield* charge("mtn", "0200000010", reference)).toMatchObject({
          status: false,
          message: "Duplicate Transaction Reference"
        })
        const absent = yield* call("transaction", "verify", { reference: "nobody-made-this" })
        expect(absent).toMatchObject({ status: false, message: "Transaction reference not found." })
        expect(yield* call("transfer", "verify", { reference: "nobody-made-this" })).toMatchObject({
          message: "Transfer not found"
        })
        const stranger = new Paystack("sk_live_stranger")
        const refused = yield* call("balance", "fetch", {}, stranger)
        expect(refused).toMatchObject({ status: false, message: "Invalid key" })
      })
    )

    it.effect("creates a recipient and pays it, and the adapter reads the payout", () =>
      Effect.gen(function* () {
        const { executions, live } = yield* ContractBench
        const reference = newReference()
        const own = reference.toLowerCase()
        const account = { type: "nuban", name: "Ada Obi", account_number: "0012001234", bank_code: "058", currency: "NGN" }
        const made = yield* call("transferrecipient", "create", account)
        const recipient = Schema.decodeUnknownSync(Code)(made.data).recipient_code
        expect((yield* call("transferrecipient", "create", account)).data).toMatchObject({
          recipient_code: recipient,
          is_deleted: false
        })
        const order = { source: "balance", amount: 12_345, recipient, reference: own, reason: "rent", currency: "NGN" }
        const sent = yield* call("transfer", "initiate", order)
        expect(sent).toMatchObject({
          status: true,
          message: "Transfer has been queued",
          data: { status: "pending", amount: 12_345, reference: own }
        })
        yield* eventually(call("transfer", "verify", { reference: own }), (answer) => statusOf(answer) === "success")
        expect((yield* call("transfer", "verify", { reference: own })).data).toMatchObject({ fee_charged: 5000, currency: "NGN" })
        expect(yield* call("transfer", "initiate", order)).toMatchObject({
          status: false,
          message: "Please provide a unique reference. Reference already exists on a transfer"
        })
        const fact = yield* payoutsOf(live).fetchStatus(yield* askOrder(nigeria, reference))
        expect(fact).toMatchObject({ _tag: "Succeeded", amount: 12_345n, currency: "NGN", fee: 5000n })
        expect(yield* executions(reference)).toHaveLength(1)
      })
    )

    it.effect("verifies the payouts and charges of the adapter", () =>
      Effect.gen(function* () {
        const { live } = yield* ContractBench
        const payout = yield* payoutOrder(payoutsOf(live), nigeria, "1234")
        const charged = chargeOrder(ghana, "1234")
        expect((yield* payoutsOf(live).send(payout))._tag).toBe("Accepted")
        expect((yield* collectionsOf(live).charge(charged))._tag).toBe("Accepted")
        const verified = (resource: string, reference: string) =>
          eventually(call(resource, "verify", { reference: reference.toLowerCase() }), (answer) => statusOf(answer) === "success")
        expect((yield* verified("transfer", payout.reference)).data).toMatchObject({ amount: 12_345, currency: "NGN" })
        expect((yield* verified("transaction", charged.reference)).data).toMatchObject({ amount: 12_345, currency: "GHS" })
      })
    )

    it.effect("reads balances, banks, countries, holders and lists", () =>
      Effect.gen(function* () {
        const { data: balances } = yield* call("balance", "fetch")
        expect(balances).toContainEqual({ currency: "XOF", balance: 100_000_000_000_000 })
        const { data: banks } = yield* call("verification", "fetchBanks", { country: "nigeria", currency: "NGN" })
        expect(banks).toContainEqual(
          expect.objectContaining({ code: "058", active: true, supports_transfer: true, type: "nuban" })
        )
        const { data: countries } = yield* call("verification", "listCountries")
        expect(countries).toContainEqual(expect.objectContaining({ iso_code: "NG", default_currency_code: "NGN" }))
        const known = yield* call("verification", "resolveAccountNumber", { account_number: "0012001234", bank_code: "058" })
        expect(known.data).toMatchObject({ account_name: "JOHN DOE", account_number: "0012001234" })
        const unknown = yield* call("verification", "resolveAccountNumber", { account_number: "0012000016", bank_code: "058" })
        expect(unknown.status).toBe(false)
        yield* charge("mtn", "0200000010", "listed-for-the-sdk")
        const day = { perPage: 100, page: 1, from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
        expect(rowsOf((yield* call("transaction", "list", day)).data)).toContainEqual({
          reference: "listed-for-the-sdk",
          status: "ongoing"
        })
      })
    )
  }
)
