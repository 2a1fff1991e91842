import { createPublicKey } from "node:crypto"
import { Effect, Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import { pawapayProvider } from "../../providers/pawapay/Settings.ts"
import { simulatedFees } from "../Fees.ts"
import { bearerOf, bySecret, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator, namesBySecret } from "../SimulatorModule.ts"
import { createDeposit, createPayout } from "./Payments.ts"
import { activeConf, availability, availabilityOrder, balances, predict } from "./Reference.ts"
import { type Call, errors, json, type PawapayAccount, refuse, rejected, tooMany } from "./Responses.ts"
import { callbackOf, isSigned, publicKeys, signedHeaders, signingKey } from "./Signature.ts"
import { openStatements } from "./Statements.ts"
import { paymentStatus } from "./Transactions.ts"

const apiTokenOf = (mode: Mode): string => `simulated-${mode}-token`
const nameOf = namesBySecret("pawapay", apiTokenOf)

export const simulatedPawapay = knownSimulator({
  provider: pawapayProvider,
  account: (mode, reach) => ({
    ...reach,
    apiToken: Redacted.make(apiTokenOf(mode)),
    signingKey: null,
    callbackKey: null,
    callbackHosts: [],
    statementHosts: [],
    fees: simulatedFees
  }),
  accountName: ({ apiToken }) => nameOf(apiToken),
  simulator: (accounts) =>
    pawapaySimulator(
      accounts.map(({ apiToken, signingKey }) => ({
        clientId: nameOf(apiToken),
        apiToken,
        requestKey: signingKey === null ? null : { id: signingKey.id, key: createPublicKey(signingKey.key) }
      }))
    )
})

const routes: WireEndpoints<Call> = {
  "POST /deposits": { endpoint: createDeposit },
  "POST /payouts": { endpoint: createPayout },
  "GET /deposits/*": { operation: "deposit_status", endpoint: paymentStatus("collection") },
  "GET /payouts/*": { operation: "payout_status", endpoint: paymentStatus("payout") },
  "GET /wallet-balances": { operation: "wallet_balances", endpoint: balances },
  "GET /active-conf": { operation: "active_conf", endpoint: activeConf },
  "GET /availability": { operation: "availability", endpoint: availability },
  "POST /predict-provider": { operation: "predict_provider", endpoint: predict }
}

/** pawaPay as its wire shows it (README.md of the provider). */
const pawapaySimulator = (accounts: ReadonlyArray<PawapayAccount>) => {
  const key = signingKey(accounts)
  const byToken = bySecret(accounts, {
    secretOf: ({ apiToken }) => apiToken,
    absent: rejected(401, "NO_AUTHENTICATION"),
    unknown: rejected(403, "AUTHENTICATION_ERROR")
  })
  const keys = Effect.sync(() => json(200, publicKeys(key)))
  const statements = openStatements()
  return simulatedWire<PawapayAccount>({
    name: "pawapay",
    mount: "/v2",
    accounts,
    errors,
    tooMany,
    routes: {
      ...routes,
      "GET /public-key/http": { operation: "public_key", endpoint: () => keys },
      "POST /statements": { operation: "statement", endpoint: statements.create },
      "GET /statements/*": { operation: "statement_status", endpoint: statements.status },
      "GET /statement-files/*": { operation: "statement_file", endpoint: statements.file }
    },
    authenticate: (request, line, now) => {
      const owner = statements.ownerOf(line, request.query.get("key"))
      // As with cloud storage: a request for a file by its address sends no token.
      if (owner !== undefined)
        return bearerOf(request) === undefined ? Effect.succeed(owner) : Effect.fail(refuse(400, "INVALID_INPUT"))
      return Effect.filterOrFail(
        byToken(request),
        ({ requestKey }) => requestKey === null || request.method === "GET" || isSigned(request, requestKey, now),
        () => rejected(403, "HTTP_SIGNATURE_ERROR")
      )
    },
    unknownAddress: refuse(404, "NOT_FOUND"),
    callback: callbackOf,
    orders: { availability: availabilityOrder },
    sign: (callback, _account, url, now) => signedHeaders(callback, key, url, now)
  })
}
