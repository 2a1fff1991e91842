import { secret } from "../../../src/ConfigRules.ts"
import { contractFeesOf, type PricedPlaces } from "../../../src/providers/FeeSchedule.ts"
import { knownProvider, whole } from "../../../src/providers/ProviderModule.ts"
import { sixth } from "./Adapter.ts"
import type { SixthSettings } from "./Client.ts"

const pricedPlaces: PricedPlaces = {
  payout: [
    { country: "UG", currency: "UGX", method: "momo", networks: ["MTN", "AIRTEL"] },
    { country: "KE", currency: "KES", method: "momo", networks: ["MPESA", "AIRTEL"] }
  ]
}

/** `SIXTH_BASE_URL` (with `/v1`), the contract's fees of payouts, and for each mode `API_KEY` and `WEBHOOK_SECRET`. */
export const sixthProvider = knownProvider<SixthSettings>({
  name: "sixth",
  credentials: ["API_KEY", "WEBHOOK_SECRET"],
  contract: { places: pricedPlaces, fees: ({ fees }) => fees },
  pace: { count: 10, windowMs: 1_000, burst: 10 },
  account: (reader) => {
    const { baseUrl, own, timeoutMs } = reader
    const needed = whole({ apiKey: own("API_KEY", secret), webhookSecret: own("WEBHOOK_SECRET", secret) })
    const fees = contractFeesOf(reader, pricedPlaces)
    return needed && { baseUrl, timeoutMs, ...needed, fees }
  },
  identity: ({ apiKey }) => ({ within: "", own: apiKey }),
  open: sixth
})
