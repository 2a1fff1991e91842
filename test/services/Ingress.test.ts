import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { AppId, type Reference } from "../../src/domain/Ids.ts"
import { MinorUnits } from "../../src/domain/Money.ts"
import type { Payout } from "../../src/domain/Transaction.ts"
import { Ingress, LOOK_AGES_MS } from "../../src/services/Ingress.ts"
import { Identifiers } from "../../src/services/ports/Identifiers.ts"
import type { Provider, RawCallback } from "../../src/services/ports/Provider.ts"
import { type Callback, type Hint, ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Reconciler } from "../../src/services/Reconciler.ts"
import { newReference } from "./WebhookBench.ts"

const payout = (given: Partial<Payout> = {}): Payout => ({
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
  returned: null,
  ...given
})

/** Believes every callback whose body is the JSON of a hint. */
const providerOf = ({ keys, renew }: World): Provider => ({
  name: "eversend",
  mode: "test",
  promises: { clientReference: "idempotent", lookup: "by_client_ref", webhookAuth: "hmac", quoteTtlMs: 1, notFoundGraceMs: 1 },
  callbacks: {
    verify: ({ body, headers }) =>
      keys.has(headers["signature"] ?? "") ? Option.some(JSON.parse(Buffer.from(body).toString())) : Option.none(),
    ...(renew === undefined ? {} : { renew })
  }
})

const callback = (hint: Partial<Hint>, signature = "right"): RawCallback => ({
  method: "POST",
  path: "/webhooks/eversend/key",
  headers: { signature },
  body: Buffer.from(JSON.stringify({ reference: null, providerReference: null, ...hint }))
})

interface World {
  readonly transaction: Payout
  /** What callbacks may be signed with. */
  readonly keys: Set<string>
  renew?: Effect.Effect<void>
  /** What asking tells. */
  learns: Effect.Effect<boolean>
  readonly asked: Array<Reference>
  readonly done: Array<Reference>
  readonly later: Array<number | null>
  readonly stored: Map<string, Callback>
  readonly due: Array<Callback>
}

const newWorld = (given: Partial<Payout> = {}): World => ({
  transaction: payout(given),
  keys: new Set(["right"]),
  learns: Effect.succeed(true),
  asked: [],
  done: [],
  later: [],
  stored: new Map(),
  due: []
})

const ports = (world: World) => {
  const stored = { transaction: world.transaction, revision: 1n }
  const provider = providerOf(world)
  return Layer.mergeAll(
    Layer.succeed(ProviderRegistry, {
      known: ["eversend"],
      find: () => Option.some(provider),
      byRouteKey: (name, key) => (name === "eversend" && key === "route-key" ? Option.some(provider) : Option.none()),
      routeKey: () => "route-key"
    }),
    Layer.succeed(ProviderInbox, {
      store: (callback) =>
        Effect.sync(() => {
          const key = Buffer.from(callback.digest).toString("hex")
          if (world.stored.has(key)) return false
          world.stored.set(key, callback)
          world.due.push(callback)
          return true
        }),
      claimDue: (_now, limit) => Effect.sync(() => world.due.splice(0, limit)),
      done: (_id, reference) => Effect.sync(() => void world.done.push(reference)),
      later: (_id, at) => Effect.sync(() => void world.later.push(at)),
      list: () => Effect.succeed([]),
      replay: () => Effect.succeed(Option.none())
    }),
    Layer.succeed(Transactions, {
      find: () => Effect.succeed(Option.none()),
      byReference: (reference) =>
        Effect.succeed(reference === stored.transaction.reference ? Option.some(stored) : Option.none()),
      byProviderReference: (_provider, _mode, reference) =>
        Effect.succeed(reference === stored.transaction.providerReference ? Option.some(stored) : Option.none()),
      history: () => Effect.succeed([]),
      claimDue: () => Effect.succeed([]),
      begunBetween: () => Effect.succeed([]),
      inReview: () => Effect.succeed([]),
      lastCall: () => Effect.succeedNone,
      raw: () => Effect.succeed(Option.none()),
      sealedDestination: () => Effect.succeed(Option.none())
    }),
    Layer.succeed(Reconciler, {
      ask: ({ transaction }) =>
        Effect.andThen(
          Effect.sync(() => world.asked.push(transaction.reference)),
          world.learns
        ),
      round: Effect.succeed(0),
      run: Effect.never
    }),
    Layer.succeed(Identifiers, { reference: Effect.sync(newReference), secret: () => Effect.succeed(new Uint8Array(32)) })
  )
}

const ingress = (world: World) => Effect.provide(Ingress, Ingress.layer.pipe(Layer.provide(ports(world))))

describe("Ingress", () => {
  it.effect(
    "answers not_found for a path that is nobody's and unauthorized for a signature that does not verify, and stores neither",
    () =>
      Effect.gen(function* () {
        const world = newWorld()
        const { receive } = yield* ingress(world)
        const hint = { reference: world.transaction.reference }
        expect((yield* Effect.flip(receive("eversend", "guess", callback(hint))))._tag).toBe("not_found")
        expect((yield* Effect.flip(receive("other", "route-key", callback(hint))))._tag).toBe("not_found")
        expect((yield* Effect.flip(receive("eversend", "route-key", callback(hint, "wrong"))))._tag).toBe("unauthorized")
        expect(world.stored.size).toBe(0)
      })
  )

  it.effect("looks at a callback once more after the provider's keys were got anew, and only where it did not verify", () =>
    Effect.gen(function* () {
      const world = newWorld()
      let renewed = 0
      world.renew = Effect.sync(() => {
        renewed += 1
        world.keys.add("new")
      })
      const { receive } = yield* ingress(world)
      const hint = { reference: world.transaction.reference }
      expect(yield* receive("eversend", "route-key", callback(hint))).toBe("stored")
      expect(renewed).toBe(0)
      expect(yield* receive("eversend", "route-key", callback({ providerReference: "ever-1" }, "new"))).toBe("stored")
      expect((yield* Effect.flip(receive("eversend", "route-key", callback(hint, "wrong"))))._tag).toBe("unauthorized")
      expect([renewed, world.stored.size]).toEqual([2, 2])
    })
  )

  it.effect("asks the provider about the transaction that a callback names, and believes nothing else of it", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive, round } = yield* ingress(world)
      expect(yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference }))).toBe("stored")
      expect(yield* round).toBe(1)
      expect(world.asked).toEqual([world.transaction.reference])
      expect(world.done).toEqual([world.transaction.reference])
    })
  )

  it.effect("looks into a callback at once while it runs", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const asked = yield* Deferred.make<boolean>()
      world.learns = Effect.as(Deferred.succeed(asked, true), true)
      const { receive, run } = yield* ingress(world)
      const running = yield* Effect.forkChild(run)
      yield* TestClock.adjust(1)
      yield* receive("eversend", "route-key", callback({ providerReference: "ever-1" }))
      expect(yield* Deferred.await(asked)).toBe(true)
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("answers the same bytes again as stored, and asks once", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive, round } = yield* ingress(world)
      const same = callback({ reference: world.transaction.reference })
      expect(yield* receive("eversend", "route-key", same)).toBe("stored")
      expect(yield* receive("eversend", "route-key", same)).toBe("stored")
      yield* round
      expect(world.asked.length).toBe(1)
    })
  )

  it.effect("does not ask about a transaction of another provider or mode", () =>
    Effect.gen(function* () {
      for (const given of [{ provider: "mtn" }, { mode: "live" }] as const) {
        const world = newWorld(given)
        const { receive, round } = yield* ingress(world)
        yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference, providerReference: "ever-1" }))
        yield* round
        expect(world.asked).toEqual([])
        expect(world.later).toEqual([LOOK_AGES_MS[0]])
      }
    })
  )

  it.effect("looks again ever later when nothing was learnt, also when asking broke, and parks in the end", () =>
    Effect.gen(function* () {
      const world = newWorld()
      const { receive, round } = yield* ingress(world)
      yield* receive("eversend", "route-key", callback({ reference: world.transaction.reference }))
      const [waiting] = world.due
      for (const [turn, age] of [0, ...LOOK_AGES_MS].entries()) {
        yield* TestClock.setTime(age)
        world.learns = turn % 2 === 0 ? Effect.succeed(false) : Effect.die(new Error("broken"))
        yield* round
        if (waiting !== undefined) world.due.push(waiting)
      }
      expect(world.later).toEqual([...LOOK_AGES_MS, null])
      expect(world.done).toEqual([])
    })
  )
})
