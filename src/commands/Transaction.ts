import { Effect, Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as App from "../App.ts"
import { callPhases } from "../domain/CallTimes.ts"
import { type Candidate, candidatesOf, whyText } from "../domain/Candidates.ts"
import { type Delivery, deliveryView } from "../domain/Delivery.ts"
import { ExchangeStatus } from "../domain/Exchange.ts"
import { AppId, isReference, Mode } from "../domain/Ids.ts"
import { type Instant, iso, isoOrNull } from "../domain/Instant.ts"
import { CollectionStatus, PayoutStatus } from "../domain/Payment.ts"
import type { Transaction } from "../domain/Transaction.ts"
import { recordView } from "../domain/View.ts"
import type { HistoryLine } from "../services/ports/FloatLedger.ts"
import { ProviderRegistry, sentWith } from "../services/ports/ProviderRegistry.ts"
import { Tenants } from "../services/ports/Tenants.ts"
import { type StoredTransaction, Transactions } from "../services/ports/Transactions.ts"
import { WebhookDeliveries } from "../services/ports/WebhookDeliveries.ts"
import { OutcomePoller } from "../services/settlement/OutcomePoller.ts"
import { withItsRefunds, withRefunds } from "../services/settlement/ShownRecords.ts"
import { flag, help, isGiven, moment, only, reference, requireKnownProviders, WholeNumber } from "./Arguments.ts"
import { CommandRefusal, noTenant } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printErrors, printResult } from "./Output.ts"
import { settingsWithProviders } from "./Provider.ts"

const ROWS_LISTED = 20
const MOST_ROWS = 1000
/** The most deliveries of one transaction that are shown: an event is delivered once, and again for each recovery. */
const DELIVERIES_SHOWN = 50

const statuses = [...new Set([...CollectionStatus.literals, ...PayoutStatus.literals, ...ExchangeStatus.literals])]

/** The filters that only the console has. */
const nothingElse = {
  corridor: null,
  failure: null,
  currency: null,
  amountFrom: null,
  amountTo: null,
  partyEnd: null,
  isUnknown: false
}

const list = Command.make(
  "list",
  {
    appId: only(Flag.String("app").pipe(Flag.withSchema(AppId)), "of this tenant"),
    mode: only(Flag.Literals("mode", Mode.literals), "live or test; both if left out"),
    kind: only(Flag.Literals("kind", ["payout", "collection", "exchange"]), "of this kind"),
    status: only(Flag.Literals("status", statuses), "of this status"),
    provider: only(Flag.String("provider"), "at this provider"),
    needsReview: isGiven("needs-review", "only what needs a person, however old it is"),
    createdFrom: moment("from", "created at this moment or later, such as 2026-01-31T12:00:00.000Z"),
    createdTo: moment("to", "created before this moment"),
    limit: flag("limit", WholeNumber(MOST_ROWS), `how many, from 1 to ${MOST_ROWS}; ${ROWS_LISTED} if left out`).pipe(
      Flag.withDefault(ROWS_LISTED)
    )
  },
  Effect.fn(function* ({ limit, ...filter }) {
    const { appId, provider } = filter
    yield* requireKnownProviders(provider === null ? [] : [provider])
    if (appId !== null && Option.isNone(yield* (yield* Tenants).find(appId))) return yield* noTenant(appId)
    const transactions = yield* Transactions
    const { items: found, next } = yield* transactions.search({ ...filter, ...nothingElse }, { limit, from: null })
    const items = yield* withRefunds(transactions)(found)
    yield* printResult(
      items.map((record) => ({ ...ownership(record), ...recordView(record) })),
      undefined,
      items.map(rowForPeople)
    )
    // Others may have the same millisecond: a list of older ones begins with the last one again.
    if (next !== null) yield* printErrors(`there may be older ones: --to ${iso(next.id === "" ? next.at : next.at + 1)}`)
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "List transactions of every tenant, newest first. It looks back for a few seconds at most; where that does not reach the first one, the last line on standard error says how to go on",
    ["gateway transaction list --status failed --limit 5", "The last five that failed, of every tenant"]
  )
)

const show = Command.make(
  "show",
  { reference },
  Effect.fn(function* ({ reference }) {
    const transactions = yield* Transactions
    const found = isReference(reference) ? yield* transactions.byReference(reference) : Option.none()
    if (Option.isNone(found)) return yield* noTransaction(reference)
    const { transaction } = found.value
    const history = yield* transactions.history(transaction.reference)
    const whole = {
      stored: { ...found.value, transaction: yield* withItsRefunds(transactions)(transaction) },
      nextPoll: Option.getOrNull(yield* transactions.nextPoll(transaction.reference)),
      deliveries: yield* (yield* WebhookDeliveries).ofTransaction(
        transaction,
        history.map(({ at }) => at),
        DELIVERIES_SHOWN
      ),
      history
    }
    yield* printResult(recordWithHistory(whole), undefined, recordWithHistoryShort(whole))
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Show one record as its tenant sees it, with its history, the provider's reference, the trace of the request that began it, when the provider is asked next, and the webhooks about it",
    ["gateway transaction show AAA688MG9KT6BQ76F4NM4BJRH5", "Show what became of a payout"]
  )
)

const pollerLayer = Layer.unwrap(Effect.map(settingsWithProviders, App.outcomePolling)).pipe(Layer.provideMerge(App.logs))

const ask = Command.make(
  "ask",
  { reference },
  Effect.fn(function* ({ reference }) {
    const transactions = yield* Transactions
    const found = isReference(reference)
      ? yield* transactions.audited(reference, yield* auditEntry("transaction ask", reference, {}))
      : Option.none()
    if (Option.isNone(found)) return yield* noTransaction(reference)
    const before = found.value
    const { mode, provider } = before.transaction
    if (Option.isNone(sentWith(yield* ProviderRegistry, before.transaction)))
      return yield* new CommandRefusal(
        `${provider} cannot be asked: the account that it was sent with is not set here in ${mode} mode, see gateway provider list`
      )
    const known = (yield* transactions.history(before.transaction.reference)).length
    yield* (yield* OutcomePoller).poll(before, "operator")
    const history = yield* transactions.history(before.transaction.reference)
    const after = Option.getOrElse(yield* transactions.byReference(before.transaction.reference), () => before)
    const shown = { ...after, transaction: yield* withItsRefunds(transactions)(after.transaction) }
    yield* printResult(answerView(before, shown, history.slice(known)))
  }, Effect.provide(pollerLayer))
).pipe(
  help(
    'Ask the provider now, and show what it said and what came of it: what a poll on schedule would have booked is booked. It does not count towards "never sent", and is audited',
    ["gateway transaction ask AAA688MG9KT6BQ76F4NM4BJRH5", "Ask whether a payout was executed"]
  )
)

export const transaction = Command.make("transaction").pipe(
  help("Payouts, collections and exchanges of every tenant"),
  Command.withSubcommands([list, show, ask])
)

const noTransaction = (reference: string): CommandRefusal =>
  new CommandRefusal(`there is no transaction ${reference}: give the reference that the gateway answered`)

const rowForPeople = (record: Transaction) => ({
  reference: record.reference,
  app_id: record.appId,
  mode: record.mode,
  kind: record.kind,
  status: record.status,
  needs_review: record.needsReview,
  provider: record.provider,
  amount_minor: record.amount,
  currency: record.kind === "exchange" ? record.currency : record.amountCurrency,
  created_at: iso(record.createdAt)
})

interface WholeRecord {
  readonly stored: StoredTransaction
  readonly nextPoll: Instant | null
  readonly deliveries: ReadonlyArray<Delivery>
  readonly history: ReadonlyArray<HistoryLine>
}

const recordWithHistory = (whole: WholeRecord) => ({
  ...headOf(whole),
  candidates: candidatesOf(whole.history).map(candidateView),
  calls: callViews(whole.history),
  history: whole.history.map(lineView),
  deliveries: whole.deliveries.map(deliveryView)
})

/** The same for people: one row per delivery, without the answers of the endpoint. */
const recordWithHistoryShort = (whole: WholeRecord) => ({
  ...recordWithHistory(whole),
  deliveries: whole.deliveries.map(({ attempts, completedAt, eventType, id, nextAttemptAt, status }) => ({
    id,
    event_type: eventType,
    status,
    attempts: attempts.length,
    last_answer: attempts.at(-1)?.status ?? null,
    next_attempt_at: isoOrNull(nextAttemptAt),
    completed_at: isoOrNull(completedAt)
  }))
})

const answerView = (before: StoredTransaction, after: StoredTransaction, said: ReadonlyArray<HistoryLine>) => ({
  ...ownership(after.transaction),
  asked: before.transaction.provider,
  provider_said: said.filter(({ actor }) => actor === "operator").map(({ at, fact, note }) => ({ at: iso(at), fact, note })),
  status_before: before.transaction.status,
  changed: before.transaction.version !== after.transaction.version,
  ...recordView(after.transaction),
  revision: after.revision
})

const headOf = ({ nextPoll, stored: { revision, traceparent = null, transaction } }: WholeRecord) => ({
  ...ownership(transaction),
  ...recordView(transaction),
  revision,
  // W3C trace context: version, trace, span, flags.
  trace_ids: traceparent === null ? [] : traceparent.split("-").slice(1, 2),
  next_poll_at: isoOrNull(nextPoll)
})

/** The fields of a record that a tenant does not see, or does not need. */
const ownership = ({ appId, kind, mode, provider, providerReference }: Transaction) => ({
  app_id: appId,
  kind,
  mode,
  provider,
  provider_reference: providerReference
})

const candidateView = ({ attempt, provider, verdict, ...reasons }: Candidate) => ({
  provider,
  verdict,
  attempt,
  why: whyText(reasons)
})

const lineView = ({ actor, at, fact, note, status }: HistoryLine) => ({ at: iso(at), actor, fact, status, note })

/** The provider calls that were made for each line, and where their time went, in milliseconds. */
const callViews = (history: ReadonlyArray<HistoryLine>) =>
  history.flatMap(({ at, calls = [] }) =>
    calls.map(({ end, operation, phases, provider, tookMs }) => ({
      provider,
      call: operation,
      answer: end,
      took_ms: tookMs,
      ...Object.fromEntries(callPhases.map((phase) => [`${phase}_ms`, phases[phase] ?? null])),
      written_at: iso(at)
    }))
  )
