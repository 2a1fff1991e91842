import { Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import { Metrics } from "./observability/Metrics.ts"
import { AccessSealing } from "./persistence/AccessSealing.ts"
import { AccountClaimsPg } from "./persistence/AccountClaimsPg.ts"
import { AccountSweepsPg } from "./persistence/AccountSweepsPg.ts"
import { AcknowledgementsPg } from "./persistence/AcknowledgementsPg.ts"
import { AuditLogPg } from "./persistence/AuditLogPg.ts"
import { BeneficiariesPg } from "./persistence/BeneficiariesPg.ts"
import { ClockWatchPg } from "./persistence/ClockWatchPg.ts"
import { CodesPg } from "./persistence/CodesPg.ts"
import { ConsoleSessionsPg } from "./persistence/ConsoleSessionsPg.ts"
import { CorridorsPg } from "./persistence/CorridorsPg.ts"
import { Database } from "./persistence/Database.ts"
import { DatabaseClock } from "./persistence/DatabaseClock.ts"
import { DenylistPg, ScreeningByRows } from "./persistence/DenylistPg.ts"
import { GatewayStatusPg } from "./persistence/GatewayStatusPg.ts"
import { IdempotencyPg } from "./persistence/IdempotencyPg.ts"
import { FloatEntriesPg } from "./persistence/ledger/FloatEntriesPg.ts"
import { FloatLedgerPg } from "./persistence/ledger/FloatLedgerPg.ts"
import { LedgerVerificationPg } from "./persistence/ledger/LedgerVerificationPg.ts"
import { NoncesPg } from "./persistence/NoncesPg.ts"
import { OperatorsPg } from "./persistence/OperatorsPg.ts"
import { PartitionsPg } from "./persistence/PartitionsPg.ts"
import { PartyHashRetentionPg } from "./persistence/PartyHashRetentionPg.ts"
import { PayerLocksPg } from "./persistence/PayerLocksPg.ts"
import { ProposalsPg } from "./persistence/ProposalsPg.ts"
import { ProviderInboxPg } from "./persistence/ProviderInboxPg.ts"
import { QuotesPg } from "./persistence/QuotesPg.ts"
import { RandomSourceLive } from "./persistence/RandomSourceLive.ts"
import { TenantChangesPg } from "./persistence/TenantChangesPg.ts"
import { TenantsPg } from "./persistence/TenantsPg.ts"
import { TransactionsPg } from "./persistence/TransactionsPg.ts"
import { VaultPg } from "./persistence/VaultPg.ts"
import { VelocityLimitsPg } from "./persistence/VelocityLimitsPg.ts"
import { WebhookDeliveriesPg } from "./persistence/webhooks/WebhookDeliveriesPg.ts"
import { WebhookEndpointsPg } from "./persistence/webhooks/WebhookEndpointsPg.ts"
import { WebhookOutboxPg } from "./persistence/webhooks/WebhookOutboxPg.ts"
import { Policy } from "./services/ports/Policy.ts"

/** Where the database is, what seals its secrets, and the settings that rules need. */
export interface DatabaseSettings {
  readonly databaseUrl: Redacted.Redacted
  /** The owner's, where the schema is brought up to date with it; null or absent: with the other. */
  readonly ownerUrl?: Redacted.Redacted | null
  readonly masterKey: Redacted.Redacted
  readonly policy: Policy["Service"]
}

/** Screening decides by its rows; a real screening service takes their place here. */
const screeningByRows = Layer.provideMerge(ScreeningByRows, DenylistPg)

/** How things stand shows the end of the audit log. */
const standing = Layer.provideMerge(GatewayStatusPg, AuditLogPg)

const databaseOf = ({ databaseUrl, ownerUrl = null }: DatabaseSettings) => Database.migratedLayer({ databaseUrl, ownerUrl })

const portsOn = <R, E>(database: Layer.Layer<R | SqlClient.SqlClient, E>, { masterKey, policy }: DatabaseSettings) => {
  const outbox = Layer.provide(Metrics.deliveries, WebhookOutboxPg)
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
    FloatEntriesPg,
    FloatLedgerPg,
    IdempotencyPg,
    LedgerVerificationPg,
    VelocityLimitsPg,
    PartitionsPg,
    PartyHashRetentionPg,
    NoncesPg,
    OperatorsPg,
    outbox,
    ProposalsPg,
    ProviderInboxPg,
    QuotesPg,
    standing,
    TenantChangesPg,
    TenantsPg,
    TransactionsPg,
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
  /** Every port on the database, whose schema is brought up to date first. The time is that of whoever calls. */
  layer: (settings: DatabaseSettings) => portsOn(databaseOf(settings), settings),

  /** The same; what is built on it takes its time from the database. */
  onDatabaseTime: (settings: DatabaseSettings) => portsOn(Layer.provideMerge(DatabaseClock, databaseOf(settings)), settings)
}
