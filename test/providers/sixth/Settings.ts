import { secret } from "../../../src/ConfigRules.ts"
import { payoutFees } from "../../../src/providers/ContractFees.ts"
import { knownProvider } from "../../../src/providers/ProviderModule.ts"
import { sixth } from "./Adapter.ts"
import type { SixthSettings } from "./Client.ts"

/** `SIXTH_BASE_URL` (with `/v1`), `SIXTH_PAYOUT_FEES`, and for each mode `API_KEY` and `WEBHOOK_SECRET`. */
export const sixthProvider = knownProvider<SixthSettings>({
  name: "sixth",
  credentials: ["API_KEY", "WEBHOOK_SECRET"],
  shared: ["PAYOUT_FEES"],
  pace: { count: 10, windowMs: 1_000, burst: 10 },
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const apiKey = own("API_KEY", secret)
    const webhookSecret = own("WEBHOOK_SECRET", secret)
    const fees = shared("PAYOUT_FEES", payoutFees)
    if (apiKey === null || webhookSecret === null || fees === null) return null
    return { baseUrl, timeoutMs, apiKey, webhookSecret, payoutFees: fees }
  },
  identity: ({ apiKey }) => ({ within: "", own: apiKey }),
  open: sixth
})
