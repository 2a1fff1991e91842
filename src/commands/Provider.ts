import { Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import * as App from "../App.ts"
import type { Instant } from "../domain/Instant.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { GatewayStatus } from "../services/ports/GatewayStatus.ts"
import { ProviderRegistry } from "../services/ports/ProviderRegistry.ts"
import { ProviderSwitches, switchedOff } from "../services/ports/ProviderSwitches.ts"
import { checkProvider } from "../services/reference/ProviderCheck.ts"
import { accountUsages } from "../services/settlement/AccountUsage.ts"
import { exampleProvider, help, mode, providerName, requireKnownProviders } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { Installation } from "./Installation.ts"
import { printResult } from "./Output.ts"
import { off, on } from "./ProviderSwitch.ts"
import { SimulatorProcess } from "./Simulator.ts"

/** For use before the first payment of an account, and after each change to it. */
const check = Command.make(
  "check",
  { provider: providerName },
  Effect.fn(function* ({ provider }) {
    yield* requireKnownProviders([provider])
    const rows = yield* checkProvider(yield* ProviderRegistry, yield* (yield* Corridors).list, provider)
    if (rows.length === 0) return yield* new CommandRefusal(`no account of ${provider} is set: see docs/settings.md`)
    yield* printResult(rows)
    const wrong = rows.filter(({ result }) => result === "differs" || result === "unanswered")
    if (wrong.length > 0)
      return yield* new CommandRefusal(
        `${wrong.length} of ${rows.length} checks of ${provider} did not hold; nothing was charged or sent`
      )
  })
).pipe(
  help(
    "Try with the accounts of a provider that are set what moves no money: credentials, wallets, countries, banks, networks, prices. Prints what differs from the corridor rows, what only the provider can confirm (docs/going-live), and what was not tried; exit 1 where something differs or is not answered",
    [`gateway provider check ${exampleProvider}`, "Check an account before going live"]
  )
)

/** Settings with the providers as this folder's gateway reaches them: the configured ones, or the simulator beside it. */
export const settingsWithProviders = Effect.gen(function* () {
  const settings = yield* Installation.forOneCommand
  if (settings.providers.length > 0) return settings
  return yield* SimulatorProcess.withRunningSimulator(settings)
})

/** The doubts about providers of corridors, by the settings of this process and the switches in its database. */
export const corridorDoubtsHere = Effect.fnUntraced(function* (at: Instant) {
  const { providers } = yield* Effect.scoped(settingsWithProviders)
  return yield* App.corridorDoubts(providers, at, switchedOff(yield* (yield* ProviderSwitches).list))
})

const registryLayer = Layer.unwrap(Effect.map(settingsWithProviders, App.gatewayStatus)).pipe(Layer.provideMerge(App.logs))

const list = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const registry = yield* ProviderRegistry
    const out = switchedOff(yield* (yield* ProviderSwitches).list)
    // Counts everything, however long that takes: an account may be removed from the settings once its count is 0.
    const standings = accountUsages(registry, yield* (yield* GatewayStatus).byAccount(Number.POSITIVE_INFINITY))
    const rows = standings.map(({ fingerprints, followed, isWhole, mode, open, provider, turn }) => ({
      provider,
      mode,
      registered: Option.isSome(registry.find(provider, mode)),
      switch: out.has(provider) ? "off" : "on",
      account: turn,
      fingerprint: fingerprints.length === 0 ? null : fingerprints.join(", "),
      open,
      followed,
      counted: isWhole ? "all" : "at least",
      callback_path: `/webhooks/${provider}/${registry.routeKey(provider, mode)}`,
      callback_paths_before: registry.keptRouteKeys(provider, mode).map((key) => `/webhooks/${provider}/${key}`)
    }))
    yield* printResult(rows)
  }, Effect.provide(registryLayer))
).pipe(
  help(
    "List every provider and mode: its accounts here, whether the provider is switched on, how many transactions need each of them (open, or followed after their end), the path to which it has to send its callbacks, and those before it that are still taken. An account that is unset was sent transactions and is in no settings: nobody can ask about them",
    ["gateway provider list", "List the providers"]
  )
)

/** Registers, once, the address for confirmations of payments that no call of ours requested. */
const register = Command.make(
  "register",
  { provider: providerName, mode },
  Effect.fn(function* ({ mode, provider }) {
    yield* requireKnownProviders([provider])
    const account = Option.getOrUndefined((yield* ProviderRegistry).find(provider, mode))
    if (account === undefined) return yield* new CommandRefusal(`no ${mode} account of ${provider} is set: see docs/settings.md`)
    const { registration } = account.callbacks
    if (registration === undefined)
      return yield* new CommandRefusal(
        `the address of ${provider}'s callbacks is set in its portal, and not by a call: gateway provider list shows the path`
      )
    const { note, result } = yield* registration.register
    yield* printResult(
      Object.entries(registration.addresses).map(([name, address]) => ({ provider, mode, name, address, result }))
    )
    if (result === "refused") return yield* new CommandRefusal(`nothing was registered at ${provider}: ${note}`)
  })
).pipe(
  help(
    "Register with a provider where it has to confirm payments: M-Pesa those to its paybill (ConfirmationURL and ValidationURL). A second run changes nothing. The addresses are secret: a callback that comes there counts as the provider's",
    ["gateway provider register PROVIDER --mode live", "Have payments confirmed to this gateway"]
  )
)

export const provider = Command.make("provider").pipe(
  help("The providers that this program knows"),
  Command.withSubcommands([list, off, on, Command.provide(check, registryLayer), Command.provide(register, registryLayer)])
)
