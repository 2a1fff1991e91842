import { Context, type Effect, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"

/**
 * A transaction whose outcome is unknown or overdue. `review`: it waits for a person. `unknown`: its provider did not answer, or does not know
 * it. `overdue`: its provider said that it is under way, and it has been open for a day.
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
  /** As the tenant asked, in minor units. */
  amount: Schema.BigInt,
  amountCurrency: Currency,
  /** Of the record, and with it of its fee. */
  currency: Currency,
  createdAt: Instant,
  /** The last line of its history. */
  heardAt: Instant,
  note: Schema.String,
  /** Until then its provider is asked, and afterwards it waits for a person. Of one that waits already it says nothing. */
  askedUntil: Instant,
  /** Until then its alerts rest, because an operator acknowledged it. */
  acknowledgedUntil: Schema.NullOr(Instant)
})
export type UnsettledTransaction = typeof UnsettledTransaction.Type

/** Null for no filter. */
export interface UnsettledFilter {
  readonly provider: string | null
  readonly kind: typeof UnsettledKind.Type | null
  readonly mode: Mode | null
  readonly appId: AppId | null
  readonly state: UnsettledState | null
  /** Of payouts and collections; an exchange has none. */
  readonly corridor: { readonly country: string; readonly currency?: string; readonly method?: string } | null
  /** Included. */
  readonly createdFrom: Instant | null
  /** Not included: those that were there when somebody looked. */
  readonly createdBefore: Instant | null
  readonly currency: Currency | null
  /** In minor units, included. */
  readonly amountFrom: bigint | null
  readonly amountTo: bigint | null
}

export interface UnsettledPlace {
  readonly createdAt: Instant
  readonly reference: string
}

/** Everything whose outcome is unknown or overdue, of all tenants. */
export class UnsettledWork extends Context.Service<
  UnsettledWork,
  {
    /** The oldest first: at most `limit` of those after the place. Looked for among the oldest `COUNTED_AT_MOST` that are open and fit. */
    readonly list: (
      filter: UnsettledFilter,
      after: UnsettledPlace | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<UnsettledTransaction>>
    /** How many fit, by currency of their amounts. */
    readonly count: (filter: UnsettledFilter) => Effect.Effect<ReadonlyArray<UnsettledSum>>
  }
>()("gateway/services/ports/UnsettledWork") {}

export const UnsettledSum = Schema.Struct({ currency: Currency, count: Schema.Number, amount: Schema.BigInt })
export type UnsettledSum = typeof UnsettledSum.Type
