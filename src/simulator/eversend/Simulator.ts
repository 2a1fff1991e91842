import { Effect, Option, Redacted, Schema } from "effect"
import { eversendProvider } from "../../providers/eversend/Settings.ts"
import { hmacHeader, ownerOf, signedCallback } from "../Callbacks.ts"
import type { SimulatedRequest } from "../SimulatedProvider.ts"
import { bearerOf, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator } from "../SimulatorModule.ts"
import { issueToken, readToken, type TokenKind } from "../Tokens.ts"
import { createCollection, sendCode } from "./Collections.ts"
import { createExchange, quoteExchange } from "./Exchanges.ts"
import { createPayout } from "./Payouts.ts"
import { quotePayout } from "./Quotations.ts"
import { banks, countries, resolveBank, wallets } from "./Reference.ts"
import { type Call, type EversendAccount, errors, plain, refuse, tooMany } from "./Responses.ts"
import { callbackBody, transactionById, transactions } from "./Transactions.ts"

export const simulatedEversend = knownSimulator({
  provider: eversendProvider,
  account: (mode, reach) => ({
    ...reach,
    clientId: `simulated-${mode}`,
    clientSecret: Redacted.make(`simulated-${mode}-secret`),
    webhookSecret: Redacted.make(`simulated-${mode}-webhook-secret`),
    origin: null
  }),
  accountName: ({ clientId }) => clientId,
  simulator: (accounts) => eversendSimulator(accounts)
})

const TOKEN_LINE = "GET /auth/token"
const bearerToken: TokenKind = { name: "bearer", lifeSeconds: 3600 }
const Claims = Schema.Struct({ clientId: Schema.String })
const readBearer = readToken(bearerToken, Claims)

const token = ({ merchant, now }: Call) =>
  Effect.succeed(
    plain({ status: 200, token: issueToken(bearerToken, merchant.clientSecret, { clientId: merchant.clientId }, now) })
  )

const routes: WireEndpoints<Call> = {
  [TOKEN_LINE]: { operation: "token", endpoint: token },
  "POST /collections/otp": { operation: "otp", endpoint: sendCode },
  "POST /collections/momo": { endpoint: createCollection },
  "POST /payouts/quotation": { operation: "quotation", endpoint: quotePayout },
  "POST /payouts": { endpoint: createPayout },
  "GET /payouts/countries": { operation: "countries", endpoint: countries },
  "GET /payouts/banks/*": { operation: "banks", endpoint: banks },
  "POST /beneficiaries/accounts/banks": { endpoint: resolveBank },
  "GET /wallets": { operation: "wallets", endpoint: wallets },
  "POST /exchanges/quotation": { operation: "exchange_quotation", endpoint: quoteExchange },
  "POST /exchanges": { operation: "exchange", playsItself: true, endpoint: createExchange },
  "GET /transactions": { operation: "transactions", endpoint: transactions },
  "GET /transactions/*": { operation: "transactions", endpoint: transactionById }
}

/** Eversend as its wire shows it (the provider's README.md), but a reference may be used twice, so that tests notice it. */
export const eversendSimulator = (accounts: ReadonlyArray<EversendAccount>) =>
  simulatedWire<EversendAccount>({
    name: "eversend",
    mount: "/v1",
    accounts,
    errors,
    tooMany,
    routes,
    authenticate: (request, line, now) =>
      line === TOKEN_LINE ? byCredentials(accounts, request) : byToken(accounts, bearerOf(request) ?? "", now),
    unknownAddress: refuse(404),
    payerPage: {
      path: /^\/checkout\/([A-Z0-9]+)$/,
      missing: refuse(404).response,
      backTo: ({ detail }) => detail.redirectTo ?? ""
    },
    callback: (transaction, planned) =>
      signedCallback({
        secret: ownerOf(accounts, transaction)?.webhookSecret,
        planned,
        body: callbackBody(transaction, planned.says),
        headers: hmacHeader("x-eversend-signature", "sha512")
      })
  })

const byCredentials = (accounts: ReadonlyArray<EversendAccount>, { header }: SimulatedRequest) => {
  const account = accounts.find(({ clientId }) => clientId === header("clientId"))
  return account === undefined || Redacted.value(account.clientSecret) !== header("clientSecret")
    ? Effect.fail(refuse(401))
    : Effect.succeed(account)
}

const byToken = (accounts: ReadonlyArray<EversendAccount>, bearer: string, now: number) => {
  const account = accounts.find((one) =>
    Option.exists(readBearer(one.clientSecret, bearer, now), ({ clientId }) => clientId === one.clientId)
  )
  return account === undefined ? Effect.fail(refuse(401)) : Effect.succeed(account)
}
