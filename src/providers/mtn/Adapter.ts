import { Effect, Redacted } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { ProviderGuarantees } from "../../services/ports/Provider.ts"
import { adapterOf } from "../Connection.ts"
import { chargeFee, contractFee } from "../ContractFees.ts"
import { type Branch, openBranches } from "../CountryBranches.ts"
import { chargesBy, payoutsBy } from "../Movements.ts"
import { QUOTE_LIFE_MS } from "../Quotes.ts"
import { mtnCallbacks } from "./Callback.ts"
import { type MtnSettings, type OpenedAccount, openAccount } from "./Client.ts"
import { NETWORK, places } from "./Networks.ts"
import { paymentBody, transferBody } from "./Order.ts"
import { balancesOf, holderBy } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { found, posted } from "./Translate.ts"
import { moneyPath, type Product, referenceIdOf, statusPath } from "./Wire.ts"

/** An X-Reference-Id is accepted once, and is the key for polling. For an unknown time after the 202 it may not be found. */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  callbackAuth: "none",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 300_000
}

/** Our accounts at MTN. `timeoutMs` bounds a call with its token, and again the lookup after a repeated reference. */
export const mtn = adapterOf(identity, guarantees, function* (settings: MtnSettings, transport) {
  const { callbackUrl, countries: accounts, fees, holderCheck, timeoutMs } = settings
  const open = openAccount(timeoutMs)
  const branches = yield* openBranches(identity, { accounts, network: NETWORK, open, transport, timeoutMs })
  const { looking, placing, reaches: reachesNetwork } = branches
  const callback = callbackUrl === null ? {} : { "x-callback-url": Redacted.value(callbackUrl) }

  const post = ({ account, connection }: Branch<OpenedAccount>, product: Product, reference: Reference, body: object) => {
    const headers = { ...callback, "x-reference-id": referenceIdOf(reference) }
    const call = { operation: product, method: "POST", path: moneyPath(product), body, headers } as const
    const response = Effect.flatMap(connection.deadline, (until) => account.clients[product](call, until))
    return Effect.map(response, (answer) => posted(answer, reference))
  }
  const look = (product: Product) =>
    looking(({ account }) => (order, until) => {
      const { party, reference } = order
      const path = statusPath(product, referenceIdOf(reference))
      // A payout keeps the reserved fee, which also comes from the contract.
      const fee = product === "collection" ? chargeFee(fees, order) : () => null
      const expected = { reference, ...(party === undefined ? {} : { party }), fee }
      const response = account.clients[product]({ operation: "status", method: "GET", path }, until)
      return Effect.map(response, (answer) => found(product, answer, expected))
    })
  const payouts = payoutsBy(branches, {
    place: (order) =>
      placing(order.corridor, order.destination, (branch, to) =>
        post(branch, "disbursement", order.reference, transferBody(order, to))
      ),
    look: look("disbursement")
  })
  const charges = chargesBy(branches, {
    place: (order) =>
      placing(order.corridor, order.source, (branch) => post(branch, "collection", order.reference, paymentBody(order))),
    look: look("collection")
  })
  return {
    callbacks: mtnCallbacks,
    payouts: {
      reachesNetwork,
      ...(holderCheck === "off" ? {} : { holder: branches.holder(holderBy(holderCheck)) }),
      quote: branches.quote(fees),
      ...payouts
    },
    collections: {
      reachesNetwork,
      contractFee: (charge) => contractFee(fees, { ...charge, direction: "collection" }),
      ...charges
    },
    reference: { countries: branches.countries((country) => places[country]), balances: branches.balances(balancesOf) }
  }
})
