import { Redacted } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import { pawapayProvider } from "../../providers/pawapay/Settings.ts"
import { simulatedCollectionFee, simulatedPayoutFees } from "../Fees.ts"
import { knownSimulator, namesBySecret } from "../SimulatorModule.ts"
import { pawapaySimulator } from "./Simulator.ts"

const apiTokenOf = (mode: Mode): string => `simulated-${mode}-token`
const nameOf = namesBySecret("pawapay", apiTokenOf)

export const simulatedPawapay = knownSimulator({
  provider: pawapayProvider,
  account: (mode, reach) => ({
    ...reach,
    apiToken: Redacted.make(apiTokenOf(mode)),
    callbackKey: null,
    payoutFees: simulatedPayoutFees,
    collectionFee: simulatedCollectionFee
  }),
  accountName: ({ apiToken }) => nameOf(apiToken),
  simulator: (accounts) => pawapaySimulator(accounts.map(({ apiToken }) => ({ clientId: nameOf(apiToken), apiToken })))
})
