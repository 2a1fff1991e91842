import { Effect, Schema } from "effect"
import { type Market, markets, type Network } from "../../providers/pawapay/Networks.ts"
import { PredictRequest } from "../../providers/pawapay/Wire.ts"
import { balanceOf, shownBalance } from "../Call.ts"
import { order } from "../Orders.ts"
import { type Call, decodeBody, json, refuse } from "./Responses.ts"

const Availability = Schema.Struct({
  network: Schema.String,
  operation: Schema.Literals(["PAYOUT", "DEPOSIT"]),
  status: Schema.Literals(["OPERATIONAL", "DELAYED", "CLOSED"])
})

const statusKey = (network: string, operation: string) => `pawapay/status/${network}/${operation}`
const statusOf = ({ context }: Call, { provider }: Network, operation: string): string =>
  context.account.note(statusKey(provider, operation)) ?? "OPERATIONAL"

/** A network closes, slows down or reopens, for all accounts. */
export const availabilityOrder = order(Availability, ({ commit }, { network, operation, status }) => {
  const isKnown = markets.some(({ networks }) => Object.values(networks).some(({ provider }) => provider === network))
  return isKnown
    ? Effect.as(commit([{ fact: "note", key: statusKey(network, operation), value: status }]), null)
    : Effect.succeed("no such network")
})

const chosenMarkets = ({ request }: Call): ReadonlyArray<Market> => {
  const wanted = request.query.get("country")
  return markets.filter(({ iso3 }) => wanted === null || iso3 === wanted)
}

const chosenOperations = ({ request }: Call, { deposit, payout }: Network) => {
  const wanted = request.query.get("operationType")
  const all = [...(deposit === null ? [] : [["DEPOSIT", deposit] as const]), ["PAYOUT", payout] as const]
  return all.filter(([name]) => wanted === null || name === wanted)
}

/** GET /wallet-balances: one wallet per country. The frame has one per currency, and the first country shows it. */
export const balances = (call: Call) =>
  Effect.sync(() =>
    json(200, {
      balances: chosenMarkets(call).map(({ currency, iso3 }) => {
        const isFirst = markets.find((one) => one.currency === currency)?.iso3 === iso3
        const held = isFirst ? balanceOf(call, currency) : 0n
        return { country: iso3, balance: shownBalance(held, currency), currency, provider: "" }
      })
    })
  )

/** GET /active-conf */
export const activeConf = (call: Call) =>
  Effect.sync(() =>
    json(200, {
      companyName: call.merchant.clientId,
      signatureConfiguration: { signedRequestsOnly: false, signedCallbacks: true },
      countries: chosenMarkets(call).map(({ currency, iso3, name, networks, prefix }) => ({
        country: iso3,
        displayName: { en: name, fr: name },
        prefix,
        providers: Object.values(networks).map((network) => ({
          provider: network.provider,
          currencies: [{ currency, displayName: currency, operationTypes: operationTypes(call, network) }]
        }))
      }))
    })
  )

const operationTypes = (call: Call, network: Network) =>
  Object.fromEntries(
    chosenOperations(call, network).map(([name, { decimals, maximum, minimum }]) => [
      name,
      {
        minAmount: String(minimum),
        maxAmount: String(maximum),
        decimalsInAmount: decimals === 0 ? "NONE" : "TWO_PLACES",
        status: statusOf(call, network, name),
        ...(name === "DEPOSIT" ? { authType: network.deposit?.asks === "code" ? "PREAUTH" : "PROVIDER_AUTH" } : {})
      }
    ])
  )

/** GET /availability */
export const availability = (call: Call) =>
  Effect.sync(() =>
    json(
      200,
      chosenMarkets(call).map(({ iso3, networks }) => ({
        country: iso3,
        providers: Object.values(networks).map((network) => ({
          provider: network.provider,
          operationTypes: chosenOperations(call, network).map(([operationType]) => ({
            operationType,
            status: statusOf(call, network, operationType)
          }))
        }))
      }))
    )
  )

/** POST /predict-provider: by the country alone, so always its first network. */
export const predict = Effect.fnUntraced(function* (call: Call) {
  const { phoneNumber } = yield* decodeBody(PredictRequest, call.request)
  const digits = phoneNumber.replace(/\D/g, "")
  const market = markets.find(({ prefix }) => digits.startsWith(prefix))
  const [network] = Object.values(market?.networks ?? {})
  if (market === undefined || network === undefined) return yield* refuse(400, "INVALID_PHONE_NUMBER")
  return json(200, { country: market.iso3, provider: network.provider, phoneNumber: digits })
})
