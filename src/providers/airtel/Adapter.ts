import { Clock, Effect, type Scope } from "effect"
import type { MomoParty } from "../../domain/Party.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { ChargeOrder, PayoutOrder, ProviderGuarantees, StatusQuery } from "../../services/ports/Provider.ts"
import { deadlineAfter } from "../Client.ts"
import { adapterOf, type Operations } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { branchesOf } from "../CountryBranches.ts"
import { movements, notSent } from "../Movements.ts"
import { QUOTE_LIFE_MS, quotingBy } from "../Quotes.ts"
import { misroutedTo } from "../Refusals.ts"
import type { Transport } from "../Transport.ts"
import { airtelCallbacks } from "./Callback.ts"
import { type AirtelSettings, type Application, openApplication } from "./Client.ts"
import { NETWORK } from "./Networks.ts"
import { type MoneyOrder, moneyBody } from "./Order.ts"
import { quoteBy } from "./Quote.ts"
import { holderBy, referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { PIN_REFUSED } from "./RefusedPin.ts"
import { summary } from "./Statement.ts"
import { found, posted } from "./Translate.ts"
import { moneyPath, statusPath, wireId } from "./Wire.ts"

/** A `transaction.id` is taken once, and asked for. How long "not found" proves nothing is not documented: of a payout a day, and its statement. */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  callbackAuth: "none",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 86_400_000,
  chargeNotFoundGraceMs: 900_000,
  clawbacksUnstated: true
}

/** As long as a payer may have the prompt. */
const PROMPT_MS = 180_000
/** Less than a payout waits for it: a question that hangs is one that failed. */
const HOLDER_WITHIN_MS = 2_500

/** Our applications at Airtel. A call takes at most `timeoutMs`, its token and its key included; the lookup after a refusal as long again. */
export const airtel = adapterOf(
  identity,
  guarantees,
  Effect.fnUntraced(function* (settings: AirtelSettings, transport: Transport): Effect.fn.Return<Operations, never, Scope.Scope> {
    const { callbackKeys, fees, holderCheck, statementCountries, timeoutMs } = settings
    const accounts = yield* Effect.forEach(settings.countries, (account) => openApplication(account, timeoutMs, transport))
    const opening = { network: NETWORK, open: ({ client }: Application) => client, timeoutMs }
    const branches = branchesOf(identity, accounts, transport, opening)
    const { deadline, looking, placing, reaches } = branches
    const listed = accounts.filter(({ country }) => statementCountries.includes(country))
    const holder = holderBy(accounts, deadlineAfter(Math.min(timeoutMs, HOLDER_WITHIN_MS)))
    const place = (order: MoneyOrder) =>
      placing(order.corridor, order.party, ({ account }, party) =>
        Effect.flatMap(deadline, (until) => posting(account, { ...order, party }, until))
      )
    const look = (kind: PaymentKind) => looking(({ account }) => asking(account, kind, settings))
    const payouts = movements(branches, {
      place: (order: PayoutOrder) => place({ ...order, kind: "payout", amount: order.quote.principal, party: order.destination }),
      look: look("payout")
    })
    const charges = movements(branches, {
      place: (order: ChargeOrder) => place({ ...order, kind: "collection", party: order.source }),
      look: look("collection")
    })
    return {
      callbacks: airtelCallbacks(callbackKeys),
      payouts: {
        reachesNetwork: reaches,
        ...(holderCheck === "off" ? {} : { holder }),
        quote: quotingBy((order, now) => quoteBy(settings, order, now)),
        send: payouts.place,
        fetchStatus: payouts.fetchStatus
      },
      collections: {
        reachesNetwork: reaches,
        contractFee: (charge) => contractFee(fees, { ...charge, direction: "collection" }),
        charge: charges.place,
        fetchStatus: charges.fetchStatus
      },
      reference: referenceData(branches.all),
      ...(listed.length === 0 ? {} : { statement: branchesOf(identity, listed, transport, opening).statement(summary) })
    }
  })
)

const posting = (account: Application, order: MoneyOrder<MomoParty>, until: number) => {
  const { kind, reference } = order
  const body = moneyBody(account, order)
  if (body === undefined)
    return Effect.succeed(misroutedTo(identity.title, "The provider does not serve it.", "a number of another country"))
  const call = { operation: kind, method: "POST", path: moneyPath(kind, account), body } as const
  const expected = { reference, currency: account.currency, fee: null, isEarly: false }
  return Effect.map(account.post(call, until), ({ isRepeated, response }) =>
    response._tag === "NotSent" && response.note === PIN_REFUSED
      ? pinRefused
      : posted(kind, response, { ...expected, isRepeated })
  )
}

/** The corridor's next provider is asked. */
const pinRefused = {
  ...notSent(PIN_REFUSED),
  alarm: "no payout is sent by Airtel: its PIN was refused. Set the right one, and start the gateway anew"
}

const asking = (account: Application, kind: PaymentKind, { fees }: Pick<AirtelSettings, "fees">) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number) {
    const { charge, currency, reference, sentAt } = order
    const path = statusPath(kind, account, wireId(reference))
    const response = yield* account.client({ operation: "status", method: "GET", path }, until)
    // Of a payout the held fee stands: it is the contract's too.
    const fee = kind === "payout" || charge === undefined ? null : chargeFee(fees, order)(charge.amount)
    const isEarly = kind === "collection" && (yield* Clock.currentTimeMillis) - sentAt < PROMPT_MS
    return found(kind, response, {
      reference,
      currency,
      fee,
      isEarly,
      charged: kind === "collection" ? charge?.amount : undefined
    })
  })
