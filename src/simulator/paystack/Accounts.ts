import { Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import { paystackProvider } from "../../providers/paystack/Settings.ts"
import { simulatedPayoutFees } from "../Fees.ts"
import { knownSimulator, namesBySecret } from "../SimulatorModule.ts"
import { paystackSimulator } from "./Simulator.ts"

const secretKeyOf = (mode: Mode): string => `sk_${mode}_simulated`
const nameOf = namesBySecret("key", secretKeyOf)

export const simulatedPaystack = knownSimulator({
  provider: paystackProvider,
  account: (mode, reach) => ({
    ...reach,
    secretKey: Redacted.make(secretKeyOf(mode)),
    payoutFees: simulatedPayoutFees,
    emailDomain: "example.com"
  }),
  accountName: ({ secretKey }) => nameOf(secretKey),
  simulator: (accounts) => paystackSimulator(accounts.map(({ secretKey }) => ({ clientId: nameOf(secretKey), secretKey })))
})
