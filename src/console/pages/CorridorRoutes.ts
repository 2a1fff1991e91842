import { Effect } from "effect"
import { type ComponentChild, h } from "preact"
import { corridorName } from "../../domain/ConfigurationChange.ts"
import type { Corridor } from "../../domain/Corridor.ts"
import { figuresByProvider, type ProviderCount } from "../../domain/RouteFigures.ts"
import { successText } from "../../domain/RoutePreference.ts"
import { Corridors } from "../../services/ports/Corridors.ts"
import { RouteCounts } from "../../services/ports/RouteCounts.ts"
import { RouteOrders } from "../../services/ports/RouteOrders.ts"
import { badge, code, facts, link, section, table, time } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { type Answer, page, type Visit } from "../Route.ts"
import { corridorFinder, noCorridor } from "./Changes.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const REFRESH_SECONDS = 60

/** One corridor: how its providers are ordered, and the results of each. */
export const makeCorridorRoutes = Effect.gen(function* () {
  const corridorOf = corridorFinder(yield* Corridors)
  const counts = yield* RouteCounts
  const orders = yield* RouteOrders

  const show = Effect.fn("CorridorRoutesPage.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const row = yield* corridorOf(visit)
    if (row === undefined) return noCorridor
    const { country, currency, direction, method } = row
    const isOf = (one: { readonly direction: string; readonly corridor: string }): boolean =>
      one.direction === direction && one.corridor === `${country}/${currency}/${method}`
    const since = (backMs: number) => Effect.map(counts.since(visit.at - backMs), (all) => all.filter(isOf))
    const [hour, day] = [yield* since(HOUR_MS), yield* since(DAY_MS)]
    const own = row.preference === "success" ? (yield* orders.all).filter(isOf) : []
    return page(
      `Corridor ${country} ${currency} ${direction} ${method}`,
      [
        section(
          "Order",
          facts([
            ["Open", row.active ? badge("open", "good") : badge("closed", "quiet")],
            ["Row's order", row.providers.join(", ")],
            ["Preference", `${row.preference}: ${preferences[row.preference]}`]
          ]),
          own.length === 0
            ? null
            : table(
                "Changed places by their success; other networks go by the row",
                ["Mode", "Network", "Order", "Since"],
                own.map(({ changedAt, mode, network, providers }) => [mode, network, providers.join(", "), time(changedAt)])
              )
        ),
        section("Last hour", figuresTable(hour)),
        section("Last day", figuresTable(day)),
        explanation,
        h("p", null, link(`/corridors/${corridorName(row)}/change`, "Change"), " · ", link("/providers", "All corridors"))
      ],
      { refreshSeconds: REFRESH_SECONDS }
    )
  })

  return {
    place: null,
    routes: [{ method: "GET", path: "/corridors/:country/:currency/:direction/:method", permission: "look", answer: show }]
  } satisfies Room
})

const preferences: Readonly<Record<Corridor["preference"], string>> = {
  order: "the row's own order",
  success: "the most successful of the last hour first",
  price: "the cheapest of each payment first"
}

const figuresTable = (counts: ReadonlyArray<ProviderCount>): ComponentChild =>
  table(
    "By mode, network and provider, those of all nodes",
    [
      "Mode",
      "Network",
      "Provider",
      "Tried",
      "Successful",
      "Failed",
      "Customer's",
      "Unknown",
      "Never sent",
      "Success",
      "Half within",
      "95 % within"
    ],
    figuresByProvider(counts).map((one) => [
      one.mode,
      one.network,
      code(one.provider),
      ...[one.tried, one.successful, one.failed, one.customer, one.unknown, one.neverSent].map(String),
      successText(one.success),
      secondsText(one.p50Ms),
      secondsText(one.p95Ms)
    ]),
    "Nothing was tried in this time."
  )

const secondsText = (ms: number | null): string => (ms === null ? "" : `${ms / 1000} s`)

const explanation = h(
  "p",
  { class: "soft" },
  "Counted within ten seconds. A payment is tried once at each provider that it was sent to, and ends once. Customer's: declined, no balance, wrong number, over a limit. Success leaves those out, and counts what never left."
)
