import { Clock, Context, Effect, Option } from "effect"
import { type Currency, exponents } from "../../domain/Currency.ts"
import type { Exchange, Quote } from "../../domain/Exchange.ts"
import { type ProviderError, type RateLimited, RequestInProgress } from "../../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  AmountBelowMinimum,
  type CapabilityNotAllowed,
  InsufficientTenantFloat,
  invalid,
  NotFound,
  ProviderCapabilityUnsupported,
  QuoteExpired,
  type TenantFrozen,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import { isReference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { reserve } from "../../domain/Ledger.ts"
import { type MinorUnits, minor, minusOrZero, ZERO } from "../../domain/Money.ts"
import { stampOf } from "../../domain/ProviderAccount.ts"
import { smallestSourceFor } from "../../domain/SourceAmount.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { withMoneyTurn } from "../../runtime/CallTurn.ts"
import {
  beginCandidates,
  candidatesNoted,
  noPrice,
  noteChosen,
  noteNotSent,
  orPassOver,
  recallCandidates
} from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Admission } from "../admission/Admission.ts"
import { newRecord, recordOpener } from "../NewRecord.ts"
import type { Claim } from "../ports/Idempotency.ts"
import type { ExchangeQuote, ExchangeOperations as Port, Provider } from "../ports/Provider.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { Quotes } from "../ports/Quotes.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { type ListPage, type TransactionFilter, type TransactionPage, Transactions } from "../ports/Transactions.ts"
import { sendInTime } from "../routing/Failover.ts"
import { firstToSucceed, Routes } from "../routing/Routes.ts"
import { type FinalError, outcomeResponse, type UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { Settlement } from "../settlement/Settlement.ts"

export interface FxQuery {
  readonly sourceCurrency: Currency
  readonly destinationCurrency: Currency
  /** Which side is fixed: the amount to sell, or the minimum to receive. */
  readonly fixed: "source" | "destination"
  readonly amount: MinorUnits
}

export interface FxCommand {
  /** Any text; one that is not a quote of the caller's is not found. */
  readonly quoteId: string
  /** JSON text of an object, compact. */
  readonly metadata: string
}

type QuoteRefusal = CapabilityNotAllowed | ProviderCapabilityUnsupported | ValidationFailed | AmountBelowMinimum | ProviderError

type FxRefusal =
  | CapabilityNotAllowed
  | TenantFrozen
  | NotFound
  | QuoteExpired
  | ProviderCapabilityUnsupported
  | AmountAboveMaximum
  | ProviderError
  | InsufficientTenantFloat
  | RequestInProgress
  | FinalError
  | UnknownOutcomeError

/** Exchanges between a tenant's own positions (contract FX-1 to FX-14). */
export class Exchanges extends Context.Service<
  Exchanges,
  {
    /** Free; moves and reserves nothing. For a fixed destination it finds the smallest source that reaches it. */
    readonly quote: (caller: Caller, query: FxQuery) => Effect.Effect<Quote, QuoteRefusal>
    /**
     * Takes the quote, reserves the source with the record in one commit, executes the quote, and books the result. If the
     * commit refuses, the quote is given back. Refusals come in the contract's order. An exchange has one provider and never
     * fails over. An `UnknownOutcomeError` leaves it `pending` with the source reserved, for the poller.
     */
    readonly create: (caller: Caller, command: FxCommand, claim: Claim) => Effect.Effect<Transaction, FxRefusal>
    /** The tenant's exchange. One of another tenant, mode or kind gives the same NotFound as none at all. */
    readonly find: (caller: Caller, reference: string) => Effect.Effect<Exchange, NotFound>
    /** A page of the tenant's exchanges in the key's mode, in the filter's order. */
    readonly list: (
      caller: Caller,
      filter: TransactionFilter,
      page: ListPage
    ) => Effect.Effect<TransactionPage<Exchange>, RateLimited>
  }
>()("gateway/services/Exchanges") {
  static readonly layer = layerOf(Exchanges)(function* () {
    const admission = yield* Admission
    const registry = yield* ProviderRegistry
    const routes = yield* Routes
    const quotes = yield* Quotes
    const transactions = yield* Transactions
    const openRecord = yield* recordOpener
    const settlement = yield* Settlement
    const randomSource = yield* RandomSource

    const ownQuote = Effect.fnUntraced(function* (caller: Caller, id: string) {
      if (!isReference(id)) return yield* new NotFound()
      const found = yield* quotes.find(caller.appId, caller.mode, id)
      return Option.isNone(found) ? yield* new NotFound() : found.value
    })

    const open = Effect.fnUntraced(function* (exchange: Exchange, claim: Claim) {
      const { amount, currency } = exchange
      const opened = yield* openRecord({ claim, record: exchange, entry: reserve(currency, amount), event: null })
      switch (opened._tag) {
        case "Opened":
          return
        case "ShortFloat":
          return yield* new InsufficientTenantFloat({
            amount_minor: amount,
            estimated_fee_minor: ZERO,
            shortfall_minor: minusOrZero(amount, opened.available)
          })
        // An exchange counts in no window and charges no payer.
        case "OverCap":
        case "PayerBusy":
          return yield* new RequestInProgress()
      }
    })

    return {
      list: ({ appId, mode }, filter, page) => transactions.exchanges({ appId, mode }, filter, page),

      quote: Effect.fn("Exchanges.quote")(function* (caller, query) {
        yield* admission.requireCapability(caller, "fx")
        const traders = yield* routes.withoutCorridor(caller, ({ exchange }) => exchange)
        if (traders.length === 0) return yield* unsupported
        yield* beginCandidates(traders.map(({ provider }) => provider.name))
        const { priced, provider } = yield* firstToSucceed(traders, ({ operations, provider }) =>
          price(operations, query).pipe(
            orPassOver(provider.name, noPrice),
            Effect.map((quoted) => ({ priced: quoted, provider }))
          )
        )
        yield* noteChosen(provider.name, "priced")
        const made: Quote = {
          ...priced,
          id: yield* randomSource.reference,
          appId: caller.appId,
          mode: caller.mode,
          provider: provider.name,
          ...stampOf(provider, priced.currency),
          createdAt: yield* Clock.currentTimeMillis,
          candidates: yield* candidatesNoted
        }
        yield* quotes.put(made)
        return made
      }),

      create: Effect.fn("Exchanges.create")(function* (caller, command, claim) {
        yield* admission.requireMoneyCapability(caller, "fx")
        const quoted = yield* ownQuote(caller, command.quoteId)
        const now = yield* Clock.currentTimeMillis
        if (now >= quoted.expiresAt) return yield* new QuoteExpired({ quote_id: quoted.id })
        const provider = Option.getOrUndefined(registry.find(quoted.provider, caller.mode))
        const port = provider?.exchange
        if (provider === undefined || port === undefined) return yield* unsupported
        // Another account does not know the quote's token.
        if (!isQuotedBy(provider, quoted)) return yield* new QuoteExpired({ quote_id: quoted.id })
        yield* admission.requireUnderTestCeiling(caller, quoted.amount, quoted.currency)
        yield* recallCandidates(quoted.candidates ?? "")
        yield* beginCandidates([provider.name])
        yield* routes.requireReady(provider, "exchange")
        yield* routes.requireTurn(provider, null)
        // Taken before anything is reserved: if the process dies in between, only the quote is used up.
        if (!(yield* quotes.take(quoted, claim))) return yield* new QuoteExpired({ quote_id: quoted.id })
        yield* open(newExchange({ caller, command, claim, quoted, provider, createdAt: now }), claim).pipe(
          // A lost claim means that another request uses the same key, and perhaps this quote.
          Effect.tapError(({ _tag }) => (_tag === "request_in_progress" ? Effect.void : quotes.release(quoted, claim)))
        )
        const { amount, currency, destinationCurrency, token } = quoted
        const order = { reference: claim.reference, amount, currency, destinationCurrency, token }
        const { outcome, raw } = yield* sendInTime(now, port.execute(order), quoted.expiresAt)
        if (outcome._tag === "NotSent") yield* noteNotSent(provider.name, 1, outcome.note)
        const applied = yield* settlement.apply({ reference: claim.reference, fact: outcome, actor: "request", claim, raw })
        return yield* Effect.fromResult(outcomeResponse(applied, outcome))
      }, withMoneyTurn),

      find: Effect.fn("Exchanges.find")(function* (caller, reference) {
        const stored = isReference(reference) ? yield* transactions.find(caller.appId, caller.mode, reference) : Option.none()
        if (Option.isNone(stored) || stored.value.transaction.kind !== "exchange") return yield* new NotFound()
        return stored.value.transaction
      })
    }
  })
}

const unsupported = new ProviderCapabilityUnsupported({ capability: "fx", reason: "provider_not_supported" })

const price = Effect.fnUntraced(function* (port: Port, query: FxQuery) {
  const { amount, destinationCurrency, fixed, sourceCurrency: currency } = query
  const quoteOf = Effect.fnUntraced(function* (source: MinorUnits) {
    const answer = yield* port.quote({ currency, amount: source, destinationCurrency })
    if (!("_tag" in answer)) return answer
    // An amount that is too small yields nothing, and its quote says so.
    return answer.kind === "too_much" ? ("too_much" as const) : yield* refusedQuote
  })
  const reaching = (wanted: MinorUnits, first: MinorUnits) =>
    smallestSourceFor(wanted, first, exponents[destinationCurrency], quoteOf)
  if (fixed === "destination") {
    const found: ExchangeQuote | undefined = yield* reaching(amount, amount)
    return found ?? (yield* refusedQuote)
  }
  const quoted = yield* quoteOf(amount)
  if (quoted === "too_much") return yield* refusedAmount
  if (quoted.destinationAmount > ZERO) return quoted
  // It yields less than the smallest unit of the other currency. The amount that yields one unit is the minimum.
  const least = yield* reaching(minor(1n), amount)
  if (least === undefined) return yield* refusedQuote
  return yield* new AmountBelowMinimum({ minimum_minor: least.amount, method: "wallet" })
})

const refusedAmount = invalid("source_amount_minor", "is not an amount that can be exchanged")
const refusedQuote = invalid("", "the provider refuses to quote this exchange")

interface Draft {
  readonly caller: Caller
  readonly command: FxCommand
  readonly claim: Claim
  readonly quoted: Quote
  readonly provider: Provider
  readonly createdAt: Instant
}

const isQuotedBy = ({ fingerprints }: Provider, { account = null, currency }: Quote): boolean =>
  account === null || fingerprints(currency).includes(account)

const newExchange = ({ caller, claim, command, createdAt, provider, quoted }: Draft): Exchange => ({
  ...newRecord(caller, claim, createdAt),
  kind: "exchange",
  status: "pending",
  provider: quoted.provider,
  ...stampOf(provider, quoted.currency),
  quoteId: quoted.id,
  amount: quoted.amount,
  currency: quoted.currency,
  destinationAmount: quoted.destinationAmount,
  destinationCurrency: quoted.destinationCurrency,
  rawDestinationAmount: quoted.rawDestinationAmount,
  rate: quoted.rate,
  metadata: command.metadata
})
