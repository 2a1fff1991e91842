import { Effect, Option, Redacted, Schema } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { AirtelSettings, CountryAccount } from "../../providers/airtel/Client.ts"
import { type MarketCountry, marketCountries, places } from "../../providers/airtel/Networks.ts"
import { airtelProvider } from "../../providers/airtel/Settings.ts"
import { simulatedFees } from "../Fees.ts"
import { exactBody } from "../Responses.ts"
import type { SimulatedRequest } from "../SimulatedProvider.ts"
import { bearerOf, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator } from "../SimulatorModule.ts"
import { issueToken, readToken, type TokenKind } from "../Tokens.ts"
import { createDisbursement, createPayment } from "./Payments.ts"
import { balance, encryptionKeys, holder } from "./Reference.ts"
import { type Call, type CountryMerchant, errors, json, tooMany, turnAway, unauthorized } from "./Responses.ts"
import { portalKey } from "./Signature.ts"
import { callbackOf, movementStatus, summary } from "./Transactions.ts"

type Account = Pick<AirtelSettings, "countries" | "callbackKeys">

/** To the simulator, an account is one, however many countries it covers. */
const nameOf = ({ countries }: Account): string => countries[0]?.clientId ?? ""

export const simulatedAirtel = knownSimulator({
  provider: airtelProvider,
  account: (mode, { baseUrl, timeoutMs }) => ({
    countries: marketCountries.map((country) => countryAccount(country, mode, baseUrl)),
    fees: simulatedFees,
    holderCheck: "name" as const,
    callbackKeys: [Redacted.make(`simulated-${mode}-callback-key`)],
    statementCountries: marketCountries,
    timeoutMs
  }),
  accountName: nameOf,
  trial: { country: "UG", currency: "UGX", network: "AIRTEL", prefix: "25675212" },
  simulator: (accounts) => airtelSimulator(accounts)
})

/** Each dialect of the calls belongs to one country. */
const dialects = {
  UG: { version: "v1", isSigned: false, pinPadding: "oaep-sha1" },
  KE: { version: "v1", isSigned: false, pinPadding: "pkcs1" },
  RW: { version: "v3", isSigned: true, pinPadding: "oaep-sha256" },
  TZ: { version: "v2", isSigned: false, pinPadding: "pkcs1" },
  ZM: { version: "v2", isSigned: true, pinPadding: "pkcs1" }
} as const satisfies Readonly<Record<MarketCountry, Pick<CountryAccount, "version" | "isSigned" | "pinPadding">>>

const countryAccount = (country: MarketCountry, mode: Mode, baseUrl: string): CountryAccount => ({
  country,
  currency: places[country].currency,
  ...dialects[country],
  baseUrl,
  clientId: `simulated-${mode}`,
  clientSecret: Redacted.make(`simulated-${mode}-client-secret`),
  pin: Redacted.make("4821"),
  pinKey: portalKey
})

const TOKEN_LINE = "POST /auth/oauth2/token"
const TOKEN: TokenKind = { name: "airtel", lifeSeconds: 180 }
const Claims = Schema.Struct({ client_id: Schema.String })
const TokenRequest = Schema.Struct({
  client_id: Schema.String,
  client_secret: Schema.String,
  grant_type: Schema.Literal("client_credentials")
})

const token = ({ merchant: { country }, now }: Call) => {
  const access_token = issueToken(TOKEN, country.clientSecret, { client_id: country.clientId }, now)
  return Effect.succeed(json({ token_type: "bearer", access_token, expires_in: String(TOKEN.lifeSeconds) }))
}

const routes: WireEndpoints<Call> = {
  [TOKEN_LINE]: { operation: "token", endpoint: token },
  "GET /v1/rsa/encryption-keys": { operation: "encryption_key", endpoint: encryptionKeys },
  "POST /merchant/v1/payments": { endpoint: createPayment("v1") },
  "POST /merchant/v2/payments": { endpoint: createPayment("v2") },
  "GET /standard/v1/payments/*": { operation: "status", endpoint: movementStatus("collection") },
  ...Object.fromEntries(
    (["v1", "v2", "v3"] as const).flatMap((version) => [
      [`POST /standard/${version}/disbursements`, { endpoint: createDisbursement(version) }],
      [`GET /standard/${version}/disbursements/*`, { operation: "status", endpoint: movementStatus("payout") }]
    ])
  ),
  "GET /standard/v1/users/balance": { operation: "balance", endpoint: balance },
  "GET /standard/v1/users/*": { endpoint: holder },
  "GET /merchant/v1/transactions": { operation: "statement", endpoint: summary }
}

/** Airtel's interface as its wire shows it (README.md of the provider). */
const airtelSimulator = (accounts: ReadonlyArray<Account>) =>
  simulatedWire<CountryMerchant>({
    name: "airtel",
    accounts: accounts.map((account) => ({ clientId: nameOf(account) })),
    errors: errors.collection,
    tooMany,
    routes,
    authenticate: (request, line, now) => {
      const merchants = accounts.flatMap((account) =>
        account.countries.map((country) => ({ clientId: nameOf(account), country }))
      )
      return line === TOKEN_LINE ? byCredentials(merchants, request) : byToken(merchants, request, now)
    },
    unknownAddress: turnAway("ROUTER005", "Country route is not configured"),
    callback: callbackOf(({ account }) => accounts.find((one) => nameOf(one) === account)?.callbackKeys[0])
  })

const byCredentials = Effect.fnUntraced(function* (merchants: ReadonlyArray<CountryMerchant>, request: SimulatedRequest) {
  const given = Option.getOrUndefined(Schema.decodeUnknownOption(TokenRequest)(exactBody(request)))
  const found = merchants.find(
    ({ country: { clientId, clientSecret } }) =>
      clientId === given?.client_id && Redacted.value(clientSecret) === given.client_secret
  )
  return found ?? (yield* unauthorized("invalid_client", "Invalid client authentication", 400))
})

const byToken = Effect.fnUntraced(function* (merchants: ReadonlyArray<CountryMerchant>, request: SimulatedRequest, now: number) {
  const bearer = bearerOf(request) ?? ""
  const own = merchants.filter(({ country: { clientId, clientSecret } }) =>
    Option.exists(readToken(TOKEN, Claims)(clientSecret, bearer, now), ({ client_id }) => client_id === clientId)
  )
  if (own.length === 0) return yield* unauthorized("invalid_token", "The access token is invalid or has expired")
  const [country, currency] = [request.header("x-country"), request.header("x-currency")]
  if (country === undefined) return yield* turnAway("ROUTER003", "X-Country is missing")
  const merchant = own.find((one) => one.country.country === country)
  if (merchant === undefined) return yield* turnAway("ROUTER007", "Country is not authorized")
  return merchant.country.currency === currency ? merchant : yield* turnAway("ROUTER112", "Invalid currency")
})
