import { Context, Effect, Option, Result } from "effect"
import { type Availability, availabilityOf, type Corridor, worse } from "../../domain/Corridor.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Instant } from "../../domain/Instant.ts"
import { failoverOrder, leftOut, pinnedFirst, routedProviders } from "../../domain/Routing.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { beginCandidates, passOver, passOverOthers, rankCandidates } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { Provider } from "../ports/Provider.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { ProviderSwitches, switchedOff } from "../ports/ProviderSwitches.ts"
import { Tenants } from "../ports/Tenants.ts"
import type { Operation } from "./CircuitStates.ts"
import { Circuits } from "./Circuits.ts"
import { availabilityByNetwork, limitsByNetwork, narrowed } from "./NetworkLimits.ts"
import { RoutePreferences } from "./RoutePreferences.ts"

/** A provider with an account in the caller's mode, and the requested operations: payouts, collections, or one read. */
export interface RoutedProvider<Operations> {
  readonly provider: Provider
  readonly operations: Operations
}

type OperationsOf<Operations> = (provider: Provider) => Operations | undefined

export interface PaymentRoute<Operations> {
  /** In the order in which they are tried. */
  readonly providers: ReadonlyArray<RoutedProvider<Operations>>
  /** Of these the cheapest is tried first, once their prices are known. Usually empty. */
  readonly compared: ReadonlyArray<RoutedProvider<Operations>>
  /** Until this time a price from the previous order is valid; null when none is. */
  readonly keptUntil: Instant | null
}

/**
 * Chooses the providers for a tenant's money calls and reads. A provider that an operator switched off keeps its place in a
 * corridor and is skipped, as one behind an open circuit is: its wallets, bank codes and payers' codes stay its own, and no
 * other provider uses them in the meantime.
 */
export class Routes extends Context.Service<
  Routes,
  {
    /**
     * The providers to try for a corridor, in order; `requireSwitchedOn` or `requireReady` decides whether one is called. Empty
     * when none has an account with these operations, or all of those are switched off: there is no such route.
     */
    readonly forCorridor: <Operations>(
      caller: Caller,
      row: Corridor,
      operationsOf: OperationsOf<Operations>
    ) => Effect.Effect<ReadonlyArray<RoutedProvider<Operations>>>
    /**
     * The same for a payment to a network, in the operator's preferred order; `network` null keeps the row's order. Its
     * candidates are recorded in the `RouteTrail`, those that are left out with the reason.
     */
    readonly forPayment: <Operations>(
      caller: Caller,
      row: Corridor,
      operationsOf: OperationsOf<Operations>,
      network: string | null
    ) => Effect.Effect<PaymentRoute<Operations>>
    /** Whether a payout corridor has no provider for this tenant only because its operator has set no payer. */
    readonly lacksSender: (caller: Caller, row: Corridor) => Effect.Effect<boolean>
    /** The providers of any of the rows, without duplicates. */
    readonly forCorridors: <Operations>(
      caller: Caller,
      rows: ReadonlyArray<Corridor>,
      operationsOf: OperationsOf<Operations>
    ) => Effect.Effect<ReadonlyArray<RoutedProvider<Operations>>>
    /** All providers with these operations, the tenant's own first: for reads that belong to no corridor. */
    readonly withoutCorridor: <Operations>(
      caller: Caller,
      operationsOf: OperationsOf<Operations>
    ) => Effect.Effect<ReadonlyArray<RoutedProvider<Operations>>>
    /** Fails when an operator has switched the provider off. Like the two below, it records why a candidate is skipped. */
    readonly requireSwitchedOn: (provider: Provider) => Effect.Effect<void, ProviderError>
    /** The same, and fails when the circuit would hold the call back: then the next provider is tried. */
    readonly requireReady: (provider: Provider, operation: Operation) => Effect.Effect<void, ProviderError>
    /**
     * The last check before a payment is opened at the provider or moved to it. Fails when it was switched off in the meantime,
     * or when the account's pace would delay a money call to this country (null: an exchange) longer than a request waits.
     */
    readonly requireTurn: (provider: Provider, country: string | null) => Effect.Effect<void, ProviderError>
    /**
     * Why every payment of the row is refused, whatever the row says: no provider of the row serves it in this mode, or each that
     * does is switched off. Null when one is tried, and when the tenant only lacks a sender.
     */
    readonly unserved: (caller: Caller, row: Corridor) => Effect.Effect<"no_provider" | "provider_off" | null>
    /** The first provider that the tenant is routed to; the row's first when none is able. */
    readonly firstProviderName: (caller: Caller, row: Corridor) => Effect.Effect<string>
    /** Advisory: the worse of the operator's entry and the state of switches, circuits and networks of the row's providers. */
    readonly availability: (caller: Caller, row: Corridor) => Effect.Effect<Corridor["availability"]>
    /** The row's minimum and maximum, narrowed to the limits of the accounts that are tried. */
    readonly amountLimits: (caller: Caller, row: Corridor) => Effect.Effect<Pick<Corridor, "minimum" | "maximum">>
  }
>()("gateway/services/Routes") {
  static readonly layer = layerOf(Routes)(function* () {
    const registry = yield* ProviderRegistry
    const tenants = yield* Tenants
    const circuits = yield* Circuits
    const preferences = yield* RoutePreferences

    const able = ableIn(registry)
    const off = Effect.map((yield* ProviderSwitches).list, switchedOff)

    /** The row's able providers in order (`all`), those switched on (`on`), and why each other one is left out (`others`). */
    const chosenFrom = Effect.fnUntraced(function* <Operations>(
      caller: Caller,
      row: Corridor,
      operationsOf: OperationsOf<Operations>
    ) {
      const pin = yield* tenants.pinned(caller.appId)
      const find = able(caller, operationsOf)
      const out = yield* off
      const untold = yield* withoutSender(caller, row)
      const lacking = (name: string) => (untold.includes(name) ? "no_sender" : find(name).length === 0 ? "no_account" : null)
      const ordered = failoverOrder(row, pin, (name) => lacking(name) === null)
      const all = ordered.flatMap(find)
      const on = all.filter(({ provider }) => !out.has(provider.name))
      const offHere = ordered.filter((name) => out.has(name)).map((name) => [name, "provider_off"] as const)
      return { all, on, tried: on.length === 0 ? [] : all, others: [...leftOut(row, pin, lacking), ...offHere] }
    })

    const forCorridor = <Operations>(caller: Caller, row: Corridor, operationsOf: OperationsOf<Operations>) =>
      Effect.map(chosenFrom(caller, row, operationsOf), ({ tried }) => tried)

    const withoutSender = Effect.fnUntraced(function* ({ appId, mode }: Caller, row: Corridor) {
      if (row.direction !== "payout") return []
      const requiring = row.providers.flatMap((name) => {
        const use = Option.getOrUndefined(registry.find(name, mode))?.payouts?.sender?.(row)
        return use === undefined ? [] : [{ name, use }]
      })
      if (requiring.length === 0) return []
      const sender = yield* tenants.sender(appId)
      // When the tenant's own sender cannot be read, a provider that would otherwise name the account's owner must not do so.
      const wanting = requiring.filter(({ use }) => (sender === null ? use === "needed" : sender === "unreadable"))
      return wanting.map(({ name }) => name)
    })

    const lacksSender = Effect.fnUntraced(function* (caller: Caller, row: Corridor) {
      const out = yield* off
      const untold = (yield* withoutSender(caller, row)).filter((name) => !out.has(name))
      return untold.length > 0 && (yield* forCorridor(caller, row, ({ payouts }) => payouts)).length === 0
    })

    const requireSwitchedOn = Effect.fnUntraced(function* ({ name }: Provider) {
      if (!(yield* off).has(name)) return
      yield* passOver(name, "provider_off")
      return yield* new ProviderError({})
    })

    return {
      forCorridor,

      forPayment: Effect.fnUntraced(function* <Operations>(
        caller: Caller,
        row: Corridor,
        operationsOf: OperationsOf<Operations>,
        network: string | null
      ) {
        const { others, tried } = yield* chosenFrom(caller, row, operationsOf)
        yield* beginCandidates(row.providers)
        for (const [name, verdict] of others) yield* passOver(name, verdict)
        if (network === null || tried.length < 2) return { providers: tried, compared: [], keptUntil: null }
        const { by, keptUntil, ...ranked } = yield* preferences.rank(caller.mode, row, network, namesOf(tried))
        if (by.size > 0) yield* rankCandidates(by)
        return { providers: named(tried, ranked.providers), compared: named(tried, ranked.compared), keptUntil }
      }),

      lacksSender,

      forCorridors: Effect.fnUntraced(function* <Operations>(
        caller: Caller,
        rows: ReadonlyArray<Corridor>,
        operationsOf: OperationsOf<Operations>
      ) {
        const out = yield* off
        const names = routedProviders(rows, yield* tenants.pinned(caller.appId)).filter((name) => !out.has(name))
        return names.flatMap(able(caller, operationsOf))
      }),

      withoutCorridor: Effect.fnUntraced(function* <Operations>(caller: Caller, operationsOf: OperationsOf<Operations>) {
        const out = yield* off
        const names = pinnedFirst(registry.known, yield* tenants.pinned(caller.appId)).filter((name) => !out.has(name))
        return names.flatMap(able(caller, operationsOf))
      }),

      requireSwitchedOn,

      requireReady: Effect.fnUntraced(function* (provider, operation) {
        yield* requireSwitchedOn(provider)
        const { mode, name } = provider
        if (!(yield* circuits.isOpen({ provider: name, mode, operation }))) return
        yield* passOver(name, "circuit_open")
        return yield* new ProviderError({})
      }),

      requireTurn: Effect.fnUntraced(function* (provider, country) {
        // The calls before this one, for a price and a holder, may have taken long.
        yield* requireSwitchedOn(provider)
        const { moneyHeldMs, name } = provider
        const held = moneyHeldMs === undefined ? 0 : yield* moneyHeldMs(country)
        if (held <= 0) return
        yield* passOver(name, "no_turn")
        return yield* new ProviderError({ retry_after_seconds: Math.ceil(held / 1000) })
      }),

      unserved: Effect.fnUntraced(function* (caller, row) {
        const { on, others } = yield* chosenFrom(caller, row, (provider) => operationsFor(provider, row))
        if (on.length > 0 || (yield* lacksSender(caller, row))) return null
        // One that lacks a sender here is switched off, too.
        const isOff = others.some(([, verdict]) => verdict === "provider_off" || verdict === "no_sender")
        return isOff ? "provider_off" : "no_provider"
      }),

      firstProviderName: Effect.fnUntraced(function* (caller, row) {
        const { all, on } = yield* chosenFrom(caller, row, (provider) => operationsFor(provider, row))
        const first = on[0] ?? all[0]
        return first?.provider.name ?? routedProviders([row], yield* tenants.pinned(caller.appId))[0] ?? ""
      }),

      availability: Effect.fnUntraced(function* (caller, row) {
        const needed = row.direction === "payout" ? (["quote", "send"] as const) : (["charge"] as const)
        const { all, on } = yield* chosenFrom(caller, row, (provider) => operationsFor(provider, row))
        const standing = yield* Effect.forEach(all, (one) =>
          Effect.gen(function* () {
            if (!on.includes(one)) return "down"
            const { operations, provider } = one
            const { mode, name } = provider
            const held = yield* Effect.forEach(needed, (operation) => circuits.isOpen({ provider: name, mode, operation }))
            return held.includes(true) ? "down" : availabilityByNetwork(yield* limitsByNetwork(operations, row))
          })
        )
        const down = standing.filter((one) => one === "down").length
        return worse(worse(row.availability, availabilityOf(all.length, down)), degradedOf(standing))
      }),

      amountLimits: Effect.fnUntraced(function* (caller, row) {
        const { on } = yield* chosenFrom(caller, row, (provider) => operationsFor(provider, row))
        return narrowed(row, yield* Effect.forEach(on, ({ operations }) => limitsByNetwork(operations, row)))
      })
    }
  })
}

/** The provider with a name in the caller's mode, if it has these operations. */
const ableIn =
  (registry: ProviderRegistry["Service"]) =>
  <Operations>({ mode }: Caller, operationsOf: OperationsOf<Operations>) =>
  (name: string): ReadonlyArray<RoutedProvider<Operations>> => {
    const provider = Option.getOrUndefined(registry.find(name, mode))
    const found = provider === undefined ? undefined : operationsOf(provider)
    return provider === undefined || found === undefined ? [] : [{ provider, operations: found }]
  }

const namesOf = (routed: ReadonlyArray<RoutedProvider<unknown>>) => routed.map(({ provider: { name } }) => name)

const named = <Operations>(routed: ReadonlyArray<RoutedProvider<Operations>>, names: ReadonlyArray<string>) =>
  names.flatMap((name) => routed.filter(({ provider }) => provider.name === name))

/** When one provider is not operational, the corridor is degraded. */
const degradedOf = (standing: ReadonlyArray<Availability>): Availability =>
  standing.includes("degraded") ? "degraded" : "operational"

/** The operations of a provider that move the money of a row. Charges exist only for mobile money: no port charges a bank or card. */
const operationsFor = ({ collections, payouts }: Provider, { direction, method }: Pick<Corridor, "direction" | "method">) =>
  direction === "payout" ? payouts : method === "momo" ? collections : undefined

const isProviderError = (error: { readonly _tag: string }): error is ProviderError => error._tag === "provider_error"

const namesTime = (error: { readonly _tag: string }): boolean => isProviderError(error) && error.retry_after_seconds !== undefined

/** Leaves out the providers that do not reach the payment's network, and records that in the `RouteTrail`. */
export const reaching = Effect.fnUntraced(function* <Operations>(
  { compared, keptUntil, providers }: PaymentRoute<Operations>,
  reaches: (operations: Operations) => boolean
) {
  const kept = providers.filter(({ operations }) => reaches(operations))
  yield* passOverOthers(providers, kept, "network_unreached")
  return { providers: kept, compared: compared.filter((one) => kept.includes(one)), keptUntil }
})

/**
 * Tries one after another until one succeeds. After a failure for which `goesOn` is true the next one is tried. When all fail,
 * a provider error takes precedence over a refusal, because a retry may succeed, and among provider errors one that names a
 * time: a refusal behind an outage is not final.
 */
export const firstToSucceed = Effect.fnUntraced(function* <One, A, E extends { readonly _tag: string }>(
  all: ReadonlyArray<One>,
  ask: (one: One, index: number) => Effect.Effect<A, E>,
  goesOn: (error: E) => boolean = isProviderError
) {
  let refused: E | undefined
  for (const [index, one] of all.entries()) {
    const answer = yield* Effect.result(ask(one, index))
    if (Result.isSuccess(answer)) return answer.success
    if (!goesOn(answer.failure))
      return yield* Effect.fail(refused !== undefined && isProviderError(refused) ? refused : answer.failure)
    if (refused === undefined || (isProviderError(answer.failure) && !namesTime(refused))) refused = answer.failure
  }
  return yield* Effect.fail(refused ?? new ProviderError({}))
})
