import { Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import { paystackProvider } from "../../providers/paystack/Settings.ts"
import { hmacHeader, ownerOf, signedCallback } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { simulatedPayoutFees } from "../Fees.ts"
import { page } from "../Responses.ts"
import { bySecret, simulatedWire, type WireEndpoints } from "../SimulatedWire.ts"
import { knownSimulator, namesBySecret } from "../SimulatorModule.ts"
import { checkCharge, createCharge, submitOtp } from "./Collections.ts"
import { disputeOrder, listDisputes } from "./Disputes.ts"
import { createRecipient, createTransfer } from "./Payouts.ts"
import { balance, listBanks, listCountries, resolveBank } from "./Reference.ts"
import { type Call, errors, type PaystackAccount, refuse, refusePlainly, tooMany } from "./Responses.ts"
import { callbackBody, listCharges, listRefunds, listTransfers, verifyCharge, verifyTransfer } from "./Transactions.ts"

const secretKeyOf = (mode: Mode): string => `sk_${mode}_simulated`
const nameOf = namesBySecret("key", secretKeyOf)

export const simulatedPaystack = knownSimulator({
  provider: paystackProvider,
  account: (mode, reach) => ({
    ...reach,
    secretKey: Redacted.make(secretKeyOf(mode)),
    fees: simulatedPayoutFees,
    emailDomain: "example.com"
  }),
  accountName: ({ secretKey }) => nameOf(secretKey),
  simulator: (accounts) => paystackSimulator(accounts.map(({ secretKey }) => ({ clientId: nameOf(secretKey), secretKey })))
})

const routes: WireEndpoints<Call> = {
  "POST /charge": { endpoint: createCharge },
  "POST /charge/submit_otp": { endpoint: submitOtp },
  "GET /charge/*": { operation: "charge_check", endpoint: checkCharge },
  "GET /transaction": { operation: "transactions", endpoint: listCharges },
  "GET /transaction/verify/*": { operation: "transaction_verify", endpoint: verifyCharge },
  "POST /transferrecipient": { operation: "recipient", endpoint: createRecipient },
  "POST /transfer": { endpoint: createTransfer },
  "GET /transfer": { operation: "transfers", endpoint: listTransfers },
  "GET /transfer/verify/*": { operation: "transfer_verify", endpoint: verifyTransfer },
  "GET /refund": { operation: "refunds", endpoint: listRefunds },
  "GET /dispute": { operation: "disputes", endpoint: listDisputes },
  "GET /balance": { operation: "balance", endpoint: balance },
  "GET /bank": { operation: "banks", endpoint: listBanks },
  "GET /bank/resolve": { endpoint: resolveBank },
  "GET /country": { operation: "countries", endpoint: listCountries }
}

/** Paystack as its wire shows it (README.md of the provider). */
const paystackSimulator = (accounts: ReadonlyArray<PaystackAccount>) => {
  const sent = (transaction: SimulatedTransaction, planned: PlannedCallback, body: string) =>
    signedCallback({
      secret: ownerOf(accounts, transaction)?.secretKey,
      planned,
      body,
      headers: hmacHeader("x-paystack-signature", "sha512")
    })
  return simulatedWire<PaystackAccount>({
    name: "paystack",
    accounts,
    errors,
    tooMany,
    routes,
    authenticate: bySecret(accounts, {
      secretOf: ({ secretKey }) => secretKey,
      unknown: refuse(401, "Invalid key", "invalid_Key")
    }),
    unknownAddress: refusePlainly(404, "Unknown address"),
    payerPage: {
      path: /^\/pay\/(\d+)\/?$/,
      missing: page("<p>Not found</p>", 404),
      isFor: ({ detail }) => detail.prompt === "page"
    },
    callback: (transaction, planned) => sent(transaction, planned, callbackBody(transaction, planned.says)),
    orders: {
      dispute: disputeOrder(accounts, (charge, body) =>
        sent(charge, { says: "successful", when: "after_settlement", signature: "genuine" }, body)
      )
    }
  })
}
