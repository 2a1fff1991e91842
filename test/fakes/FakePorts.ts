import { Effect, Layer } from "effect"
import { AccountClaims } from "../../src/services/ports/AccountClaims.ts"
import { AccountSweeps } from "../../src/services/ports/AccountSweeps.ts"
import { Acknowledgements } from "../../src/services/ports/Acknowledgements.ts"
import { AuditLog } from "../../src/services/ports/AuditLog.ts"
import { Beneficiaries } from "../../src/services/ports/Beneficiaries.ts"
import { ClockWatch } from "../../src/services/ports/ClockWatch.ts"
import { Codes } from "../../src/services/ports/Codes.ts"
import { ConsoleSessions } from "../../src/services/ports/ConsoleSessions.ts"
import { CorridorDoubts } from "../../src/services/ports/CorridorDoubts.ts"
import { FloatAlerts } from "../../src/services/ports/FloatAlerts.ts"
import { FloatEntries } from "../../src/services/ports/FloatEntries.ts"
import { GatewayStatus } from "../../src/services/ports/GatewayStatus.ts"
import { LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import { MasterKeyRotation } from "../../src/services/ports/MasterKeyRotation.ts"
import { Nonces } from "../../src/services/ports/Nonces.ts"
import { Operators } from "../../src/services/ports/Operators.ts"
import { Partitions } from "../../src/services/ports/Partitions.ts"
import { PartyHashRetention } from "../../src/services/ports/PartyHashRetention.ts"
import { PeriodCounts } from "../../src/services/ports/PeriodCounts.ts"
import { Proposals } from "../../src/services/ports/Proposals.ts"
import { ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { ProviderMemory } from "../../src/services/ports/ProviderMemory.ts"
import { ProviderSwitches } from "../../src/services/ports/ProviderSwitches.ts"
import { RateLimits } from "../../src/services/ports/RateLimits.ts"
import { Reconciliations } from "../../src/services/ports/Reconciliations.ts"
import { RouteCounts } from "../../src/services/ports/RouteCounts.ts"
import { RouteOrders } from "../../src/services/ports/RouteOrders.ts"
import { SharedLateCalls } from "../../src/services/ports/SharedLateCalls.ts"
import { TenantActivity } from "../../src/services/ports/TenantActivity.ts"
import { TenantChanges } from "../../src/services/ports/TenantChanges.ts"
import { UnsettledWork } from "../../src/services/ports/UnsettledWork.ts"
import { WebhookDeliveries } from "../../src/services/ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { type Expected, fake } from "./Fake.ts"

// Ports that no use case of a payment needs a memory for. Each expects nothing but what the test says.

/** Acknowledgements: what operators look after. */
export const fakeAcknowledgements = (expected: Expected<Acknowledgements["Service"]> = {}) => fake(Acknowledgements, expected)

/** AccountClaims: the first claim stands, and all that come after it are answered with it. */
export const fakeAccountClaims = () =>
  Layer.sync(AccountClaims, () => {
    const kept = new Map<string, ReadonlyArray<string>>()
    return AccountClaims.of({
      claim: (provider, mode, fingerprints) =>
        Effect.sync(() => {
          const first = kept.get(`${provider} ${mode}`) ?? fingerprints
          kept.set(`${provider} ${mode}`, first)
          return first
        })
    })
  })

/** AuditLog: what operators did. The other fakes write no audit rows. */
export const fakeAuditLog = (expected: Expected<AuditLog["Service"]> = {}) => fake(AuditLog, expected)

/** Beneficiaries: the recipients that tenants have paid. The fake ledger saves none. */
export const fakeBeneficiaries = (expected: Expected<Beneficiaries["Service"]> = {}) => fake(Beneficiaries, expected)

/** ClockWatch: whether old rows may be removed. */
export const fakeClockWatch = (expected: Expected<ClockWatch["Service"]> = {}) => fake(ClockWatch, expected)

/** Codes of payers, for collections whose corridor demands one. */
export const fakeCodes = (expected: Expected<Codes["Service"]> = {}) => fake(Codes, expected)

/** CorridorDoubts: whether providers are able to serve corridors, by the settings. */
export const fakeCorridorDoubts = (expected: Expected<CorridorDoubts["Service"]> = {}) => fake(CorridorDoubts, expected)

/** SharedLateCalls of a gateway that runs alone. */
export const fakeSharedLateCalls = Layer.succeed(SharedLateCalls, { exchange: () => Effect.succeed([]) })

/** UnsettledWork: what is unknown or overdue. */
export const fakeUnsettledWork = (expected: Expected<UnsettledWork["Service"]> = {}) => fake(UnsettledWork, expected)

/** FloatAlerts that no test of a service needs. */
export const fakeFloatAlerts = (expected: Expected<FloatAlerts["Service"]> = {}) => fake(FloatAlerts, expected)

/** FloatEntries: what moved a float, for operators. */
export const fakeFloatEntries = (expected: Expected<FloatEntries["Service"]> = {}) => fake(FloatEntries, expected)

/** MasterKeyRotation: a new master key. */
export const fakeMasterKeyRotation = (expected: Expected<MasterKeyRotation["Service"]> = {}) => fake(MasterKeyRotation, expected)

/** LedgerVerification: recomputes the ledger in SQL, so that only the real one proves anything. */
export const fakeLedgerVerification = (expected: Expected<LedgerVerification["Service"]> = {}) =>
  fake(LedgerVerification, expected)

/** Partitions of the tables that grow for ever. */
export const fakePartitions = (expected: Expected<Partitions["Service"]> = {}) => fake(Partitions, expected)

/** PartyHashRetention: removing the hashes of phone numbers. */
export const fakePartyHashRetention = (expected: Expected<PartyHashRetention["Service"]> = {}) =>
  fake(PartyHashRetention, expected)

/** PeriodCounts: what ended and what came, which is counted and forgotten here. */
export const fakePeriodCounts = (expected: Expected<PeriodCounts["Service"]> = {}) =>
  fake(PeriodCounts, { add: () => Effect.void, ...expected })

/** RouteCounts: what became of payments at their providers, which is counted and forgotten here. */
export const fakeRouteCounts = (expected: Expected<RouteCounts["Service"]> = {}) =>
  fake(RouteCounts, { add: () => Effect.void, ...expected })

/** RouteOrders: the orders of providers by their success. */
export const fakeRouteOrders = (expected: Expected<RouteOrders["Service"]> = {}) => fake(RouteOrders, expected)

/** ProviderInbox: callbacks of providers, stored before they are answered. */
export const fakeProviderInbox = (expected: Expected<ProviderInbox["Service"]> = {}) => fake(ProviderInbox, expected)

/** ProviderMemory: what the adapters of all nodes share. */
export const fakeProviderMemory = (expected: Expected<ProviderMemory["Service"]> = {}) => fake(ProviderMemory, expected)

/** ProviderSwitches of providers that are off; those of all others were never set. */
export const fakeProviderSwitches = (...off: ReadonlyArray<string>) =>
  fake(ProviderSwitches, {
    list: Effect.succeed(off.map((provider) => ({ provider, isOff: true, reason: "it paid twice", changedAt: 0 })))
  })

/** GatewayStatus: the numbers behind metrics and `gateway status`. */
export const fakeGatewayStatus = (expected: Expected<GatewayStatus["Service"]> = {}) => fake(GatewayStatus, expected)

/** Reconciliations: what comparisons with providers found. */
export const fakeReconciliations = (expected: Expected<Reconciliations["Service"]> = {}) => fake(Reconciliations, expected)

/** TenantActivity: what tenants did lately. */
export const fakeTenantActivity = (expected: Expected<TenantActivity["Service"]> = {}) => fake(TenantActivity, expected)

/** TenantChanges: what tenants changed themselves. */
export const fakeTenantChanges = (expected: Expected<TenantChanges["Service"]> = {}) => fake(TenantChanges, expected)

/** WebhookDeliveries: reading and repeating deliveries. For sending them, see `fakeWebhookOutbox`. */
export const fakeWebhookDeliveries = (expected: Expected<WebhookDeliveries["Service"]> = {}) => fake(WebhookDeliveries, expected)

/** WebhookEndpoints: where tenants want their events. */
export const fakeWebhookEndpoints = (expected: Expected<WebhookEndpoints["Service"]> = {}) => fake(WebhookEndpoints, expected)

/** Operators: the people of the console. */
export const fakeOperators = (expected: Expected<Operators["Service"]> = {}) => fake(Operators, expected)

/** ConsoleSessions: who is logged in to the console. */
export const fakeConsoleSessions = (expected: Expected<ConsoleSessions["Service"]> = {}) => fake(ConsoleSessions, expected)

/** Proposals: what waits for a second person of the console. */
export const fakeProposals = (expected: Expected<Proposals["Service"]> = {}) => fake(Proposals, expected)

/** Nonces in memory: each is spent once. With `spends: false` each may be spent again. */
export const fakeNonces = ({ spends = true } = {}) => {
  const spent = new Set<string>()
  return fake(Nonces, {
    spend: ({ caller: { keyId }, nonce }) =>
      Effect.sync(() => {
        const isNew = !spent.has(`${keyId} ${nonce}`)
        spent.add(`${keyId} ${nonce}`)
        return isNew || !spends
      })
  })
}

/** RateLimits that limit nothing. */
export const fakeRateLimits = fake(RateLimits, {
  take: () => Effect.succeed({ _tag: "Allowed" }),
  giveBack: () => Effect.void,
  reserve: () => Effect.succeed({ _tag: "Reserved", waitMs: 0 }),
  close: () => Effect.void
})

/** AccountSweeps that expects no call but those given. */
export const fakeAccountSweeps = (expected: Expected<AccountSweeps["Service"]> = {}) => fake(AccountSweeps, expected)

/** The ports that expect nothing, together. */
export const unexpectedPorts = Layer.mergeAll(
  fakeAccountClaims(),
  fakeAccountSweeps(),
  fakeAuditLog(),
  fakeBeneficiaries(),
  fakeClockWatch(),
  fakeCodes(),
  fakeCorridorDoubts(),
  fakeFloatAlerts(),
  fakeFloatEntries(),
  fakeConsoleSessions(),
  fakeOperators(),
  fakeProposals(),
  fakeMasterKeyRotation(),
  fakeLedgerVerification(),
  fakePartitions(),
  fakePartyHashRetention(),
  fakePeriodCounts(),
  fakeProviderInbox(),
  fakeProviderMemory(),
  fakeRouteCounts(),
  fakeRouteOrders(),
  fakeAcknowledgements(),
  fakeGatewayStatus(),
  fakeReconciliations(),
  fakeTenantActivity(),
  fakeTenantChanges(),
  fakeUnsettledWork(),
  fakeWebhookDeliveries(),
  fakeWebhookEndpoints()
)
