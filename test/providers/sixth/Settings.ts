import { createHash } from "node:crypto"
import { Redacted } from "effect"
import { secret } from "../../../src/ConfigRules.ts"
import { payoutFees, simulatedPayoutFees } from "../../../src/providers/ContractFees.ts"
import { knownProvider } from "../../../src/providers/ProviderModule.ts"
import { type SixthSettings, sixth } from "./Adapter.ts"
import { type SixthAccount, sixthSimulator } from "./Simulator.ts"

/** `SIXTH_BASE_URL` (with `/v1`), `SIXTH_PAYOUT_FEES`, and for each mode `API_KEY` and `WEBHOOK_SECRET`. */
export const sixthProvider = knownProvider<SixthSettings & SixthAccount>({
  name: "sixth",
  credentials: ["API_KEY", "WEBHOOK_SECRET"],
  shared: ["PAYOUT_FEES"],
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const apiKey = own("API_KEY", secret)
    const webhookSecret = own("WEBHOOK_SECRET", secret)
    const fees = shared("PAYOUT_FEES", payoutFees)
    if (apiKey === null || webhookSecret === null || fees === null) return null
    return { baseUrl, timeoutMs, clientId: publicName(apiKey), apiKey, webhookSecret, payoutFees: fees }
  },
  simulated: (mode, reach) => ({
    ...reach,
    clientId: `simulated-${mode}`,
    apiKey: Redacted.make(`simulated-${mode}-key`),
    webhookSecret: Redacted.make(`simulated-${mode}-webhook-secret`),
    payoutFees: simulatedPayoutFees
  }),
  open: sixth,
  accountName: ({ clientId }) => clientId,
  simulator: (accounts) => sixthSimulator(accounts)
})

/** An account has no other name than its key, which is a secret. */
const publicName = (apiKey: Redacted.Redacted): string =>
  `account-${createHash("sha256").update(Redacted.value(apiKey)).digest("hex").slice(0, 12)}`
