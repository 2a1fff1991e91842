import { Clock, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { corridorName } from "../domain/ConfigurationChange.ts"
import { type Corridor, type CorridorKey, Country, Direction, Method, Preference } from "../domain/Corridor.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { figuresByProvider, type RouteFigures } from "../domain/RouteFigures.ts"
import { successText } from "../domain/RoutePreference.ts"
import { corridorView } from "../domain/View.ts"
import { Corridors } from "../services/ports/Corridors.ts"
import { type RouteCount, RouteCounts } from "../services/ports/RouteCounts.ts"
import { RouteOrders } from "../services/ports/RouteOrders.ts"
import { currencyArgument, help } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

// The order in which a corridor's providers are tried, and their results.

/** With all its providers, in the row's own order; a tenant sees only the first that it is routed to. */
export const routedView = (row: Corridor) => ({
  ...corridorView(row, row.providers[0] ?? ""),
  providers: row.providers,
  preference: row.preference
})

export const corridorArguments = {
  country: Argument.String("COUNTRY").pipe(Argument.withSchema(Country), Argument.withDescription("two letters, such as UG")),
  currency: currencyArgument,
  direction: Argument.Literals("DIRECTION", Direction.literals).pipe(
    Argument.withDescription(`money in or money out: ${Direction.literals.join(", ")}`)
  ),
  method: Argument.Literals("METHOD", Method.literals).pipe(
    Argument.withDescription(`how a person pays or is paid: ${Method.literals.join(", ")}`)
  )
}

export const prefer = Command.make(
  "prefer",
  {
    ...corridorArguments,
    preference: Argument.Literals("PREFERENCE", Preference.literals).pipe(
      Argument.withDescription("order: as the row has them; success: by the success of the last hour; price: the cheapest first")
    )
  },
  Effect.fn(function* ({ preference, ...key }) {
    const corridors = yield* Corridors
    const row = yield* existing(yield* corridors.find(key), key)
    const obstacle = preference === "order" ? null : obstacleOf(row)
    if (obstacle !== null) return yield* new CommandRefusal(obstacle)
    // Always later than the previous change, whatever the clock says.
    const updatedAt = Math.max(yield* Clock.currentTimeMillis, row.updatedAt + 1)
    const next: Corridor = { ...row, preference, updatedAt }
    const entry = yield* auditEntry("corridor set", corridorName(key), { preference })
    if (!(yield* corridors.put(next, entry, row.updatedAt))) return yield* new CommandRefusal(CHANGED_MEANWHILE)
    yield* (yield* RouteOrders).forget({ direction: row.direction, corridor: routeOf(row) })
    const alone = row.providers.length < 2 ? ["the corridor has one provider: there is none to prefer"] : []
    yield* printResult({ ...routedView(next), warnings: alone })
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Say which provider of a corridor is tried first: the row's own order, success (the providers' own failures and refused connections of the last hour count, at least 30 payments, and 5 points change the order; an overtaken one is tried for one minute in 30, where it is not dearer) or price (each is asked, and the cheapest goes first). It only reorders them; every node follows within a second, and an order by success changes at most once in 31 minutes, unless one that came back fails again. Said again, it begins anew from the row's own order. All nodes have to run a release that has this command. By price a payout that was never sent goes on only to a provider that costs no more than the cheapest, which is held: most outages are then answered 503",
    ["gateway corridor prefer UG UGX payout momo success", "Prefer the provider with the most success"],
    ["gateway corridor prefer UG UGX payout momo order", "Try them as the row has them"]
  )
)

export const CHANGED_MEANWHILE = "the corridor was changed meanwhile: look at it again"

export const show = Command.make(
  "show",
  corridorArguments,
  Effect.fn(function* (key) {
    const corridors = yield* Corridors
    const row = yield* existing(yield* corridors.find(key), key)
    const now = yield* Clock.currentTimeMillis
    const counts = yield* RouteCounts
    const read = (fromMs: number) => Effect.map(counts.since(now - fromMs), (all) => all.filter((one) => isOf(one, row)))
    const [hour, day] = yield* Effect.all([read(HOUR_MS), read(DAY_MS)])
    const orders = (yield* (yield* RouteOrders).all).filter((order) => isOf(order, row))
    yield* printResult({
      ...routedView(row),
      orders: row.preference === "success" ? orders.map(orderView) : [],
      last_hour: figureRows(hour),
      last_day: figureRows(day)
    })
  }, Effect.provide(operatorPorts))
).pipe(
  help(
    "Show a corridor, the order of its providers, and what each did in the last hour and day: tried, successful, failed, failed by the customer, unknown, never sent, and the time within which half and 95 % of them ended",
    ["gateway corridor show UG UGX payout momo", "See what the providers of a corridor did"]
  )
)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MS_PER_SECOND = 1_000

const existing = (found: Option.Option<Corridor>, key: CorridorKey) =>
  Option.isSome(found)
    ? Effect.succeed(found.value)
    : Effect.fail(new CommandRefusal(`there is no corridor ${corridorName(key)}: gateway corridor list shows all of them`))

/** Why a corridor's providers stay in the row's own order. */
const obstacleOf = ({ customerAction, method }: Corridor): string | null => {
  if (method !== "momo")
    return `a ${method} corridor keeps the row's own order: a bank's code and a wallet belong to one provider; gateway corridor set --provider changes it`
  return customerAction === "otp"
    ? "a corridor with codes keeps the row's own order: a code belongs to the provider that sent it"
    : null
}

const routeOf = ({ country, currency, method }: CorridorKey): string => `${country}/${currency}/${method}`

const isOf = (one: { readonly direction: string; readonly corridor: string }, row: Corridor): boolean =>
  one.direction === row.direction && one.corridor === routeOf(row)

const orderView = (order: { mode: string; network: string; providers: ReadonlyArray<string>; changedAt: Instant }) => ({
  mode: order.mode,
  network: order.network,
  providers: order.providers.join(","),
  since: iso(order.changedAt)
})

const figureRows = (counts: ReadonlyArray<RouteCount>) =>
  figuresByProvider(counts).map((figures) => ({
    mode: figures.mode,
    network: figures.network,
    provider: figures.provider,
    ...figuresView(figures)
  }))

const figuresView = (figures: RouteFigures) => ({
  tried: figures.tried,
  successful: figures.successful,
  failed: figures.failed,
  customer: figures.customer,
  unknown: figures.unknown,
  never_sent: figures.neverSent,
  success: successText(figures.success),
  p50_seconds: figures.p50Ms === null ? null : figures.p50Ms / MS_PER_SECOND,
  p95_seconds: figures.p95Ms === null ? null : figures.p95Ms / MS_PER_SECOND
})
