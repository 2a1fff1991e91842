import { Clock, Effect } from "effect"
import { Command } from "effect/cli"
import { providerSubject } from "../domain/ConfigurationChange.ts"
import { iso } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import { ProviderSwitches, switchOf } from "../services/ports/ProviderSwitches.ts"
import { exampleProvider, help, providerName, requireKnownProviders, words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const reason = words("reason", 200, "why, for the audit log")

/** Turns the switch of a whole provider. On the command line one person is enough; in the console it takes two. */
const switchCommand = (to: "off" | "on", description: string, why: string) =>
  Command.make(
    to,
    { provider: providerName, reason },
    Effect.fn(function* ({ provider, reason }) {
      yield* requireKnownProviders([provider])
      const switches = yield* ProviderSwitches
      const before = switchOf(yield* switches.list, provider)
      const isOff = to === "off"
      if ((before?.isOff ?? false) === isOff)
        return yield* new CommandRefusal(`${provider} is switched ${to} already: nothing was done`)
      // Always later than the previous change, whatever the clock says.
      const changedAt = Math.max(yield* Clock.currentTimeMillis, (before?.changedAt ?? 0) + 1)
      const wish = { provider, isOff, reason: maskedText(reason), changedAt }
      const entry = yield* auditEntry(`provider ${to}`, providerSubject(provider), { reason: wish.reason })
      if (!(yield* switches.set(wish, entry, before?.changedAt ?? null)))
        return yield* new CommandRefusal("the switch was turned meanwhile: look at it again")
      yield* printResult({ provider, switch: to, since: iso(changedAt), reason: wish.reason })
    }, Effect.provide(operatorPorts))
  ).pipe(help(description, [`gateway provider ${to} ${exampleProvider} --reason "${why}"`, why]))

export const off = switchCommand(
  "off",
  "Switch a whole provider off: nothing new goes to it, in any corridor, for any tenant and in both modes. What was sent already is asked about, and its callbacks are taken, as before. Every node follows within a second; all nodes have to run a release that has this command",
  "It paid twice"
)
export const on = switchCommand(
  "on",
  "Switch a whole provider on again: corridors and pins lead to it as before",
  "It has mended it"
)
