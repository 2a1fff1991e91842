import { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { ApprovalAmounts } from "./domain/ApprovalAmounts.ts"
import { Envelope } from "./http/api/Envelope.ts"
import { observedProviders } from "./observability/ProviderCalls.ts"
import type { Ports } from "./Ports.ts"
import type { EveryTenant } from "./persistence/cluster/EveryTenant.ts"
import type { Distribution } from "./persistence/connection/Distribution.ts"
import { Admission } from "./services/admission/Admission.ts"
import { Authentication } from "./services/admission/Authentication.ts"
import { LimitUses } from "./services/admission/LimitUses.ts"
import { PartyScreening } from "./services/admission/PartyScreening.ts"
import { Velocity } from "./services/admission/Velocity.ts"
import { Approvals } from "./services/approvals/Approvals.ts"
import { ConfigurationApprovals } from "./services/approvals/ConfigurationApprovals.ts"
import { FloatApprovals } from "./services/approvals/FloatApprovals.ts"
import { KeyApprovals } from "./services/approvals/KeyApprovals.ts"
import { ReviewApprovals } from "./services/approvals/ReviewApprovals.ts"
import { ReviewFiles } from "./services/approvals/ReviewFiles.ts"
import { BeneficiaryBook } from "./services/BeneficiaryBook.ts"
import { ChargeDispatch } from "./services/collections/ChargeDispatch.ts"
import { ChargeGuard } from "./services/collections/ChargeGuard.ts"
import { CodeFlow } from "./services/collections/CodeFlow.ts"
import { CodeRequests } from "./services/collections/CodeRequests.ts"
import { Collections } from "./services/collections/Collections.ts"
import { Exchanges } from "./services/exchanges/Exchanges.ts"
import { FloatWatch } from "./services/FloatWatch.ts"
import { PayoutDispatch } from "./services/payouts/PayoutDispatch.ts"
import { PayoutPricing } from "./services/payouts/PayoutPricing.ts"
import { PayoutQuotes } from "./services/payouts/PayoutQuotes.ts"
import { Payouts } from "./services/payouts/Payouts.ts"
import type { AccountClaims } from "./services/ports/AccountClaims.ts"
import type { Policy } from "./services/ports/Policy.ts"
import type { ProviderMemory } from "./services/ports/ProviderMemory.ts"
import type { ProviderRegistry } from "./services/ports/ProviderRegistry.ts"
import type { RateLimits } from "./services/ports/RateLimits.ts"
import type { Vault } from "./services/ports/Vault.ts"
import type { WebhookSender } from "./services/ports/WebhookSender.ts"
import { Records } from "./services/Records.ts"
import { BankAccounts } from "./services/reference/BankAccounts.ts"
import { Capabilities } from "./services/reference/Capabilities.ts"
import { Reference } from "./services/reference/Reference.ts"
import { WalletBalances } from "./services/reference/WalletBalances.ts"
import { Circuits } from "./services/routing/Circuits.ts"
import { Failover } from "./services/routing/Failover.ts"
import { guardedProviders } from "./services/routing/GuardedProviders.ts"
import { RoutePreferences } from "./services/routing/RoutePreferences.ts"
import { Routes } from "./services/routing/Routes.ts"
import { SignIn } from "./services/SignIn.ts"
import { Clawbacks } from "./services/settlement/Clawbacks.ts"
import { OutcomePoller } from "./services/settlement/OutcomePoller.ts"
import { ProviderCallbacks } from "./services/settlement/ProviderCallbacks.ts"
import { Review } from "./services/settlement/Review.ts"
import { RulingFiles } from "./services/settlement/RulingFiles.ts"
import { Settlement } from "./services/settlement/Settlement.ts"
import { UnsettledQueue } from "./services/settlement/UnsettledQueue.ts"
import { FloatAdjustments } from "./services/tenants/FloatAdjustments.ts"
import { TenantKeys } from "./services/tenants/TenantKeys.ts"
import { WebhookDispatcher } from "./services/webhooks/WebhookDispatcher.ts"
import { Webhooks } from "./services/webhooks/Webhooks.ts"

type PortsLayer = ReturnType<typeof Ports.layer>

/** The foundations of the services: the outside world and the ports. A test provides its own. */
interface Foundations<P> {
  readonly providers: Layer.Layer<ProviderRegistry, never, Vault | AccountClaims | ProviderMemory>
  readonly ports: Layer.Layer<
    Exclude<Layer.Success<PortsLayer>, SqlClient.SqlClient | Distribution | EveryTenant> | P,
    Layer.Error<PortsLayer>
  >
  readonly limits: Layer.Layer<RateLimits>
  readonly sender: Layer.Layer<WebhookSender, never, Policy>
}

/** Every service of one gateway; neither listeners nor workers. */
export const servicesOn = <P = never>({ limits, ports, providers, sender }: Foundations<P>) => {
  const counted = Layer.provide(observedProviders, providers)
  const registry = Layer.provideMerge(Layer.provide(guardedProviders, counted), Circuits.layer)
  return Layer.mergeAll(
    Authentication.layer,
    Capabilities.layer,
    LimitUses.layer,
    Payouts.layer,
    PayoutQuotes.layer,
    Reference.layer,
    Collections.layer,
    CodeFlow.layer,
    CodeRequests.layer,
    Exchanges.layer,
    Records.layer,
    FloatWatch.layer,
    BeneficiaryBook.layer,
    ProviderCallbacks.layer,
    Webhooks.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(PayoutDispatch.layer, ChargeGuard.layer, ChargeDispatch.layer, Records.layer)),
    Layer.provideMerge(Layer.mergeAll(PayoutPricing.layer, OutcomePoller.layer, Failover.layer)),
    Layer.provideMerge(Clawbacks.layer),
    Layer.provideMerge(
      Layer.mergeAll(Admission.layer, BankAccounts.layer, PartyScreening.layer, Routes.layer, Velocity.layer, Settlement.layer)
    ),
    Layer.provideMerge(RoutePreferences.layer),
    Layer.provideMerge(WebhookDispatcher.layer),
    Layer.provideMerge(Layer.mergeAll(sender, Envelope.layer, registry, limits)),
    Layer.provideMerge(ports)
  )
}

/** The services that the console's pages need in addition to the gateway's own. */
export const consoleServices = (approvalFrom: ApprovalAmounts) =>
  Approvals.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        ReviewApprovals.layer(approvalFrom),
        ReviewFiles.layer,
        ConfigurationApprovals.layer,
        FloatApprovals.layer,
        KeyApprovals.layer,
        SignIn.layer,
        UnsettledQueue.layer,
        WalletBalances.layer
      )
    ),
    Layer.provideMerge(RulingFiles.layer),
    Layer.provide(Layer.mergeAll(Review.layer, FloatAdjustments.layer, TenantKeys.layer))
  )
