import type { KeyObject } from "node:crypto"
import { type Rule, secret } from "../../ConfigRules.ts"
import { collectionFee, payoutFees } from "../ContractFees.ts"
import { knownProvider } from "../ProviderModule.ts"
import { pawapay } from "./Adapter.ts"
import { publicKeyOf } from "./CallbackKeys.ts"
import type { PawapaySettings } from "./Client.ts"

const callbackKey: Rule<KeyObject> = {
  meaning: "a public key on P-256, as PEM or as base64",
  of: publicKeyOf,
  isSecret: true
}

/** `PAWAPAY_BASE_URL`, `PAWAPAY_PAYOUT_FEES`, `PAWAPAY_COLLECTION_FEE`, and for each mode `API_TOKEN` and perhaps `CALLBACK_KEY`. */
export const pawapayProvider = knownProvider<PawapaySettings>({
  name: "pawapay",
  credentials: ["API_TOKEN"],
  shared: ["PAYOUT_FEES", "COLLECTION_FEE"],
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const apiToken = own("API_TOKEN", secret)
    const key = own("CALLBACK_KEY", callbackKey)
    const fees = { payoutFees: shared("PAYOUT_FEES", payoutFees), collectionFee: shared("COLLECTION_FEE", collectionFee) }
    if (apiToken === null || fees.payoutFees === null || fees.collectionFee === null) return null
    return {
      baseUrl,
      timeoutMs,
      apiToken,
      callbackKey: key,
      payoutFees: fees.payoutFees,
      collectionFee: fees.collectionFee
    }
  },
  open: pawapay
})
