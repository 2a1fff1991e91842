import { Effect } from "effect"
import type { Reference } from "../../../src/domain/Ids.ts"
import type { Adapter, Provider } from "../../../src/services/ports/Provider.ts"
import { collectionsOf, payoutsOf } from "../../../test/providers/contract/Fixture.ts"

/** Over which line an order is sent, and a question asked. */
export interface Lines {
  readonly sending: (reference: Reference) => Adapter
  readonly asking: (reference: Reference) => Adapter
  /** The payer of the order that is under way is sent to a page. */
  readonly shown: (url: string) => void
}

/** A provider as the gateway has it: each payment goes over a line of its own, and all else over the honest adapter's. */
export const overLines = (name: string, honest: Adapter, { asking, sending, shown }: Lines): Provider => {
  const { exchange, ...rest } = honest
  const exchangeOf = (adapter: Adapter) => {
    if (adapter.exchange === undefined) throw new Error("nothing is exchanged there")
    return adapter.exchange
  }
  return {
    ...rest,
    name,
    fingerprints: () => [name],
    payouts: {
      ...payoutsOf(honest),
      send: (order) => Effect.suspend(() => payoutsOf(sending(order.reference)).send(order)),
      fetchStatus: (order) => Effect.suspend(() => payoutsOf(asking(order.reference)).fetchStatus(order))
    },
    collections: {
      ...collectionsOf(honest),
      charge: (order) =>
        Effect.tap(
          Effect.suspend(() => collectionsOf(sending(order.reference)).charge(order)),
          (outcome) => Effect.sync(() => (outcome._tag === "NeedsRedirect" ? shown(outcome.redirectUrl) : undefined))
        ),
      fetchStatus: (order) => Effect.suspend(() => collectionsOf(asking(order.reference)).fetchStatus(order))
    },
    ...(exchange && {
      exchange: {
        ...exchange,
        execute: (order) => Effect.suspend(() => exchangeOf(sending(order.reference)).execute(order)),
        fetchStatus: (order) => Effect.suspend(() => exchangeOf(asking(order.reference)).fetchStatus(order))
      }
    })
  }
}
