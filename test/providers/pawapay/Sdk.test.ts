import { createPublicKey } from "node:crypto"
import dns from "node:dns"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createPawaPayClient } from "pawapay-sdk"
import { vi } from "vitest"
import { paymentId } from "../../../src/providers/pawapay/Wire.ts"
import { simulatedPawapay } from "../../../src/simulator/pawapay/Simulator.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { newReference } from "../contract/Orders.ts"
import { askOrder } from "./Orders.ts"

// Somebody else's idea of pawaPay's wire drives the simulator, so that it and the adapter cannot share one misunderstanding.

/** No name is looked up any more: nothing but this machine can be reached. */
const offline = Layer.effectDiscard(
  Effect.acquireRelease(
    Effect.sync(() =>
      vi.spyOn(dns, "lookup").mockImplementation(() => {
        throw new Error("a name is looked up")
      })
    ),
    (lookups) =>
      Effect.sync(() => {
        const asked = [...lookups.mock.calls]
        lookups.mockRestore()
        expect(asked).toEqual([])
      })
  )
)

const sdk = Effect.map(ContractBench, ({ baseUrl, ...bench }) => {
  const client = createPawaPayClient("simulated-live-token", { apiVersion: "v2", environment: "sandbox" })
  // Its own type leaves out that a call's options may name another address.
  const here = { options: { timeout: 5000, baseURL: baseUrl } }
  const stranger = createPawaPayClient("another-token", { apiVersion: "v2", environment: "sandbox" })
  return { client, stranger, here, ...bench }
})

const details = (phoneNumber: string, provider: string) => ({ type: "MMO" as const, accountDetails: { phoneNumber, provider } })
const ordered = (clientReferenceId: string) => ({
  amount: "123.45",
  currency: "ZMW",
  clientReferenceId,
  customerMessage: "Order 123",
  metadata: [{ orderId: "ORD-1" }]
})
const got = <A extends { readonly success: boolean; readonly data?: unknown }>(promise: () => Promise<A>) =>
  Effect.promise(promise).pipe(
    Effect.map((answer) => {
      expect(answer).toMatchObject({ success: true, status: 200 })
      return answer.data
    })
  )

layer(Layer.provideMerge(offline, ContractBench.layer(simulatedPawapay)), { excludeTestServices: true })(
  "the SDK pawapay-sdk",
  (it) => {
    it.effect("charges, reads the status until it is completed, and gets a duplicate refused; the adapter sees the same", () =>
      Effect.gen(function* () {
        const { client, executions, here, live } = yield* sdk
        const reference = newReference()
        const depositId = paymentId(reference)
        const request = { depositId, ...ordered(reference), payer: details("260763456789", "MTN_MOMO_ZMB") }
        expect(yield* got(() => client.requestDeposit(request, here))).toMatchObject({ depositId, status: "ACCEPTED" })
        const read = got(() => client.checkDepositStatus(depositId, here))
        const settled = yield* eventually(read, (answer) => JSON.stringify(answer).includes("COMPLETED"))
        expect(settled).toMatchObject({
          status: "FOUND",
          data: {
            depositId,
            amount: "123.45",
            currency: "ZMW",
            country: "ZMB",
            payer: request.payer,
            metadata: { orderId: "ORD-1" }
          }
        })
        expect(yield* got(() => client.requestDeposit(request, here))).toMatchObject({ status: "DUPLICATE_IGNORED" })
        expect(yield* executions(reference)).toMatchObject([
          { direction: "collection", reference: depositId, amount_minor: 12_345 }
        ])
        expect(yield* collectionsOf(live).fetchStatus(askOrder(reference))).toMatchObject({
          _tag: "Succeeded",
          amount: 12_345n,
          currency: "ZMW",
          fee: 186n
        })
      })
    )

    it.effect("pays out, and reads the payouts of the adapter", () =>
      Effect.gen(function* () {
        const { client, executions, here, live } = yield* sdk
        const reference = newReference()
        const payoutId = paymentId(reference)
        const request = { payoutId, ...ordered(reference), recipient: details("260973456789", "AIRTEL_OAPI_ZMB") }
        expect(yield* got(() => client.requestPayout(request, here))).toMatchObject({ payoutId, status: "ACCEPTED" })
        yield* eventually(payoutsOf(live).fetchStatus(askOrder(reference)), ({ _tag }) => _tag === "Succeeded")
        expect(yield* got(() => client.checkPayoutStatus(payoutId, here))).toMatchObject({
          status: "FOUND",
          data: { payoutId, status: "COMPLETED", amount: "123.45", recipient: request.recipient }
        })
        expect(yield* executions(reference)).toMatchObject([{ direction: "payout", amount_minor: 12_345 }])
        const other = paymentId(newReference())
        expect(yield* got(() => client.checkPayoutStatus(other, here))).toEqual({ status: "NOT_FOUND" })
      })
    )

    it.effect("gets refusals as pawaPay makes them: HTTP 200 for a rejected payment, 4xx for a wrong request", () =>
      Effect.gen(function* () {
        const { client, here, stranger } = yield* sdk
        const refused = { status: "REJECTED", failureReason: { failureCode: "PAWAPAY_WALLET_OUT_OF_FUNDS" } }
        const request = {
          payoutId: paymentId(newReference()),
          ...ordered("sdk"),
          recipient: details("260763450013", "MTN_MOMO_ZMB")
        }
        expect(yield* got(() => client.requestPayout(request, here))).toMatchObject({ payoutId: request.payoutId, ...refused })
        expect(yield* Effect.promise(() => stranger.getWalletBalances(here))).toMatchObject({ success: false, status: 403 })
        const bad = { ...request, payoutId: "not-a-uuid" }
        expect(yield* Effect.promise(() => client.requestPayout(bad, here))).toMatchObject({ success: false, status: 400 })
      })
    )

    it.effect("reads wallets, configuration, availability, a number's network, and the keys of callbacks", () =>
      Effect.gen(function* () {
        const { client, here } = yield* sdk
        expect(yield* got(() => client.getWalletBalances(here))).toMatchObject({
          balances: expect.arrayContaining([expect.objectContaining({ country: "ZMB", currency: "ZMW" })])
        })
        expect(yield* got(() => client.getActiveConfiguration(here))).toMatchObject({
          signatureConfiguration: { signedCallbacks: true },
          countries: expect.arrayContaining([expect.objectContaining({ country: "KEN", prefix: "254" })])
        })
        expect(yield* got(() => client.getProviderAvailability(here))).toContainEqual({
          country: "KEN",
          providers: [
            {
              provider: "MPESA_KEN",
              operationTypes: [
                { operationType: "DEPOSIT", status: "OPERATIONAL" },
                { operationType: "PAYOUT", status: "OPERATIONAL" }
              ]
            }
          ]
        })
        expect(yield* got(() => client.getProviderPrediction("+260 763-456789", here))).toEqual({
          country: "ZMB",
          provider: "MTN_MOMO_ZMB",
          phoneNumber: "260763456789"
        })
        const keys = yield* got(() => client.getPublicKeys(here))
        expect(keys).toMatchObject([{ id: "HTTP_EC_P256_KEY:1" }])
        const [key] = Array.isArray(keys) ? keys : []
        expect(createPublicKey(key?.key ?? "").asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" })
      })
    )
  }
)
