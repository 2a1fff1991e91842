import { Clock, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import * as App from "../App.ts"
import { Currency } from "../domain/Currency.ts"
import { AppId, Mode } from "../domain/Ids.ts"
import { iso, isoOrNull } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import { ACKNOWLEDGED_HOURS, restingUntil } from "../services/ports/Acknowledgements.ts"
import { UnsettledKind, UnsettledState, type UnsettledTransaction, UnsettledWork } from "../services/ports/UnsettledWork.ts"
import { HANDLED_AT_MOST, UnsettledQueue } from "../services/settlement/UnsettledQueue.ts"
import { Amount, exampleProvider, help, moment, only, requireKnownProviders, Words } from "./Arguments.ts"
import { auditEntry } from "./Operator.ts"
import { printErrors, printResult } from "./Output.ts"
import { settingsWithProviders } from "./Provider.ts"

const queueLayer = Layer.unwrap(
  Effect.map(settingsWithProviders, (settings) => Layer.provideMerge(UnsettledQueue.layer, App.outcomePolling(settings)))
).pipe(Layer.provideMerge(App.logs))

export const unknown = Command.make(
  "unknown",
  {
    provider: only(Flag.String("provider"), "at this provider"),
    kind: only(Flag.Literals("kind", UnsettledKind.literals), "of this kind"),
    mode: only(Flag.Literals("mode", Mode.literals), "live or test; both if left out"),
    appId: only(Flag.String("app").pipe(Flag.withSchema(AppId)), "of this tenant"),
    state: only(Flag.Literals("state", UnsettledState.literals), "unknown, overdue (open for a day) or in review"),
    createdBefore: moment("to", "created before this moment"),
    currency: only(Flag.Literals("currency", Currency.literals), "in this currency"),
    amountFrom: only(Flag.String("from-minor").pipe(Flag.withSchema(Amount)), "of this amount or more"),
    amountTo: only(Flag.String("to-minor").pipe(Flag.withSchema(Amount)), "of this amount or less"),
    ask: only(
      Flag.String("ask").pipe(Flag.withSchema(Words(500))),
      "asks the provider about each, as transaction ask does; why, for the audit log"
    ),
    acknowledge: only(
      Flag.String("acknowledge").pipe(Flag.withSchema(Words(500))),
      "rests the alerts of each for a day; what you did about it, for the audit log"
    )
  },
  Effect.fn(function* ({ acknowledge, ask, ...given }) {
    const filter = { ...given, corridor: null, createdFrom: null }
    yield* requireKnownProviders(filter.provider === null ? [] : [filter.provider])
    const { list } = yield* UnsettledWork
    const found = yield* list(filter, null, HANDLED_AT_MOST)
    if (found.length === HANDLED_AT_MOST) yield* printErrors(`these are the oldest ${HANDLED_AT_MOST}: there may be more`)
    if (ask === null && acknowledge === null) return yield* printResult(found.map(rowView))
    const queue = yield* UnsettledQueue
    const references = found.map(({ reference }) => reference)
    const together = String(references.length)
    if (acknowledge !== null) {
      const hours = ACKNOWLEDGED_HOURS.usual
      const details = { note: maskedText(acknowledge), hours: String(hours), together }
      const entry = yield* auditEntry("review acknowledge", "", details)
      const until = restingUntil(yield* Clock.currentTimeMillis, hours)
      yield* printResult(yield* queue.acknowledge(references, until, (subject) => ({ ...entry, subject })))
    }
    if (ask === null) return
    const entry = yield* auditEntry("transaction ask", "", { note: maskedText(ask), together })
    yield* printResult(yield* queue.ask(references, (subject) => ({ ...entry, subject })))
  }, Effect.provide(queueLayer))
).pipe(
  help(
    `List everything whose outcome is unknown or overdue, the oldest first, at most ${HANDLED_AT_MOST}; with --ask or --acknowledge do that with each of them`,
    [`gateway review unknown --provider ${exampleProvider} --ask "it answers again"`, "Ask about everything that a hang left"]
  )
)

const rowView = (row: UnsettledTransaction) => ({
  reference: row.reference,
  app_id: row.appId,
  mode: row.mode,
  kind: row.kind,
  provider: row.provider,
  state: row.state,
  amount_minor: row.amount,
  currency: row.amountCurrency,
  created_at: iso(row.createdAt),
  last_news_at: iso(row.heardAt),
  asked_until: row.state === "review" ? null : iso(row.askedUntil),
  acknowledged_until: isoOrNull(row.acknowledgedUntil),
  note: row.note
})
