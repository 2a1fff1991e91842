import { Effect } from "effect"
import { Command } from "effect/cli"
import { Corridors } from "../services/ports/Corridors.ts"
import { ProviderRegistry } from "../services/ports/ProviderRegistry.ts"
import { checkProvider } from "../services/reference/ProviderCheck.ts"
import { checkProviderNames, exampleProvider, providerName } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { printResult } from "./Output.ts"

/** Before the first payment of an account, and after each change of it. */
export const check = Command.make(
  "check",
  { provider: providerName },
  Effect.fn(function* ({ provider }) {
    yield* checkProviderNames([provider])
    const rows = yield* checkProvider(yield* ProviderRegistry, yield* (yield* Corridors).list, provider)
    if (rows.length === 0) return yield* new CommandRefusal({ message: `no account of ${provider} is set: see docs/settings.md` })
    yield* printResult(rows)
    const wrong = rows.filter(({ result }) => result === "differs" || result === "unanswered")
    if (wrong.length > 0)
      return yield* new CommandRefusal({
        message: `${wrong.length} of ${rows.length} checks of ${provider} did not hold; nothing was charged or sent`
      })
  })
).pipe(
  Command.withDescription(
    "Try with the accounts of a provider that are set what moves no money: credentials, wallets, countries, banks, networks, prices. Prints what differs from the corridor rows, what only the provider can confirm (docs/going-live), and what was not tried; exit 1 where something differs or is not answered"
  ),
  Command.withExamples([
    { command: `gateway provider check ${exampleProvider}`, description: "Check an account before going live" }
  ])
)
