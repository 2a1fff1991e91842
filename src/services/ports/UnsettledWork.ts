import { Context, type Effect, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"
import type { RecordFilter } from "./Transactions.ts"

/**
 * A transaction whose outcome is unknown or overdue. `review`: it waits for an operator. `unknown`: its provider did not
 * answer, or does not know it. `overdue`: its provider says that it is pending, and it has been open for a day.
 */
export const UnsettledState = Schema.Literals(["unknown", "overdue", "review"])
export type UnsettledState = typeof UnsettledState.Type

export const UnsettledKind = Schema.Literals(["payout", "collection", "exchange"])

export const UnsettledTransaction = Schema.Struct({
  reference: Reference,
  appId: AppId,
  kind: UnsettledKind,
  mode: Mode,
  provider: Schema.String,
  state: UnsettledState,
  /** The requested amount in minor units. */
  amount: Schema.BigInt,
  amountCurrency: Currency,
  /** The currency of the record and of its fee. */
  currency: Currency,
  createdAt: Instant,
  /** The time of the last line of its history. */
  heardAt: Instant,
  note: Schema.String,
  /** Its provider is polled until then; afterwards an operator has it. Meaningless for a transaction in review. */
  askedUntil: Instant,
  /** Its alerts are silent until then, because an operator acknowledged it. */
  acknowledgedUntil: Schema.NullOr(Instant)
})
export type UnsettledTransaction = typeof UnsettledTransaction.Type

/** Null for no filter. */
export interface UnsettledFilter
  extends Pick<
    RecordFilter,
    "appId" | "mode" | "provider" | "corridor" | "createdFrom" | "currency" | "amountFrom" | "amountTo"
  > {
  readonly kind: typeof UnsettledKind.Type | null
  readonly state: UnsettledState | null
  /** Exclusive: pass the time of an earlier look to get only what existed then. */
  readonly createdBefore: Instant | null
}

export interface UnsettledPlace {
  readonly createdAt: Instant
  readonly reference: string
}

/** All transactions, of all tenants, whose outcome is unknown or overdue. */
export class UnsettledWork extends Context.Service<
  UnsettledWork,
  {
    /** Oldest first, at most `limit` after the place. Only the oldest `COUNTED_AT_MOST` open transactions are examined. */
    readonly list: (
      filter: UnsettledFilter,
      after: UnsettledPlace | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<UnsettledTransaction>>
    /** The number of matching transactions, by the currency of their amount. */
    readonly count: (filter: UnsettledFilter) => Effect.Effect<ReadonlyArray<UnsettledSum>>
  }
>()("gateway/services/ports/UnsettledWork") {}

export const UnsettledSum = Schema.Struct({ currency: Currency, count: Schema.Number, amount: Schema.BigInt })
export type UnsettledSum = typeof UnsettledSum.Type
