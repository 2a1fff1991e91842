import { Effect, type Scope } from "effect"
import { adapterOf, type Connection, connectionTo, type Operations } from "../../../src/providers/Connection.ts"
import { type MoneyCallAnswer, movements } from "../../../src/providers/Movements.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../../../src/providers/Quotes.ts"
import { misroutedTo } from "../../../src/providers/Refusals.ts"
import type { Transport } from "../../../src/providers/Transport.ts"
import type {
  ChargeOrder,
  PayoutOrder,
  PayoutOutcome,
  ProviderGuarantees,
  StatusQuery
} from "../../../src/services/ports/Provider.ts"
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
export const sixth = adapterOf(
  identity,
  guarantees,
  Effect.fnUntraced(function* (settings: SixthSettings, transport: Transport): Effect.fn.Return<Operations, never, Scope.Scope> {
    const client = openClient(settings, transport)
    const connection = connectionTo(identity, client, settings.timeoutMs)
    const payouts = movements(connection, {
      place: (order: PayoutOrder) =>
        placing(
          connection,
          "payout",
          order.reference,
          movementBody({ ...order, amount: order.quote.principal, party: order.destination })
        ),
      look: looking(connection, "payout")
    })
    const charges = movements(connection, {
      place: (order: ChargeOrder) =>
        placing(connection, "collection", order.reference, movementBody({ ...order, party: order.source })),
      look: looking(connection, "collection")
    })
    return {
      callbacks: sixthCallbacks(settings.webhookSecret),
      payouts: {
        quote: quotingBy((order, now) => quoteOf(order, settings.fees, now)),
        send: payouts.place,
        fetchStatus: payouts.fetchStatus
      },
      collections: { charge: charges.place, fetchStatus: charges.fetchStatus },
      statement: statement(connection)
    }
  })
)

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
