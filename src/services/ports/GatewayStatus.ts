import { Context, type Effect, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { Instant } from "../../domain/Instant.ts"
import { EndpointName } from "../../domain/WebhookEndpoint.ts"
import type { CurrentAuditHead } from "./AuditLog.ts"
import type { ClockState } from "./ClockWatch.ts"
import type { DatabaseState } from "./DatabaseState.ts"
import type { WalletRefusals } from "./PeriodCounts.ts"

/** How long something has been open: less than this. */
export const AgeBand = Schema.Literals(["1m", "10m", "1h", "24h", "older"])

/**
 * Open transactions of one kind. `unknown`: those of which the last news is none, neither from the provider nor that it was never sent.
 * `oldestUnknownAt` is that of those which no operator has acknowledged.
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

/** The records of one account at a provider that still need it: open, or polled after their end because the outcome may change. */
export const AccountWork = Schema.Struct({
  provider: Schema.String,
  mode: Mode,
  currency: Currency,
  /** Null of records from before accounts were kept. */
  account: Schema.NullOr(Schema.String),
  open: Schema.Number,
  followed: Schema.Number
})
export type AccountWork = typeof AccountWork.Type

/** `isWhole`: all of it was counted; otherwise each count is a least, and so is that of an account which is missing. */
export interface CountedWork {
  readonly work: ReadonlyArray<AccountWork>
  readonly isWhole: boolean
}

/** The backlog of one queue. `oldestAt` is the time when its oldest item was due; null when nothing is due. */
export const QueueBacklog = Schema.Struct({ due: Schema.Number, parked: Schema.Number, oldestAt: Schema.NullOr(Instant) })
export type QueueBacklog = typeof QueueBacklog.Type

/** One currency of every tenant together, in minor units. */
export const FloatTotal = Schema.Struct({
  mode: Mode,
  currency: Currency,
  available: Schema.BigInt,
  reserved: Schema.BigInt,
  receivable: Schema.BigInt
})
export type FloatTotal = typeof FloatTotal.Type

/** One currency of one tenant, in minor units. */
export const TenantFloat = Schema.Struct({ appId: AppId, ...FloatTotal.fields })
export type TenantFloat = typeof TenantFloat.Type

export const ComparisonResult = Schema.Struct({
  name: Schema.Literals(["ledger verify", "reconcile"]),
  /** The provider that was compared; of the ledger, "changes" where these alone were verified, and else empty. */
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
  /** The last line of its history. */
  heardAt: Instant,
  note: Schema.String,
  /** Until then its alerts rest, because an operator acknowledged it. */
  acknowledgedUntil: Schema.NullOr(Instant)
})
export type UnansweredTransaction = typeof UnansweredTransaction.Type

/**
 * A tenant with webhooks that were never taken. The endpoint: `failing` and `gone` were disabled by us and say why, `disabled` by the
 * tenant.
 */
export const ParkedTenant = Schema.Struct({
  appId: AppId,
  mode: Mode,
  /** Of the endpoint. */
  name: EndpointName,
  parked: Schema.Number,
  /** Its state. */
  endpoint: Schema.Literals(["enabled", "failing", "gone", "disabled"])
})
export type ParkedTenant = typeof ParkedTenant.Type

/** A tenant's endpoint that accepts nothing, and since when. */
export const FailingEndpoint = Schema.Struct({ appId: AppId, mode: Mode, name: EndpointName, since: Instant })
export type FailingEndpoint = typeof FailingEndpoint.Type

export const IndebtedTenant = Schema.Struct({ appId: AppId, mode: Mode, currency: Currency, receivable: Schema.BigInt })
export type IndebtedTenant = typeof IndebtedTenant.Type

/** The rights of this process's database role over the audit log. */
export interface AuditProtection {
  readonly role: string
  /** Whether it can change or remove nothing of the audit log, the journal, its postings and the history, whatever statement it sends. */
  readonly holds: boolean
}

export interface RefusedCallbacks {
  readonly provider: string
  readonly mode: Mode
  readonly count: number
}

/** A stream of refused callbacks, or of refused payouts, that has ended is out of sight after so long, and up to a period longer. */
export const REFUSED_WITHIN_MS = 15 * 60_000

export interface StatusSnapshot {
  readonly at: Instant
  readonly open: ReadonlyArray<OpenGroup>
  readonly reviews: { readonly count: number; readonly acknowledged: number; readonly oldestAt: Instant | null }
  /** How many enabled endpoints have accepted nothing for `shownFailingMs`. */
  readonly endpointsFailing: number
  /** How many enabled endpoints answer so slowly that a due webhook has waited for `SLOW_MS`. */
  readonly endpointsSlow: number
  readonly outbox: QueueBacklog
  readonly inbox: QueueBacklog
  readonly floats: ReadonlyArray<FloatTotal>
  /** Every server said its floats. Where one did not, those of its tenants are in no sum. */
  readonly floatsAreWhole: boolean
  /** Of the tenants that were asked for by name; absent where none was. */
  readonly tenantFloats?: ReadonlyArray<TenantFloat>
  /** How many callbacks were refused within `REFUSED_WITHIN_MS` because their provider did not sign them; accounts without any are not there. */
  readonly callbacksRefused: ReadonlyArray<RefusedCallbacks>
  /** How much was refused within `REFUSED_WITHIN_MS` because our wallet at a provider was too small. */
  readonly walletRefusals: ReadonlyArray<WalletRefusals>
  readonly checks: ReadonlyArray<ComparisonResult>
  /** Tables with rows of a time that no partition was made for; they count all the same. */
  readonly unparted: ReadonlyArray<string>
  readonly auditHead: CurrentAuditHead
  /** Whether the database's clock is trusted for the removal of old rows. */
  readonly clock: ClockState
  /** Connections of every gateway process to the database, by what they do. */
  readonly connections: Readonly<Record<string, number>>
  /** The server that all of it lies on. */
  readonly database: DatabaseState
  /** Servers of a distributed database that do not answer: what is of their tenants is counted nowhere here. */
  readonly silentServers: ReadonlyArray<string>
}

/**
 * The state of the whole gateway, over all tenants, for metrics and operators: what is open, what waits, what needs attention. Reads are
 * snapshots of what is open now and never scan the past. `recordCheck` keeps the newest result of a check: an older one changes nothing.
 */
export class GatewayStatus extends Context.Service<
  GatewayStatus,
  {
    /** Counts end at `COUNTED_AT_MOST`, of which the oldest are counted first. */
    readonly read: Effect.Effect<StatusSnapshot>
    /**
     * By the account that it was sent with, after a look at so many rows at most, of each shard on Citus. Only where that was all of them, and every
     * database server answered, is an account that is not among them needed by nothing.
     */
    readonly byAccount: (rowsAtMost: number) => Effect.Effect<CountedWork>
    /** Asked of the database anew each time. */
    readonly protection: Effect.Effect<AuditProtection>
    /** The floats of these tenants, of which there are few: a metric names each. */
    readonly tenantFloats: (appIds: ReadonlyArray<AppId>) => Effect.Effect<ReadonlyArray<TenantFloat>>
    /** At most `limit` open transactions of which the last news is none, the oldest first. */
    readonly unanswered: (limit: number) => Effect.Effect<ReadonlyArray<UnansweredTransaction>>
    /**
     * At most `limit` tenants of each kind; metrics count them and may not name them. `failing`: endpoints that have accepted nothing for
     * `shownFailingMs`.
     */
    readonly tenants: (limit: number) => Effect.Effect<{
      readonly parked: ReadonlyArray<ParkedTenant>
      readonly owing: ReadonlyArray<IndebtedTenant>
      readonly failing: ReadonlyArray<FailingEndpoint>
    }>
    /** Keeps what a check found in the place of the one before; one that was made earlier changes nothing. */
    readonly recordCheck: (check: ComparisonResult) => Effect.Effect<void>
  }
>()("gateway/services/ports/GatewayStatus") {}

/** Beyond this a count says "so many at least": no scrape ever reads more rows of one kind. */
export const COUNTED_AT_MOST = 20_000
