import { Data, type Effect, type Option, type Redacted } from "effect"
import type { Availability, Corridor, CorridorKey } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Fact } from "../../domain/Fact.ts"
import type { Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Destination, MomoParty, PayerDetails } from "../../domain/Party.ts"
import type { AmountType } from "../../domain/Payment.ts"
import type { KnownAccount } from "../../domain/ProviderAccount.ts"
import type { Statement } from "../../domain/ReconciliationDifference.ts"
import type { Sender } from "../../domain/Sender.ts"
import type { ListClawbacks } from "./ProviderClawbacks.ts"
import type { CallbackHint } from "./ProviderInbox.ts"
import type { ReferenceData } from "./ProviderReads.ts"

/** The guarantees of a provider. Recovery follows these declarations, never the provider's name. */
export interface ProviderGuarantees {
  /** How the provider treats a repeated reference of ours: it does nothing new, refuses, or executes again. */
  readonly clientReference: "idempotent" | "unique_reject" | "none"
  /** The same for a charge, when it promises less than for a payout. */
  readonly chargeReference?: "none"
  /** How a transaction is polled. `inferred`: no document says that the query finds it, so "not found" proves nothing. */
  readonly lookup: "by_client_ref" | "by_client_ref_inferred" | "by_provider_ref" | "none"
  /** The same for a charge, when the provider offers less. Without a lookup by our reference, "not found" never ends a charge. */
  readonly chargeLookup?: "by_provider_ref"
  readonly callbackAuth: "hmac" | "rfc9421" | "weak" | "none"
  readonly quoteTtlMs: number
  /** For how long after sending "not found" proves nothing, whatever the setting says. */
  readonly notFoundGraceMs: number
  /** The same for a charge, when the time differs. */
  readonly chargeNotFoundGraceMs?: number
  /** The countries whose bank accounts `reference.resolve` knows; absent: every country whose banks can be paid. */
  readonly bankAccountCountries?: ReadonlyArray<string>
  /**
   * `documented`: the provider's documentation shows the recipient's number in every payout to a bank, and does not say what
   * happens without one.
   */
  readonly bankMsisdn?: "documented"
  /** The countries in which a bank payout must name a branch; absent: none. */
  readonly bankBranchCountries?: ReadonlyArray<string>
  /** The provider's statement may not show which charge a clawback belongs to; absent: it does, where there is a statement. */
  readonly clawbacksUnstated?: true
}

export interface QuoteOrder {
  readonly corridor: Corridor
  /** In the source currency for SOURCE, in the destination currency for DESTINATION. */
  readonly amount: MinorUnits
  readonly amountType: AmountType
  readonly destinationCurrency: Currency
  readonly destinationCountry: string
  /** Set when the provider quotes for one recipient (a wallet); null when the tenant only asks for a price. */
  readonly destination: Destination | null
}

export interface PayoutQuote {
  /** The amount to send, in the source currency, without the fee. */
  readonly principal: MinorUnits
  readonly fee: MinorUnits
  readonly destinationAmount: MinorUnits
  readonly destinationCurrency: Currency
  /** Decimal text; null when both currencies are the same. */
  readonly rate: string | null
  readonly expiresInMs: number
  /** The provider's handle of the quote, for sending. */
  readonly token: string
  /** The amounts at which the fee falls, so that a payout costs less than one just below. Absent: it never falls. */
  readonly fallsAt?: ReadonlyArray<MinorUnits>
  /** By the contract the fee is refunded when the whole payout is returned; absent when it is not, or the contract does not say. */
  readonly feeReturns?: true
}

/**
 * The provider gives no quote: because of the amount (`too_little` or `too_much` when that is known), because it does not know
 * the recipient, because the recipient's number has no active account (`inactive`), because it needs a recipient, or for
 * another reason.
 */
export interface QuoteRefused {
  readonly _tag: "QuoteRefused"
  readonly kind: "too_little" | "too_much" | "amount" | "party" | "inactive" | "no_recipient" | "other"
  readonly note: string
  /** The fee that it would charge all the same, when it names one. */
  readonly fee?: MinorUnits
}

export interface PayoutOrder {
  readonly reference: Reference
  readonly corridor: Corridor
  readonly quote: PayoutQuote
  readonly destination: Destination
  readonly narration: string | null
  /** The payer, when an operator set one for the tenant and the provider accepts it. */
  readonly sender?: Sender | null
}

export interface ChargeOrder {
  readonly reference: Reference
  readonly corridor: Corridor
  readonly amount: MinorUnits
  readonly source: MomoParty
  readonly redirectUrl: string | null
  readonly narration: string | null
  readonly payer: PayerDetails | null
  /** The code that the payer entered, when the charge needs one. */
  readonly otp: Otp | null
  /** The contract fee, fixed when the transaction was opened; absent when the provider's responses name the fee. */
  readonly contractFee?: MinorUnits
}

/** The handle of a code that was sent to a payer, and the code that the payer entered. */
export interface Otp {
  readonly pinId: string
  readonly pin: Redacted.Redacted
}

/** The properties of a charge on which its contract fee depends. */
export interface ChargeTerms extends Pick<CorridorKey, "country" | "method"> {
  readonly network: string | null
  readonly amount: MinorUnits
  /** The fee of this amount, fixed when the charge was opened; null when it was not stored. */
  readonly fee: MinorUnits | null
}

/**
 * The contract fee of a charge at the given time, for a provider whose responses do not name the fee. Undefined when the
 * contract does not cover such a charge, which is then refused. Absent: the responses name the fee.
 */
export type ContractFeeOf = (
  charge: Omit<ChargeTerms, "fee"> & { readonly currency: Currency; readonly at: Instant }
) => MinorUnits | undefined

/** The known facts of the transaction to poll. */
export interface StatusQuery {
  readonly reference: Reference
  readonly providerReference: string | null
  readonly currency: Currency
  readonly destinationCurrency: Currency | null
  /** The corridor's country, for a provider whose accounts are each limited to one country; absent for an exchange. */
  readonly country?: string
  readonly sentAt: number
  /**
   * The number or account of the other party, or its end, when the provider may hold another request of the same idempotency
   * key under our reference. Absent when the provider confirmed that it accepted this request and never silently accepts a
   * second one with the same reference.
   */
  readonly party?: Redacted.Redacted
  /** Of a collection. */
  readonly charge?: ChargeTerms
  /** A code of this charge was rejected or is being submitted: a failed charge may be that attempt, and does not end this one. */
  readonly wrongCode?: true
  /** The payer's time is over: if the charge can still be paid at the provider, close it there first, where that is possible. */
  readonly isOver?: true
}

/** A call that moves money returns such a fact, never an error. No answer is `Unknown`, which no code takes for a refusal. */
export type PayoutOutcome = Extract<Fact, { _tag: "Accepted" | "Succeeded" | "Refused" | "NotSent" | "Mismatched" | "Unknown" }>
export type ChargeOutcome = PayoutOutcome | Extract<Fact, { _tag: "NeedsRedirect" }> | CodeRejected
/** The code was rejected: nothing was charged, and another code may be tried. Returned only for a charge with a code. */
export type CodeRejected = { readonly _tag: "CodeRejected"; readonly note: string }
/** The authenticated answer to a poll; `Unknown` when the poll itself got no answer. */
export type StatusOutcome = Extract<
  Fact,
  { _tag: "Succeeded" | "Refused" | "StillPending" | "Mismatched" | "NotFound" | "Returned" | "Unknown" }
>

/** The account's present limits for one network, when the provider lists them. */
export interface NetworkLimits {
  readonly availability: Availability
  readonly minimum: MinorUnits | null
  readonly maximum: MinorUnits | null
  /** Amounts must be a multiple of this: 100 when a currency with two decimals accepts whole units only. */
  readonly step: MinorUnits
}

/** The limits of a party's network; undefined when unknown. Never fails: without the provider, the last known ones apply. */
export type ReadNetworkLimits = (party: MomoParty, currency: Currency) => Effect.Effect<NetworkLimits | undefined>

/** `inactive`: no account of the number can be paid. Otherwise the holder's name, null when the provider keeps it. */
export type MobileHolder = "inactive" | { readonly name: Redacted.Redacted | null }

export interface PayoutOperations {
  /** Whether the account can pay the recipient's network; absent: every network of the row, unless the quote refuses it. */
  readonly reachesNetwork?: (recipient: MomoParty) => boolean
  /** Absent: the provider lists no limits. */
  readonly limits?: ReadNetworkLimits
  /** Whether a payout in this corridor must or may name the payer; absent: the payer is not sent. */
  readonly sender?: (corridor: CorridorKey) => "needed" | "taken" | undefined
  /**
   * The holder of the mobile-money account to pay: a free read before anything is reserved. An error says nothing about the
   * holder, and the payout continues without it. Absent: the provider cannot look up a holder.
   */
  readonly holder?: (recipient: MomoParty) => Effect.Effect<MobileHolder, ProviderError>
  /** A free read; moves nothing. */
  readonly quote: (order: QuoteOrder) => Effect.Effect<PayoutQuote | QuoteRefused, ProviderError>
  /** Sends once. The adapter never retries once any byte of it may have left. */
  readonly send: (order: PayoutOrder) => Effect.Effect<PayoutOutcome>
  readonly fetchStatus: (order: StatusQuery) => Effect.Effect<StatusOutcome>
}

export interface ExchangeOrder {
  readonly currency: Currency
  readonly amount: MinorUnits
  readonly destinationCurrency: Currency
}

export interface ExchangeQuote extends ExchangeOrder {
  /** Rounded down to minor units; `rawDestinationAmount` is the provider's figure in major units with all its digits. */
  readonly destinationAmount: MinorUnits
  readonly rawDestinationAmount: string
  /** Decimal text. */
  readonly rate: string
  readonly expiresAt: Instant
  /** The provider's handle of the quote, valid for one exchange. */
  readonly token: string
}

export type ExchangeOutcome = Extract<Fact, { _tag: "Succeeded" | "Refused" | "NotSent" | "Mismatched" | "Unknown" | "Accepted" }>

/** Exchanges between the wallets of one account. Only a source amount can be quoted. */
export interface ExchangeOperations {
  /** A free read; moves nothing. */
  readonly quote: (order: ExchangeOrder) => Effect.Effect<ExchangeQuote | QuoteRefused, ProviderError>
  /** Executes a quote once. The adapter never retries once any byte of it may have left. */
  readonly execute: (
    order: ExchangeOrder & { readonly reference: Reference; readonly token: string }
  ) => Effect.Effect<ExchangeOutcome>
  readonly fetchStatus: (order: StatusQuery) => Effect.Effect<StatusOutcome>
}

export interface CollectionOperations {
  /** Whether the account can charge this payer's network in this currency; absent: every network of the corridor's row. */
  readonly reachesNetwork?: (payer: MomoParty, currency: Currency) => boolean
  /** Absent: the provider lists no limits. */
  readonly limits?: ReadNetworkLimits
  readonly charge: (order: ChargeOrder) => Effect.Effect<ChargeOutcome>
  readonly contractFee?: ContractFeeOf
  /**
   * Sends a code to the payer by SMS; moves no money. `pinId` is the provider's handle of the code. A ProviderError means that
   * nothing was sent; `unknown` means that it may have been.
   */
  readonly sendCode?: (source: MomoParty) => Effect.Effect<{ readonly pinId: string } | "unknown", ProviderError>
  readonly fetchStatus: (order: StatusQuery) => Effect.Effect<StatusOutcome>
  /** Absent: the account has no such list. Clawbacks are then found in its statement or by polling the charge. */
  readonly clawbacks?: ListClawbacks
}

/** Why a statement cannot be read, when a retry would not help: a sentence for the operator. */
export class StatementUnreadable extends Data.TaggedError("StatementUnreadable")<{ readonly why: string }> {}

/** A callback as it was received: the requested path without the query, headers with lower-case names, the exact bytes. */
export interface RawCallback {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

export interface Callbacks {
  /** None when the signature does not verify: the sender gets 401 and nothing is stored. */
  readonly verify: (callback: RawCallback) => Option.Option<CallbackHint>
  /** For a provider that answers queries by callback: stores such an answer from a verified one. Absent: only the hint counts. */
  readonly keep?: (callback: RawCallback) => Effect.Effect<void>
  /** Absent: the addresses are set in the provider's portal. */
  readonly registration?: CallbackRegistration
  /** Fetches the keys for `verify` again, where they may change. A callback that failed is then verified once more. */
  readonly refreshKeys?: Effect.Effect<void>
}

/** Callback addresses that are registered with the provider by an API call. */
export interface CallbackRegistration {
  /** By the provider's names for them. The addresses are secret: a callback to one of them is trusted to come from the provider. */
  readonly addresses: Readonly<Record<string, string>>
  /**
   * Registers the addresses. Repeating it changes nothing: `registered` when the provider accepts them again or this gateway
   * registered the same ones before; otherwise `refused`, with the reason.
   */
  readonly register: Effect.Effect<{ readonly result: "registered" | "refused"; readonly note: string }>
  /** Whether this gateway knows that it has registered these addresses. */
  readonly isRegistered: Effect.Effect<boolean>
}

/**
 * One account at one provider, for one mode. An operation that the account does not offer is absent.
 *
 * Delivery: calls that move money (`send`, `charge`, `execute`) are made at most once. They never fail with an error: their
 * outcome says what is known, including `Unknown`, and only `NotSent` means that nothing left the process. Free reads fail with
 * `ProviderError`, which says nothing about the answer; they may be retried.
 */
export interface Provider extends KnownAccount {
  readonly name: string
  readonly mode: Mode
  readonly guarantees: ProviderGuarantees
  readonly callbacks: Callbacks
  /**
   * For how many milliseconds the account's pace would delay a money call to a country (null: an exchange) that begins now. 0
   * when a request can wait that long. Absent when the account has no pace.
   */
  readonly moneyHeldMs?: (country: string | null) => Effect.Effect<number>
  readonly payouts?: PayoutOperations
  readonly collections?: CollectionOperations
  readonly exchange?: ExchangeOperations
  readonly reference?: ReferenceData
  /**
   * Everything that the account lists as begun on a UTC day, written 2026-01-31. Fails with ProviderError when the list cannot
   * be read to its end, and with StatementUnreadable when it does not have the form that the adapter expects. A row that cannot
   * be read is reported and does not stop the others. When the account has one list per wallet, a list that cannot be read is
   * reported like a row, and `isPart` is set.
   */
  readonly statement?: (day: string) => Effect.Effect<Statement, ProviderError | StatementUnreadable>
}

/** A provider as its adapter builds it. The adapter does not know the account's fingerprints. */
export type Adapter = Omit<Provider, "fingerprints">
