import { Context, type Effect, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"
import { EndpointName } from "../../domain/WebhookEndpoint.ts"
import type { CurrentAuditHead } from "./AuditLog.ts"
import type { ClockState } from "./ClockWatch.ts"
import type { DatabaseState } from "./DatabaseState.ts"
import type { WalletRefusals } from "./PeriodCounts.ts"

/** How long a transaction has been open: less than this. */
export const AgeBand = Schema.Literals(["1m", "10m", "1h", "24h", "older"])

/**
 * Open transactions of one kind. `unknown`: how many have `Unknown` or `NotFound` as the last fact of their history.
 * `oldestUnknownAt` leaves out those that an operator has acknowledged.
 */
export const OpenGroup = Schema.Struct({
  kind: Schema.Literals(["collection", "payout", "exchange"]),
  mode: Mode,
  provider: Schema.String,
  age: AgeBand,
  count: Schema.Number,
  unknown: Schema.Number,
  acknowledged: Schema.Number,
  oldestAt: Instant,
  oldestUnknownAt: Schema.NullOr(Instant)
})
export type OpenGroup = typeof OpenGroup.Type

/** The records that still need one provider account: open ones, and ended ones whose outcome may still change. */
export const AccountWork = Schema.Struct({
  provider: Schema.String,
  mode: Mode,
  currency: Currency,
  /** Null for records from before accounts were stored. */
  account: Schema.NullOr(Schema.String),
  open: Schema.Number,
  followed: Schema.Number
})
export type AccountWork = typeof AccountWork.Type

/** `isWhole`: everything was counted. Otherwise every count is a lower bound, also the zero of an account that is missing. */
export interface CountedWork {
  readonly work: ReadonlyArray<AccountWork>
  readonly isWhole: boolean
}

/** The backlog of one queue. `oldestAt`: when its oldest due item became due; null when nothing is due. */
export const QueueBacklog = Schema.Struct({ due: Schema.Number, parked: Schema.Number, oldestAt: Schema.NullOr(Instant) })
export type QueueBacklog = typeof QueueBacklog.Type

/** The sum over all tenants in one currency, in minor units. */
export const FloatTotal = Schema.Struct({
  mode: Mode,
  currency: Currency,
  available: Schema.BigInt,
  reserved: Schema.BigInt,
  receivable: Schema.BigInt
})
export type FloatTotal = typeof FloatTotal.Type

/** One tenant's float in one currency, in minor units. */
export const TenantFloat = Schema.Struct({ appId: AppId, ...FloatTotal.fields })
export type TenantFloat = typeof TenantFloat.Type

export const ComparisonResult = Schema.Struct({
  name: Schema.Literals(["ledger verify", "reconcile"]),
  /** The provider that was compared. For the ledger: "changes" when only changes were verified, otherwise empty. */
  subject: Schema.String,
  at: Instant,
  differences: Schema.Number
})
export type ComparisonResult = typeof ComparisonResult.Type

export const UnansweredTransaction = Schema.Struct({
  reference: Reference,
  appId: AppId,
  kind: Schema.Literals(["collection", "payout", "exchange"]),
  mode: Mode,
  provider: Schema.String,
  createdAt: Instant,
  /** The time of the last line of its history. */
  heardAt: Instant,
  note: Schema.String,
  /** Its alerts are silent until then, because an operator acknowledged it. */
  acknowledgedUntil: Schema.NullOr(Instant)
})
export type UnansweredTransaction = typeof UnansweredTransaction.Type

/** A tenant with parked webhooks. `endpoint`: the gateway disabled it as `failing` or `gone`; `disabled` by the tenant. */
export const ParkedTenant = Schema.Struct({
  appId: AppId,
  mode: Mode,
  /** The endpoint's name. */
  name: EndpointName,
  parked: Schema.Number,
  /** The endpoint's state. */
  endpoint: Schema.Literals(["enabled", "failing", "gone", "disabled"])
})
export type ParkedTenant = typeof ParkedTenant.Type

/** A tenant's endpoint that has accepted no webhook since `since`. */
export const FailingEndpoint = Schema.Struct({ appId: AppId, mode: Mode, name: EndpointName, since: Instant })
export type FailingEndpoint = typeof FailingEndpoint.Type

export const IndebtedTenant = Schema.Struct({ appId: AppId, mode: Mode, currency: Currency, receivable: Schema.BigInt })
export type IndebtedTenant = typeof IndebtedTenant.Type

/** The rights of this process's database role over the audit log. */
export interface AuditProtection {
  readonly role: string
  /** True when the role can change nothing in the audit log, the journal, its postings or the history, by any statement. */
  readonly holds: boolean
}

export interface RefusedCallbacks {
  readonly provider: string
  readonly mode: Mode
  readonly count: number
}

/** Refused callbacks and payouts count for this long after they happened, and up to one period longer. */
export const REFUSED_WITHIN_MS = 15 * 60_000

export interface StatusSnapshot {
  readonly at: Instant
  readonly open: ReadonlyArray<OpenGroup>
  readonly reviews: { readonly count: number; readonly acknowledged: number; readonly oldestAt: Instant | null }
  /** How many enabled endpoints have accepted nothing for `shownFailingMs`. */
  readonly endpointsFailing: number
  /** How many enabled endpoints answer so slowly that a due webhook has waited for `SLOW_MS`. */
  readonly endpointsSlow: number
  /** When the oldest poll became due that is still to be made, of open transactions; null when none is due. */
  readonly pollsDueSince: Instant | null
  readonly outbox: QueueBacklog
  readonly inbox: QueueBacklog
  readonly floats: ReadonlyArray<FloatTotal>
  /** False when a database server did not report its floats; the sums then lack that server's tenants. */
  readonly floatsAreWhole: boolean
  /** The tenants that were requested by name; absent when none was. */
  readonly tenantFloats?: ReadonlyArray<TenantFloat>
  /** How many callbacks had an invalid signature within `REFUSED_WITHIN_MS`; accounts without any are left out. */
  readonly callbacksRefused: ReadonlyArray<RefusedCallbacks>
  /** How many payouts were refused within `REFUSED_WITHIN_MS` because our wallet at a provider was too small. */
  readonly walletRefusals: ReadonlyArray<WalletRefusals>
  readonly checks: ReadonlyArray<ComparisonResult>
  /** Tables that have rows outside every partition but the default one. Those rows are counted all the same. */
  readonly unparted: ReadonlyArray<string>
  readonly auditHead: CurrentAuditHead
  /** Whether the database's clock is trusted for the removal of old rows. */
  readonly clock: ClockState
  /** Connections of every gateway process to the database, by what they do. */
  readonly connections: Readonly<Record<string, number>>
  /** The state of the database server that holds all of it. */
  readonly database: DatabaseState
  /** Servers of a distributed database that do not answer. Their tenants are missing from every count here. */
  readonly silentServers: ReadonlyArray<string>
}

/**
 * The state of the whole gateway over all tenants, for metrics and operators: what is open, what waits, what needs attention.
 * Reads are snapshots of what is open now and never scan history.
 */
export class GatewayStatus extends Context.Service<
  GatewayStatus,
  {
    /** Each count stops at `COUNTED_AT_MOST`; the oldest rows are counted first. */
    readonly read: Effect.Effect<StatusSnapshot>
    /**
     * Counts records by the account that sent them, after reading at most this many rows (per shard on Citus). An account that
     * is missing from the result is safe to remove only when `isWhole` is true.
     */
    readonly byAccount: (rowsAtMost: number) => Effect.Effect<CountedWork>
    /** Queries the database each time. */
    readonly protection: Effect.Effect<AuditProtection>
    /** The floats of the given tenants. Pass few: a metric names each of them. */
    readonly tenantFloats: (appIds: ReadonlyArray<AppId>) => Effect.Effect<ReadonlyArray<TenantFloat>>
    /** At most `limit` open transactions with an unknown outcome, oldest first. */
    readonly unanswered: (limit: number) => Effect.Effect<ReadonlyArray<UnansweredTransaction>>
    /**
     * At most `limit` tenants per list. For operators; metrics only count them and may not name them. `failing`: endpoints that
     * have accepted nothing for `shownFailingMs`.
     */
    readonly tenants: (limit: number) => Effect.Effect<{
      readonly parked: ReadonlyArray<ParkedTenant>
      readonly owing: ReadonlyArray<IndebtedTenant>
      readonly failing: ReadonlyArray<FailingEndpoint>
    }>
    /** Stores the newest result of a check, replacing the one before; a result that is older than the stored one is ignored. */
    readonly recordCheck: (check: ComparisonResult) => Effect.Effect<void>
  }
>()("gateway/services/ports/GatewayStatus") {}

/** Counts stop here and are shown as "at least": no scrape reads more rows of one kind. */
export const COUNTED_AT_MOST = 20_000
