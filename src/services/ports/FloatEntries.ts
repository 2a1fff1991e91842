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

/** The balance of a float, in minor units. `available` is net of the tenant's receivable, and is negative when that is larger. */
export interface FloatBalance {
  readonly available: bigint
  readonly reserved: bigint
}

/** The change of a float by one journal entry, and the balance right after it. */
export interface FloatEntry {
  readonly at: Instant
  readonly reference: Reference
  readonly revision: bigint
  readonly phase: Phase
  readonly note: string
  /** Of a credit or debit by an operator; null for other entries, whose reference is a transaction's. */
  readonly externalId: string | null
  readonly change: FloatBalance
  readonly after: FloatBalance
}

/** Where a page of entries ended. The next page holds entries that were posted earlier. */
export interface EntryPosition extends Pick<FloatEntry, "at" | "revision"> {
  /** Empty when the search stopped here without finding an entry. */
  readonly reference: Reference | ""
  /** The balance before the entries of the page. */
  readonly balance: FloatBalance
}

export interface EntryPage {
  readonly items: ReadonlyArray<FloatEntry>
  /** Null when nothing older is left. */
  readonly next: EntryPosition | null
}

/** One entry of a statement: the part that a tenant may see. */
export interface StatementEntry extends Pick<FloatEntry, "at" | "reference" | "revision" | "externalId" | "change" | "after"> {
  readonly type: StatementType
  /** The provider's fee that the entry booked; negative when a fee was returned. */
  readonly fee: bigint
  /** The transaction's metadata as JSON text; null for a credit or debit. */
  readonly metadata: string | null
}

/** The entries with `from <= at < to` that pass the filters; null for no bound or filter. */
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
  /** How many entries the last minutes before this place had. It reveals an entry that was committed late. */
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

/** The entries of one float. Only `FloatLedger` writes them. */
export class FloatEntries extends Context.Service<
  FloatEntries,
  {
    /**
     * Entries of all kinds, newest first, at most `limit`, beginning after the given place. The balance after each is computed
     * backwards from the present one in the same read, so that the newest entry ends at the present position. One call looks
     * back over a bounded time: a page may hold fewer entries, or none, while `next` is set.
     */
    readonly list: (float: FloatName, before: EntryPosition | null, limit: number) => Effect.Effect<EntryPage>
    /**
     * Entries as the tenant sees them, oldest first, at most `limit`, beginning after the given place. Opening and closing are
     * the balances before and after the page, from the same read; a page's closing balance is the next page's opening balance.
     * With a filter a page may hold fewer items, or none, while `next` is set. An entry may be committed after a younger one: a
     * place that would skip it is refused with ValidationFailed.
     */
    readonly statement: (
      float: FloatName,
      range: StatementRange,
      page: PageAfter<StatementPosition>
    ) => Effect.Effect<StatementPage, RateLimited | ValidationFailed>
    /** The operator's credit or debit with this external id; none when there is none. */
    readonly adjustment: (appId: AppId, mode: Mode, externalId: string) => Effect.Effect<Option.Option<PostedAdjustment>>
  }
>()("gateway/services/ports/FloatEntries") {}
