import type { Effect, Option } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Fact } from "../../domain/Fact.ts"
import type { Mode, Reference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Destination, MomoParty, PayerDetails } from "../../domain/Party.ts"
import type { AmountType } from "../../domain/Transaction.ts"
import type { Hint } from "./ProviderInbox.ts"

/** What a provider can promise. Recovery follows this declaration and never the provider's name. */
export interface Promises {
  /** What our reference does there a second time: nothing new, a refusal, or a second execution. */
  readonly clientReference: "idempotent" | "unique_reject" | "none"
  /** How an outcome is asked for. `inferred`: the query is not documented to work so, hence its "not found" proves nothing. */
  readonly lookup: "by_client_ref" | "by_client_ref_inferred" | "by_provider_ref" | "none"
  readonly webhookAuth: "hmac" | "rfc9421" | "weak" | "none"
  readonly quoteTtlMs: number
  /** How long after sending "not found" proves nothing, whatever the setting says. */
  readonly notFoundGraceMs: number
}

export interface QuoteOrder {
  readonly corridor: Corridor
  /** In the source currency for SOURCE, in the destination currency for DESTINATION. */
  readonly amount: MinorUnits
  readonly amountType: AmountType
  readonly destinationCurrency: Currency
  readonly destinationCountry: string
  /** Where the provider quotes for a recipient (a wallet); null when the tenant only asks. */
  readonly destination: Destination | null
}

export interface PayoutQuote {
  /** What is sent, in the source currency, without the fee. */
  readonly principal: MinorUnits
  readonly fee: MinorUnits
  readonly destinationAmount: MinorUnits
  readonly destinationCurrency: Currency
  /** Decimal text; null within one currency. */
  readonly rate: string | null
  readonly expiresInMs: number
  /** The provider's own handle of the quote, used when sending. */
  readonly token: string
}

/** The provider will not quote: the amount is outside its window, the recipient does not exist, or it refuses for another reason. */
export type QuoteRefused = { readonly _tag: "QuoteRefused"; readonly kind: "amount" | "party" | "other"; readonly note: string }

export interface PayoutOrder {
  readonly reference: Reference
  readonly corridor: Corridor
  readonly quote: PayoutQuote
  readonly destination: Destination
  readonly narration: string | null
}

export interface ChargeOrder {
  readonly reference: Reference
  readonly corridor: Corridor
  readonly amount: MinorUnits
  readonly source: MomoParty
  readonly redirectUrl: string | null
  readonly narration: string | null
  readonly payer: PayerDetails | null
}

/** What is known about the transaction that is asked for. */
export interface AskOrder {
  readonly reference: Reference
  readonly providerReference: string | null
  readonly currency: Currency
  readonly destinationCurrency: Currency | null
  readonly sentAt: number
}

/** Moving money is answered by one of these facts, never by an error: silence is `Unknown`, and nobody can take it for a refusal. */
export type PayoutOutcome = Extract<Fact, { _tag: "Accepted" | "Succeeded" | "Refused" | "NotSent" | "Unknown" }>
export type ChargeOutcome = PayoutOutcome | Extract<Fact, { _tag: "NeedsRedirect" }>
/** An authenticated answer about an earlier one; `Unknown` when the question itself was not answered. */
export type Answer = Extract<Fact, { _tag: "Succeeded" | "Refused" | "StillPending" | "NotFound" | "Returned" | "Unknown" }>

export interface Payouts {
  /** Free, moves nothing. */
  readonly quote: (order: QuoteOrder) => Effect.Effect<PayoutQuote | QuoteRefused, ProviderError>
  /** Sends once; never retried by the adapter once a byte of it may have left. */
  readonly send: (order: PayoutOrder) => Effect.Effect<PayoutOutcome>
  readonly ask: (order: AskOrder) => Effect.Effect<Answer>
}

export interface Collections {
  readonly charge: (order: ChargeOrder) => Effect.Effect<ChargeOutcome>
  readonly ask: (order: AskOrder) => Effect.Effect<Answer>
}

/** A callback as it came in: its headers with lower-case names, and its exact bytes. */
export interface RawCallback {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

export interface Callbacks {
  /** None when the signature does not verify: the sender gets 401 and nothing is stored. */
  readonly verify: (callback: RawCallback) => Option.Option<Hint>
}

/** One account at one provider, for one mode. What it cannot do is absent. */
export interface Provider {
  readonly name: string
  readonly mode: Mode
  readonly promises: Promises
  readonly callbacks: Callbacks
  readonly payouts?: Payouts
  readonly collections?: Collections
}
