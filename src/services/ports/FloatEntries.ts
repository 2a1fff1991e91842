import { Context, type Effect, type Option } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import type { ValidationFailed } from "../../domain/errors/Terminal.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Phase } from "../../domain/Ledger.ts"
import type { StatementType } from "../../domain/Statement.ts"
import type { Adjustment } from "./FloatLedger.ts"
import type { PageAfter } from "./Page.ts"

/** One float: a tenant's money in one mode and currency. */
export interface FloatName {
  readonly appId: AppId
  readonly mode: Mode
  readonly currency: Currency
}

/**
 * The balance of a float at some time, in minor units. `available` is reduced by the tenant's debt, and is below zero where the debt is
 * larger.
 */
export interface FloatBalance {
  readonly available: bigint
  readonly reserved: bigint
}

/** The change of a float by one entry of the journal, and the balance right after it. */
export interface FloatEntry {
  readonly at: Instant
  readonly reference: Reference
  readonly revision: bigint
  readonly phase: Phase
  readonly note: string
  /** Of a credit or a debit; null of everything else, whose reference is a transaction's. */
  readonly externalId: string | null
  readonly change: FloatBalance
  readonly after: FloatBalance
}

/** Where a page of entries ended: what comes next was posted before it. */
export interface EntryPosition extends Pick<FloatEntry, "at" | "revision"> {
  /** Empty where no entry stands there, and the search only came so far. */
  readonly reference: Reference | ""
  /** The balance before the entries of the page. */
  readonly balance: FloatBalance
}

export interface EntryPage {
  readonly items: ReadonlyArray<FloatEntry>
  /** Null where there is nothing older. */
  readonly next: EntryPosition | null
}

/** An entry of a statement: what a tenant may see of it. */
export interface StatementEntry extends Pick<FloatEntry, "at" | "reference" | "revision" | "externalId" | "change" | "after"> {
  readonly type: StatementType
  /** The provider's fee that it booked, and less than nothing where it gave one back. */
  readonly fee: bigint
  /** Of the transaction; null of a credit or a debit. The text of an object. */
  readonly metadata: string | null
}

/** The entries of `from <= at < to` that pass the filters; null where there is none. */
export interface StatementRange {
  readonly from: Instant | null
  readonly to: Instant | null
  readonly type: StatementType | null
  readonly reference: Reference | null
}

/** Where a page of a statement ended. */
export interface StatementPosition extends Pick<FloatEntry, "at" | "revision"> {
  readonly reference: Reference
  /** The balance after that entry. */
  readonly balance: FloatBalance
  /** How many entries the minutes up to there had, so that one which was committed later is noticed. */
  readonly recent: number
}

export interface StatementPage {
  readonly opening: FloatBalance
  readonly items: ReadonlyArray<StatementEntry>
  readonly closing: FloatBalance
  readonly next: StatementPosition | null
}

export interface PostedAdjustment {
  readonly at: Instant
  readonly direction: Adjustment["direction"]
  readonly currency: Currency
  readonly amount: bigint
}

/** The entries of single floats. Only `FloatLedger` writes them. */
export class FloatEntries extends Context.Service<
  FloatEntries,
  {
    /**
     * Entries of every kind, the newest first: at most `limit`, those before the place. The balance after each is counted back from the
     * present one, in one read, so that the newest entry ends in the present position. It looks back for a bounded time, and says how far
     * it came: a page may hold fewer, or none, and still have a next one.
     */
    readonly list: (float: FloatName, before: EntryPosition | null, limit: number) => Effect.Effect<EntryPage>
    /**
     * Entries for their tenant, the oldest first: at most `limit`, those after the place. Opening and closing are the balances before and after
     * this page, in one read with it; the closing one of a page is the opening one of the next. With a filter a page may hold fewer items, or
     * none, and still have a next one. An entry may be committed after a younger one: a place that it would be skipped by is refused.
     */
    readonly statement: (
      float: FloatName,
      range: StatementRange,
      page: PageAfter<StatementPosition>
    ) => Effect.Effect<StatementPage, RateLimited | ValidationFailed>
    /** The adjustment that was posted by hand under an external id; none where there is none. */
    readonly adjustment: (appId: AppId, mode: Mode, externalId: string) => Effect.Effect<Option.Option<PostedAdjustment>>
  }
>()("gateway/services/ports/FloatEntries") {}
