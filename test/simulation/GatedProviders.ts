import { Effect, Option } from "effect"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
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
  const accounts: ProviderRegistry["Service"]["accounts"] = (name, mode) =>
    providers.filter((one) => one.name === name && one.mode === mode).map((provider) => gatedProvider(provider, between, notes))
  return {
    known: [...new Set(providers.map(({ name }) => name))],
    find: (name, mode) => Option.fromUndefinedOr(accounts(name, mode)[0]),
    accounts,
    claimed: () => [],
    byRouteKey: (name, key) => Option.fromUndefinedOr(providers.find((one) => one.name === name && one.mode === key)),
    routeKey: (_, mode) => mode
  }
}

const gatedProvider = (provider: Provider, between: Between, { placed }: Pick<Notes, "placed">): Provider => {
  const { collections, exchange, payouts } = provider
  const place = <A>({ reference }: { readonly reference: string }, call: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.andThen(
      Effect.sync(() => placed(reference)),
      call
    )
  return {
    ...provider,
    ...(payouts && {
      payouts: {
        quote: (order) => between("quote", payouts.quote(order)),
        send: (order) => place(order, between("send", payouts.send(order))),
        fetchStatus: (order) => between("ask", payouts.fetchStatus(order), false)
      }
    }),
    ...(collections && {
      collections: {
        ...collections,
        charge: (order) => place(order, between("charge", collections.charge(order))),
        sendCode: (source) => between("text", collections.sendCode?.(source) ?? Effect.fail(new ProviderError())),
        fetchStatus: (order) => between("ask", collections.fetchStatus(order), false)
      }
    }),
    ...(exchange && {
      exchange: {
        quote: exchange.quote,
        execute: (order) => place(order, between("execute", exchange.execute(order))),
        fetchStatus: (order) => between("ask", exchange.fetchStatus(order), false)
      }
    })
  }
}
