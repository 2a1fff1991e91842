import { Effect, Layer, Option, Redacted } from "effect"
import { Envelope } from "../../src/http/api/Envelope.ts"
import { Database } from "../../src/persistence/Database.ts"
import { FloatEntriesPg } from "../../src/persistence/ledger/FloatEntriesPg.ts"
import { FloatLedgerPg } from "../../src/persistence/ledger/FloatLedgerPg.ts"
import { LedgerVerificationPg } from "../../src/persistence/ledger/LedgerVerificationPg.ts"
import { CodesPg } from "../../src/persistence/requests/CodesPg.ts"
import { IdempotencyPg } from "../../src/persistence/requests/IdempotencyPg.ts"
import { PayerLocksPg } from "../../src/persistence/requests/PayerLocksPg.ts"
import { RateLimitsMemory } from "../../src/persistence/requests/RateLimitsMemory.ts"
import { VelocityLimitsPg } from "../../src/persistence/requests/VelocityLimitsPg.ts"
import { RouteCountsPg } from "../../src/persistence/status/RouteCountsPg.ts"
import { RouteOrdersPg } from "../../src/persistence/status/RouteOrdersPg.ts"
import { SharedLateCallsPg } from "../../src/persistence/status/SharedLateCallsPg.ts"
import { CorridorsPg } from "../../src/persistence/tenants/CorridorsPg.ts"
import { DenylistPg, ScreeningByRows } from "../../src/persistence/tenants/DenylistPg.ts"
import { ProviderSwitchesPg } from "../../src/persistence/tenants/ProviderSwitchesPg.ts"
import { TenantsPg } from "../../src/persistence/tenants/TenantsPg.ts"
import { AccountClaimsPg } from "../../src/persistence/transactions/AccountClaimsPg.ts"
import { QuotesPg } from "../../src/persistence/transactions/QuotesPg.ts"
import { TransactionsPg } from "../../src/persistence/transactions/TransactionsPg.ts"
import { RandomSourceLive } from "../../src/persistence/vault/RandomSourceLive.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { WebhookOutboxPg } from "../../src/persistence/webhooks/WebhookOutboxPg.ts"
import { eversendProvider } from "../../src/providers/eversend/Settings.ts"
import { providerRegistry } from "../../src/providers/Registry.ts"
import { Admission } from "../../src/services/admission/Admission.ts"
import { PartyScreening } from "../../src/services/admission/PartyScreening.ts"
import { Velocity } from "../../src/services/admission/Velocity.ts"
import { ChargeDispatch } from "../../src/services/collections/ChargeDispatch.ts"
import { ChargeGuard } from "../../src/services/collections/ChargeGuard.ts"
import { CodeFlow } from "../../src/services/collections/CodeFlow.ts"
import { CodeRequests } from "../../src/services/collections/CodeRequests.ts"
import { Collections } from "../../src/services/collections/Collections.ts"
import { Exchanges } from "../../src/services/exchanges/Exchanges.ts"
import { PayoutDispatch } from "../../src/services/payouts/PayoutDispatch.ts"
import { PayoutPricing } from "../../src/services/payouts/PayoutPricing.ts"
import { Payouts } from "../../src/services/payouts/Payouts.ts"
import type { AccountClaims } from "../../src/services/ports/AccountClaims.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Idempotency } from "../../src/services/ports/Idempotency.ts"
import { Policy } from "../../src/services/ports/Policy.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import type { Vault } from "../../src/services/ports/Vault.ts"
import { Records } from "../../src/services/Records.ts"
import { BankAccounts } from "../../src/services/reference/BankAccounts.ts"
import { Capabilities } from "../../src/services/reference/Capabilities.ts"
import { Reference } from "../../src/services/reference/Reference.ts"
import { Circuits } from "../../src/services/routing/Circuits.ts"
import { Failover } from "../../src/services/routing/Failover.ts"
import { guardedProviders } from "../../src/services/routing/GuardedProviders.ts"
import { RoutePreferences } from "../../src/services/routing/RoutePreferences.ts"
import { Routes } from "../../src/services/routing/Routes.ts"
import { Clawbacks } from "../../src/services/settlement/Clawbacks.ts"
import { OutcomePoller } from "../../src/services/settlement/OutcomePoller.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { EndpointConnection } from "../../src/services/webhooks/EndpointConnection.ts"
import { WebhookDispatcher } from "../../src/services/webhooks/WebhookDispatcher.ts"
import { policy } from "../fakes/FakePolicy.ts"
import { masterKey } from "./TestDatabase.ts"

const routeTables = Layer.mergeAll(RouteCountsPg, RouteOrdersPg)

/** Stands between the services and what they commit or send. The default lets everything through. */
export type Interference = <A, E, R>(step: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
const none: Interference = (_step, effect) => effect

const interferedPorts = (interfere: Interference) =>
  Layer.mergeAll(
    FloatEntriesPg,
    Layer.effect(
      FloatLedger,
      Effect.map(FloatLedger, (ledger) =>
        FloatLedger.of({
          ...ledger,
          open: (step) => interfere("open", ledger.open(step)),
          apply: (step) => interfere("apply", ledger.apply(step))
        })
      )
    ).pipe(Layer.provide(FloatLedgerPg)),
    Layer.effect(
      Idempotency,
      Effect.map(Idempotency, (keys) =>
        Idempotency.of({
          ...keys,
          claim: (request) => interfere("claim", keys.claim(request)),
          complete: (claim, response) => interfere("complete", keys.complete(claim, response)),
          release: (claim) => interfere("release", keys.release(claim))
        })
      )
    ).pipe(Layer.provide(IdempotencyPg))
  )

const interferedProvider = (provider: Provider, interfere: Interference): Provider => {
  const { collections, exchange, payouts, ...rest } = provider
  return {
    ...rest,
    ...(payouts === undefined
      ? {}
      : {
          payouts: {
            ...payouts,
            quote: (order) => interfere("quote", payouts.quote(order)),
            send: (order) => interfere("send", payouts.send(order))
          }
        }),
    ...(exchange === undefined
      ? {}
      : { exchange: { ...exchange, execute: (order) => interfere("execute", exchange.execute(order)) } }),
    ...(collections === undefined
      ? {}
      : { collections: { ...collections, charge: (order) => interfere("charge", collections.charge(order)) } })
  }
}

/** The services of one gateway process on a real database and the simulator's wire; no listener and no worker runs by itself. */
export const givenServices = (url: Redacted.Redacted, baseUrl: string, interfere: Interference = none) => {
  const account = {
    baseUrl,
    clientId: "simulator",
    clientSecret: Redacted.make("simulator-secret"),
    webhookSecret: Redacted.make("webhook-secret"),
    origin: null,
    timeoutMs: 2_000
  }
  return servicesOn(url, providerRegistry([eversendProvider.with(() => account)]), interfere)
}

/** The same with other providers. */
export const servicesOn = (
  url: Redacted.Redacted,
  providers: Layer.Layer<ProviderRegistry, never, Vault | AccountClaims>,
  interfere: Interference = none
) => {
  const interfered = Layer.effect(
    ProviderRegistry,
    Effect.map(ProviderRegistry, (all) =>
      ProviderRegistry.of({
        ...all,
        find: (name, mode) => Option.map(all.find(name, mode), (provider) => interferedProvider(provider, interfere)),
        accounts: (name, mode) => all.accounts(name, mode).map((provider) => interferedProvider(provider, interfere))
      })
    )
  ).pipe(Layer.provide(providers))
  const registry = Layer.provideMerge(Layer.provide(guardedProviders, interfered), Circuits.layer)
  return Layer.build(
    Layer.mergeAll(
      Payouts.layer,
      Collections.layer,
      CodeFlow.layer,
      CodeRequests.layer,
      Exchanges.layer,
      Reference.layer,
      Capabilities.layer
    ).pipe(
      Layer.provideMerge(Layer.mergeAll(Records.layer, PayoutDispatch.layer, ChargeGuard.layer, ChargeDispatch.layer)),
      Layer.provideMerge(Layer.mergeAll(PayoutPricing.layer, OutcomePoller.layer, Failover.layer)),
      Layer.provideMerge(Clawbacks.layer),
      Layer.provideMerge(
        Layer.mergeAll(Admission.layer, BankAccounts.layer, PartyScreening.layer, Routes.layer, Velocity.layer, Settlement.layer)
      ),
      Layer.provideMerge(RoutePreferences.layer),
      Layer.provideMerge(WebhookDispatcher.layer),
      Layer.provideMerge(Layer.mergeAll(EndpointConnection, Envelope.layer, registry, RateLimitsMemory)),
      Layer.provideMerge(
        Layer.mergeAll(
          interferedPorts(interfere),
          AccountClaimsPg,
          CodesPg,
          PayerLocksPg,
          TransactionsPg,
          LedgerVerificationPg,
          QuotesPg,
          VelocityLimitsPg,
          Layer.provideMerge(ScreeningByRows, DenylistPg),
          TenantsPg,
          CorridorsPg,
          ProviderSwitchesPg,
          routeTables,
          SharedLateCallsPg,
          WebhookOutboxPg
        )
      ),
      Layer.provideMerge(VaultPg.layer(masterKey)),
      Layer.provideMerge(Layer.mergeAll(Database.layer({ url }), RandomSourceLive, Layer.succeed(Policy, policy))),
      Layer.fresh
    )
  )
}
