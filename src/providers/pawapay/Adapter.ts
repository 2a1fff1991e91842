import { Effect } from "effect"
import type { PaymentKind } from "../../domain/Payment.ts"
import type {
  CollectionOperations,
  PayoutOrder,
  PayoutOutcome,
  ProviderGuarantees,
  ReadNetworkLimits,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { adapterOf, type Connection, connectionTo } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { chargesBy, type MoneyCallAnswer, payoutsBy } from "../Movements.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../Quotes.ts"
import { type ActiveConf, openActiveConf, stepOf } from "./ActiveConf.ts"
import { pawapayCallbacks } from "./Callback.ts"
import { openCallbackKeys } from "./CallbackKeys.ts"
import { openClient, type PawapaySettings } from "./Client.ts"
import { decimalsOf, depositBody, networkOf, payoutBody } from "./Order.ts"
import { quoteOf } from "./Quote.ts"
import { referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { statement } from "./Statement.ts"
import { type FeeOf, found, initiated } from "./Translate.ts"
import { paymentId } from "./Wire.ts"

/** According to pawaPay, "not found" is proof 15 minutes after sending. */
const guarantees: ProviderGuarantees = {
  clientReference: "idempotent",
  lookup: "by_client_ref",
  callbackAuth: "rfc9421",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 900_000,
  // A refund in the dashboard is a separate movement, and no document says that it names its deposit.
  clawbacksUnstated: true
}

/** One account at pawaPay: mobile money only, in the currency of the network's country. */
export const pawapay = adapterOf(identity, guarantees, function* (settings: PawapaySettings, transport) {
  const connection = connectionTo(identity, openClient(settings, transport), settings.timeoutMs)
  const conf = yield* openActiveConf(connection)
  const keys = yield* openCallbackKeys(settings.callbackKey, connection)
  return {
    callbacks: pawapayCallbacks(keys, settings.callbackHosts),
    payouts: {
      limits: limitsBy(conf, "payout"),
      quote: quotingBy((order, now) => quoteOf(order, settings.fees, now, conf.known())),
      ...payoutsBy(connection, {
        place: (order) => initiate(connection, "payout", order, payoutBody(order, conf.known())),
        // A payout's fee was reserved by the contract, and the payment reports no other.
        look: looking(connection, "payout", () => () => null)
      })
    },
    collections: {
      reachesNetwork,
      limits: limitsBy(conf, "collection"),
      contractFee: (charge) => contractFee(settings.fees, { ...charge, direction: "collection" }),
      ...chargesBy(connection, {
        place: (order) => initiate(connection, "collection", order, depositBody(order, conf.known())),
        look: looking(connection, "collection", (order) => chargeFee(settings.fees, order))
      })
    },
    reference: referenceData(connection, conf),
    statement: statement(connection, transport, settings)
  }
})

const reachesNetwork: Required<CollectionOperations>["reachesNetwork"] = (payer, currency) => {
  const network = networkOf(payer, currency)
  return !("fact" in network) && network.deposit !== null
}

/** Until pawaPay has reported its limits, only the network's decimals are known. */
const limitsBy = ({ current }: ActiveConf, kind: PaymentKind): ReadNetworkLimits =>
  Effect.fnUntraced(function* (party, currency) {
    const network = networkOf(party, currency)
    if ("fact" in network) return undefined
    const said = yield* current
    const { availability, maximum, minimum } = said?.(network.provider, kind, currency) ?? unsaid
    return { availability, minimum, maximum, step: stepOf(decimalsOf(network, kind, currency, said), currency) }
  })
const unsaid = { availability: "operational", minimum: null, maximum: null } as const

const paths = { payout: "/payouts", collection: "/deposits" } as const satisfies Record<PaymentKind, string>

/** Nothing is sent when the order cannot be expressed as a body. */
const initiate = Effect.fnUntraced(function* (
  { call }: Connection,
  kind: PaymentKind,
  { reference }: Pick<PayoutOrder, "reference">,
  body: ReturnType<typeof payoutBody> | ReturnType<typeof depositBody>
): Effect.fn.Return<MoneyCallAnswer<PayoutOutcome>> {
  if ("fact" in body) return body
  return initiated(kind, yield* call({ operation: kind, method: "POST", path: paths[kind], body }), reference)
})

const looking = ({ client }: Connection, kind: PaymentKind, feeOf: (order: StatusQuery) => FeeOf) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number) {
    const path = `${paths[kind]}/${paymentId(order.reference)}`
    return found(kind, yield* client({ operation: `${kind}_status`, method: "GET", path }, until), order, feeOf(order))
  })
