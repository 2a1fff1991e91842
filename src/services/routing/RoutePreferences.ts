import { Clock, Context, Effect, Exit } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import { Mode } from "../../domain/Ids.ts"
import {
  isSame,
  LOOK_BACK_MS,
  nextRouteOrder,
  type Ranking,
  type RouteOrder,
  rankingOf,
  type SuccessByProvider,
  successOf,
  successText,
  trialAt
} from "../../domain/RoutePreference.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Corridors } from "../ports/Corridors.ts"
import { type RouteCount, RouteCounts } from "../ports/RouteCounts.ts"
import { type RouteKey, RouteOrders } from "../ports/RouteOrders.ts"

/** How often a node refreshes what it read. */
const EVERY = "5 seconds"

/** A ranking, and for each provider the reason for its place, unless that is the row. */
interface Ranked extends Ranking {
  readonly by: ReadonlyMap<string, string>
}

/**
 * The order in which an operator wants a corridor's providers tried (`gateway corridor prefer`). It only reorders the providers
 * that are able; circuits, pins and the rule of `Failover` are unaffected. All nodes use the same counts, the same rule and the
 * same stored order. They are held in memory, so a payment reads none of them.
 */
export class RoutePreferences extends Context.Service<
  RoutePreferences,
  {
    /** Ranks the providers that can serve a payment for its network. */
    readonly rank: (mode: Mode, row: Corridor, network: string, able: ReadonlyArray<string>) => Effect.Effect<Ranked>
    /** Reads the counts of all nodes and updates the stored orders; reads nothing when no corridor is ordered by success. */
    readonly look: Effect.Effect<void>
    /** Refreshes repeatedly. When a refresh fails, the previous state stays. */
    readonly run: Effect.Effect<never>
  }
>()("gateway/services/RoutePreferences") {
  static readonly layer = layerOf(RoutePreferences)(function* () {
    const corridors = yield* Corridors
    const counts = yield* RouteCounts
    const orders = yield* RouteOrders
    let known: Known = { orders: new Map(), success: new Map() }

    const rank = Effect.fnUntraced(function* (mode: Mode, row: Corridor, network: string, able: ReadonlyArray<string>) {
      if (row.preference === "order") return { ...rankingOf(able, "order", null, 0), by: new Map() } satisfies Ranked
      const name = nameOf(keyOf(mode, row, network))
      const order = known.orders.get(name) ?? null
      const isOfRow = order !== null && isSame(order.configured, [...new Set(row.providers)])
      const now = yield* Clock.currentTimeMillis
      const ranking = rankingOf(able, row.preference, isOfRow ? order : null, now)
      const trial = row.preference === "success" && isOfRow ? trialAt(order, now) : null
      const success = known.success.get(name) ?? new Map()
      const said = (provider: string) => {
        if (row.preference === "price") return "by price unknown"
        return `by success ${successText(success.get(provider) ?? nothing)}${provider === trial?.provider ? ", trial" : ""}`
      }
      return { ...ranking, by: new Map(ranking.providers.map((provider) => [provider, said(provider)])) } satisfies Ranked
    })

    const look = Effect.gen(function* () {
      const rows = (yield* corridors.list).filter(({ active, preference }) => active && preference === "success")
      if (rows.length === 0) {
        known = { orders: new Map(), success: new Map() }
        return
      }
      const now = yield* Clock.currentTimeMillis
      const success = successByName(yield* counts.since(now - LOOK_BACK_MS))
      const stored = new Map((yield* orders.all).map((order) => [nameOf(order), order] as const))
      const keys = rows.flatMap((row) =>
        Mode.literals.flatMap((mode) => row.networks.map((network) => ({ row, key: keyOf(mode, row, network) })))
      )
      let isChanged: boolean = false
      for (const { key, row } of keys) {
        const before = stored.get(nameOf(key)) ?? null
        const next = nextRouteOrder(row.providers, before, success.get(nameOf(key)) ?? new Map(), now)
        if (next === null) continue
        isChanged = true
        yield* orders.change(key, next, before)
        yield* Effect.annotateLogs(Effect.logInfo("providers of a corridor changed places by their success"), {
          mode: key.mode,
          corridor: `${key.direction} ${key.corridor}`,
          network: key.network,
          providers: next.providers.join(", ")
        })
      }
      // Another node may have been first.
      const after = isChanged ? new Map((yield* orders.all).map((order) => [nameOf(order), order] as const)) : stored
      known = { orders: after, success }
    }).pipe(Effect.withTracerEnabled(false))

    const attempt = Effect.gen(function* () {
      const exit = yield* Effect.exit(look)
      if (Exit.isFailure(exit))
        yield* Effect.logWarning("the success of providers could not be read: the last known order stays", exit.cause)
    })

    return { rank, look, run: Effect.andThen(attempt, Effect.forever(Effect.delay(attempt, EVERY))) }
  })
}

/** The orders that this node has read last. */
interface Known {
  readonly orders: ReadonlyMap<string, RouteOrder>
  readonly success: ReadonlyMap<string, SuccessByProvider>
}

const nothing = { successful: 0, failed: 0 }

const nameOf = ({ corridor, direction, mode, network }: RouteKey): string => [mode, direction, corridor, network].join(" ")

const keyOf = (mode: Mode, { country, currency, direction, method }: Corridor, network: string): RouteKey => ({
  mode,
  direction,
  corridor: `${country}/${currency}/${method}`,
  network
})

const successByName = (counts: ReadonlyArray<RouteCount>): ReadonlyMap<string, SuccessByProvider> =>
  new Map(
    [...Map.groupBy(counts, nameOf)].map(([name, own]) => [
      name,
      new Map([...Map.groupBy(own, ({ provider }) => provider)].map(([provider, all]) => [provider, successOf(all)]))
    ])
  )
