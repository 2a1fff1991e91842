import { Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import { flutterwaveProvider } from "../../providers/flutterwave/Settings.ts"
import { ownerOf, signedCallback } from "../Callbacks.ts"
import { bySecret, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator, namesBySecret } from "../SimulatorModule.ts"
import { createCharge } from "./Collections.ts"
import { createTransfer, transferFee } from "./Payouts.ts"
import { listBalances, listBanks, listBranches, oneBalance, resolveAccount } from "./Reference.ts"
import { type Call, errors, type FlutterwaveAccount, refuse, tooMany } from "./Responses.ts"
import {
  callbackBody,
  listChargebacks,
  listRefunds,
  listTransactions,
  listTransfers,
  transferById,
  verify,
  verifyByReference
} from "./Transactions.ts"

const secretKeyOf = (mode: Mode): string => `FLWSECK-simulated-${mode}`
const nameOf = namesBySecret("account", secretKeyOf)

export const simulatedFlutterwave = knownSimulator({
  provider: flutterwaveProvider,
  account: (mode, reach) => ({
    ...reach,
    secretKey: Redacted.make(secretKeyOf(mode)),
    webhookSecretHash: Redacted.make(`simulated-${mode}-secret-hash`),
    sender: { name: "Simulated Gateway", country: "KE", phone: "254700000000" },
    emailDomain: "example.com"
  }),
  accountName: ({ secretKey }) => nameOf(secretKey),
  simulator: (accounts) => flutterwaveSimulator(accounts.map((account) => ({ ...account, clientId: nameOf(account.secretKey) })))
})

const routes: WireEndpoints<Call> = {
  "POST /charges": { endpoint: createCharge },
  "GET /transactions/verify_by_reference": { operation: "verify", endpoint: verifyByReference },
  "GET /transactions/*/verify": { operation: "verify", endpoint: verify },
  "GET /transactions": { operation: "transactions", endpoint: listTransactions },
  "GET /chargebacks": { operation: "chargebacks", endpoint: listChargebacks },
  "GET /refunds": { operation: "refunds", endpoint: listRefunds },
  "POST /transfers": { endpoint: createTransfer },
  "GET /transfers": { operation: "transfers", endpoint: listTransfers },
  "GET /transfers/fee": { operation: "fee", endpoint: transferFee },
  "GET /transfers/*": { operation: "transfers", endpoint: transferById },
  "GET /banks/*": { operation: "banks", endpoint: listBanks },
  "GET /banks/*/branches": { operation: "branches", endpoint: listBranches },
  "POST /accounts/resolve": { endpoint: resolveAccount },
  "GET /balances": { operation: "balances", endpoint: listBalances },
  "GET /balances/*": { operation: "balances", endpoint: oneBalance }
}

/** Flutterwave as its v3 wire shows it (README.md of the provider). */
const flutterwaveSimulator = (accounts: ReadonlyArray<FlutterwaveAccount>) =>
  simulatedWire<FlutterwaveAccount>({
    name: "flutterwave",
    mount: "/v3",
    accounts,
    errors,
    tooMany,
    routes,
    authenticate: bySecret(accounts, {
      secretOf: ({ secretKey }) => secretKey,
      unknown: refuse(401, "Authorization required")
    }),
    unknownAddress: refuse(404, "Not found"),
    payerPage: {
      path: /^\/captcha\/verify\/(\d+)$/,
      missing: refuse(404, "Not found").response,
      backTo: ({ detail }) => detail.redirectTo ?? ""
    },
    callback: (transaction, planned) =>
      signedCallback({
        secret: ownerOf(accounts, transaction)?.webhookSecretHash,
        planned,
        body: callbackBody(transaction, planned.says),
        headers: (hash) => ({ "verif-hash": hash })
      })
  })
