import { Clock, Context, Effect, Option, type Result } from "effect"
import type { Currency } from "../domain/Currency.ts"
import { IndeterminateOutcome } from "../domain/errors/Ambiguous.ts"
import { type RateLimited, RequestInProgress } from "../domain/errors/Retriable.ts"
import { CapabilityNotAllowed, type MalformedRequest, NotFound, type ValidationFailed } from "../domain/errors/Terminal.ts"
import { isReference, type Reference } from "../domain/Ids.ts"
import type { FloatPosition } from "../domain/Ledger.ts"
import { maskedText } from "../domain/Masking.ts"
import { isFailureContested, isTerminal, type Payment, type PaymentKind } from "../domain/Payment.ts"
import type { Caller } from "../domain/Tenant.ts"
import type { Transaction } from "../domain/Transaction.ts"
import type { Shown } from "../domain/View.ts"
import { layerOf } from "../runtime/ServiceLayer.ts"
import { inSpan } from "../runtime/Tracing.ts"
import { FloatEntries, type StatementPage, type StatementPosition, type StatementRange } from "./ports/FloatEntries.ts"
import { FloatLedger } from "./ports/FloatLedger.ts"
import type { PageAfter } from "./ports/Page.ts"
import {
  type ListPage,
  type RawTransaction,
  type TransactionFilter,
  type TransactionPage,
  Transactions
} from "./ports/Transactions.ts"
import { Vault } from "./ports/Vault.ts"
import { type SearchTerm, soughtBy } from "./RecordSearch.ts"
import { type FinalError, outcomeResponse, type UnknownOutcomeError } from "./settlement/OutcomeResponse.ts"
import { withItsRefunds, withRefunds } from "./settlement/ShownRecords.ts"

/** A tenant's own records. One of another tenant or of the other mode gives the same NotFound as none at all. */
export class Records extends Context.Service<
  Records,
  {
    /** By reference, which is also the id. `kind` null reads a payout or a collection. Any text is a valid argument. */
    readonly transaction: (caller: Caller, reference: string, kind: PaymentKind | null) => Effect.Effect<Payment, NotFound>
    /** As `transaction`; a collection comes with the sum of its refunds. */
    readonly shown: (caller: Caller, reference: string, kind: PaymentKind | null) => Effect.Effect<Shown<Payment>, NotFound>
    /** A page of the caller's payouts and collections in the key's mode, in the filter's order. */
    readonly list: (caller: Caller, filter: TransactionFilter, page: ListPage) => Effect.Effect<TransactionPage, RateLimited>
    /** A page of those that match the term, newest first; by number for 90 days after they began. */
    readonly search: (caller: Caller, term: SearchTerm, page: ListPage) => Effect.Effect<TransactionPage, RateLimited>
    /** Whether the tenant has a record with this reference, of any kind. */
    readonly exists: (caller: Caller, reference: Reference) => Effect.Effect<boolean>
    /**
     * Any tenant's transaction in the key's mode with its last money call, for an admin key and an audited reason. A caller
     * without an admin key learns nothing, not even whether the reason was valid.
     */
    readonly readRaw: (
      caller: Caller,
      reference: string,
      reason: Result.Result<string, MalformedRequest>
    ) => Effect.Effect<RawTransaction, CapabilityNotAllowed | MalformedRequest | NotFound>
    readonly positions: (caller: Caller) => Effect.Effect<ReadonlyArray<FloatPosition>>
    /** A page of the statement of the caller's float in one currency, oldest entry first. */
    readonly statement: (
      caller: Caller,
      currency: Currency,
      range: StatementRange,
      page: PageAfter<StatementPosition>
    ) => Effect.Effect<StatementPage, RateLimited | ValidationFailed>
    /**
     * Answers a repeated request whose key is linked to a transaction: in progress while the first request runs, indeterminate
     * afterwards while the transaction is open or its failure contested, and then the transaction's present state or its
     * refusal (contract IDEM-7, IDEM-23).
     */
    readonly replay: (
      caller: Caller,
      reference: Reference,
      leased: boolean
    ) => Effect.Effect<Transaction, RequestInProgress | IndeterminateOutcome | FinalError | UnknownOutcomeError>
  }
>()("gateway/services/Records") {
  static readonly layer = layerOf(Records)(function* () {
    const transactions = yield* Transactions
    const ledger = yield* FloatLedger
    const entries = yield* FloatEntries
    const vault = yield* Vault

    const transaction = Effect.fnUntraced(function* (caller: Caller, reference: string, kind: PaymentKind | null) {
      if (!isReference(reference)) return yield* new NotFound({})
      const stored = yield* transactions.find(caller.appId, caller.mode, reference)
      if (Option.isNone(stored)) return yield* new NotFound({})
      const found = stored.value.transaction
      if (found.kind === "exchange" || (kind !== null && found.kind !== kind)) return yield* new NotFound({})
      return found
    }, inSpan("Records.transaction"))

    const refunded = withRefunds(transactions)
    const whole = withItsRefunds(transactions)

    const list = Effect.fnUntraced(function* (...[owner, filter, page]: Parameters<typeof transactions.list>) {
      const { items, next } = yield* transactions.list(owner, filter, page)
      return { items: yield* refunded(items), next }
    })

    return {
      transaction,
      list: ({ appId, mode }, filter, page) => list({ appId, mode }, filter, page),
      positions: (caller) => ledger.positions(caller.appId, caller.mode),
      statement: ({ appId, mode }, currency, range, page) => entries.statement({ appId, mode, currency }, range, page),

      shown: (caller, reference, kind) => Effect.flatMap(transaction(caller, reference, kind), whole),

      search: Effect.fn("Records.search")(function* ({ appId, mode }, term, page) {
        const { items, next } = yield* transactions.sought({ appId, mode }, soughtBy(term, vault), page)
        return { items: yield* refunded(items), next }
      }),

      readRaw: Effect.fn("Records.readRaw")(function* (caller, reference, given) {
        if (caller.role !== "admin") return yield* new CapabilityNotAllowed({ capability: "raw_view" })
        const reason = yield* Effect.fromResult(given)
        if (!isReference(reference)) return yield* new NotFound({})
        const found = yield* transactions.raw(caller.mode, reference, {
          at: yield* Clock.currentTimeMillis,
          actor: `${caller.appId}/${caller.keyId}`,
          action: "transaction raw read",
          subject: reference,
          details: { reason: maskedText(reason) }
        })
        if (Option.isNone(found)) return yield* new NotFound({})
        return { ...found.value, transaction: yield* whole(found.value.transaction) }
      }),

      replay: Effect.fn("Records.replay")(function* (caller, reference, leased) {
        const stored = yield* transactions.find(caller.appId, caller.mode, reference)
        if (Option.isNone(stored)) return yield* Effect.die(new Error(`a key is pinned to ${reference}, which is not there`))
        const found = stored.value.transaction
        if (isTerminal(found) && !isFailureContested(found))
          return yield* whole(yield* Effect.fromResult(outcomeResponse(found, null)))
        return yield* leased ? new RequestInProgress({ reference }) : new IndeterminateOutcome({ reference })
      }),

      exists: (caller, reference) => Effect.map(transactions.find(caller.appId, caller.mode, reference), Option.isSome)
    }
  })
}
