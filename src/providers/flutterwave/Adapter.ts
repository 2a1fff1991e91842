import { Effect } from "effect"
import type { ProviderGuarantees } from "../../services/ports/Provider.ts"
import { bearerClient } from "../Client.ts"
import { adapterOf, connectionTo } from "../Connection.ts"
import { chargesBy, expectedOf, lookingBy, payableFor, payoutsBy } from "../Movements.ts"
import { misroutedTo } from "../Refusals.ts"
import { flutterwaveCallbacks } from "./Callback.ts"
import { clawbacks } from "./Clawbacks.ts"
import type { FlutterwaveSettings } from "./Client.ts"
import { branchCountries, chargeRoute } from "./Networks.ts"
import { accountOf, chargePath, chargeRequest, isSenderWanted, senderOf, transferBody, transferPath } from "./Order.ts"
import { QUOTE_LIFE_MS, quoting } from "./Quote.ts"
import { RESOLVES_IN, referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { statement } from "./Statement.ts"
import { chargeFound, chargeOutcome, payoutOutcome, transferFound } from "./Translate.ts"

/**
 * Transfers are unique by our reference, charges are not. Flutterwave itself returns 503 after about 28 s and may continue
 * working, and a charge that it refused has been seen to be made all the same. So "not found" proves nothing before ten minutes
 * have passed.
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

/** The longest time for which a page can be paid, by the documentation. Nothing closes a page that a payer left. */
const PAGE_MS = 86_400_000

/** One account at Flutterwave. A call takes at most `timeoutMs`; the lookup after a refused transfer takes as long again. */
export const flutterwave = adapterOf(identity, guarantees, function* (settings: FlutterwaveSettings, transport) {
  const { baseUrl, secretKey, sender, timeoutMs, webhookSecretHash } = settings
  const connection = connectionTo(identity, bearerClient(baseUrl, secretKey, transport), timeoutMs)
  const { call } = connection
  return {
    callbacks: flutterwaveCallbacks(webhookSecretHash),
    payouts: {
      sender: (corridor) => (isSenderWanted(corridor) ? (sender === null ? "needed" : "taken") : undefined),
      quote: quoting(connection),
      ...payoutsBy(connection, {
        place: Effect.fnUntraced(function* (order) {
          const { corridor, destination, quote } = order
          const account = accountOf(destination)
          if (account === undefined || quote.destinationCurrency !== corridor.currency) return noRoute
          const from = senderOf(order.sender ?? null, sender)
          if (from === null && isSenderWanted(corridor)) return noRoute
          const body = transferBody(order, account, from)
          const response = yield* call({ operation: "transfer", method: "POST", path: "/transfers", body })
          return payoutOutcome(response, expectedOf(order))
        }),
        look: lookingBy(connection, "ask", transferPath, transferFound)
      })
    },
    collections: {
      reachesNetwork: ({ country, network }) => chargeRoute(country, network) !== undefined,
      ...chargesBy(connection, {
        place: Effect.fnUntraced(function* (order) {
          const request = chargeRequest(order, settings.emailDomain)
          if (request === undefined) return noRoute
          return chargeOutcome(yield* call({ operation: "charge", method: "POST", ...request }), order)
        }),
        look: payableFor(() => PAGE_MS, lookingBy(connection, "ask", chargePath, chargeFound))
      }),
      clawbacks: clawbacks(connection)
    },
    reference: referenceData(connection),
    statement: statement(connection)
  }
})

const noRoute = misroutedTo(identity.title, "The provider does not serve this country, network or recipient.", "no such route")
