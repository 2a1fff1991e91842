import { Effect, Redacted, type Scope } from "effect"
import type { MomoParty } from "../../domain/Party.ts"
import type {
  ChargeOrder,
  PayoutOrder,
  PayoutOutcome,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { alarmLogger, type FactWithAlarm, unreadable } from "../AnswerParsing.ts"
import { deadlineAfter } from "../Client.ts"
import { adapterOf, type Operations } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { type MoneyCallAnswer, movements } from "../Movements.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../Quotes.ts"
import { misroutedTo } from "../Refusals.ts"
import type { Transport } from "../Transport.ts"
import { mtnCallbacks } from "./Callback.ts"
import { type Branch, type MtnSettings, openClient } from "./Client.ts"
import { misfit, paymentBody, transferBody } from "./Order.ts"
import { quoteBy } from "./Quote.ts"
import { holderBy, referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { found, posted } from "./Translate.ts"
import { moneyPath, type Product, referenceIdOf, statusPath } from "./Wire.ts"

/** An X-Reference-Id is taken once, and the transaction is polled by it; right after the 202 it may not be found yet, and MTN gives no age. */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  callbackAuth: "none",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 300_000
}

/** Our accounts at MTN. A call takes at most `timeoutMs`, its token included; the lookup after a repeated reference as long again. */
export const mtn = adapterOf(
  identity,
  guarantees,
  Effect.fnUntraced(function* (settings: MtnSettings, transport: Transport): Effect.fn.Return<Operations, never, Scope.Scope> {
    const branches = yield* Effect.forEach(settings.countries, (account) =>
      Effect.gen(function* () {
        const { country, currency, environment } = account
        const own: Transport = { call: (call) => transport.call({ ...call, account: country }) }
        const collection = yield* openClient(settings, account, "collection", own)
        const disbursement = yield* openClient(settings, account, "disbursement", own)
        return { country, currency, environment, clients: { collection, disbursement } } satisfies Branch
      })
    )
    const accounts: Accounts = {
      logAlarm: alarmLogger(identity.name),
      deadline: deadlineAfter(settings.timeoutMs),
      branches,
      settings
    }
    const post = posting(accounts)
    const payouts = movements(accounts, {
      place: (order: PayoutOrder) =>
        order.destination._tag === "momo"
          ? post("disbursement", order, order.destination, transferBody(order, order.destination))
          : Effect.succeed(misrouted("another method")),
      look: looking(accounts, "disbursement")
    })
    const charges = movements(accounts, {
      place: (order: ChargeOrder) => post("collection", order, order.source, paymentBody(order)),
      look: looking(accounts, "collection")
    })
    const reachesNetwork = ({ country, network }: MomoParty) =>
      network === "MTN" && branches.some((branch) => branch.country === country)
    return {
      callbacks: mtnCallbacks,
      payouts: {
        reachesNetwork,
        ...(settings.holderCheck === "off" ? {} : { holder: holderBy(branches, settings.holderCheck, holderDeadline(settings)) }),
        quote: quotingBy((order, now) => quoteBy(settings, branches, order, now)),
        send: payouts.place,
        fetchStatus: payouts.fetchStatus
      },
      collections: {
        reachesNetwork,
        contractFee: (charge) => contractFee(settings.fees, { ...charge, direction: "collection" }),
        charge: charges.place,
        fetchStatus: charges.fetchStatus
      },
      reference: referenceData(branches, accounts.deadline)
    }
  })
)

/** Less than a payout waits for it: a question that hangs is one that failed, and a circuit that opens spares the next payouts the wait. */
const HOLDER_WITHIN_MS = 2_500
const holderDeadline = ({ timeoutMs }: MtnSettings) => deadlineAfter(Math.min(timeoutMs, HOLDER_WITHIN_MS))

/** One branch for each country, in place of the one client that another provider has. */
interface Accounts extends Pick<Parameters<typeof movements>[0], "logAlarm" | "deadline"> {
  readonly branches: ReadonlyArray<Branch>
  readonly settings: MtnSettings
}

const posting = ({ branches, deadline, settings }: Accounts) =>
  Effect.fnUntraced(function* (
    product: Product,
    { corridor, reference }: Pick<PayoutOrder, "reference" | "corridor">,
    party: MomoParty,
    body: object
  ): Effect.fn.Return<MoneyCallAnswer<PayoutOutcome>> {
    const branch = branches.find(({ country }) => country === party.country)
    const why = misfit(branch, corridor, party)
    if (branch === undefined || why !== undefined) return misrouted(why ?? "")
    const { callbackUrl } = settings
    const callback = callbackUrl === null ? {} : { "x-callback-url": Redacted.value(callbackUrl) }
    const headers = { ...callback, "x-reference-id": referenceIdOf(reference) }
    const call = { operation: product, method: "POST", path: moneyPath(product), body, headers } as const
    return posted(yield* branch.clients[product](call, yield* deadline), reference)
  })

const misrouted = (why: string) => misroutedTo(identity.title, "The provider does not serve it.", why)

const looking = ({ branches, settings }: Accounts, product: Product) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number): Effect.fn.Return<FactWithAlarm<StatusOutcome>> {
    const { currency, party, reference } = order
    const branch = branches.find((one) => one.currency === currency)
    if (branch === undefined) return unreadable("a transaction at MTN is in a currency in which there is no account", currency)
    const path = statusPath(product, referenceIdOf(reference))
    const response = yield* branch.clients[product]({ operation: "status", method: "GET", path }, until)
    // Of a payout the held fee stands: it is the contract's too.
    return found(product, response, {
      reference,
      ...(party === undefined ? {} : { party }),
      fee: product === "collection" ? chargeFee(settings.fees, order) : () => null
    })
  })
