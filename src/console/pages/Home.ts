import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import { isReference, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type Proposal, ProposalKind } from "../../domain/Proposal.ts"
import { RecentCalls } from "../../runtime/RecentCalls.ts"
import { attention, elapsed } from "../../services/Attention.ts"
import { ACKNOWLEDGED_HOURS, Acknowledgements, restingUntil } from "../../services/ports/Acknowledgements.ts"
import {
  GatewayStatus,
  type ParkedTenant,
  type StatusSnapshot,
  type UnansweredTransaction
} from "../../services/ports/GatewayStatus.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { ProviderSwitches, switchedOffTexts } from "../../services/ports/ProviderSwitches.ts"
import { WalletBalances } from "../../services/reference/WalletBalances.ts"
import { operations } from "../../services/routing/CircuitStates.ts"
import { Circuits } from "../../services/routing/Circuits.ts"
import { LONGEST_ACKNOWLEDGEMENT } from "../AcknowledgeForm.ts"
import { badge, idOf, link, minute, money, said, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { noteText } from "../HappeningText.ts"
import { failingCalls } from "../ProviderCalls.ts"
import { type Answer, auditOf, maskedField, page, redirect, type Visit } from "../Route.ts"
import { walletLines } from "../WalletLines.ts"

/** The most transactions of unknown outcome that are named, and the most tenants of each kind. */
const NAMED = 10
/** Open proposals come first in the list; beyond this number the count says no more. */
const PROPOSALS_COUNTED = 100
const REFRESH_SECONDS = 5
const UNKNOWN_LONGEST = "No outcome yet"
const OWING = "Tenants that owe"

/** Overview: what `gateway status` prints, live. */
export const makeHome = Effect.gen(function* () {
  const status = yield* GatewayStatus
  const registry = yield* ProviderRegistry
  const circuits = yield* Circuits
  const recentCalls = yield* RecentCalls
  const proposals = yield* Proposals
  const balances = yield* WalletBalances
  const switches = yield* ProviderSwitches

  const lines = registry.known.flatMap((provider) =>
    Mode.literals
      .filter((mode) => Option.isSome(registry.find(provider, mode)))
      .flatMap((mode) => operations.map((operation) => ({ provider, mode, operation })))
  )
  const heldBack = Effect.forEach(lines, (line) =>
    Effect.map(circuits.standing(line), ({ all, isSilent, tenants }) => {
      const why = isSilent ? " (not answered in time)" : ""
      const name = `held back by this node: ${line.provider} ${line.mode} ${line.operation}${why}`
      return all ? [name] : tenants.length > 0 ? [`${name}, for ${tenants.join(", ")} alone`] : []
    })
  ).pipe(Effect.map((found) => found.flat()))

  const answer = Effect.fn("Home.answer")(function* () {
    const picture = yield* status.read
    const { owing, parked } = yield* status.tenants(NAMED)
    const unanswered = yield* status.unanswered(NAMED)
    const proposed = (yield* proposals.list({ kinds: ProposalKind.literals, about: null }, PROPOSALS_COUNTED)).filter(isWaiting)
    const failing = failingCalls(recentCalls.read(picture.at))
    const wallets = picture.floatsAreWhole ? yield* balances.latest : null
    const short = wallets === null ? [] : walletLines(wallets, picture.floats)
    const off = switchedOffTexts(yield* switches.list)
    const found = attention(picture, yield* status.protection, [...off, ...short, ...failing, ...(yield* heldBack)])
    const body = [
      section("Needs attention", attentionList(found)),
      h("div", { class: "columns" }, [
        section("Open transactions", openTable(picture)),
        section("Queues", queueTable(picture, proposed)),
        section("Floats of all tenants", floatTable(picture)),
        section("Checks", checkTable(picture))
      ]),
      section(UNKNOWN_LONGEST, unansweredTable(unanswered, picture.at)),
      h("div", { class: "columns" }, [
        section(
          "Parked webhooks",
          table(
            "Tenants by parked webhooks",
            ["Tenant", "Mode", "Endpoint", "Parked", "Its state"],
            parked.map((row) => [parkedLink(row), row.mode, row.name, String(row.parked), row.endpoint])
          )
        ),
        section(
          OWING,
          table(
            "Owed after corrections",
            ["Tenant", "Mode", "Owes"],
            owing.map((row) => [row.appId, row.mode, money(row.receivable, row.currency)])
          )
        )
      ]),
      h(
        "p",
        { class: "soft" },
        "As of ",
        time(picture.at),
        ". Calls to providers and what is held back are of this node, and everything else is of all nodes."
      )
    ]
    return page("Overview", body, { refreshSeconds: REFRESH_SECONDS })
  })

  return {
    place: { to: "/", name: "Overview" },
    routes: [{ method: "GET", path: "/", permission: "look", answer }]
  } satisfies Room
})

const attentionList = (found: ReadonlyArray<string>): ComponentChild =>
  h(
    "ul",
    { class: "attention" },
    found.length === 0 ? h("li", { class: "nothing" }, "Nothing.") : found.map((one) => h("li", null, attentionLink(one)))
  )

const parkedLink = ({ appId, mode, name }: ParkedTenant): ComponentChild =>
  link(`/webhooks?app=${appId}&mode=${mode}&endpoint=${name}&status=parked`, appId)

// The page for each kind of line; the other lines are about the machine.
const ways: ReadonlyArray<readonly [RegExp, string]> = [
  [/^reviews/, "/reviews"],
  [/^outcomes unknown/, "/unknown"],
  [/^calls to|^held back|^switched off/, "/providers"],
  [/^refused within .* wallet|^a wallet|^wallets/, "/wallets"],
  [/^callbacks refused/, "/callbacks"],
  [/^callbacks that matched nothing/, "/callbacks?status=parked"],
  [/^callbacks/, "/callbacks?status=due"],
  [/^webhook|^parked webhooks/, "/webhooks"],
  [/^a tenant owes/, `#${idOf(OWING)}`],
  [/audit log/, "/audit"]
]

const attentionLink = (one: string): ComponentChild => {
  const way = ways.find(([pattern]) => pattern.test(one))
  const hint = one.startsWith("the ledger was not verified") ? ": run gateway ledger verify" : ""
  const sentence = `${one.slice(0, 1).toUpperCase()}${one.slice(1)}${hint}`
  return way === undefined ? sentence : link(way[1], sentence)
}

const openTable = ({ at, open }: StatusSnapshot): ComponentChild =>
  table(
    "By kind, provider and age, of all nodes",
    ["Kind", "Provider", "Age", "Open", "Unknown", "Oldest"],
    open.map((row) => [
      `${row.kind}, ${row.mode}`,
      row.provider,
      row.age === "older" ? "over 24h" : `under ${row.age}`,
      String(row.count),
      row.unknown === 0 ? "0" : badge(String(row.unknown), "wait"),
      `${elapsed(at, row.oldestAt)} ago`
    ]),
    "Nothing is open."
  )

/** Includes approved proposals that were not carried out: a process died, or the proposer of a key has not fetched it yet. */
const isWaiting = ({ status }: Proposal): boolean => status === "open" || status === "approved"

const queueTable = ({ at, inbox, outbox, reviews }: StatusSnapshot, proposed: ReadonlyArray<Proposal>): ComponentChild =>
  table(
    "Waiting, at all nodes",
    ["Queue", "Due", "Parked", "Late"],
    [
      [link("/webhooks", "Webhooks"), String(outbox.due), String(outbox.parked), lateText(at, outbox.oldestAt)],
      [link("/callbacks", "Callbacks"), String(inbox.due), String(inbox.parked), lateText(at, inbox.oldestAt)],
      [link("/reviews", "Reviews"), String(reviews.count), "none", lateText(at, reviews.oldestAt)],
      [link("/proposals", "Approvals"), String(proposed.length), "none", lateText(at, oldestOf(proposed))]
    ]
  )

/** A queue that is due this very second is not late. */
const lateText = (now: Instant, since: Instant | null): string => {
  const late = elapsed(now, since)
  return late === null || late === "0s" ? "no" : late
}

const oldestOf = (proposed: ReadonlyArray<Proposal>): Instant | null =>
  proposed.length === 0 ? null : Math.min(...proposed.map(({ proposedAt }) => proposedAt))

const floatTable = ({ floats }: StatusSnapshot): ComponentChild =>
  table(
    "Sums by mode and currency",
    ["Mode", "Available", "Reserved", "Owed"],
    floats.map((row) => [
      row.mode,
      money(row.available, row.currency),
      money(row.reserved, row.currency),
      row.receivable === 0n ? "nothing" : money(row.receivable, row.currency)
    ])
  )

const checkTable = ({ at, checks }: StatusSnapshot): ComponentChild =>
  table(
    "The last of each, by any node",
    ["Check", "When", "Differences"],
    checks.map((check) => [
      `${check.name} ${check.subject}`.trim(),
      `${elapsed(at, check.at)} ago`,
      check.differences === 0 ? badge("none", "good") : badge(String(check.differences), "bad")
    ]),
    "None has run yet."
  )

const unansweredTable = (rows: ReadonlyArray<UnansweredTransaction>, now: Instant): ComponentChild =>
  table(
    "The oldest first",
    ["Reference", "Tenant", "Kind", "Provider", "Open for", "Last asked", "Acknowledged", "Last answer"],
    rows.map((row) => [
      transactionLink(row.reference),
      row.appId,
      `${row.kind}, ${row.mode}`,
      row.provider,
      elapsed(now, row.createdAt) ?? "",
      `${elapsed(now, row.heardAt)} ago`,
      row.acknowledgedUntil !== null && row.acknowledgedUntil > now ? ["until ", minute(row.acknowledgedUntil)] : "not yet",
      said(noteText(row.note))
    ])
  )

/** The form with which a person acknowledges an open transaction, as `review acknowledge` does. */
export const makeAcknowledging = Effect.gen(function* () {
  const acknowledgements = yield* Acknowledgements

  const acknowledge = Effect.fn("Acknowledging.acknowledge")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { at, form, params } = visit
    const reference = params["reference"] ?? ""
    const back = form.get("back") === `/reviews/${reference}` ? `/reviews/${reference}` : `/transactions/${reference}`
    const note = maskedField(visit, "taken", LONGEST_ACKNOWLEDGEMENT)
    if (note === "") return redirect(back, "reason-missing")
    const hours = hoursOf(form.get("hours") ?? "")
    if (hours === null) return redirect(back, "hours-wrong")
    const audit = auditOf(visit, "review acknowledge", reference, { note, hours: String(hours) })
    const found = isReference(reference)
      ? yield* acknowledgements.acknowledge(reference, restingUntil(at, hours), audit)
      : Option.none()
    return redirect(back, Option.isSome(found) ? "acknowledged" : "not-open")
  })

  return {
    place: null,
    routes: [{ method: "POST", path: "/transactions/:reference/acknowledge", permission: "resolve", answer: acknowledge }]
  } satisfies Room
})

const hoursOf = (text: string): number | null => {
  const hours = /^\d{1,2}$/.test(text) ? Number(text) : 0
  return hours >= 1 && hours <= ACKNOWLEDGED_HOURS.most ? hours : null
}
