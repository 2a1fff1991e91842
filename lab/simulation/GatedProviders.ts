import { Effect, Option } from "effect"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import { tooLateToLeave } from "../../src/runtime/LatestTime.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import type { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import type { Between } from "./Node.ts"
import type { Notes } from "./Seen.ts"

/** What a node asks of the outside, between its gates; `placed` is told when money is about to be moved. */
export const registryOf = (
  providers: ReadonlyArray<Provider>,
  between: Between,
  notes: Pick<Notes, "placed">
): ProviderRegistry["Service"] => {
  // Each once: an account is known by its identity.
  const gated = providers.map((provider) => gatedProvider(provider, between, notes))
  const accounts: ProviderRegistry["Service"]["accounts"] = (name, mode) =>
    gated.filter((one) => one.name === name && one.mode === mode)
  return {
    known: [...new Set(providers.map(({ name }) => name))],
    find: (name, mode) => Option.fromUndefinedOr(accounts(name, mode)[0]),
    accounts,
    claimed: () => [],
    byRouteKey: (name, key) => Option.fromUndefinedOr(providers.find((one) => one.name === name && one.mode === key)),
    routeKey: (_, mode) => mode,
    keptRouteKeys: () => []
  }
}

const neverLeft = { _tag: "NotSent", note: "too late to send" } as const

const gatedProvider = (provider: Provider, between: Between, { placed }: Pick<Notes, "placed">): Provider => {
  const { collections, exchange, payouts } = provider
  /** It stands still before the last look at the time, which is where the request leaves, and after it. */
  const place = <A>({ reference }: { readonly reference: string }, moment: string, call: Effect.Effect<A>) => {
    const leaves = Effect.flatMap(
      tooLateToLeave,
      (isTooLate): Effect.Effect<A | typeof neverLeft> => (isTooLate() ? Effect.succeed(neverLeft) : call)
    )
    return Effect.andThen(
      Effect.sync(() => placed(reference)),
      between(moment, leaves)
    )
  }
  return {
    ...provider,
    ...(payouts && {
      payouts: {
        ...payouts,
        quote: (order) => between("quote", payouts.quote(order)),
        send: (order) => place(order, "send", payouts.send(order)),
        fetchStatus: (order) => between("ask", payouts.fetchStatus(order), false)
      }
    }),
    ...(collections && {
      collections: {
        ...collections,
        charge: (order) => place(order, "charge", collections.charge(order)),
        sendCode: (source) => between("text", collections.sendCode?.(source) ?? Effect.fail(new ProviderError({}))),
        fetchStatus: (order) => between("ask", collections.fetchStatus(order), false)
      }
    }),
    ...(exchange && {
      exchange: {
        quote: exchange.quote,
        execute: (order) => place(order, "execute", exchange.execute(order)),
        fetchStatus: (order) => between("ask", exchange.fetchStatus(order), false)
      }
    })
  }
}
