import { Effect, Layer } from "effect"
import type { AmountCap } from "../../src/domain/AmountCaps.ts"
import type { Corridor } from "../../src/domain/Corridor.ts"
import type { Tenant } from "../../src/domain/Tenant.ts"
import { servicesOn } from "../../src/Services.ts"
import type { Policy } from "../../src/services/ports/Policy.ts"
import type { RateLimits } from "../../src/services/ports/RateLimits.ts"
import { FLOAT, givenFloat } from "../support/PaymentRequests.ts"
import { fakeFloatLedger, fakePayerLocks } from "./FakeLedger.ts"
import { FakeMemory } from "./FakeMemory.ts"
import { fakePolicy } from "./FakePolicy.ts"
import { fakeNonces, fakeProviderSwitches, fakeRateLimits, fakeSharedLateCalls, unexpectedPorts } from "./FakePorts.ts"
import { type FakeProvider, fakeProvider, fakeProviderRegistry } from "./FakeProvider.ts"
import { fakeQuotes } from "./FakeQuotes.ts"
import {
  corridorTo,
  fakeCorridors,
  fakeDenylist,
  fakeScreening,
  fakeTenants,
  fakeVelocityLimits,
  tenantNamed
} from "./FakeTenants.ts"
import { fakeIdempotency, fakeTransactions } from "./FakeTransactions.ts"
import { fakeRandomSource, fakeVault } from "./FakeVault.ts"
import { fakeWebhookOutbox, fakeWebhookSender } from "./FakeWebhooks.ts"

export interface FakeWorld {
  /** In the order in which every corridor tries them. */
  readonly providers: ReadonlyArray<FakeProvider>
  readonly tenant: Tenant
  /** Of the tenant in live mode, in minor units of UGX. */
  readonly float: bigint
  readonly corridors: ReadonlyArray<Corridor>
  /** Which reads of corridors the database answers too late to be relied on. */
  readonly lateCorridors: "none" | "lists" | "all"
  /** The providers that an operator switched off. */
  readonly switchedOff: ReadonlyArray<string>
  /** Of every tenant, as they are at each look. */
  readonly caps: Effect.Effect<ReadonlyArray<AmountCap>>
  readonly policy: Partial<Policy["Service"]>
  readonly limits: Layer.Layer<RateLimits>
}

/** Every port of a gateway in memory. What no use case of a payment needs is not expected, and fails the test if it is called. */
export const fakePorts = ({
  caps,
  corridors = [],
  lateCorridors = "none",
  policy = {},
  switchedOff = [],
  tenant = tenantNamed("acme")
}: Partial<FakeWorld> = {}) =>
  Layer.mergeAll(fakeFloatLedger, fakePayerLocks, fakeIdempotency).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        fakeTransactions,
        fakeVelocityLimits(caps),
        fakeTenants(tenant),
        fakeCorridors(corridors, lateCorridors),
        fakeScreening(),
        fakeDenylist(),
        fakeQuotes(),
        fakeNonces(),
        fakeProviderSwitches(...switchedOff),
        fakeSharedLateCalls,
        fakeWebhookOutbox(),
        fakeVault,
        fakeRandomSource(),
        fakePolicy(policy),
        unexpectedPorts
      )
    ),
    Layer.provideMerge(FakeMemory.layer)
  )

/**
 * The services of a whole gateway, wired as in production, over fakes: one tenant, "acme", with float, and mobile money in Uganda that
 * goes to the providers. It needs no PostgreSQL and starts in milliseconds; each Layer has a memory of its own.
 */
export const fakeGateway = (world: Partial<FakeWorld> = {}) => {
  const { float = FLOAT, providers = [fakeProvider("fake")], tenant = tenantNamed("acme") } = world
  const names = providers.map(({ name }) => name)
  const corridors = world.corridors ?? [corridorTo(names), corridorTo(names, { direction: "collection", minimum: null })]
  const services = servicesOn({
    providers: fakeProviderRegistry(providers),
    ports: fakePorts({ ...world, corridors, tenant }),
    limits: world.limits ?? fakeRateLimits,
    sender: fakeWebhookSender()
  })
  return Layer.provideMerge(Layer.effectDiscard(Effect.asVoid(givenFloat(tenant.appId, float))), services)
}
