import { Effect, type Scope } from "effect"
import type { ChargeOrder, PayoutOrder, ProviderGuarantees } from "../../services/ports/Provider.ts"
import { adapterOf, connectionTo, type Operations } from "../Connection.ts"
import { expectedOf, lookingBy, movements, payableFor } from "../Movements.ts"
import { misroutedTo } from "../Refusals.ts"
import type { Transport } from "../Transport.ts"
import { flutterwaveCallbacks } from "./Callback.ts"
import { clawbacks } from "./Clawbacks.ts"
import { type FlutterwaveSettings, openClient } from "./Client.ts"
import { branchCountries, chargeRoute } from "./Networks.ts"
import { accountOf, chargePath, chargeRequest, isSenderWanted, senderOf, transferBody, transferPath } from "./Order.ts"
import { QUOTE_LIFE_MS, quoting } from "./Quote.ts"
import { RESOLVES_IN, referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { statement } from "./Statement.ts"
import { chargeFound, chargeOutcome, payoutOutcome, transferFound } from "./Translate.ts"

/**
 * Transfers are unique by our reference, charges are not. Flutterwave answers 503 itself after about 28 s and may go on working, and a charge
 * that it refused was seen to be made all the same: what is not found before ten minutes have passed proves nothing.
 */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  chargeReference: "none",
  lookup: "by_client_ref",
  callbackAuth: "weak",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 600_000,
  bankAccountCountries: RESOLVES_IN,
  bankBranchCountries: branchCountries
}

/** The longest that any of its pages may be paid by its documents. A payer who left one may come back to it, and nothing closes it. */
const PAGE_MS = 86_400_000

/** One account at Flutterwave. A call takes at most `timeoutMs`; the lookup after a refused transfer as long again. */
export const flutterwave = adapterOf(
  identity,
  guarantees,
  Effect.fnUntraced(function* (
    settings: FlutterwaveSettings,
    transport: Transport
  ): Effect.fn.Return<Operations, never, Scope.Scope> {
    const client = openClient(settings, transport)
    const connection = connectionTo(identity, client, settings.timeoutMs)
    const payouts = movements(connection, {
      place: Effect.fnUntraced(function* (order: PayoutOrder) {
        const { corridor, destination, quote } = order
        const account = accountOf(destination)
        if (account === undefined || quote.destinationCurrency !== corridor.currency) return noRoute
        const from = senderOf(order.sender ?? null, settings.sender)
        if (from === null && isSenderWanted(corridor)) return noRoute
        const body = transferBody(order, account, from)
        return payoutOutcome(
          yield* connection.call({ operation: "transfer", method: "POST", path: "/transfers", body }),
          expectedOf(order)
        )
      }),
      look: lookingBy(connection, "ask", transferPath, transferFound)
    })
    const charges = movements(connection, {
      place: Effect.fnUntraced(function* (order: ChargeOrder) {
        const call = chargeRequest(order, settings.emailDomain)
        if (call === undefined) return noRoute
        return chargeOutcome(yield* connection.call({ operation: "charge", method: "POST", ...call }), order)
      }),
      look: payableFor(() => PAGE_MS, lookingBy(connection, "ask", chargePath, chargeFound))
    })
    return {
      callbacks: flutterwaveCallbacks(settings.webhookSecretHash),
      payouts: {
        sender: (corridor) => (isSenderWanted(corridor) ? (settings.sender === null ? "needed" : "taken") : undefined),
        quote: quoting(connection),
        send: payouts.place,
        fetchStatus: payouts.fetchStatus
      },
      collections: {
        reachesNetwork: ({ country, network }) => chargeRoute(country, network) !== undefined,
        charge: charges.place,
        fetchStatus: charges.fetchStatus,
        clawbacks: clawbacks(connection)
      },
      reference: referenceData(connection),
      statement: statement(connection)
    }
  })
)

const noRoute = misroutedTo(identity.title, "The provider does not serve this country, network or recipient.", "no such route")
