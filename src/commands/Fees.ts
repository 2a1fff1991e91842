import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { contractFees } from "../App.ts"
import { Country, Direction, Method } from "../domain/Corridor.ts"
import { Currency } from "../domain/Currency.ts"
import { iso } from "../domain/Instant.ts"
import { Amount, choice, flag, help, moment } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { printResult } from "./Output.ts"
import { settingsWithProviders } from "./Provider.ts"

const show = Command.make(
  "show",
  {
    amount: flag("amount", Amount, "in the currency's smallest unit, more than zero"),
    country: flag("country", Country, "two letters, such as UG"),
    method: choice("method", Method.literals, `one of ${Method.literals.join(", ")}`),
    direction: choice("direction", Direction.literals, `one of ${Direction.literals.join(", ")}`),
    network: Flag.String("network").pipe(Flag.withDescription("the network's code, such as MTN"), Flag.optional),
    currency: choice("currency", Currency.literals, "the currency, where the country has several").pipe(Flag.optional),
    at: moment("at", "the moment for which is asked, such as 2026-12-01T00:00:00Z; now if left out")
  },
  Effect.fn(function* ({ at, network, currency, ...flags }) {
    const payment = {
      ...flags,
      network: Option.getOrNull(Option.map(network, (code) => code.toUpperCase())),
      at: at ?? (yield* Clock.currentTimeMillis)
    }
    const { providers } = yield* Effect.scoped(settingsWithProviders)
    const rows = contractFees(providers, payment, Option.getOrNull(currency))
    if (rows.length === 0)
      return yield* new CommandRefusal("no provider that is set charges such a payment by its contract: see docs/settings.md")
    yield* printResult(rows.map((row) => ({ ...row, at: iso(payment.at) })))
  })
).pipe(
  help(
    "Show what each provider's contract says that a payment costs, and which entry of its schedule or settings says so. It reads the settings as the start does, and asks no provider",
    ["gateway fees show --amount 50000 --country UG --method momo --network MTN --direction payout", "What a payout costs now"]
  )
)

export const fees = Command.make("fees").pipe(help("The fees of the contracts with providers"), Command.withSubcommands([show]))
