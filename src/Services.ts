import { Layer } from "effect"
import { Envelope } from "./http/Envelope.ts"
import { Metrics } from "./observability/Metrics.ts"
import type { Ports } from "./Ports.ts"
import { Admission } from "./services/Admission.ts"
import { Authentication } from "./services/Authentication.ts"
import { BankAccounts } from "./services/BankAccounts.ts"
import { BeneficiaryBook } from "./services/BeneficiaryBook.ts"
import { Capabilities } from "./services/Capabilities.ts"
import { ChargeGuard } from "./services/ChargeGuard.ts"
import { Charging } from "./services/Charging.ts"
import { Circuits } from "./services/Circuits.ts"
import { CodeFlow } from "./services/CodeFlow.ts"
import { CodeRequests } from "./services/CodeRequests.ts"
import { Collections } from "./services/Collections.ts"
import { Exchanges } from "./services/Exchanges.ts"
import { guardedProviders } from "./services/GuardedProviders.ts"
import { Ingress } from "./services/Ingress.ts"
import { PartyChecks } from "./services/PartyChecks.ts"
import { PayoutPricing } from "./services/PayoutPricing.ts"
import { Payouts } from "./services/Payouts.ts"
import type { Policy } from "./services/ports/Policy.ts"
import type { ProviderRegistry } from "./services/ports/ProviderRegistry.ts"
import type { RateLimits } from "./services/ports/RateLimits.ts"
import type { Vault } from "./services/ports/Vault.ts"
import type { WebhookSender } from "./services/ports/WebhookSender.ts"
import { Reconciler } from "./services/Reconciler.ts"
import { Records } from "./services/Records.ts"
import { Reference } from "./services/Reference.ts"
import { Routes } from "./services/Routes.ts"
import { Sending } from "./services/Sending.ts"
import { Settlement } from "./services/Settlement.ts"
import { Velocity } from "./services/Velocity.ts"
import { WebhookDispatcher } from "./services/WebhookDispatcher.ts"
import { Webhooks } from "./services/Webhooks.ts"

type PortsLayer = ReturnType<typeof Ports.layer>

/** What the services stand on: the outside world and the database. A test puts a world of its own there. */
interface Foundations<P> {
  readonly providers: Layer.Layer<ProviderRegistry, never, Vault>
  readonly ports: Layer.Layer<Layer.Success<PortsLayer> | P, Layer.Error<PortsLayer>>
  readonly limits: Layer.Layer<RateLimits>
  readonly sender: Layer.Layer<WebhookSender, never, Policy>
}

/** Every service of one gateway; neither listeners nor workers. */
export const servicesOn = <P = never>({ limits, ports, providers, sender }: Foundations<P>) => {
  const counted = Layer.provide(Metrics.providers, providers)
  const registry = Layer.provideMerge(Layer.provide(guardedProviders, counted), Circuits.layer)
  return Layer.mergeAll(
    Authentication.layer,
    Capabilities.layer,
    Payouts.layer,
    Reference.layer,
    Collections.layer,
    CodeFlow.layer,
    CodeRequests.layer,
    Exchanges.layer,
    Records.layer,
    BeneficiaryBook.layer,
    Ingress.layer,
    Webhooks.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(Sending.layer, ChargeGuard.layer, Charging.layer, Records.layer)),
    Layer.provideMerge(Layer.mergeAll(PayoutPricing.layer, Reconciler.layer)),
    Layer.provideMerge(
      Layer.mergeAll(Admission.layer, BankAccounts.layer, PartyChecks.layer, Routes.layer, Velocity.layer, Settlement.layer)
    ),
    Layer.provideMerge(WebhookDispatcher.layer),
    Layer.provideMerge(Layer.mergeAll(sender, Envelope.layer, registry, limits)),
    Layer.provideMerge(ports)
  )
}
