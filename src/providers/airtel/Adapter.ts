import { Clock, Effect } from "effect"
import type { MomoParty } from "../../domain/Party.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import type { ProviderGuarantees, StatusQuery } from "../../services/ports/Provider.ts"
import { adapterOf } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { openBranches } from "../CountryBranches.ts"
import { chargesBy, notSent, payoutsBy } from "../Movements.ts"
import { QUOTE_LIFE_MS } from "../Quotes.ts"
import { misroutedTo } from "../Refusals.ts"
import { airtelCallbacks } from "./Callback.ts"
import { type AirtelSettings, type Application, openApplication } from "./Client.ts"
import { NETWORK, places } from "./Networks.ts"
import { type MoneyOrder, moneyBody } from "./Order.ts"
import { balanceOf, holderOf } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { PIN_REFUSED } from "./RefusedPin.ts"
import { summary } from "./Statement.ts"
import { found, posted } from "./Translate.ts"
import { moneyPath, statusPath, wireId } from "./Wire.ts"

/**
 * A `transaction.id` is accepted once, and is the key for polling. The documentation does not say how long "not found" proves
 * nothing: for a payout we assume a day, and its statement.
 */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  callbackAuth: "none",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 86_400_000,
  chargeNotFoundGraceMs: 900_000,
  clawbacksUnstated: true
}

/** How long a payer may see the prompt. */
const PROMPT_MS = 180_000

/** Our applications at Airtel. `timeoutMs` bounds an operation with its token and key, and again the lookup after a refusal. */
export const airtel = adapterOf(identity, guarantees, function* (settings: AirtelSettings, transport) {
  const { callbackKeys, countries: accounts, fees, holderCheck, statementCountries, timeoutMs } = settings
  const open = openApplication(timeoutMs)
  const branches = yield* openBranches(identity, { accounts, network: NETWORK, open, transport, timeoutMs })
  const { deadline, looking, placing, reaches: reachesNetwork } = branches
  const listed = branches.all.filter(({ account }) => statementCountries.includes(account.country))
  const place = (order: MoneyOrder) =>
    placing(order.corridor, order.party, ({ account }, party) =>
      Effect.flatMap(deadline, (until) => posting(account, { ...order, party }, until))
    )
  const look = (kind: PaymentKind) => looking(({ account }) => asking(account, kind, settings))
  const payouts = payoutsBy(branches, {
    place: (order) => place({ ...order, kind: "payout", amount: order.quote.principal, party: order.destination }),
    look: look("payout")
  })
  const charges = chargesBy(branches, {
    place: (order) => place({ ...order, kind: "collection", party: order.source }),
    look: look("collection")
  })
  return {
    callbacks: airtelCallbacks(callbackKeys),
    payouts: {
      reachesNetwork,
      ...(holderCheck === "off" ? {} : { holder: branches.holder(holderOf) }),
      quote: branches.quote(fees),
      ...payouts
    },
    collections: {
      reachesNetwork,
      contractFee: (charge) => contractFee(fees, { ...charge, direction: "collection" }),
      ...charges
    },
    reference: { countries: branches.countries((country) => places[country]), balances: branches.balances(balanceOf) },
    ...(listed.length === 0 ? {} : { statement: branches.statement(summary, listed) })
  }
})

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

/** The corridor's next provider is tried. */
const pinRefused = {
  ...notSent(PIN_REFUSED),
  alarm: "no payout is sent by Airtel: its PIN was refused. Set the right one, and start the gateway anew"
}

const asking = (account: Application, kind: PaymentKind, { fees }: Pick<AirtelSettings, "fees">) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number) {
    const { charge, currency, reference, sentAt } = order
    const path = statusPath(kind, account, wireId(reference))
    const response = yield* account.client({ operation: "status", method: "GET", path }, until)
    // A payout keeps the reserved fee, which also comes from the contract.
    const fee = kind === "payout" || charge === undefined ? null : chargeFee(fees, order)(charge.amount)
    const isEarly = kind === "collection" && (yield* Clock.currentTimeMillis) - sentAt < PROMPT_MS
    const charged = kind === "collection" ? charge?.amount : undefined
    return found(kind, response, { reference, currency, fee, isEarly, charged })
  })
