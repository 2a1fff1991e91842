import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import {
  type Candidate,
  candidatesOf,
  candidatesText,
  noteWithoutCandidates,
  verdicts,
  whyText
} from "../../domain/Candidates.ts"
import type { Delivery } from "../../domain/Delivery.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { may } from "../../domain/Operator.ts"
import { reviewReason } from "../../domain/ReviewReason.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { type Acknowledgement, Acknowledgements } from "../../services/ports/Acknowledgements.ts"
import type { HistoryLine } from "../../services/ports/FloatLedger.ts"
import { ProviderRegistry, sentWith } from "../../services/ports/ProviderRegistry.ts"
import { type PostedEntry, type StoredTransaction, Transactions } from "../../services/ports/Transactions.ts"
import { WebhookDeliveries } from "../../services/ports/WebhookDeliveries.ts"
import { OutcomePoller } from "../../services/settlement/OutcomePoller.ts"
import { acknowledgeForm, acknowledgementText } from "../AcknowledgeForm.ts"
import { callTable } from "../CallTable.ts"
import { badge, code, facts, field, folded, form, link, money, said, section, type Tone, table, time } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { happeningText, noteText } from "../HappeningText.ts"
import { amountCurrencyOf, partyName, partyOf, recordFinder, statusBadge, statusTone } from "../RecordText.ts"
import { type Answer, auditOf, maskedField, missing, page, redirect, type Visit } from "../Route.ts"

const DELIVERIES_SHOWN = 50
const REFRESH_SECONDS = 5
const LONGEST_REASON = 200

/** One transaction: its fields and its history in order. `traceUrl` contains `{trace}`; null where traces cannot be viewed. */
export const makeTimeline = Effect.fnUntraced(function* (traceUrl: string | null) {
  const transactions = yield* Transactions
  const deliveries = yield* WebhookDeliveries
  const registry = yield* ProviderRegistry
  const poller = yield* OutcomePoller
  const acknowledgements = yield* Acknowledgements

  const find = recordFinder(transactions)

  const show = Effect.fn("Timeline.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTransaction
    const { transaction: record } = found.value
    const history = yield* transactions.history(record.reference)
    const entries = yield* transactions.entries(record.reference)
    const steps = history.map(({ at }) => at)
    const sent = yield* deliveries.ofTransaction(record, steps, DELIVERIES_SHOWN)
    const nextPoll = Option.getOrNull(yield* transactions.nextPoll(record.reference))
    const resting = yield* acknowledgements.standing(record.reference, visit.at)
    const isAskable = Option.isSome(sentWith(registry, record))
    const body = [
      h("div", { class: "columns" }, [
        section(
          "Status",
          standingFacts({ stored: found.value, history, nextPoll, traceUrl, resting }),
          actions(visit, record, isAskable)
        ),
        section("Details", recordFacts(record))
      ]),
      section("Why this provider", candidateTable(candidatesOf(history))),
      section("Where the time went", callTable(history)),
      section("Timeline", timeline(momentsOf({ reference: record.reference, history, entries, sent })))
    ]
    return page(`${capital(record.kind)} ${record.reference}`, body, { refreshSeconds: REFRESH_SECONDS })
  })

  const raw = Effect.fn("Timeline.raw")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTransaction
    const { reference } = found.value.transaction
    const reason = maskedField(visit, "reason", LONGEST_REASON)
    if (reason === "") return redirect(`/transactions/${reference}`, "reason-missing")
    const call = yield* transactions.lastCall(reference, auditOf(visit, "transaction raw read", reference, { reason }))
    const { rawRequest, rawResponse } = Option.getOrElse(call, () => ({ rawRequest: null, rawResponse: null }))
    return page(`The last call for ${reference}`, [
      h("p", { class: "soft" }, "Masked before it was stored. That you read it, and why, is in the audit log."),
      section("Sent", h("pre", { tabIndex: 0 }, said(rawRequest ?? "Nothing was sent."))),
      section("Answered", h("pre", { tabIndex: 0 }, said(rawResponse ?? "Nothing was answered."))),
      h("p", null, link(`/transactions/${reference}`, "Back to the transaction"))
    ])
  })

  const ask = Effect.fn("Timeline.ask")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTransaction
    const { reference } = found.value.transaction
    const before = yield* transactions.audited(reference, auditOf(visit, "transaction ask", reference))
    if (Option.isSome(before)) yield* poller.poll(before.value, "operator")
    return redirect(`/transactions/${reference}`, "asked")
  })

  return {
    place: null,
    routes: [
      { method: "GET", path: "/transactions/:reference", permission: "look", answer: show },
      { method: "POST", path: "/transactions/:reference/raw", permission: "raw", answer: raw },
      { method: "POST", path: "/transactions/:reference/ask", permission: "resolve", answer: ask }
    ]
  } satisfies Room
})

const noTransaction = missing("transaction", "/transactions", "Search")

const capital = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

const recordFacts = (record: Transaction): ComponentChild => {
  const { amount, appId, currency, metadata, mode, provider, providerReference } = record
  const own: ReadonlyArray<readonly [string, ComponentChild]> =
    record.kind === "exchange"
      ? [["Destination amount", money(record.destinationAmount, record.destinationCurrency)]]
      : [
          ["Fee", money(record.fees, currency)],
          ["Corridor", `${record.corridor.country}, ${record.corridor.direction}, ${record.corridor.method}`],
          ["Network", record.network],
          ["Narration", record.narration === null ? null : said(maskedText(record.narration))]
        ]
  return facts([
    ["Tenant", `${appId}, ${mode}`],
    ["Amount", money(amount, amountCurrencyOf(record))],
    [partyName(record), partyOf(record) === null ? null : code(partyOf(record) ?? "")],
    ...own,
    ["Provider", provider],
    ["Provider's reference", providerReference === null ? "none yet" : code(providerReference)],
    ["Metadata", metadata === "{}" ? null : said(maskedText(metadata))]
  ])
}

/** The providers that it could have gone to, in their order, with the verdict on each. */
const candidateTable = (candidates: ReadonlyArray<Candidate>): ComponentChild =>
  table(
    "Each provider that it could go to, in the order in which they were to be tried",
    ["Provider", "Attempt", "Result", "Reason"],
    candidates.map(({ attempt, provider, verdict, ...reasons }) => [
      code(provider),
      attempt === null ? "none" : String(attempt),
      [badge(verdict.replaceAll("_", " "), toneOf(verdict)), " ", verdicts[verdict]],
      whyText(reasons) === "" ? "" : said(noteText(whyText(reasons)))
    ]),
    "Not noted: it was recorded by an earlier release."
  )

const toneOf = (verdict: Candidate["verdict"]): Tone =>
  verdict === "used" || verdict === "code_sent" ? "good" : verdict === "not_sent" ? "bad" : "quiet"

interface ShownStatus {
  readonly stored: StoredTransaction
  readonly history: ReadonlyArray<HistoryLine>
  readonly nextPoll: Instant | null
  readonly traceUrl: string | null
  readonly resting: Option.Option<Acknowledgement>
}

const standingFacts = ({ history, nextPoll, resting, stored, traceUrl }: ShownStatus): ComponentChild => {
  const { traceparent = null, transaction } = stored
  return facts([
    ["Status", statusBadge(transaction)],
    [
      "Why it failed",
      transaction.failure === null ? null : maskedText(`${transaction.failure.code}: ${transaction.failure.message}`)
    ],
    [
      "Needs review",
      transaction.needsReview ? link(`/reviews/${transaction.reference}`, reviewReason(transaction, history)) : null
    ],
    ["Created", time(transaction.createdAt)],
    ["Completed", transaction.completedAt === null ? null : time(transaction.completedAt)],
    ["Acknowledged", acknowledgementText(resting)],
    ["Next poll", nextPoll === null ? null : time(nextPoll)],
    ["Trace", traceparent === null ? null : traceLink(traceparent, traceUrl)]
  ])
}

/** W3C trace context: version, trace, span, flags. */
const traceLink = (traceparent: string, traceUrl: string | null): ComponentChild => {
  const trace = traceparent.split("-")[1] ?? ""
  return traceUrl === null || !/^[0-9a-f]{32}$/.test(trace) ? code(trace) : link(traceUrl.replace("{trace}", trace), code(trace))
}

const actions = (visit: Visit, record: Transaction, isAskable: boolean): ComponentChild => {
  const { role } = visit.visitor
  const { reference } = record
  return [
    may(role, "resolve") && isAskable ? form(visit, { to: `/transactions/${reference}/ask`, button: "Ask provider now" }) : null,
    acknowledgeForm(visit, record, `/transactions/${reference}`),
    may(role, "raw")
      ? folded(
          "Raw request and response",
          form(visit, {
            to: `/transactions/${reference}/raw`,
            button: "Show it",
            fields: [
              field({ name: "reason", label: "Why you read it, for the audit log", isRequired: true, maxLength: LONGEST_REASON })
            ]
          })
        )
      : null
  ]
}

/** An event, as a line of the timeline. */
interface Happening {
  readonly at: Instant
  readonly tone: Tone
  readonly what: string
  readonly who: ComponentChild
  readonly more: ComponentChild
}

const actors: Readonly<Record<string, string>> = {
  request: "the tenant's request",
  callback: "a callback of the provider",
  reconciler: "a poll on schedule",
  operator: "a poll that an operator asked for",
  authorize: "the tenant's authorize"
}

/** The audit log has the person's name, and who approved. */
const whoRuled = (reference: string): ComponentChild => link(`/audit?subject=${reference}`, "a person's review")

/** The events of a record, in their order: facts, postings and deliveries. */
const momentsOf = (parts: {
  readonly reference: string
  readonly history: ReadonlyArray<HistoryLine>
  readonly entries: ReadonlyArray<PostedEntry>
  readonly sent: ReadonlyArray<Delivery>
}): ReadonlyArray<Happening> => {
  const lines = parts.history.map(
    ({ actor, at, fact, note, status }): Happening => ({
      at,
      tone: statusTone(status),
      what: `${happeningText(fact, status)}: ${status.replace("_", " ")}`,
      who: fact === "Migrated" ? "an upgrade" : actor === "review" ? whoRuled(parts.reference) : (actors[actor] ?? actor),
      // A person's words are already masked, and amounts stand beside them.
      more: actor === "review" ? (note === "" ? null : h("p", null, said(note))) : noteOf(note)
    })
  )
  const posted = parts.entries.map(
    ({ at, phase, postings }): Happening => ({
      at,
      tone: "quiet",
      what: `Ledger: ${phase}`,
      who: "the ledger",
      more: h(
        "p",
        null,
        postings.map(({ account, amount, currency }, place) => [place === 0 ? "" : "; ", `${account} `, money(amount, currency)])
      )
    })
  )
  const attempts = parts.sent.flatMap((delivery) => delivery.attempts.map((attempt) => attemptLine(delivery, attempt)))
  return [...lines, ...posted, ...attempts].sort((one, other) => one.at - other.at)
}

const noteOf = (note: string): ComponentChild => {
  const [own, candidates] = [noteWithoutCandidates(note), candidatesText(candidatesOf([{ note }]))]
  return [
    own === "" ? null : h("p", null, said(noteText(own))),
    candidates === "" ? null : h("p", { class: "soft" }, "Candidates: ", said(maskedText(candidates)))
  ]
}

const attemptLine = (delivery: Delivery, { at, durationMs, excerpt, status }: Delivery["attempts"][number]): Happening => ({
  at,
  tone: status !== null && status >= 200 && status < 300 ? "good" : "bad",
  what: `Webhook ${delivery.eventType}: ${status === null ? "no answer" : `answered ${status}`}`,
  who: `after ${durationMs} ms`,
  more: [
    excerpt === "" ? null : h("p", null, said(maskedText(excerpt))),
    h("p", { class: "soft" }, "Delivery ", code(delivery.id), `, ${delivery.status}`)
  ]
})

const timeline = (happenings: ReadonlyArray<Happening>): ComponentChild =>
  h(
    "ol",
    { class: "timeline" },
    happenings.map(({ at, more, tone, what, who }) =>
      h(
        "li",
        { class: tone },
        h("div", { class: "head" }, h("span", { class: "what" }, what), h("span", { class: "soft" }, time(at), ", ", who)),
        more
      )
    )
  )
