import type { ProviderAccounts } from "../providers/ProviderModule.ts"
import { simulatedAirtel } from "./airtel/Simulator.ts"
import { simulatedDaraja } from "./daraja/Simulator.ts"
import { simulatedEversend } from "./eversend/Simulator.ts"
import { simulatedFlutterwave } from "./flutterwave/Simulator.ts"
import { simulatedMtn } from "./mtn/Simulator.ts"
import { simulatedPawapay } from "./pawapay/Simulator.ts"
import { simulatedPaystack } from "./paystack/Simulator.ts"
import type { SimulatedProvider } from "./SimulatedProvider.ts"
import type { KnownSimulator } from "./SimulatorModule.ts"
import { simulatedWave } from "./wave/Simulator.ts"

/** Every provider that is simulated. A simulator is one line here. */
export const knownSimulators: ReadonlyArray<KnownSimulator> = [
  simulatedEversend,
  simulatedPawapay,
  simulatedFlutterwave,
  simulatedPaystack,
  simulatedMtn,
  simulatedAirtel,
  simulatedDaraja,
  simulatedWave
]

interface SimulatedSettings {
  readonly providers: ReadonlyArray<ProviderAccounts>
  readonly policy: { readonly providerTimeoutMs: number }
}

/** Settings with a simulator behind every provider without an account. The credentials work only at the simulator. */
export const withSimulators = <S extends SimulatedSettings>(settings: S, baseUrlOf: (provider: string) => string): S => ({
  ...settings,
  providers: knownSimulators.map(
    ({ accounts, name }) =>
      settings.providers.find((configured) => configured.name === name) ??
      accounts({ baseUrl: baseUrlOf(name), timeoutMs: settings.policy.providerTimeoutMs })
  )
})

/** Every provider's simulator; each knows the accounts of the settings, or else its own. */
export const simulatedProviders = (settings: SimulatedSettings): ReadonlyArray<SimulatedProvider> => {
  const { providers } = withSimulators(settings, () => "")
  return knownSimulators.flatMap(({ name, simulated }) => providers.filter((accounts) => accounts.name === name).map(simulated))
}
