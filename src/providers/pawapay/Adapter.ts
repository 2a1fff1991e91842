import type { KeyObject } from "node:crypto"
import { Effect, type Scope } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type {
  CollectionOperations,
  PayoutOperations,
  PayoutOutcome,
  Provider,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { type Client, type Deadline, deadlineAfter } from "../Client.ts"
import { type CollectionFee, feeOf, type PayoutFees } from "../ContractFees.ts"
import { QUOTE_LIFE_MS } from "../Quotes.ts"
import { openTransport } from "../Transport.ts"
import { openCallbackKeys } from "./CallbackKeys.ts"
import { makeClient, type Reached } from "./Client.ts"
import { depositBody, networkOf, payoutBody } from "./Order.ts"
import { quoteOf } from "./Quote.ts"
import { logAlarm, NAME } from "./Reading.ts"
import { referenceData } from "./Reference.ts"
import type { Kind } from "./Refusals.ts"
import { afterDuplicate, type FeeOf, found, initiated, isUnsure } from "./Translate.ts"
import { pawapayCallbacks } from "./Webhook.ts"
import { paymentId } from "./Wire.ts"

/** One account at pawaPay. */
export interface PawapaySettings extends Reached {
  /** Null: the keys that pawaPay names. */
  readonly callbackKey: KeyObject | null
  readonly payoutFees: PayoutFees
  readonly collectionFee: CollectionFee
  /** For one call. */
  readonly timeoutMs: number
}

/** "Not found" is a proof 15 minutes after sending, says pawaPay. */
const guarantees: ProviderGuarantees = {
  clientReference: "idempotent",
  lookup: "by_client_ref",
  webhookAuth: "rfc9421",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 900_000
}

const paths = { payout: "/payouts", collection: "/deposits" } as const satisfies Record<Kind, string>

/** One account at pawaPay: mobile money only, in the currency of the network's country. */
export const pawapay = Effect.fn("pawapay")(function* (
  settings: PawapaySettings,
  mode: Mode
): Effect.fn.Return<Provider, never, Scope.Scope> {
  const client = makeClient(settings, yield* openTransport(NAME))
  const deadline = deadlineAfter(settings.timeoutMs)
  const keys = yield* openCallbackKeys(settings.callbackKey, client, deadline)
  // A payout's fee was held by the contract, and the payment does not say another.
  const payouts = paying({ client, deadline, kind: "payout", feeOf: () => null })
  const deposits = paying({ client, deadline, kind: "collection", feeOf: (amount) => feeOf(settings.collectionFee, amount) })
  const send: PayoutOperations["send"] = Effect.fn("pawapay.send")(function* (order) {
    const body = payoutBody(order)
    return yield* "fact" in body ? logAlarm(body, order.reference) : payouts.initiate(order, body)
  })
  const charge: CollectionOperations["charge"] = Effect.fn("pawapay.charge")(function* (order) {
    const body = depositBody(order)
    return yield* "fact" in body ? logAlarm(body, order.reference) : deposits.initiate(order, body)
  })
  return {
    name: NAME,
    mode,
    guarantees,
    callbacks: pawapayCallbacks(keys),
    payouts: { quote: (order) => Effect.succeed(quoteOf(order, settings.payoutFees)), send, fetchStatus: payouts.ask },
    collections: { reachesNetwork: reachesPayer, charge, fetchStatus: deposits.ask },
    reference: referenceData(client, deadline)
  }
})

const reachesPayer: Required<CollectionOperations>["reachesNetwork"] = (payer, currency) => {
  const network = networkOf(payer, currency)
  return !("fact" in network) && network.deposit !== null
}

interface Parts {
  readonly client: Client
  readonly deadline: Deadline
  readonly kind: Kind
  readonly feeOf: FeeOf
}

type Ours = Pick<StatusQuery, "reference">

/** Payouts and deposits are asked for, and looked up, alike. */
const paying = ({ client, deadline, feeOf, kind }: Parts) => {
  const lookUp = Effect.fnUntraced(function* ({ reference }: Ours, until: number) {
    const path = `${paths[kind]}/${paymentId(reference)}`
    const call = { operation: `${kind}_status`, method: "GET", path } as const
    return found(kind, yield* client(call, until), reference, feeOf)
  })

  const initiate = Effect.fnUntraced(function* (order: Ours, body: object): Effect.fn.Return<PayoutOutcome> {
    const { reference } = order
    const response = yield* client({ operation: kind, method: "POST", path: paths[kind], body }, yield* deadline)
    const { alarm, fact } = initiated(kind, response, reference)
    if (fact._tag !== "Duplicate") return yield* logAlarm({ alarm, fact }, reference)
    return yield* logAlarm(afterDuplicate(yield* lookUp(order, yield* deadline), reference), reference)
  })

  const ask = Effect.fn("pawapay.ask")(function* (order: StatusQuery): Effect.fn.Return<StatusOutcome> {
    const until = yield* deadline
    const first = yield* lookUp(order, until)
    return yield* logAlarm(isUnsure(first) ? yield* lookUp(order, until) : first, order.reference)
  })

  return { initiate, ask }
}
