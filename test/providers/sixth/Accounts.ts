import { Redacted } from "effect"
import type { Mode } from "../../../src/domain/Ids.ts"
import { simulatedPayoutFees } from "../../../src/simulator/Fees.ts"
import { knownSimulator, namesBySecret } from "../../../src/simulator/SimulatorModule.ts"
import { sixthProvider } from "./Settings.ts"
import { sixthSimulator } from "./Simulator.ts"

const apiKeyOf = (mode: Mode): string => `simulated-${mode}-key`
const nameOf = namesBySecret("account", apiKeyOf)

export const simulatedSixth = knownSimulator({
  provider: sixthProvider,
  account: (mode, reach) => ({
    ...reach,
    apiKey: Redacted.make(apiKeyOf(mode)),
    webhookSecret: Redacted.make(`simulated-${mode}-webhook-secret`),
    payoutFees: simulatedPayoutFees
  }),
  accountName: ({ apiKey }) => nameOf(apiKey),
  simulator: (accounts) =>
    sixthSimulator(accounts.map(({ apiKey, webhookSecret }) => ({ clientId: nameOf(apiKey), apiKey, webhookSecret })))
})
