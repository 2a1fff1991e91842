import { Clock, Effect, Layer, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as App from "../App.ts"
import { instantOf, iso } from "../domain/Instant.ts"
import { GatewayStatus } from "../services/ports/GatewayStatus.ts"
import { Reconciliation } from "../services/settlement/Reconciliation.ts"
import { exampleProvider, providerName } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { printResult } from "./Output.ts"
import { settingsWithProviders } from "./Provider.ts"

const DAY_LENGTH = "2026-01-31".length
const startOf = (day: string) => instantOf(`${day}T00:00:00Z`)
const Day = Schema.String.check(
  Schema.makeFilter((day: string) => Option.isSome(startOf(day)) || "is a UTC day such as 2026-01-31")
)

const reconciliationLayer = Layer.unwrap(Effect.map(settingsWithProviders, App.reconciliation)).pipe(Layer.provideMerge(App.logs))

export const reconcile = Command.make(
  "reconcile",
  {
    provider: providerName,
    day: Flag.String("day").pipe(
      Flag.withSchema(Day),
      Flag.withDescription("a UTC day such as 2026-01-31; today if left out"),
      Flag.optional
    )
  },
  Effect.fn(function* ({ day, provider }) {
    const now = yield* Clock.currentTimeMillis
    const wanted = Option.getOrElse(day, () => iso(now).slice(0, DAY_LENGTH))
    const start = Option.getOrElse(startOf(wanted), () => now)
    const { reconcile } = yield* Reconciliation
    const { recordCheck } = yield* GatewayStatus
    const report = yield* reconcile(provider, start, wanted)
    yield* recordCheck({ name: "reconcile", subject: provider, at: now, differences: report.differences.length })
    yield* printResult(report)
    if (!report.ok)
      return yield* new CommandRefusal({
        message: `${report.differences.length} differences between the account at ${provider} and ours: see docs/runbooks/reconcile-difference.md`
      })
  }, Effect.provide(reconciliationLayer))
).pipe(
  Command.withDescription(
    "Compare a provider's own account with ours, to the minor unit; exit 1 on any difference that nothing explains. It needs the provider's account in the settings"
  ),
  Command.withExamples([{ command: `gateway reconcile ${exampleProvider} --day 2026-01-31`, description: "Compare one UTC day" }])
)
