import { Redacted } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { wave } from "../../../src/providers/wave/Adapter.ts"
import type { Wallet } from "../../../src/providers/wave/Client.ts"
import type { ChargeOrder, PayoutOrder } from "../../../src/services/ports/Provider.ts"
import { simulatedFees } from "../../../src/simulator/Fees.ts"
import { chargeOrder, momo, orderOn } from "../contract/Orders.ts"

// The orders of this adapter's tests, and how they open it.

export const wallet = (country: "CI" | "SN", change: Partial<Wallet> = {}): Wallet => ({
  country,
  currency: "XOF",
  apiKey: Redacted.make(`wave_${country.toLowerCase()}_prod_key`),
  webhookSecret: Redacted.make(`wave_${country.toLowerCase()}_WHS_secret`),
  aggregatedMerchant: null,
  ...change
})

export const open = (baseUrl: string) =>
  wave({ baseUrl, wallets: [wallet("CI"), wallet("SN")], fees: simulatedFees, timeoutMs: 10_000 }, "live")

export const abidjan = momo("CI", "XOF", "WAVE", "+225070344")

export const payout = (change: Partial<PayoutOrder> = {}): PayoutOrder => ({
  ...orderOn(
    {
      principal: minor(25_000n),
      fee: minor(250n),
      destinationAmount: minor(25_000n),
      destinationCurrency: "XOF",
      rate: null,
      expiresInMs: 1,
      token: ""
    },
    abidjan,
    "5566"
  ),
  ...change
})

export const charge = (change: Partial<ChargeOrder> = {}): ChargeOrder => ({
  ...chargeOrder({ ...abidjan, redirect: true, amount: minor(15_000n) }, "5566"),
  ...change
})

/** Of Wave's documents: a payout, and a checkout session. */
export const payoutShown = (client_reference: string, change: object = {}) => ({
  id: "pt-1r7dv2kg0tz4a",
  currency: "XOF",
  receive_amount: "25000",
  fee: "250",
  mobile: "+2250703445566",
  name: "Awa K",
  client_reference,
  payment_reason: "Retrait 8123",
  status: "succeeded",
  timestamp: "2026-11-28T15:04:05Z",
  ...change
})

export const sessionShown = (client_reference: string, change: object = {}) => ({
  id: "cos-1s9t0xyz2a4b6",
  amount: "15000",
  checkout_status: "open",
  payment_status: "processing",
  client_reference,
  currency: "XOF",
  error_url: "https://shop.example/back",
  success_url: "https://shop.example/back",
  business_name: "Shop",
  transaction_id: null,
  last_payment_error: null,
  wave_launch_url: "https://pay.wave.com/c/cos-1s9t0xyz2a4b6?a=15000&c=XOF",
  when_created: "2026-11-28T15:04:05Z",
  when_expires: "2026-11-29T15:04:05Z",
  when_completed: null,
  ...change
})
