import { Effect, Option, Redacted, Schema } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { CountryAccount, MtnSettings } from "../../providers/mtn/Client.ts"
import { type MarketCountry, marketCountries, marketOf } from "../../providers/mtn/Networks.ts"
import { mtnProvider } from "../../providers/mtn/Settings.ts"
import { type Product, products } from "../../providers/mtn/Wire.ts"
import { simulatedFees } from "../Fees.ts"
import type { SimulatedRequest } from "../SimulatedProvider.ts"
import { bearerOf, showsBasic, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator } from "../SimulatorModule.ts"
import { issueToken, readToken, type TokenKind } from "../Tokens.ts"
import { createPayment } from "./Payments.ts"
import { activeHolder, balance, holderInfo } from "./Reference.ts"
import { type Call, errors, json, type ProductMerchant, refuse, tooMany, turnAway } from "./Responses.ts"
import { callbackOf, paymentStatus } from "./Transactions.ts"

type Account = Pick<MtnSettings, "countries">

/** To the simulator, an account is one, however many countries it covers. */
const nameOf = ({ countries }: Account): string => countries[0]?.userId ?? ""

export const simulatedMtn = knownSimulator({
  provider: mtnProvider,
  account: (mode, { baseUrl, timeoutMs }) => ({
    countries: marketCountries.map((country) => countryAccount(country, mode, baseUrl)),
    fees: simulatedFees,
    holderCheck: "name" as const,
    callbackUrl: null,
    timeoutMs
  }),
  accountName: nameOf,
  simulator: (accounts) => mtnSimulator(accounts)
})

/** An API user's id is a UUID. */
const users: Readonly<Record<Mode, string>> = {
  live: "5a1e0000-0000-4000-8000-000000000001",
  test: "7e570000-0000-4000-8000-000000000002"
}

const countryAccount = (country: MarketCountry, mode: Mode, baseUrl: string): CountryAccount => ({
  ...marketOf(country),
  baseUrl,
  userId: users[mode],
  apiKey: Redacted.make(`simulated-${mode}-api-key`),
  subscriptionKeys: {
    collection: Redacted.make(`simulated-${mode}-collection-key`),
    disbursement: Redacted.make(`simulated-${mode}-disbursement-key`)
  }
})

const tokenLine = (product: Product) => `POST /${product}/token`
const TOKEN_LIFE_SECONDS = 3600
/** A token is good for one product. */
const tokenFor = (product: Product): TokenKind => ({ name: product, lifeSeconds: TOKEN_LIFE_SECONDS })

const token = ({ merchant: { country, product }, now }: Call) => {
  const access_token = issueToken(tokenFor(product), country.apiKey, { userId: country.userId }, now)
  return Effect.succeed(json(200, { access_token, token_type: "access_token", expires_in: TOKEN_LIFE_SECONDS }))
}

const routesOf = (product: Product): WireEndpoints<Call> => {
  const payment = `/${product}/v1_0/${products[product]}`
  return {
    [tokenLine(product)]: { operation: "token", endpoint: token },
    [`POST ${payment}`]: { endpoint: createPayment },
    [`GET ${payment}/*`]: { operation: "status", endpoint: paymentStatus },
    [`GET /${product}/v1_0/account/balance`]: { operation: "balance", endpoint: balance },
    ...holderRoutes(`GET /${product}/v1_0/accountholder/msisdn/*`),
    ...holderRoutes(`GET /${product}/v1_0/accountholder/MSISDN/*`)
  }
}

/** MTN's own documents write `msisdn` in both cases. */
const holderRoutes = (holder: string): WireEndpoints<Call> => ({
  [`${holder}/active`]: { endpoint: activeHolder },
  [`${holder}/basicuserinfo`]: { endpoint: holderInfo }
})

/** MTN as its wire shows it (README.md of the provider). */
export const mtnSimulator = (accounts: ReadonlyArray<Account>) =>
  simulatedWire<ProductMerchant>({
    name: "mtn",
    accounts: accounts.map((account) => ({ clientId: nameOf(account) })),
    errors,
    tooMany,
    routes: { ...routesOf("collection"), ...routesOf("disbursement") },
    authenticate: (request, line, now) => {
      const product = line.includes("/collection/") ? "collection" : "disbursement"
      const merchants = accounts.flatMap((account) =>
        account.countries.map((country) => ({ clientId: nameOf(account), country, product }) as const)
      )
      return authenticate(merchants, request, { isForToken: line === tokenLine(product), product, now })
    },
    unknownAddress: turnAway(404, "Resource not found"),
    refusesAddressFirst: true,
    callback: callbackOf
  })

interface Asked {
  readonly isForToken: boolean
  readonly product: Product
  readonly now: number
}

/** By the product's subscription key, and then by the API user's key or a token. */
const authenticate = Effect.fnUntraced(function* (
  merchants: ReadonlyArray<ProductMerchant>,
  request: SimulatedRequest,
  { isForToken, now, product }: Asked
) {
  const key = request.header("ocp-apim-subscription-key")
  const subscribed = merchants.filter(({ country }) => Redacted.value(country.subscriptionKeys[product]) === key)
  if (subscribed.length === 0)
    return yield* turnAway(401, "Access denied due to invalid subscription key. Make sure to provide a valid key.")
  if (isForToken) {
    const user = subscribed.find(({ country }) => showsBasic(request, country.userId, country.apiKey))
    return user ?? (yield* refuse(401, "login_failed", "invalid credentials"))
  }
  const bearer = bearerOf(request) ?? ""
  const own = subscribed.filter(({ country }) => isTokenOf(country, product, bearer, now))
  if (own.length === 0) return yield* turnAway(401, "Unauthorized. Access token is invalid or has expired.")
  const environment = request.header("x-target-environment")
  const merchant = own.find(({ country }) => country.environment === environment)
  return merchant ?? (yield* refuse(500, "NOT_ALLOWED_TARGET_ENVIRONMENT", "Access to target environment is forbidden."))
})

const Claims = Schema.Struct({ userId: Schema.String })

const isTokenOf = ({ apiKey, userId }: CountryAccount, product: Product, bearer: string, now: number): boolean =>
  Option.exists(readToken(tokenFor(product), Claims)(apiKey, bearer, now), (claims) => claims.userId === userId)
