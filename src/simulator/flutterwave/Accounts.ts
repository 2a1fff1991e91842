import { Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import { flutterwaveProvider } from "../../providers/flutterwave/Settings.ts"
import { knownSimulator, namesBySecret } from "../SimulatorModule.ts"
import { flutterwaveSimulator } from "./Simulator.ts"

const secretKeyOf = (mode: Mode): string => `FLWSECK-simulated-${mode}`
const nameOf = namesBySecret("account", secretKeyOf)

export const simulatedFlutterwave = knownSimulator({
  provider: flutterwaveProvider,
  account: (mode, reach) => ({
    ...reach,
    secretKey: Redacted.make(secretKeyOf(mode)),
    webhookSecretHash: Redacted.make(`simulated-${mode}-secret-hash`),
    sender: null
  }),
  accountName: ({ secretKey }) => nameOf(secretKey),
  simulator: (accounts) =>
    flutterwaveSimulator({
      accounts: accounts.map(({ secretKey, webhookSecretHash }) => ({
        clientId: nameOf(secretKey),
        secretKey,
        webhookSecretHash
      }))
    })
})
