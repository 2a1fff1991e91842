import { Effect, Layer, Option } from "effect"
import { AppId, type Reference } from "../../../src/domain/Ids.ts"
import { MinorUnits } from "../../../src/domain/Money.ts"
import type { Payout } from "../../../src/domain/Payment.ts"
import { RateLimitsMemory } from "../../../src/persistence/requests/RateLimitsMemory.ts"
import type { Provider, RawCallback } from "../../../src/services/ports/Provider.ts"
import type { Callback, CallbackHint, Tries } from "../../../src/services/ports/ProviderInbox.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import type { RateLimit } from "../../../src/services/ports/RateLimits.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { ProviderCallbacks } from "../../../src/services/settlement/ProviderCallbacks.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakePolicy, policy } from "../../fakes/FakePolicy.ts"
import { fakePeriodCounts, fakeProviderInbox } from "../../fakes/FakePorts.ts"
import { fakeRandomSource } from "../../fakes/FakeVault.ts"
import { newReference } from "../../support/WebhookReceiver.ts"

export const payout = (given: Partial<Payout> = {}): Payout => ({
  kind: "payout",
  status: "pending",
  reference: newReference(),
  appId: AppId.make("acme"),
  mode: "test",
  provider: "eversend",
  providerReference: "ever-1",
  needsReview: false,
  amount: MinorUnits.make(5000n),
  amountCurrency: "UGX",
  currency: "UGX",
  fees: null,
  corridor: { country: "UG", currency: "UGX", direction: "payout", method: "momo" },
  network: "MTN",
  narration: null,
  metadata: "{}",
  version: 1,
  failure: null,
  createdAt: 0,
  updatedAt: 0,
  completedAt: null,
  expiresAt: null,
  asked: 0,
  notFound: 0,
  principal: MinorUnits.make(5000n),
  heldFee: MinorUnits.make(100n),
  destinationAmount: MinorUnits.make(5000n),
  destinationCurrency: "UGX",
  amountType: null,
  deductFeeFromAmount: false,
  maskedDestination: "••••1234",
  holder: null,
  returned: null,
  ...given
})

/** Believes every callback whose body is the JSON of a hint. */
const providerOf = (world: World): Provider => ({
  name: "eversend",
  mode: "test",
  fingerprints: () => ["one"],
  guarantees: {
    clientReference: "idempotent",
    lookup: "by_client_ref",
    callbackAuth: world.callbackAuth,
    quoteTtlMs: 1,
    notFoundGraceMs: 1
  },
  callbacks: {
    verify: ({ body, headers }) =>
      world.keys.has(headers["signature"] ?? "") ? Option.some(JSON.parse(Buffer.from(body).toString())) : Option.none(),
    ...(world.keepsNone !== true && { keep: () => Effect.sync(() => void world.kept.push(world.stored.size)) }),
    ...(world.refreshKeys === undefined ? {} : { refreshKeys: world.refreshKeys })
  }
})

export const callback = (hint: Partial<CallbackHint>, signature = "right"): RawCallback => ({
  method: "POST",
  path: "/webhooks/eversend/key",
  headers: { signature },
  body: Buffer.from(JSON.stringify({ reference: null, providerReference: null, ...hint }))
})

interface World {
  transaction: Payout
  /** Others that have the same reference of the provider, newer than that one. */
  sharing: ReadonlyArray<Payout>
  /** What callbacks may be signed with. */
  readonly keys: Set<string>
  refreshKeys?: Effect.Effect<void>
  /** Its adapter keeps nothing of callbacks. */
  keepsNone?: true
  /** The pace turns the question away. */
  turnedAway?: true
  /** What the answer changes of the record. */
  moved?: Partial<Payout>
  /** What asking tells. */
  learns: Effect.Effect<boolean>
  /** What callbacks are said to say to whoever asks. */
  readonly heard: Array<ReadonlyArray<string>>
  readonly asked: Array<Reference>
  /** Who is said to have brought the news. */
  readonly actors: Array<string>
  /** Of the record, and of what was polled about. */
  revision: bigint
  readonly revisions: Array<bigint>
  readonly done: Array<Reference>
  readonly later: Array<number | null>
  /** What the provider's guarantees say of its callbacks. */
  callbackAuth: Provider["guarantees"]["callbackAuth"]
  /** What is to be looked into later, until the test has it due. */
  readonly waiting: Array<Callback & Tries>
  readonly stored: Map<string, Callback>
  /** How many were stored when its provider's adapter kept one. */
  readonly kept: Array<number>
  /** How many that match nothing may be stored. */
  unmatchedCallbacks?: RateLimit
  /** When each that was stored is due. */
  readonly dueAts: Array<number>
  readonly due: Array<Callback & Tries>
  /** What the database says about a reference that is asked for, if it cannot say. */
  unread?: Effect.Effect<never>
  /** What it says to what is to be kept of a look, if it cannot keep it. */
  unkept?: Effect.Effect<never>
  /** What the database was asked, in order. */
  readonly calls: Array<string>
  /** For how long callbacks were taken. */
  readonly leases: Array<number>
  /** What each callback was counted as. */
  readonly arrivals: Array<string>
  /** The texts that are kept of callbacks. */
  readonly bodies: Array<string | undefined>
  providerTimeoutMs: number
}

export const newWorld = (given: Partial<Payout> = {}): World => ({
  transaction: payout(given),
  sharing: [],
  keys: new Set(["right"]),
  learns: Effect.succeed(true),
  asked: [],
  heard: [],
  callbackAuth: "hmac",
  actors: [],
  revision: 1n,
  revisions: [],
  done: [],
  later: [],
  waiting: [],
  stored: new Map(),
  kept: [],
  dueAts: [],
  due: [],
  calls: [],
  leases: [],
  arrivals: [],
  bodies: [],
  providerTimeoutMs: policy.providerTimeoutMs
})

const ports = (world: World) => {
  const stored = () => ({ transaction: world.transaction, revision: world.revision })
  const provider = providerOf(world)
  return Layer.mergeAll(
    Layer.succeed(ProviderRegistry, {
      known: ["eversend"],
      find: () => Option.some(provider),
      accounts: () => [provider],
      claimed: () => [],
      byRouteKey: (name, key) =>
        ["eversend", "neighbour"].includes(name) && ["route-key", "key-before"].includes(key)
          ? Option.some({ ...provider, name })
          : Option.none(),
      routeKey: () => "route-key",
      keptRouteKeys: () => ["key-before"]
    }),
    fakePeriodCounts({ add: ({ outcome }) => Effect.sync(() => void world.arrivals.push(outcome)) }),
    fakeProviderInbox({
      store: (callback, dueAt, body) =>
        Effect.sync(() => {
          world.bodies.push(body)
          world.calls.push("store")
          const key = Buffer.from(callback.digest).toString("hex")
          if (world.stored.has(key)) return false
          world.stored.set(key, callback)
          world.dueAts.push(dueAt)
          if (dueAt === callback.receivedAt) world.due.push({ ...callback, looks: 0, claims: 0 })
          return true
        }),
      claimDue: (now, limit, leaseMs) =>
        Effect.sync(() => {
          world.calls.push("claim")
          world.leases.push(leaseMs)
          return world.due
            .splice(0, limit)
            .map(({ claims, ...callback }) => ({ ...callback, claims: claims + 1, leasedUntil: now + leaseMs }))
        }),
      markProcessed: (_callback, reference) => Effect.sync(() => void world.done.push(reference)),
      retryAt: (callback, { at, ...tries }) =>
        Effect.suspend(() => {
          if (world.unkept !== undefined) return world.unkept
          world.later.push(at)
          world.waiting.push({ ...callback, ...tries })
          return Effect.void
        })
    }),
    fake(Transactions, {
      byReference: (reference) =>
        Effect.suspend(() => {
          world.calls.push("find")
          if (world.unread !== undefined) return world.unread
          return Effect.succeed(reference === world.transaction.reference ? Option.some(stored()) : Option.none())
        }),
      byProviderReference: (_provider, _mode, reference) =>
        Effect.sync(() => {
          const others = world.sharing.map((transaction) => ({ transaction, revision: 1n }))
          return reference === world.transaction.providerReference ? [stored(), ...others] : []
        })
    }),
    fake(OutcomePoller, {
      poll: ({ revision, transaction }, actor, said = []) =>
        Effect.andThen(
          Effect.sync(() => {
            world.actors.push(actor)
            world.asked.push(transaction.reference)
            world.revisions.push(revision)
            world.heard.push(said)
          }),
          Effect.map(world.learns, (learnt) => ({
            learnt,
            record: { ...transaction, ...world.moved } as Payout,
            ...(world.turnedAway && ({ turnedAway: true } as const))
          }))
        )
    }),
    fakePolicy({ providerTimeoutMs: world.providerTimeoutMs, unmatchedCallbacks: world.unmatchedCallbacks ?? "off" }),
    RateLimitsMemory,
    fakeRandomSource()
  )
}

export const ingress = (world: World) =>
  Effect.provide(ProviderCallbacks, ProviderCallbacks.layer.pipe(Layer.provide(ports(world))))
