import { Effect } from "effect"
import { adapterOf, type Connection, connectionTo } from "../../../src/providers/Connection.ts"
import { chargesBy, type MoneyCallAnswer, payoutsBy } from "../../../src/providers/Movements.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../../../src/providers/Quotes.ts"
import { misroutedTo } from "../../../src/providers/Refusals.ts"
import type { PayoutOrder, PayoutOutcome, ProviderGuarantees, StatusQuery } from "../../../src/services/ports/Provider.ts"
import { sixthCallbacks } from "./Callback.ts"
import { openClient, type SixthSettings } from "./Client.ts"
import { movementBody } from "./Order.ts"
import { quoteOf } from "./Quote.ts"
import { identity, type PaymentKind } from "./Refusals.ts"
import { statement } from "./Statement.ts"
import { found, posted } from "./Translate.ts"

const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  callbackAuth: "hmac",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 60_000
}

/** One account at Tumbuka Pay. A call takes at most `timeoutMs`, the lookup after a repeated reference as long again. */
export const sixth = adapterOf(identity, guarantees, function* (settings: SixthSettings, transport) {
  const connection = connectionTo(identity, openClient(settings, transport), settings.timeoutMs)
  return {
    callbacks: sixthCallbacks(settings.webhookSecret),
    payouts: {
      quote: quotingBy((order, now) => quoteOf(order, settings.fees, now)),
      ...payoutsBy(connection, {
        place: (order) => {
          const body = movementBody({ ...order, amount: order.quote.principal, party: order.destination })
          return placing(connection, "payout", order.reference, body)
        },
        look: looking(connection, "payout")
      })
    },
    collections: chargesBy(connection, {
      place: (order) => placing(connection, "collection", order.reference, movementBody({ ...order, party: order.source })),
      look: looking(connection, "collection")
    }),
    statement: statement(connection)
  }
})

const paths = { payout: "/transfers", collection: "/charges" } as const satisfies Record<PaymentKind, string>

/** Transfers and charges are made and looked up alike. */
const placing = Effect.fnUntraced(function* (
  { call }: Connection,
  kind: PaymentKind,
  reference: PayoutOrder["reference"],
  body: object | undefined
): Effect.fn.Return<MoneyCallAnswer<PayoutOutcome>> {
  if (body === undefined) return misroutedTo(identity.title, "The provider does not serve it.", "no such number")
  return posted(kind, yield* call({ operation: kind, method: "POST", path: paths[kind], body }), reference)
})

const looking =
  ({ client }: Connection, kind: PaymentKind) =>
  ({ reference }: StatusQuery, until: number) =>
    Effect.map(client({ operation: "lookup", method: "GET", path: `${paths[kind]}/${reference}` }, until), (response) =>
      found(kind, response, reference)
    )
