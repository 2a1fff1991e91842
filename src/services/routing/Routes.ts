import { Context, Effect, Layer, Option, Result } from "effect"
import { availabilityOf, type Corridor, worse } from "../../domain/Corridor.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { failoverOrder, pinnedFirst, routedProviders } from "../../domain/Routing.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { Provider } from "../ports/Provider.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { Tenants } from "../ports/Tenants.ts"
import { Circuits, type Operation } from "./Circuits.ts"

/** A provider with an account in the caller's mode, and the part of it that is wanted. */
export interface RoutedProvider<Part> {
  readonly provider: Provider
  readonly part: Part
}

type PartOf<Part> = (provider: Provider) => Part | undefined

/** Which providers a tenant's money calls and reads go to. */
export class Routes extends Context.Service<
  Routes,
  {
    /** Those that are tried for a corridor, in order; empty where none has an account and the part: such a route does not exist. */
    readonly forCorridor: <Part>(
      caller: Caller,
      row: Corridor,
      part: PartOf<Part>
    ) => Effect.Effect<ReadonlyArray<RoutedProvider<Part>>>
    /** Those that any of the rows leads to, each once. */
    readonly forCorridors: <Part>(
      caller: Caller,
      rows: ReadonlyArray<Corridor>,
      part: PartOf<Part>
    ) => Effect.Effect<ReadonlyArray<RoutedProvider<Part>>>
    /** All that have the part, its own first: for what no corridor leads to. */
    readonly withoutCorridor: <Part>(caller: Caller, part: PartOf<Part>) => Effect.Effect<ReadonlyArray<RoutedProvider<Part>>>
    /** Fails where a call would be held back: the next one is asked then. */
    readonly requireReady: (provider: Provider, operation: Operation) => Effect.Effect<void, ProviderError>
    /** The first provider that the tenant routes to; the row's first where none is able. */
    readonly firstProviderName: (caller: Caller, row: Corridor) => Effect.Effect<string>
    /** The worse of what an operator wrote and what the circuits say of those that are tried; advice. */
    readonly availability: (caller: Caller, row: Corridor) => Effect.Effect<Corridor["availability"]>
  }
>()("gateway/services/Routes") {
  static readonly layer = Layer.effect(
    Routes,
    Effect.gen(function* () {
      const registry = yield* ProviderRegistry
      const tenants = yield* Tenants
      const circuits = yield* Circuits

      const able =
        <Part>({ mode }: Caller, part: PartOf<Part>) =>
        (name: string): ReadonlyArray<RoutedProvider<Part>> => {
          const provider = Option.getOrUndefined(registry.find(name, mode))
          const found = provider === undefined ? undefined : part(provider)
          return provider === undefined || found === undefined ? [] : [{ provider, part: found }]
        }

      const forCorridor = Effect.fnUntraced(function* <Part>(caller: Caller, row: Corridor, part: PartOf<Part>) {
        const pin = yield* tenants.pinned(caller.appId)
        const find = able(caller, part)
        return failoverOrder(row, pin, (name) => find(name).length > 0).flatMap(find)
      })

      const forCorridors = Effect.fnUntraced(function* <Part>(caller: Caller, rows: ReadonlyArray<Corridor>, part: PartOf<Part>) {
        return routedProviders(rows, yield* tenants.pinned(caller.appId)).flatMap(able(caller, part))
      })

      const withoutCorridor = Effect.fnUntraced(function* <Part>(caller: Caller, part: PartOf<Part>) {
        return pinnedFirst(registry.known, yield* tenants.pinned(caller.appId)).flatMap(able(caller, part))
      })

      const requireReady = Effect.fnUntraced(function* ({ mode, name }: Provider, operation: Operation) {
        if (yield* circuits.isOpen({ provider: name, mode, operation })) return yield* new ProviderError()
      })

      const firstProviderName = Effect.fnUntraced(function* (caller: Caller, row: Corridor) {
        const [first] = yield* forCorridor(caller, row, (provider) => operationsFor(provider, row))
        return first?.provider.name ?? routedProviders([row], yield* tenants.pinned(caller.appId))[0] ?? ""
      })

      const availability = Effect.fnUntraced(function* (caller: Caller, row: Corridor) {
        const needed = row.direction === "payout" ? (["quote", "send"] as const) : (["charge"] as const)
        const tried = yield* forCorridor(caller, row, (provider) => operationsFor(provider, row))
        const open = yield* Effect.filter(tried, ({ provider: { mode, name } }) =>
          Effect.map(
            Effect.forEach(needed, (operation) => circuits.isOpen({ provider: name, mode, operation })),
            (held) => held.includes(true)
          )
        )
        return worse(row.availability, availabilityOf(tried.length, open.length))
      })

      return Routes.of({ forCorridor, forCorridors, withoutCorridor, requireReady, firstProviderName, availability })
    })
  )
}

/** What moves the money of a row. */
export const operationsFor = (provider: Provider, { direction }: Pick<Corridor, "direction">) =>
  direction === "payout" ? provider.payouts : provider.collections

const isProviderError = (error: { readonly _tag: string }): error is ProviderError => error._tag === "provider_error"

/**
 * Asks one after another until one answers. After a failure for which `goesOn` holds the next one is asked. Where all failed, one that could not
 * be read counts first, because it may answer next time.
 */
export const firstToSucceed = Effect.fnUntraced(function* <One, A, E extends { readonly _tag: string }>(
  all: ReadonlyArray<One>,
  ask: (one: One, index: number) => Effect.Effect<A, E>,
  goesOn: (error: E) => boolean = isProviderError
): Effect.fn.Return<A, E | ProviderError> {
  let refused: E | undefined
  for (const [index, one] of all.entries()) {
    const answer = yield* Effect.result(ask(one, index))
    if (Result.isSuccess(answer)) return answer.success
    if (!goesOn(answer.failure)) return yield* Effect.fail(answer.failure)
    if (refused === undefined || isProviderError(answer.failure)) refused = answer.failure
  }
  return yield* Effect.fail(refused ?? new ProviderError())
})
