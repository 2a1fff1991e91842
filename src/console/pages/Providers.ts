import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import { verdicts, whyText } from "../../domain/Candidates.ts"
import { corridorName } from "../../domain/ConfigurationChange.ts"
import type { Corridor } from "../../domain/Corridor.ts"
import { Mode } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { may } from "../../domain/Operator.ts"
import { RecentCalls } from "../../runtime/RecentCalls.ts"
import { type UnroutedPayment, UnroutedPayments } from "../../runtime/UnroutedPayments.ts"
import { Corridors } from "../../services/ports/Corridors.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { type ProviderSwitch, ProviderSwitches, switchOf } from "../../services/ports/ProviderSwitches.ts"
import { type HeldBack, operations } from "../../services/routing/CircuitStates.ts"
import { Circuits } from "../../services/routing/Circuits.ts"
import { badge, code, link, money, said, section, table, time } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { callTable } from "../ProviderCalls.ts"
import { page, type Visit } from "../Route.ts"
import { switchBadge } from "./ProviderChange.ts"

/** Providers, the state of their circuits, and the corridor switch. */
export const makeProviders = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const circuits = yield* Circuits
  const recentCalls = yield* RecentCalls
  const unrouted = yield* UnroutedPayments
  const corridors = yield* Corridors
  const switches = yield* ProviderSwitches

  const account = Effect.fnUntraced(function* (
    provider: string,
    mode: Mode,
    { set, visit }: { readonly visit: Visit; readonly set: ReadonlyArray<ProviderSwitch> }
  ) {
    const { role } = visit.visitor
    const held = yield* Effect.forEach(operations, (operation) =>
      Effect.map(circuits.standing({ provider, mode, operation }), (standing) => heldText(operation, standing))
    )
    const open = held.flat()
    const isRegistered = Option.isSome(registry.find(provider, mode))
    return [
      provider,
      mode,
      isRegistered ? badge("yes", "good") : badge("no account", "quiet"),
      [
        switchBadge(switchOf(set, provider)),
        " ",
        link(`/providers/${provider}/change`, may(role, "propose") ? "Change" : "Look")
      ],
      open.length === 0 ? "nothing" : badge(open.join(", "), "bad"),
      // Any client that knows the path can call it.
      may(role, "configure") ? code(`/webhooks/${provider}/${registry.routeKey(provider, mode)}`) : "known to administrators"
    ]
  })

  const show = Effect.fn("ProvidersPage.show")(function* (visit: Visit) {
    const accounts = registry.known.flatMap((provider) => Mode.literals.map((mode) => [provider, mode] as const))
    const set = yield* switches.list
    const rows = yield* Effect.forEach(accounts, ([provider, mode]) => account(provider, mode, { visit, set }))
    const list = yield* corridors.list
    const isRegistered = (provider: string) => Mode.literals.some((mode) => Option.isSome(registry.find(provider, mode)))
    const calls = recentCalls.read(visit.at)
    return page("Providers and corridors", [
      section("Calls to providers", callTable(calls, visit.at)),
      section("Found no provider", unroutedTable(unrouted.read())),
      section(
        "Providers",
        table(
          "What this node holds back is let through again after a trial call that is answered",
          ["Provider", "Mode", "Registered", "Switch", "Held back", "Callbacks to"],
          rows
        )
      ),
      section(
        "Corridors",
        table(
          "Every node follows a switch within a second",
          corridorColumns,
          list.map((row) => corridorRow(visit, row, isRegistered))
        )
      )
    ])
  })

  return {
    place: { to: "/providers", name: "Providers" },
    routes: [{ method: "GET", path: "/providers", permission: "look", answer: show }]
  } satisfies Room
})

const unroutedTable = (payments: ReadonlyArray<UnroutedPayment>): ComponentChild =>
  table(
    "The newest of this node, since it started: nothing of them is recorded, and the log has all",
    ["When", "Tenant", "Request", "Asked", "Why each was passed over"],
    payments.map(({ appId, asked, at, candidates, requestId }) => [
      time(at),
      appId,
      code(requestId),
      asked,
      candidates.map(({ provider, verdict, ...reasons }) => {
        const why = whyText(reasons)
        return h("div", null, code(provider), ` ${verdicts[verdict]}`, why === "" ? null : [" ", said(maskedText(`(${why})`))])
      })
    ])
  )

const heldText = (operation: string, { all, isSilent, tenants }: HeldBack): ReadonlyArray<string> => {
  const why = isSilent ? " (not answered in time)" : ""
  return all ? [`${operation}${why}`] : tenants.length > 0 ? [`${operation} for ${tenants.join(", ")}${why}`] : []
}

const corridorColumns = ["Corridor", "Open", "Served by", "From", "To", "Why closed", ""]

const corridorRow = (visit: Visit, row: Corridor, isRegistered: (provider: string) => boolean): ReadonlyArray<ComponentChild> => [
  link(`/corridors/${corridorName(row)}`, corridorName(row).replaceAll("/", " ")),
  row.active ? badge("open", "good") : badge("closed", "quiet"),
  row.providers.map((provider, place) => [
    place === 0 ? "" : ", ",
    provider,
    isRegistered(provider) ? null : [" ", badge("no account", "quiet")]
  ]),
  row.minimum === null ? "" : money(row.minimum, row.currency),
  row.maximum === null ? "" : money(row.maximum, row.currency),
  row.inactiveReason === null ? "" : said(row.inactiveReason),
  link(`/corridors/${corridorName(row)}/change`, may(visit.visitor.role, "propose") ? "Change" : "Look")
]
