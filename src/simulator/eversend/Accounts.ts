import { Redacted } from "effect"
import { eversendProvider } from "../../providers/eversend/Settings.ts"
import { knownSimulator } from "../SimulatorModule.ts"
import { eversendSimulator } from "./Simulator.ts"

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
  // A second execution of one reference is accepted, so that sending anything twice would show.
  simulator: (accounts) => eversendSimulator({ accounts, duplicates: "accept" })
})
