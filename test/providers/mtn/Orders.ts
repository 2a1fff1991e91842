import { Effect, Logger, Redacted, References } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { mtn } from "../../../src/providers/mtn/Adapter.ts"
import type { CountryAccount, MtnSettings } from "../../../src/providers/mtn/Client.ts"
import { type MarketCountry, marketOf } from "../../../src/providers/mtn/Networks.ts"
import type { StatusAnswer } from "../../../src/providers/mtn/Wire.ts"
import type { ChargeOrder, PayoutOrder } from "../../../src/services/ports/Provider.ts"
import { simulatedFees } from "../../../src/simulator/Fees.ts"
import { chargeOrder, momo, orderOn } from "../contract/Orders.ts"

// What the tests of this adapter order, and how they open it.

export const USER_ID = "11111111-2222-4333-8444-555555555555"

export const accountIn = (country: MarketCountry, baseUrl: string): CountryAccount => ({
  ...marketOf(country),
  baseUrl,
  userId: USER_ID,
  apiKey: Redacted.make("api-key"),
  subscriptionKeys: { collection: Redacted.make("collection-key"), disbursement: Redacted.make("disbursement-key") }
})

export const settings = (baseUrl: string, change: Partial<MtnSettings> = {}): MtnSettings => ({
  countries: [accountIn("UG", baseUrl), accountIn("GH", baseUrl)],
  fees: simulatedFees,
  holderCheck: "name",
  callbackUrl: null,
  timeoutMs: 10_000,
  ...change
})

export const open = (baseUrl: string, change: Partial<MtnSettings> = {}) => mtn(settings(baseUrl, change), "test")

export const uganda = momo("UG", "UGX", "MTN", "25670000")
export const ghana = momo("GH", "GHS", "MTN", "23320000")

export const payout = (change: Partial<PayoutOrder> = {}, way = uganda, ending = "1234"): PayoutOrder => ({
  ...orderOn(
    {
      principal: way.amount,
      fee: minor(500n),
      destinationAmount: way.amount,
      destinationCurrency: way.currency,
      rate: null,
      expiresInMs: 1,
      token: ""
    },
    way,
    ending
  ),
  ...change
})

export const charge = (change: Partial<ChargeOrder> = {}, way = uganda, ending = "1234"): ChargeOrder => ({
  ...chargeOrder(way, ending),
  ...change
})

/** A status as MTN writes it. */
export const statusOf = (
  externalId: string,
  change: Partial<Readonly<Record<keyof typeof StatusAnswer.Type, unknown>>> = {}
): object => ({
  financialTransactionId: "363440463",
  externalId,
  amount: "20000",
  currency: "UGX",
  payer: { partyIdType: "MSISDN", partyId: "256700001234" },
  payerMessage: "",
  payeeNote: "",
  status: "SUCCESSFUL",
  ...change
})

/** Runs something, and answers also what it logged as errors. */
export const overheard = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const errors: Array<string> = []
    const logger = Logger.make(({ fiber, logLevel }) => {
      if (logLevel === "Error") errors.push(JSON.stringify(fiber.getRef(References.CurrentLogAnnotations)))
    })
    return Effect.map(Effect.provide(effect, Logger.layer([logger])), (value) => ({ value, errors }))
  })
