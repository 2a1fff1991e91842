import { Effect, type Scope } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type {
  CollectionOperations,
  PayoutOperations,
  PayoutOrder,
  PayoutOutcome,
  Provider,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { type Deadline, deadlineAfter } from "../Client.ts"
import { feeOf } from "../ContractFees.ts"
import { QUOTE_LIFE_MS } from "../Quotes.ts"
import { type Reading, refusedBy, unreadable } from "../Reading.ts"
import { openTransport } from "../Transport.ts"
import { balances } from "./Balances.ts"
import { type Branch, type Client, type MtnSettings, openClient } from "./Client.ts"
import { places } from "./Networks.ts"
import { misfit, paymentBody, transferBody } from "./Order.ts"
import { quoteBy } from "./Quote.ts"
import { logAlarm, NAME } from "./Reading.ts"
import { misrouted } from "./Refusals.ts"
import { found, type Own, posted, repeated } from "./Translate.ts"
import { mtnCallbacks } from "./Webhook.ts"
import { moneyPath, type Product, referenceIdOf, statusPath } from "./Wire.ts"

/** An X-Reference-Id is taken once, and its status is asked for by it; right after the 202 it may not be found yet. */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  webhookAuth: "none",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 60_000
}

/** Our accounts at MTN. A call takes at most `timeoutMs`, its token included; the question after a repeated reference as long again. */
export const mtn = Effect.fn("mtn")(function* (
  settings: MtnSettings,
  mode: Mode
): Effect.fn.Return<Provider, never, Scope.Scope> {
  const transport = yield* openTransport(NAME)
  const branches = yield* Effect.forEach(settings.countries, (account) =>
    Effect.gen(function* () {
      const { country, currency, environment } = account
      const collection = yield* openClient(settings, account, "collection", transport)
      const disbursement = yield* openClient(settings, account, "disbursement", transport)
      return { country, currency, environment, clients: { collection, disbursement } } satisfies Branch
    })
  )
  const deadline = deadlineAfter(settings.timeoutMs)
  const connection: Connection = { branches, deadline, settings }
  return {
    name: NAME,
    mode,
    guarantees,
    callbacks: mtnCallbacks,
    payouts: {
      quote: (order) => Effect.succeed(quoteBy(settings, branches, order)),
      send: sending(connection),
      fetchStatus: asking(connection, "disbursement")
    },
    collections: {
      reachesNetwork: ({ country, network }) => network === "MTN" && branches.some((branch) => branch.country === country),
      charge: charging(connection),
      fetchStatus: asking(connection, "collection")
    },
    reference: {
      countries: Effect.succeed(
        branches.map(({ country }) => {
          const { name, phonePrefix } = places[country]
          return { country, name, phonePrefix, methods: ["momo"] }
        })
      ),
      balances: balances(branches, deadline)
    }
  }
})

interface Connection {
  readonly branches: ReadonlyArray<Branch>
  readonly deadline: Deadline
  readonly settings: MtnSettings
}

const sending = (connection: Connection): PayoutOperations["send"] =>
  Effect.fn("mtn.send")(function* (order: PayoutOrder) {
    const { corridor, destination } = order
    if (destination._tag !== "momo") return yield* logAlarm(unfit("another method"), order.reference)
    return yield* move(connection, "disbursement", {
      ...order,
      corridor,
      party: destination,
      body: transferBody(order, destination)
    })
  })

const charging = (connection: Connection): CollectionOperations["charge"] =>
  Effect.fn("mtn.charge")(function* (order) {
    return yield* move(connection, "collection", { ...order, party: order.source, body: paymentBody(order) })
  })

interface Movement extends Pick<PayoutOrder, "reference" | "corridor"> {
  readonly party: MomoParty
  readonly body: object
}

const move = Effect.fnUntraced(function* (
  connection: Connection,
  product: Product,
  { body, corridor, party, reference }: Movement
): Effect.fn.Return<PayoutOutcome> {
  const branch = connection.branches.find(({ country }) => country === party.country)
  const why = misfit(branch, corridor, party)
  if (branch === undefined || why !== undefined) return yield* logAlarm(unfit(why ?? ""), reference)
  const client = branch.clients[product]
  const movement = { referenceId: referenceIdOf(reference), body }
  const own = ownOf(connection, product, reference)
  const response = yield* client({ operation: product, path: moneyPath(product), movement }, yield* connection.deadline)
  const outcome = posted(response, own)
  if (outcome !== "Known") return yield* logAlarm(outcome, reference)
  const standing = found(product, yield* look(client, yield* connection.deadline, product, reference), own)
  return yield* logAlarm(repeated(standing), reference)
})

const asking = (connection: Connection, product: Product) =>
  Effect.fn("mtn.ask")(function* ({ currency, reference }: StatusQuery): Effect.fn.Return<StatusOutcome> {
    const branch = connection.branches.find((one) => one.currency === currency)
    if (branch === undefined) {
      return yield* logAlarm(
        unreadable("a transaction at MTN is in a currency in which there is no account", currency),
        reference
      )
    }
    const response = yield* look(branch.clients[product], yield* connection.deadline, product, reference)
    return yield* logAlarm(found(product, response, ownOf(connection, product, reference)), reference)
  })

const look = (client: Client, until: number, product: Product, reference: StatusQuery["reference"]) =>
  client({ operation: "status", path: statusPath(product, referenceIdOf(reference)) }, until)

/** Of a payout the held fee stands: it is the contract's too. */
const ownOf = ({ settings }: Connection, product: Product, reference: StatusQuery["reference"]): Own => ({
  reference,
  fee: (amount: MinorUnits) => (product === "collection" ? feeOf(settings.collectionFee, amount) : null)
})

/** Nothing was sent: the corridor leads to an account that there is not. */
const unfit = (why: string): Reading<PayoutOutcome> => refusedBy(misrouted(why), null, why)
