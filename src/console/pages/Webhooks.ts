import { Effect, Option, Result, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import type { CsvValue } from "../../domain/CsvText.ts"
import { type Delivery, DeliveryStatus } from "../../domain/Delivery.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import { AppId, isReference, Mode, type Reference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { may } from "../../domain/Operator.ts"
import { DEFAULT_ENDPOINT, EndpointName, type WebhookEndpoint } from "../../domain/WebhookEndpoint.ts"
import { GatewayStatus } from "../../services/ports/GatewayStatus.ts"
import { type DeliveryCursor, type DeliveryPage, WebhookDeliveries } from "../../services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../services/ports/WebhookEndpoints.ts"
import { badge, code, facts, field, hidden, link, said, section, type Tone, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import {
  type Filter,
  inputsOf,
  keptOf,
  listEnd,
  mistakesOf,
  oneOf,
  placeOf,
  placeText,
  ROWS_SHOWN,
  readingOf,
  tenantFilter,
  timeFilters
} from "../ListFilters.ts"
import { type Answer, auditOf, page, redirect, type Visit } from "../Route.ts"

/** The parked deliveries read at once for redelivery. */
const PARKED_A_READ = 100
/** One press of the button sends at most this many again. */
const MOST_AT_ONCE = 500
const TENANTS_NAMED = 50
const LISTS_WAIT = "Other lists of this tenant are being read. Ask again in a moment."

interface Owner {
  readonly appId: AppId
  readonly mode: Mode
  /** Null for all of its endpoints. */
  readonly endpoint: EndpointName | null
}

/** Endpoints of tenants, their deliveries, and redelivering many at once. */
export const makeWebhooks = Effect.gen(function* () {
  const endpoints = yield* WebhookEndpoints
  const deliveries = yield* WebhookDeliveries
  const status = yield* GatewayStatus

  const show = Effect.fn("WebhooksPage.show")(function* (visit: Visit): Effect.fn.Return<Answer, RateLimited> {
    const { query } = visit
    const { list, mistakes } = listOf(query)
    if (mistakes.size > 0) return page("Webhooks", ownerForm(query, mistakes), { status: 422 })
    const { failing, parked } = yield* status.tenants(TENANTS_NAMED)
    const found = list === null ? [] : yield* ofTenant(visit, list)
    const rows = parked.map(({ endpoint: state, name, ...row }) => [
      link(pageOf({ ...row, endpoint: name }, "parked"), row.appId),
      row.mode,
      name,
      String(row.parked),
      state
    ])
    return page("Webhooks", [
      ownerForm(query, []),
      found,
      section(
        "Endpoints that accept nothing",
        table(
          "For a minute and longer, the longest first",
          ["Tenant", "Mode", "Endpoint", "Since"],
          failing.map(({ name, ...row }) => [
            link(pageOf({ ...row, endpoint: name }, "due"), row.appId),
            row.mode,
            name,
            time(row.since)
          ])
        )
      ),
      section(
        "Tenants with parked webhooks",
        table("The most first", ["Tenant", "Mode", "Endpoint", "Parked", "Its state"], rows)
      )
    ])
  }, orWait)

  const ofTenant = Effect.fnUntraced(function* (visit: Visit, { owner, status: wanted, ...list }: DeliveryList) {
    const all = yield* endpoints.list(owner.appId, owner.mode)
    const after = placeOf(visit.query) ?? list.newest
    const { items, next } = yield* deliveries.list({ ...owner, status: wanted, limit: ROWS_SHOWN, after })
    const shown = all.filter(({ name }) => owner.endpoint === null || name === owner.endpoint)
    const heading = (name: string) => `Endpoint ${name} of ${owner.appId}, ${owner.mode}`
    return [
      ...shown.map((one) => section(heading(one.name), endpointFacts(one, items))),
      shown.length > 0 ? null : section(heading(owner.endpoint ?? DEFAULT_ENDPOINT), h("p", { class: "none" }, "There is none.")),
      section(
        "Deliveries",
        deliveryForm(visit, owner, items),
        listEnd({ to: "/webhooks", kept: keptOf(filters, visit.query), next: next === null ? null : placeText(next) })
      )
    ]
  })

  const file = Effect.fn("WebhooksPage.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { list, mistakes } = listOf(visit.query)
    if (list === null || mistakes.size > 0) return yield* show(visit)
    const { newest, owner, status: wanted } = list
    return listFile({
      name: `webhooks-${owner.appId}-${owner.mode}`,
      columns: deliveryColumns,
      read: ({ after, limit }: { readonly limit: number; readonly after: DeliveryCursor | null }) =>
        Effect.map(deliveries.list({ ...owner, status: wanted, limit, after: after ?? newest }), ({ items, next }) => ({
          rows: items,
          next
        }))
    })
  })

  /** The selected deliveries, or all parked ones. */
  const chosen = Effect.fnUntraced(function* ({ form }: Visit, owner: Owner) {
    if (form.get("all") !== "parked") return form.getAll("id").filter(isReference).slice(0, MOST_AT_ONCE)
    const ids: Array<Reference> = []
    let after: DeliveryCursor | null = null
    while (ids.length < MOST_AT_ONCE) {
      // A list of parked ones is never refused.
      const step: DeliveryPage = yield* Effect.orDie(deliveries.list({ ...owner, status: "parked", limit: PARKED_A_READ, after }))
      ids.push(...step.items.map(({ id }) => id))
      if (step.next === null) break
      after = step.next
    }
    return ids.slice(0, MOST_AT_ONCE)
  })

  const redeliver = Effect.fn("WebhooksPage.redeliver")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const owner = ownerOf(visit.form)
    if (owner === null) return redirect("/webhooks")
    const enabled = new Set((yield* endpoints.list(owner.appId, owner.mode)).filter((one) => one.enabled).map(({ name }) => name))
    const ids = yield* chosen(visit, owner)
    if (ids.length === 0) return redirect(pageOf(owner, ""), "none-chosen")
    const found = yield* Effect.forEach(ids, (id) => deliveries.find(owner.appId, owner.mode, id))
    const sendable = found.flatMap((one) => Option.toArray(one)).filter(({ endpoint }) => enabled.has(endpoint))
    if (sendable.length === 0) return redirect(pageOf(owner, ""), "no-endpoint")
    yield* Effect.forEach(
      sendable,
      ({ appId, endpoint, id, mode }) =>
        deliveries.redeliver({
          appId,
          mode,
          endpoint,
          id,
          at: visit.at,
          change: auditOf(visit, "webhook redeliver", owner.appId, { mode: owner.mode, delivery: id })
        }),
      { discard: true }
    )
    return redirect(pageOf(owner, ""), "redelivered")
  })

  return {
    place: { to: "/webhooks", name: "Webhooks" },
    routes: [
      { method: "GET", path: "/webhooks", permission: "look", answer: show },
      { method: "GET", path: "/webhooks.csv", permission: "look", answer: file },
      { method: "POST", path: "/webhooks/redeliver", permission: "redeliver", answer: redeliver }
    ]
  } satisfies Room
})

const orWait = (shown: Effect.Effect<Answer, RateLimited>, { query }: Visit): Effect.Effect<Answer> =>
  Effect.catchTag(shown, "rate_limited", () => Effect.succeed(page("Webhooks", ownerForm(query, [LISTS_WAIT]), { status: 429 })))

const isTenant = Schema.is(AppId)
const isName = Schema.is(EndpointName)
const ownerOf = (given: URLSearchParams): Owner | null => {
  const appId = given.get("app")?.trim() ?? ""
  const mode = Mode.literals.find((one) => one === given.get("mode"))
  const endpoint = given.get("endpoint")?.trim() ?? ""
  return isTenant(appId) && mode !== undefined ? { appId, mode, endpoint: isName(endpoint) ? endpoint : null } : null
}

const pageOf = ({ appId, endpoint, mode }: Owner, status: string): string =>
  `/webhooks?app=${appId}&mode=${mode}${endpoint === null ? "" : `&endpoint=${endpoint}`}&status=${status}`

const mode = oneOf("mode", "Mode", Mode.literals)
const endpoint: Filter<EndpointName> = {
  name: "endpoint",
  read: (text) => (isName(text) ? Result.succeed(text) : Result.fail("An endpoint's name has small letters, digits, _ and -.")),
  input: (text) => field({ name: "endpoint", label: "Endpoint", value: text, maxLength: 32 })
}
const deliveryStatus = oneOf("status", "Status", DeliveryStatus.literals)
const { to: createdBefore } = timeFilters("Created")
const filters = [tenantFilter, mode, endpoint, deliveryStatus, createdBefore] satisfies ReadonlyArray<Filter<unknown>>

/** A tenant's deliveries, narrowed down by the query. */
interface DeliveryList {
  readonly owner: Owner
  readonly status: DeliveryStatus | null
  /** The list begins after it; null: with the newest. */
  readonly newest: DeliveryCursor | null
}

/** Null where no tenant is named. */
const listOf = (asked: URLSearchParams): { readonly list: DeliveryList | null; readonly mistakes: ReadonlySet<string> } => {
  const { mistakes, value } = readingOf(asked)
  const appId = value(tenantFilter)
  const before = value(createdBefore)
  const owner = { mode: value(mode) ?? "live", endpoint: value(endpoint) }
  const newest = before === null ? null : { at: before, id: "" }
  return { list: appId === null ? null : { owner: { appId, ...owner }, status: value(deliveryStatus), newest }, mistakes }
}

const deliveryColumns: ReadonlyArray<readonly [string, (delivery: Delivery) => CsvValue]> = [
  ["id", ({ id }) => id],
  ["created_at", ({ createdAt }) => iso(createdAt)],
  ["endpoint", (delivery) => delivery.endpoint],
  ["event_type", ({ eventType }) => eventType],
  ["reference", ({ reference }) => reference],
  ["status", ({ status }) => status],
  ["attempts", ({ attempts }) => attempts.length],
  [
    "last_attempt_at",
    ({ attempts }) =>
      attempts
        .slice(-1)
        .map(({ at }) => iso(at))
        .join("")
  ],
  ["last_answer", ({ attempts }) => attempts.at(-1)?.status ?? null]
]

const ownerForm = (query: URLSearchParams, mistakes: Iterable<string>): ComponentChild =>
  section(
    "A tenant's webhooks",
    mistakesOf(mistakes),
    h(
      "form",
      { method: "get", action: "/webhooks", class: "filters" },
      inputsOf(filters, query),
      h("button", { type: "submit", class: "strong" }, "Search")
    )
  )

const endpointFacts = (
  { disabledReason, enabled, events, failingSince, name, url }: WebhookEndpoint,
  shown: ReadonlyArray<Delivery>
): ComponentChild => {
  const own = shown.filter(({ endpoint }) => endpoint === name)
  const [latest] = own.flatMap(({ attempts }) => attempts.at(-1) ?? []).sort((one, other) => other.at - one.at)
  return facts([
    ["Address", said(url)],
    ["Enabled", enabled ? badge("yes", "good") : badge(disabledReason ?? "no, by its owner", "bad")],
    ["Accepts nothing since", failingSince === null ? null : time(failingSince)],
    ["Last answer", latest === undefined ? "none yet" : [time(latest.at), ": ", answerText(latest)]],
    ["Events", events.join(", ")]
  ])
}

const tones: { readonly [S in DeliveryStatus]: Tone } = { due: "wait", delivered: "good", parked: "bad" }

const deliveryForm = (visit: Visit, owner: Owner, items: ReadonlyArray<Delivery>): ComponentChild => {
  const mayRedeliver = may(visit.visitor.role, "redeliver")
  const rows = items.map((delivery) => deliveryRow(delivery, mayRedeliver))
  const columns = [
    ...(mayRedeliver ? ["Select"] : []),
    "Created",
    "Endpoint",
    "Event",
    "Transaction",
    "Status",
    "Attempts",
    "Last answer"
  ]
  const list = table("The newest first", columns, rows, "There are none.")
  if (!mayRedeliver || items.length === 0) return list
  return h(
    "form",
    { method: "post", action: "/webhooks/redeliver" },
    hidden("form_token", visit.visitor.formToken),
    hidden("app", owner.appId),
    hidden("mode", owner.mode),
    hidden("endpoint", owner.endpoint ?? ""),
    h(
      "p",
      { class: "inline" },
      h("button", { type: "submit", class: "strong" }, "Resend selected"),
      h("button", { type: "submit", name: "all", value: "parked" }, "Resend all parked")
    ),
    list
  )
}

const deliveryRow = ({ attempts, createdAt, endpoint, eventType, id, reference, status }: Delivery, mayRedeliver: boolean) => {
  const last = attempts.at(-1)
  const box = h("input", { type: "checkbox", name: "id", value: id, "aria-label": `Select ${eventType} ${id}` })
  return [
    ...(mayRedeliver ? [box] : []),
    time(createdAt),
    endpoint,
    [eventType, " ", code(id)],
    reference === null ? "none" : transactionLink(reference),
    badge(status, tones[status]),
    String(attempts.length),
    last === undefined ? "none yet" : answerText(last)
  ]
}

const EXCERPT_SHOWN = 200

const answerText = ({ excerpt, status }: Delivery["attempts"][number]): ComponentChild => [
  status === null ? "no answer" : String(status),
  excerpt === "" ? "" : ": ",
  said(maskedText(excerpt.slice(0, EXCERPT_SHOWN)))
]
