import { Context, Effect, Layer, Redacted } from "effect"
import { AppId, type Reference } from "../../src/domain/Ids.ts"
import type { Tenant } from "../../src/domain/Tenant.ts"
import { AuditLogPg } from "../../src/persistence/audit/AuditLogPg.ts"
import { Database } from "../../src/persistence/Database.ts"
import { NoncesPg } from "../../src/persistence/requests/NoncesPg.ts"
import { Distribute } from "../../src/persistence/schema/Distribute.ts"
import { RuntimeRole } from "../../src/persistence/schema/RuntimeRole.ts"
import { CorridorsPg } from "../../src/persistence/tenants/CorridorsPg.ts"
import { TenantsPg } from "../../src/persistence/tenants/TenantsPg.ts"
import { ProviderInboxPg } from "../../src/persistence/transactions/ProviderInboxPg.ts"
import { ProviderMemoryPg } from "../../src/persistence/transactions/ProviderMemoryPg.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { WebhookDeliveriesPg } from "../../src/persistence/webhooks/WebhookDeliveriesPg.ts"
import { WebhookEndpointsPg } from "../../src/persistence/webhooks/WebhookEndpointsPg.ts"
import { WebhookOutboxPg } from "../../src/persistence/webhooks/WebhookOutboxPg.ts"
import type { AuditEntry } from "../../src/services/ports/AuditLog.ts"
import { RandomSource } from "../../src/services/ports/RandomSource.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { citusUrl } from "./CitusDatabase.ts"
import { freshDatabase } from "./Postgres.ts"

export const masterKey = Redacted.make(Buffer.alloc(32, 7).toString("base64"))

/** A migrated database of this test alone; on a cluster it is divided over it. */
export const givenDatabase: Effect.Effect<Redacted.Redacted> = Effect.promise(() =>
  freshDatabase((url) =>
    Database.migrate.pipe(
      Effect.andThen(citusUrl === undefined ? Effect.void : Distribute.run),
      Effect.andThen(RuntimeRole.grant("gateway_runtime")),
      Effect.provide(Database.layer({ url: Redacted.make(url) })),
      Effect.asVoid,
      Effect.runPromise
    )
  )
).pipe(Effect.map(({ url }) => Redacted.make(url)))

/** One gateway process on that database: its own connections, its own memory. */
export const givenNode = (url: Redacted.Redacted, key = masterKey) =>
  Layer.build(
    Layer.mergeAll(
      TenantsPg,
      NoncesPg,
      CorridorsPg,
      AuditLogPg,
      WebhookOutboxPg,
      WebhookEndpointsPg,
      WebhookDeliveriesPg,
      ProviderInboxPg,
      ProviderMemoryPg
    ).pipe(
      Layer.provideMerge(VaultPg.layer(key)),
      Layer.provideMerge(Layer.merge(Database.layer({ url }), RandomSourceLive)),
      // Two nodes of one test share nothing.
      Layer.fresh
    )
  )

export const tenant: Tenant = {
  appId: AppId.make("acme"),
  status: "active",
  capabilities: ["payouts"],
  pinned: null,
  repeatSales: false,
  createdAt: 1_000
}

export const givenTenant = (node: Context.Context<Tenants>, appId = tenant.appId) =>
  Context.get(node, Tenants).create({ ...tenant, appId }, auditEntry({ action: "tenant create", subject: appId }))

export const auditEntry = (override: Partial<AuditEntry> = {}): AuditEntry => ({
  at: 1_763_712_345_678,
  actor: "operator",
  action: "test",
  subject: "acme",
  details: { note: "naïve “quotes”" },
  ...override
})

export const newReference: Effect.Effect<Reference> = Effect.flatMap(RandomSource, ({ reference }) => reference).pipe(
  Effect.provide(RandomSourceLive)
)
