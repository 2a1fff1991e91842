import { Redacted } from "effect"
import { httpUrl, secret, text } from "../../ConfigRules.ts"
import { knownProvider, whole } from "../ProviderModule.ts"
import { eversend } from "./Adapter.ts"
import type { EversendSettings } from "./Client.ts"

/** `EVERSEND_BASE_URL`, `EVERSEND_ORIGIN`, and for each mode `CLIENT_ID`, `CLIENT_SECRET`, `WEBHOOK_SECRET`. */
export const eversendProvider = knownProvider<EversendSettings>({
  name: "eversend",
  credentials: ["CLIENT_ID", "CLIENT_SECRET", "WEBHOOK_SECRET"],
  // Eversend documents no limit; this is our choice.
  pace: { count: 10, windowMs: 1_000, burst: 10 },
  account: ({ baseUrl, own, shared, timeoutMs }) => {
    const needed = whole({
      clientId: own("CLIENT_ID", text),
      clientSecret: own("CLIENT_SECRET", secret),
      webhookSecret: own("WEBHOOK_SECRET", secret)
    })
    return needed && { baseUrl, timeoutMs, ...needed, origin: shared("ORIGIN", httpUrl) }
  },
  // A new secret belongs to the same client.
  identity: ({ clientId }) => ({ within: "", own: Redacted.make(clientId) }),
  open: eversend
})
