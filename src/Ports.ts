import { Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import { countedOutcomes } from "./observability/FinalOutcomes.ts"
import { countedDeliveries } from "./observability/Metrics.ts"
import { AccessSealing } from "./persistence/audit/AccessSealing.ts"
import { AuditLogPg } from "./persistence/audit/AuditLogPg.ts"
import { TenantChangesPg } from "./persistence/audit/TenantChangesPg.ts"
import { DatabaseClock } from "./persistence/connection/DatabaseClock.ts"
import { Database } from "./persistence/Database.ts"
import { FloatAlertsPg } from "./persistence/ledger/FloatAlertsPg.ts"
import { FloatEntriesPg } from "./persistence/ledger/FloatEntriesPg.ts"
import { FloatLedgerPg } from "./persistence/ledger/FloatLedgerPg.ts"
import { LedgerVerificationPg } from "./persistence/ledger/LedgerVerificationPg.ts"
import { AcknowledgementsPg } from "./persistence/operators/AcknowledgementsPg.ts"
import { ConsoleSessionsPg } from "./persistence/operators/ConsoleSessionsPg.ts"
import { OperatorsPg } from "./persistence/operators/OperatorsPg.ts"
import { ProposalsPg } from "./persistence/operators/ProposalsPg.ts"
import { CodesPg } from "./persistence/requests/CodesPg.ts"
import { IdempotencyPg } from "./persistence/requests/IdempotencyPg.ts"
import { NoncesPg } from "./persistence/requests/NoncesPg.ts"
import { PayerLocksPg } from "./persistence/requests/PayerLocksPg.ts"
import { VelocityLimitsPg } from "./persistence/requests/VelocityLimitsPg.ts"
import { PartitionsPg } from "./persistence/schema/PartitionsPg.ts"
import { ClockWatchPg } from "./persistence/status/ClockWatchPg.ts"
import { GatewayStatusPg } from "./persistence/status/GatewayStatusPg.ts"
import { PeriodCountsPg } from "./persistence/status/PeriodCountsPg.ts"
import { ReconciliationsPg } from "./persistence/status/ReconciliationsPg.ts"
import { RouteCountsPg } from "./persistence/status/RouteCountsPg.ts"
import { RouteOrdersPg } from "./persistence/status/RouteOrdersPg.ts"
import { SharedLateCallsPg } from "./persistence/status/SharedLateCallsPg.ts"
import { TenantActivityPg } from "./persistence/status/TenantActivityPg.ts"
import { UnsettledWorkPg } from "./persistence/status/UnsettledWorkPg.ts"
import { CorridorsPg } from "./persistence/tenants/CorridorsPg.ts"
import { DenylistPg, ScreeningByRows } from "./persistence/tenants/DenylistPg.ts"
import { ProviderSwitchesPg } from "./persistence/tenants/ProviderSwitchesPg.ts"
import { TenantsPg } from "./persistence/tenants/TenantsPg.ts"
import { AccountClaimsPg } from "./persistence/transactions/AccountClaimsPg.ts"
import { AccountSweepsPg } from "./persistence/transactions/AccountSweepsPg.ts"
import { BeneficiariesPg } from "./persistence/transactions/BeneficiariesPg.ts"
import { ProviderInboxPg } from "./persistence/transactions/ProviderInboxPg.ts"
import { ProviderMemoryPg } from "./persistence/transactions/ProviderMemoryPg.ts"
import { QuotesPg } from "./persistence/transactions/QuotesPg.ts"
import { TransactionsPg } from "./persistence/transactions/TransactionsPg.ts"
import { PartyHashRetentionPg } from "./persistence/vault/PartyHashRetentionPg.ts"
import { RandomSourceLive } from "./persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "./persistence/vault/VaultPg.ts"
import { WebhookDeliveriesPg } from "./persistence/webhooks/WebhookDeliveriesPg.ts"
import { WebhookEndpointsPg } from "./persistence/webhooks/WebhookEndpointsPg.ts"
import { WebhookOutboxPg } from "./persistence/webhooks/WebhookOutboxPg.ts"
import { Policy } from "./services/ports/Policy.ts"

/** Where the database is, which key seals its secrets, and the settings that rules need. */
interface DatabaseSettings {
  readonly databaseUrl: Redacted.Redacted
  /** The owner's URL, if the schema is migrated with it; null or absent: migrated with `databaseUrl`. */
  readonly ownerUrl?: Redacted.Redacted | null
  readonly masterKey: Redacted.Redacted
  readonly policy: Policy["Service"]
}

/** Screening decides by the denylist's rows; a real screening service would replace them here. */
const screeningByRows = Layer.provideMerge(ScreeningByRows, DenylistPg)

/** The overview shows the end of the audit log. */
const standing = Layer.provideMerge(Layer.provide(GatewayStatusPg, PeriodCountsPg), AuditLogPg)

const databaseOf = ({ databaseUrl, ownerUrl = null }: DatabaseSettings) => Database.migratedLayer({ databaseUrl, ownerUrl })

const portsOn = <R, E>(database: Layer.Layer<R | SqlClient.SqlClient, E>, { masterKey, policy }: DatabaseSettings) => {
  const outbox = Layer.provide(countedDeliveries, WebhookOutboxPg)
  const ledger = Layer.provide(countedOutcomes, Layer.mergeAll(FloatLedgerPg, PeriodCountsPg, RouteCountsPg))
  return Layer.mergeAll(
    AccountClaimsPg,
    AccountSweepsPg,
    AcknowledgementsPg,
    CodesPg,
    PayerLocksPg,
    BeneficiariesPg,
    ClockWatchPg,
    ConsoleSessionsPg,
    CorridorsPg,
    screeningByRows,
    FloatAlertsPg,
    FloatEntriesPg,
    IdempotencyPg,
    ledger,
    LedgerVerificationPg,
    VelocityLimitsPg,
    PartitionsPg,
    PartyHashRetentionPg,
    PeriodCountsPg,
    NoncesPg,
    OperatorsPg,
    outbox,
    ProposalsPg,
    ProviderInboxPg,
    ProviderMemoryPg,
    ProviderSwitchesPg,
    QuotesPg,
    RouteCountsPg,
    RouteOrdersPg,
    ReconciliationsPg,
    SharedLateCallsPg,
    standing,
    TenantActivityPg,
    TenantChangesPg,
    TenantsPg,
    TransactionsPg,
    UnsettledWorkPg,
    WebhookDeliveriesPg,
    WebhookEndpointsPg
  ).pipe(
    Layer.provideMerge(Layer.provideMerge(AccessSealing, VaultPg.layer(masterKey))),
    Layer.provideMerge(Layer.succeed(Policy, policy)),
    Layer.provideMerge(RandomSourceLive),
    Layer.provideMerge(database)
  )
}

export const Ports = {
  /** Every port on the database, whose schema is migrated first. The clock is the caller's. */
  layer: (settings: DatabaseSettings) => portsOn(databaseOf(settings), settings),

  /** The same, with the database's clock for everything that is built on it. */
  onDatabaseTime: (settings: DatabaseSettings) => portsOn(Layer.provideMerge(DatabaseClock, databaseOf(settings)), settings)
}
