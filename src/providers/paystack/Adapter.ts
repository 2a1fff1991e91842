import { Effect, type Scope } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { Provider, ProviderGuarantees } from "../../services/ports/Provider.ts"
import { deadlineAfter } from "../Client.ts"
import { QUOTE_LIFE_MS } from "../Quotes.ts"
import { openTransport } from "../Transport.ts"
import { openClient, type PaystackSettings } from "./Client.ts"
import { collections } from "./Collections.ts"
import { resolvingCountries } from "./Networks.ts"
import { payouts } from "./Payouts.ts"
import { NAME } from "./Reading.ts"
import { referenceData } from "./Reference.ts"
import { statement } from "./Statement.ts"
import { paystackCallbacks } from "./Webhook.ts"

/** A reference that was used is refused, for charges and for transfers, and both are verified by it. */
const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  webhookAuth: "hmac",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 60_000,
  bankAccountCountries: resolvingCountries
}

/** One integration at Paystack. A call takes at most `timeoutMs`; the lookup after a refusal, or a voucher, as long again. */
export const paystack = Effect.fn("paystack")(function* (
  settings: PaystackSettings,
  mode: Mode
): Effect.fn.Return<Provider, never, Scope.Scope> {
  const client = openClient(settings, yield* openTransport(NAME))
  const deadline = deadlineAfter(settings.timeoutMs)
  return {
    name: NAME,
    mode,
    guarantees,
    callbacks: paystackCallbacks(settings.secretKey),
    payouts: payouts(client, deadline, settings),
    collections: collections(client, deadline, settings),
    reference: referenceData(client, deadline),
    statement: statement(client, deadline)
  }
})
