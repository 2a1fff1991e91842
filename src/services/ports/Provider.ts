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

/** The guarantees of a provider. Recovery follows this declaration and never the provider's name. */
export interface ProviderGuarantees {
  /** The provider's treatment of a repeated reference of ours: nothing new, a refusal, or a second execution. */
  readonly clientReference: "idempotent" | "unique_reject" | "none"
  /** The same of a charge, where that promises less than a payout does. */
  readonly chargeReference?: "none"
  /** How a transaction is polled. `inferred`: the query is not documented to work so, hence its "not found" proves nothing. */
  readonly lookup: "by_client_ref" | "by_client_ref_inferred" | "by_provider_ref" | "none"
  /** The same of a charge, where that is less. Where it is not by our reference, "not found" says nothing of a charge, and never ends one. */
  readonly chargeLookup?: "by_provider_ref"
  readonly callbackAuth: "hmac" | "rfc9421" | "weak" | "none"
  readonly quoteTtlMs: number
  /** How long after sending "not found" proves nothing, whatever the setting says. */
  readonly notFoundGraceMs: number
  /** The same of a charge, where that is another time. */
  readonly chargeNotFoundGraceMs?: number
  /** The countries whose bank accounts `reference.resolve` knows; absent: every country whose banks are paid. */
  readonly bankAccountCountries?: ReadonlyArray<string>
  /** Its documents have the recipient's number in every payout to a bank, and do not say what happens without one. */
  readonly bankMsisdn?: "documented"
  /** The countries whose banks are paid through a branch that the payout names; absent: none. */
  readonly bankBranchCountries?: ReadonlyArray<string>
  /** Its statement need not show which charge something was taken back of; absent: it does, where there is one. */
  readonly clawbacksUnstated?: true
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
  /** The amount that is sent, in the source currency, without the fee. */
  readonly principal: MinorUnits
  readonly fee: MinorUnits
  readonly destinationAmount: MinorUnits
  readonly destinationCurrency: Currency
  /** Decimal text; null within one currency. */
  readonly rate: string | null
  readonly expiresInMs: number
  /** The provider's own handle of the quote, used when sending. */
  readonly token: string
  /** The amounts from which on such a payout costs less than just below them; absent: the fee never falls as the amount rises. */
  readonly fallsAt?: ReadonlyArray<MinorUnits>
  /** By the contract the fee comes back with a payout that comes back whole; absent where it stays, or nothing says so. */
  readonly feeReturns?: true
}

/**
 * The provider will not quote: for such an amount (`too_little` or `too_much` where it is known to be that), for a recipient whom it does not know, or whose
 * number has no active account (`inactive`), without a recipient, or for another reason.
 */
export interface QuoteRefused {
  readonly _tag: "QuoteRefused"
  readonly kind: "too_little" | "too_much" | "amount" | "party" | "inactive" | "no_recipient" | "other"
  readonly note: string
  /** The fee that it would take all the same, where it gives one. */
  readonly fee?: MinorUnits
}

export interface PayoutOrder {
  readonly reference: Reference
  readonly corridor: Corridor
  readonly quote: PayoutQuote
  readonly destination: Destination
  readonly narration: string | null
  /** The payer, where the tenant's operator set one and the provider takes it. */
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
  /** The code that the payer said, where the charge needs one. */
  readonly otp: Otp | null
  /** The fee by the contract, fixed when it was opened; absent where the provider's answers name it. */
  readonly contractFee?: MinorUnits
}

/** A code that was sent to a payer, and what the payer typed. */
export interface Otp {
  readonly pinId: string
  readonly pin: Redacted.Redacted
}

/** A charge, by what its contract prices it. */
export interface ChargeTerms extends Pick<CorridorKey, "country" | "method"> {
  readonly network: string | null
  readonly amount: MinorUnits
  /** Of this amount, fixed when it was opened; null where that was not kept. */
  readonly fee: MinorUnits | null
}

/**
 * The fee of a charge by the contract that holds at that moment, where no answer names it; undefined where the contract covers no such
 * charge, which is then not made. Absent: the answers name it.
 */
export type ContractFeeOf = (
  charge: Omit<ChargeTerms, "fee"> & { readonly currency: Currency; readonly at: Instant }
) => MinorUnits | undefined

/** The known facts of the transaction that is polled. */
export interface StatusQuery {
  readonly reference: Reference
  readonly providerReference: string | null
  readonly currency: Currency
  readonly destinationCurrency: Currency | null
  /** Of the corridor, where an account ends at the border; absent for an exchange. */
  readonly country?: string
  readonly sentAt: number
  /**
   * The number or account of the other side, or its end, where what the provider has by our reference may be another request of the same key;
   * absent where it answered that it took this one, and takes no second one by the same reference in silence.
   */
  readonly party?: Redacted.Redacted
  /** Of a collection. */
  readonly charge?: ChargeTerms
  /** A code of the charge was called wrong, or is on its way: a failed one by our reference may be that attempt, and does not end the charge. */
  readonly wrongCode?: true
  /** The payer's time for an open charge is over, and it is about to end: what can still be paid there is closed first, where the provider can. */
  readonly isOver?: true
}

/** Moving money is answered by one of these facts, never by an error: silence is `Unknown`, which cannot be mistaken for a refusal. */
export type PayoutOutcome = Extract<Fact, { _tag: "Accepted" | "Succeeded" | "Refused" | "NotSent" | "Mismatched" | "Unknown" }>
export type ChargeOutcome = PayoutOutcome | Extract<Fact, { _tag: "NeedsRedirect" }> | CodeRejected
/** The code was not taken: nothing was charged, and another code may be tried. Only ever the answer to a charge with a code. */
export type CodeRejected = { readonly _tag: "CodeRejected"; readonly note: string }
/** An authenticated answer to a poll; `Unknown` when the poll itself was not answered. */
export type StatusOutcome = Extract<
  Fact,
  { _tag: "Succeeded" | "Refused" | "StillPending" | "Mismatched" | "NotFound" | "Returned" | "Unknown" }
>

/** The limits of an account for one network now, where its provider gives them. */
export interface NetworkLimits {
  readonly availability: Availability
  readonly minimum: MinorUnits | null
  readonly maximum: MinorUnits | null
  /** An amount is a multiple of it: 100 where a currency with two decimals is taken whole. */
  readonly step: MinorUnits
}

/**
 * The limits for the network of a payer or recipient; undefined where they are not known. It never fails: while the provider does not answer,
 * what it said last holds.
 */
export type ReadNetworkLimits = (party: MomoParty, currency: Currency) => Effect.Effect<NetworkLimits | undefined>

/** `inactive`: nobody can be paid by that number. Else its holder's name, null where the provider does not tell it. */
export type MobileHolder = "inactive" | { readonly name: Redacted.Redacted | null }

export interface PayoutOperations {
  /** Whether the account pays this recipient's network; absent: every network of the corridor's row, as far as its quote does not refuse it. */
  readonly reachesNetwork?: (recipient: MomoParty) => boolean
  /** Absent: the provider lists no limits. */
  readonly limits?: ReadNetworkLimits
  /** Whether a payout by this corridor has to say who pays, or may; absent: it is not sent. */
  readonly sender?: (corridor: CorridorKey) => "needed" | "taken" | undefined
  /**
   * The holder of the mobile-money account that a payout would go to: free, and asked before anything is reserved. An error says nothing
   * about it, and the payout goes on without it. Absent: the provider does not know before it pays.
   */
  readonly holder?: (recipient: MomoParty) => Effect.Effect<MobileHolder, ProviderError>
  /** Free, moves nothing. */
  readonly quote: (order: QuoteOrder) => Effect.Effect<PayoutQuote | QuoteRefused, ProviderError>
  /** Sends once; never retried by the adapter once a byte of it may have left. */
  readonly send: (order: PayoutOrder) => Effect.Effect<PayoutOutcome>
  readonly fetchStatus: (order: StatusQuery) => Effect.Effect<StatusOutcome>
}

export interface ExchangeOrder {
  readonly currency: Currency
  readonly amount: MinorUnits
  readonly destinationCurrency: Currency
}

export interface ExchangeQuote extends ExchangeOrder {
  /** Floored to its currency; `rawDestinationAmount` is the provider's own figure in major units, every digit. */
  readonly destinationAmount: MinorUnits
  readonly rawDestinationAmount: string
  /** Decimal text. */
  readonly rate: string
  readonly expiresAt: Instant
  /** The provider's own handle of the quote, good for one exchange. */
  readonly token: string
}

export type ExchangeOutcome = Extract<Fact, { _tag: "Succeeded" | "Refused" | "NotSent" | "Mismatched" | "Unknown" | "Accepted" }>

/** Between the wallets of one account. Only a source amount can be quoted. */
export interface ExchangeOperations {
  /** Free, moves nothing. */
  readonly quote: (order: ExchangeOrder) => Effect.Effect<ExchangeQuote | QuoteRefused, ProviderError>
  /** Executes a quote once; never retried by the adapter once a byte of it may have left. */
  readonly execute: (
    order: ExchangeOrder & { readonly reference: Reference; readonly token: string }
  ) => Effect.Effect<ExchangeOutcome>
  readonly fetchStatus: (order: StatusQuery) => Effect.Effect<StatusOutcome>
}

export interface CollectionOperations {
  /** Whether the account charges this payer's network in this currency; absent: every network of the corridor's row. */
  readonly reachesNetwork?: (payer: MomoParty, currency: Currency) => boolean
  /** Absent: the provider lists no limits. */
  readonly limits?: ReadNetworkLimits
  readonly charge: (order: ChargeOrder) => Effect.Effect<ChargeOutcome>
  readonly contractFee?: ContractFeeOf
  /**
   * Texts a code to the payer; moves nothing. `pinId` is the provider's handle of it. A ProviderError says that nothing was texted; where
   * that is not known it is `unknown`.
   */
  readonly sendCode?: (source: MomoParty) => Effect.Effect<{ readonly pinId: string } | "unknown", ProviderError>
  readonly fetchStatus: (order: StatusQuery) => Effect.Effect<StatusOutcome>
  /** Absent: the account has no such list, and what was taken back is seen in its statement, or by asking for the charge. */
  readonly clawbacks?: ListClawbacks
}

/** Why a statement cannot be read, where asking again changes nothing: a sentence for the person who asked. */
export class StatementUnreadable extends Data.TaggedError("StatementUnreadable")<{ readonly why: string }> {}

/** A callback as it came in: the path as it was requested, without the query; headers with lower-case names; the exact bytes. */
export interface RawCallback {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

export interface Callbacks {
  /** None when the signature does not verify: the sender gets 401 and nothing is stored. */
  readonly verify: (callback: RawCallback) => Option.Option<CallbackHint>
  /**
   * Keeps what questions are answered by, of a callback that verified: of a provider whose answers come later, to an address of ours. Absent:
   * nothing is kept but the hint.
   */
  readonly keep?: (callback: RawCallback) => Effect.Effect<void>
  /** Absent: their address is set in the provider's portal. */
  readonly registration?: CallbackRegistration
  /** Gets anew what `verify` needs, where a provider may change it: a callback that did not verify is looked at once more after it. */
  readonly refreshKeys?: Effect.Effect<void>
}

/** The addresses of callbacks that are registered with the provider by a call. */
export interface CallbackRegistration {
  /** By the names that the provider gives them. They are secret: a callback that comes there is believed to be the provider's. */
  readonly addresses: Readonly<Record<string, string>>
  /**
   * Makes the call. A second time nothing is changed: `registered` where the provider takes them again, or this gateway registered the same before;
   * else `refused`, and why.
   */
  readonly register: Effect.Effect<{ readonly result: "registered" | "refused"; readonly note: string }>
  /** Whether this gateway registered these addresses, as far as it knows. */
  readonly isRegistered: Effect.Effect<boolean>
}

/**
 * One account at one provider, for one mode. An operation that it does not offer is absent.
 *
 * Delivery: calls that move money (`send`, `charge`, `execute`) are at most once. They never fail with an error; their outcome says what is
 * known, `Unknown` included, and only `NotSent` means that nothing left the process. Free reads fail with `ProviderError`, which says nothing
 * about what was read; they may be repeated.
 */
export interface Provider extends KnownAccount {
  readonly name: string
  readonly mode: Mode
  readonly guarantees: ProviderGuarantees
  readonly callbacks: Callbacks
  /**
   * How many milliseconds the account's pace would hold a money call to a country (null: an exchange) back that begins now, where that is longer than a request waits;
   * else 0, and the call is expected soon. Absent where the account has no pace.
   */
  readonly moneyHeldMs?: (country: string | null) => Effect.Effect<number>
  readonly payouts?: PayoutOperations
  readonly collections?: CollectionOperations
  readonly exchange?: ExchangeOperations
  readonly reference?: ReferenceData
  /**
   * All that the account lists as begun on a UTC day, written 2026-01-31. A list that cannot be read to its end is a ProviderError, or unreadable where
   * it is not as its adapter expects; a row that cannot be read is named, and stops nothing. Where an account has a list for each of its wallets, one that
   * cannot be read is named like a row, and `isPart` says so.
   */
  readonly statement?: (day: string) => Effect.Effect<Statement, ProviderError | StatementUnreadable>
}

/** The same as its adapter makes it, which does not know what distinguishes the account from others. */
export type Adapter = Omit<Provider, "fingerprints">
