import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import { type AppId, Mode } from "../../domain/Ids.ts"
import type { FloatPosition } from "../../domain/Ledger.ts"
import { type Caller, sortedCapabilities, type Tenant } from "../../domain/Tenant.ts"
import type { WebhookEndpoint } from "../../domain/WebhookEndpoint.ts"
import { type LimitUse, LimitUses } from "../../services/admission/LimitUses.ts"
import { FloatLedger } from "../../services/ports/FloatLedger.ts"
import { ACTIVITY_COUNTED_AT_MOST, type ActivityCount, TenantActivity } from "../../services/ports/TenantActivity.ts"
import { type KeyRow, Tenants } from "../../services/ports/Tenants.ts"
import { WebhookEndpoints } from "../../services/ports/WebhookEndpoints.ts"
import { Reference, type ServedCorridor } from "../../services/reference/Reference.ts"
import { badge, code, facts, field, folded, link, money, said, section, type Tone, table, time, within } from "../Elements.ts"
import { entriesPath } from "../EntryTable.ts"
import type { Room } from "../Handler.ts"
import { type Answer, page, redirect, type Visit } from "../Route.ts"
import { percent } from "../SuccessRates.ts"
import { tenantFinder } from "../TenantList.ts"

const TENANTS_SHOWN = 50
const KEYS_SHOWN = 20
const HOUR_MS = 3_600_000

/** One tenant on one page: its floats, its permissions, its state, and links to its lists. */
export const makeTenants = Effect.gen(function* () {
  const tenants = yield* Tenants
  const ledger = yield* FloatLedger
  const limits = yield* LimitUses
  const endpoints = yield* WebhookEndpoints
  const activity = yield* TenantActivity
  const reference = yield* Reference

  const all = Effect.fn("TenantsPage.all")(function* ({ query }: Visit) {
    const name = query.get("name")?.trim() ?? ""
    const every = yield* tenants.list
    if (every.some(({ appId }) => appId === name)) return redirect(`/tenants/${name}`)
    const after = query.get("after") ?? ""
    const fitting = every.filter(({ appId }) => appId.includes(name) && appId > after)
    const shown = fitting.slice(0, TENANTS_SHOWN)
    const last = fitting.length > TENANTS_SHOWN ? shown.at(-1) : undefined
    return page("Tenants", [
      tenantForm(name),
      section(
        "All tenants",
        table(
          "By name",
          ["Tenant", "Status", "Pinned to", "Since"],
          shown.map((tenant) => [
            link(`/tenants/${tenant.appId}`, tenant.appId),
            statusBadge(tenant),
            tenant.pinned ?? "not pinned",
            time(tenant.createdAt)
          ])
        ),
        last === undefined
          ? null
          : h("p", { class: "pager" }, link(`/tenants?${new URLSearchParams({ name, after: last.appId })}`, "Next ones"))
      )
    ])
  })

  const rates = Effect.fnUntraced(function* (appId: AppId, mode: Mode, now: number) {
    const ofHour = yield* activity.begun(appId, mode, now - HOUR_MS)
    const ofDay = yield* activity.begun(appId, mode, now - 24 * HOUR_MS)
    return section(
      "Success",
      table(
        "What began within the last hour and the last day, as it stands now",
        ["Within", "Kind", "Began", "Successful", "Ended otherwise", "Still open", "Success rate"],
        [...rateRows("the last hour", ofHour), ...rateRows("the last day", ofDay)],
        "Nothing began within a day."
      )
    )
  })

  const shown = Effect.fnUntraced(function* (tenant: Tenant, mode: Mode, { at }: Visit) {
    const { appId } = tenant
    // The answer that the tenant itself would get, with any of its keys.
    const caller: Caller = { appId, mode, keyId: "", role: "tenant" }
    const floats = yield* Effect.forEach(Mode.literals, (one) =>
      Effect.map(ledger.positions(appId, one), (positions) => positions.map((position) => floatRow(appId, one, position)))
    )
    const keys = (yield* tenants.keys(appId)).filter(({ revokedAt }) => revokedAt === null).toReversed()
    const corridors = (yield* reference.corridors(caller)).filter(({ active }) => active)
    return page(`Tenant ${appId}`, [
      section(
        "The tenant",
        tenantFacts(tenant),
        h("p", null, link(`/tenants/${appId}/change`, "Freeze, pin, and what was proposed"))
      ),
      section("Its lists", listLinks(appId)),
      section("Floats", table("One a currency and mode", floatColumns, floats.flat(), "It has none.")),
      modeChoice(appId, mode),
      yield* rates(appId, mode, at),
      section(
        "Limits",
        table(
          "What holds for it, and what is used of it by now",
          ["Limit", "Within", "Bound", "Used", "Begins anew"],
          (yield* limits.list(caller)).map(limitRow),
          "None."
        )
      ),
      section(
        "Keys that are valid",
        table(
          keys.length > KEYS_SHOWN ? `The newest ${KEYS_SHOWN} of ${keys.length}` : "The newest first",
          ["Key", "Label", "Mode", "Role", "Last used"],
          keys.slice(0, KEYS_SHOWN).map(keyRow),
          "It has none: it cannot sign a request."
        )
      ),
      section(
        "Webhook endpoints",
        table(
          "By name",
          ["Endpoint", "Address", "State", "Accepts nothing since"],
          (yield* endpoints.list(appId, mode)).map(endpointRow),
          "It has none: its webhooks wait."
        )
      ),
      section(
        "Corridors that are open",
        folded(
          `All ${corridors.length}, as this tenant is served by them now`,
          table("By country", ["Corridor", "Goes to first", "Works", "From", "To"], corridors.map(corridorRow))
        )
      )
    ])
  })

  const find = tenantFinder(tenants)
  const one = Effect.fn("TenantsPage.one")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTenant
    const mode = Mode.literals.find((literal) => literal === visit.query.get("mode")) ?? "live"
    return yield* shown(found.value, mode, visit)
  })

  return {
    place: { to: "/tenants", name: "Tenants" },
    routes: [
      { method: "GET", path: "/tenants", permission: "look", answer: all },
      { method: "GET", path: "/tenants/:app", permission: "look", answer: one }
    ]
  } satisfies Room
})

const tenantForm = (name: string): ComponentChild =>
  h(
    "form",
    { method: "get", action: "/tenants", class: "filters" },
    field({ name: "name", label: "Name, or a part of it", value: name, maxLength: 40 }),
    h("button", { type: "submit" }, "Show")
  )

const noTenant = page("There is no such tenant", tenantForm(""), { status: 404 })

const statusBadge = ({ status }: Tenant): ComponentChild => badge(status, status === "active" ? "good" : "bad")

const tenantFacts = (tenant: Tenant): ComponentChild =>
  facts([
    [
      "Status",
      [statusBadge(tenant), tenant.status === "frozen" ? " Everything that moves money is refused; what is open settles." : ""]
    ],
    ["Pinned to", tenant.pinned ?? "no provider: the corridors decide"],
    ["May", sortedCapabilities(tenant.capabilities).join(", ") || "nothing"],
    [
      "Repeated sales",
      tenant.repeatSales ? "a number may be charged again at once" : "a number is not charged again for 15 minutes"
    ],
    ["Since", time(tenant.createdAt)]
  ])

const listLinks = (app: AppId): ComponentChild => {
  const of = (path: string, more: Readonly<Record<string, string>> = {}) => `${path}?${new URLSearchParams({ app, ...more })}`
  const links: ReadonlyArray<readonly [string, string]> = [
    [of("/transactions"), "Transactions"],
    [of("/unknown"), "Without an outcome"],
    [of("/unknown", { state: "review" }), "Waiting for a person"],
    [of("/webhooks", { mode: "live" }), "Webhooks, live"],
    [of("/webhooks", { mode: "test" }), "Webhooks, test"],
    [`/floats/${app}`, "Floats, credits and debits"],
    [`/keys/${app}`, "Keys"],
    ["/senders", "Senders"]
  ]
  return h(
    "p",
    { class: "inline choices" },
    links.map(([to, text]) => link(to, text))
  )
}

const modeChoice = (appId: AppId, mode: Mode): ComponentChild =>
  h(
    "p",
    { class: "inline choices" },
    "Below, in mode",
    Mode.literals.map((one) =>
      h("a", { href: `/tenants/${appId}?mode=${one}`, ...(one === mode ? { "aria-current": "page" as const } : {}) }, one)
    )
  )

const floatColumns = ["Float", "Mode", "Available", "Reserved", "Owed"]

const floatRow = (appId: AppId, mode: Mode, { available, currency, receivable, reserved }: FloatPosition) => [
  link(entriesPath({ appId, mode, currency }), currency),
  mode,
  money(available, currency),
  money(reserved, currency),
  receivable === undefined || receivable === 0n ? "nothing" : money(receivable, currency)
]

const open = ["pending", "requires_action"]

const rateRows = (within: string, counts: ReadonlyArray<ActivityCount>): ReadonlyArray<ReadonlyArray<ComponentChild>> => {
  const began = sumOf(counts)
  const atLeast = began >= ACTIVITY_COUNTED_AT_MOST ? ` (the newest ${ACTIVITY_COUNTED_AT_MOST})` : ""
  return [...Map.groupBy(counts, ({ kind }) => kind)].map(([kind, own]) => {
    const successful = sumOf(own.filter(({ status }) => status === "successful"))
    const pending = sumOf(own.filter(({ status }) => open.includes(status)))
    const ended = sumOf(own) - pending
    return [
      `${within}${atLeast}`,
      kind,
      String(sumOf(own)),
      String(successful),
      String(ended - successful),
      String(pending),
      percent({ ended, successful })
    ]
  })
}

const sumOf = (counts: ReadonlyArray<ActivityCount>): number => counts.reduce((sum, { count }) => sum + count, 0)

const subjects = { tenant: "all of it", destination: "each number", key: "each key" } as const

const limitRow = ({ bound, currency, direction, endsAt, length, of, used }: LimitUse): ReadonlyArray<ComponentChild> => {
  const figure = (amount: bigint) => (currency === null ? amount.toLocaleString("en") : money(amount, currency))
  // The page is not about one key or one number, each of which has its own window.
  const isOwn = of !== "tenant" || used === null
  return [
    `${direction}s, ${subjects[of]}`,
    `one ${length}`,
    figure(bound),
    isOwn ? "by itself" : used >= bound ? badge(`all of it`, "bad") : figure(used),
    time(endsAt)
  ]
}

const keyRow = ({ appId, keyId, label, lastUsedAt, mode, role }: KeyRow): ReadonlyArray<ComponentChild> => [
  link(`/keys/${appId}`, code(keyId)),
  label === "" ? "" : said(label),
  mode,
  role,
  within(lastUsedAt)
]

const endpointRow = (endpoint: WebhookEndpoint): ReadonlyArray<ComponentChild> => {
  const { appId, disabledReason, enabled, failingSince, mode, name, url } = endpoint
  return [
    link(`/webhooks?${new URLSearchParams({ app: appId, mode, endpoint: name })}`, name),
    said(url),
    enabled ? badge("enabled", failingSince === null ? "good" : "wait") : badge(disabledReason ?? "disabled by its owner", "bad"),
    failingSince === null ? "" : time(failingSince)
  ]
}

const tones: { readonly [A in ServedCorridor["availability"]]: Tone } = { operational: "good", degraded: "wait", down: "bad" }

const corridorRow = (row: ServedCorridor): ReadonlyArray<ComponentChild> => [
  `${row.country} ${row.currency} ${row.direction} ${row.method}`,
  row.provider,
  badge(row.availability, tones[row.availability]),
  row.minimum === null ? "" : money(row.minimum, row.currency),
  row.maximum === null ? "" : money(row.maximum, row.currency)
]
