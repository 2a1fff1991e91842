import { request } from "node:http"
import https from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { simulatedFlutterwave } from "../../../src/simulator/flutterwave/Simulator.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, bank, chargeOrder, momo, newReference, payoutOrder, through } from "../contract/Orders.ts"

const openSdk = async (baseUrl: string) => {
  process.env.FLW_SDK_STATE_PATH = join(tmpdir(), `flutterwave-sdk-${process.pid}.json`)
  const { default: Flutterwave } = await import("flutterwave-node-v3")
  return new Flutterwave("FLWPUBK_TEST-none", "FLWSECK-simulated-live", `${new URL(baseUrl).origin}/`)
}

class Sdk extends Context.Service<Sdk, Awaited<ReturnType<typeof openSdk>>>()("test/FlutterwaveSdk") {
  /** The SDK reports on itself to its makers over `https`, and calls over `fetch`: nothing but the simulator is ever reached. */
  static readonly layer = Layer.effect(
    Sdk,
    Effect.gen(function* () {
      const { baseUrl } = yield* ContractBench
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const before = { fetch: globalThis.fetch, request: https.request }
          // Nobody listens there.
          https.request = () => request("http://127.0.0.1:1/")
          globalThis.fetch = (input, init) =>
            String(input).startsWith("http://127.0.0.1:")
              ? before.fetch(input, init)
              : Promise.reject(new Error(`another origin: ${String(input)}`))
          return before
        }),
        (before) =>
          Effect.sync(() => {
            globalThis.fetch = before.fetch
            https.request = before.request
          })
      )
      return yield* Effect.promise(() => openSdk(baseUrl))
    })
  )
}

const world = Layer.provideMerge(Sdk.layer, ContractBench.layer(simulatedFlutterwave))

const call = (made: Promise<unknown>) => Effect.promise(() => made)
const until = (make: () => Promise<unknown>, status: string) =>
  eventually(Effect.promise(make), (answer) => JSON.stringify(answer).includes(`"status":"${status}"`))

const kenya = momo("KE", "KES", "MPESA", "25470000")
const uganda = momo("UG", "UGX", "MTN", "25670000")
const payer = { amount: 1500, email: "o@example.com", fullname: "O O" }

layer(world, { excludeTestServices: true })("Flutterwave's own SDK", (it) => {
  it.effect("makes a charge by M-Pesa that the adapter finds, and verifies it by reference and identifier", () =>
    Effect.gen(function* () {
      const { executions, live } = yield* ContractBench
      const { MobileMoney, Transaction } = yield* Sdk
      const tx_ref = newReference()
      const charge = { ...payer, tx_ref, amount: 123.45, currency: "KES", phone_number: "254700001234" }
      const made = yield* call(MobileMoney.mpesa(charge))
      expect(made).toMatchObject({
        status: "success",
        message: "Charge initiated",
        data: { tx_ref, amount: 123.45, currency: "KES", status: "pending", auth_model: "LIPA_MPESA" }
      })
      const verified = yield* until(() => Transaction.verify_by_tx({ tx_ref }), "successful")
      expect(verified).toMatchObject({ data: { tx_ref, amount: 123.45, app_fee: 1.86, amount_settled: 121.59 } })
      const fact = yield* Effect.flatMap(askOrder(kenya, tx_ref), collectionsOf(live).fetchStatus)
      expect(fact).toMatchObject({ _tag: "Succeeded", amount: 12_345n, currency: "KES", fee: 186n })
      const id = "providerReference" in fact ? Number(fact.providerReference) : 0
      expect(yield* call(Transaction.verify({ id }))).toStrictEqual(verified)
      expect((yield* executions(tx_ref)).map(({ amount_minor }) => amount_minor)).toStrictEqual([12_345])
    })
  )

  it.effect("gets a page and no identifier in Uganda, Ghana, Rwanda and Zambia, and finds nothing before the visit", () =>
    Effect.gen(function* () {
      const { MobileMoney, Transaction } = yield* Sdk
      const places = [
        { make: MobileMoney.uganda, currency: "UGX", phone_number: "256700001234", network: "MTN" },
        { make: MobileMoney.ghana, currency: "GHS", phone_number: "233200001234", network: "VODAFONE" },
        { make: MobileMoney.rwanda, currency: "RWF", phone_number: "250700001234", order_id: "order-1" },
        { make: MobileMoney.zambia, currency: "ZMW", phone_number: "260700001234", network: "ZAMTEL" }
      ]
      for (const { make, ...place } of places) {
        const tx_ref = newReference()
        const made = yield* call(make({ ...payer, ...place, tx_ref, redirect_url: "https://shop.example/back" }))
        expect(made).toStrictEqual({
          status: "success",
          message: "Charge initiated",
          meta: { authorization: { redirect: expect.stringMatching(/^http:\/\/127/), mode: "redirect" } }
        })
        expect(yield* call(Transaction.verify_by_tx({ tx_ref }))).toMatchObject({ status: "error", data: null })
        const [page = ""] = /http:[^"]+/.exec(JSON.stringify(made)) ?? []
        yield* call(fetch(page))
        yield* until(() => Transaction.verify_by_tx({ tx_ref }), "successful")
      }
    })
  )

  it.effect("charges by prompt in Cameroon, Ivory Coast and Tanzania", () =>
    Effect.gen(function* () {
      const { MobileMoney, Transaction } = yield* Sdk
      const places = [
        { make: MobileMoney.franco_phone, currency: "XAF", country: "CM", phone_number: "237690001234", network: "ORANGEMONEY" },
        { make: MobileMoney.franco_phone, currency: "XOF", country: "CI", phone_number: "225070001234", network: "WAVE" },
        { make: MobileMoney.tanzania, currency: "TZS", phone_number: "255700001234", network: "VODACOM" }
      ]
      for (const { make, ...place } of places) {
        const tx_ref = newReference()
        expect(yield* call(make({ ...payer, ...place, tx_ref }))).toMatchObject({ data: { tx_ref, status: "pending" } })
        yield* until(() => Transaction.verify_by_tx({ tx_ref }), "successful")
      }
    })
  )

  it.effect("transfers once for one reference, and the adapter finds the transfer", () =>
    Effect.gen(function* () {
      const { executions, live } = yield* ContractBench
      const { Transfer } = yield* Sdk
      const reference = newReference()
      const transfer = {
        account_bank: "MPS",
        account_number: "256700001234",
        amount: 20_000,
        currency: "UGX",
        debit_currency: "UGX",
        reference,
        beneficiary_name: "A B",
        narration: "Salary"
      }
      const made = yield* call(Transfer.initiate(transfer))
      expect(made).toMatchObject({
        message: "Transfer Queued Successfully",
        data: { reference, amount: 20_000, fee: 1000, status: "NEW", full_name: "A B" }
      })
      expect(yield* call(Transfer.initiate(transfer))).toStrictEqual({
        status: "error",
        message: "Payout with this ref already exists",
        data: null
      })
      const listed = yield* until(() => Transfer.fetch({ reference }), "SUCCESSFUL")
      expect(listed).toMatchObject({ message: "Transfers fetched", data: [{ reference, status: "SUCCESSFUL" }] })
      const fact = yield* Effect.flatMap(askOrder(uganda, reference), payoutsOf(live).fetchStatus)
      expect(fact).toMatchObject({ _tag: "Succeeded", amount: 20_000n, currency: "UGX", fee: 1000n })
      const id = "providerReference" in fact ? Number(fact.providerReference) : 0
      expect(yield* call(Transfer.get_a_transfer({ id }))).toMatchObject({ data: { id, reference } })
      expect(yield* call(Transfer.fetch({ reference: newReference() }))).toMatchObject({ data: [] })
      expect(yield* executions(reference)).toHaveLength(1)
    })
  )

  it.effect("gets the failure of a transfer to a phone without a name later", () =>
    Effect.gen(function* () {
      const { Transfer } = yield* Sdk
      const reference = newReference()
      const transfer = { account_bank: "MPS", account_number: "256700001234", amount: 20_000, currency: "UGX", reference }
      expect(yield* call(Transfer.initiate(transfer))).toMatchObject({ data: { status: "NEW" } })
      const listed = yield* until(() => Transfer.fetch({ reference }), "FAILED")
      expect(listed).toMatchObject({ data: [{ complete_message: "beneficiary_name is required" }] })
    })
  )

  it.effect("pays another merchant, and asks for fees, banks, branches, holders and balances", () =>
    Effect.gen(function* () {
      const { Bank, Misc, Transaction, Transfer } = yield* Sdk
      const wallet = { account_bank: "flutterwave", account_number: "20091234", amount: 500, currency: "NGN" }
      expect(
        yield* call(Transfer.wallet_to_wallet({ ...wallet, narration: "Settlement", reference: newReference() }))
      ).toMatchObject({ data: { bank_name: "wallet", fee: 50, status: "NEW" } })
      expect(yield* call(Transfer.fee({ amount: 12_500, currency: "NGN" }))).toMatchObject({
        data: [{ currency: "NGN", fee_type: "value", fee: 50 }]
      })
      expect(yield* call(Bank.country({ country: "GH" }))).toMatchObject({ data: [{ id: 280, code: "GH190100" }, { id: 281 }] })
      expect(yield* call(Bank.branches({ id: 280 }))).toMatchObject({ data: [{ branch_code: "GH190101", bank_id: 280 }, {}] })
      const account = { account_number: "0690000032", account_bank: "044" }
      expect(yield* call(Misc.verify_Account({ ...account }))).toMatchObject({ data: { account_name: "JOHN DOE" } })
      expect(yield* call(Misc.verify_Account({ ...account, account_number: "0690000016" }))).toMatchObject({ status: "error" })
      expect(yield* call(Misc.bal())).toMatchObject({
        data: expect.arrayContaining([expect.objectContaining({ currency: "NGN" })])
      })
      expect(yield* call(Misc.bal_currency({ currency: "UGX" }))).toMatchObject({ data: { currency: "UGX" } })
      expect(yield* call(Transaction.fetch({ from: "2020-01-01", to: "2020-01-02" }))).toMatchObject({
        data: [],
        meta: { page_info: { total: 0 } }
      })
    })
  )

  it.effect("reads the payouts and charges of the adapter", () =>
    Effect.gen(function* () {
      const { live } = yield* ContractBench
      const { Transaction, Transfer } = yield* Sdk
      const ghana = through("GH190101", bank("GH", "GHS", "GH190100", "001200"))
      const order = yield* payoutOrder(payoutsOf(live), ghana, "1234")
      yield* payoutsOf(live).send(order)
      const listed = yield* until(() => Transfer.fetch({ reference: order.reference }), "SUCCESSFUL")
      expect(listed).toMatchObject({
        data: [{ amount: 123.45, currency: "GHS", fee: 5, bank_code: "GH190100", full_name: "Jane Mary Doe" }]
      })
      const charge = chargeOrder(kenya, "1234")
      yield* collectionsOf(live).charge(charge)
      const verified = yield* until(() => Transaction.verify_by_tx({ tx_ref: charge.reference }), "successful")
      expect(verified).toMatchObject({ data: { amount: 123.45, currency: "KES" } })
    })
  )
})
