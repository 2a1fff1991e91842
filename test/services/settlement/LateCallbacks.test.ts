import { expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Reported } from "../../../src/domain/CallbackReport.ts"
import { MinorUnits, ZERO } from "../../../src/domain/Money.ts"
import type { Payout } from "../../../src/domain/Payment.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { CALLBACK_RETRY_AGES_MS, STALE_CALLBACK_LOOKS } from "../../../src/services/settlement/ProviderCallbacks.ts"
import { fakeGateway } from "../../fakes/FakeGateway.ts"
import { fakeRecords } from "../../fakes/FakeMemory.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, FLOAT, floatNow } from "../../support/PaymentRequests.ts"
import { callback, ingress, newWorld } from "./ProviderCallbacksFixture.ts"

const heard = { providerReference: "late", note: "" }

it.effect(
  "a callback about a failed charge that the provider still calls pending is processed again until the money is found",
  () => {
    const provider = fakeProvider("alpha", { sending: "refused", status: { _tag: "StillPending", ...heard } })
    return Effect.gen(function* () {
      const { poll } = yield* OutcomePoller
      const look = Effect.flatMap(fakeRecords, ([stored]) =>
        stored === undefined ? Effect.succeed(false) : Effect.map(poll(stored, "callback"), ({ learnt }) => learnt)
      )
      expect(yield* charge("one")).toBe("charge_rejected_by_provider")
      expect(yield* look).toBe(false)
      expect(yield* fakeRecords).toMatchObject([{ transaction: { status: "failed" } }])
      provider.script.status = { _tag: "Succeeded", ...heard, amount: null, currency: null, fee: ZERO }
      expect(yield* look).toBe(true)
      expect(yield* fakeRecords).toMatchObject([{ transaction: { status: "successful", lateSuccess: true } }])
      expect(yield* floatNow).toStrictEqual([FLOAT + 50_000n, 0n])
    }).pipe(Effect.provide(fakeGateway({ providers: [provider] })))
  }
)

it.effect(
  "a prompt that is approved after our expiry is booked by itself, while a second charge of the payer is open (38.15)",
  () => {
    const absent = { _tag: "NotFound", note: "" } as const
    const provider = fakeProvider("alpha", { status: absent })
    const succeeded = (providerReference: string) =>
      ({ _tag: "Succeeded", providerReference, amount: null, currency: null, fee: ZERO, note: "" }) as const
    return Effect.gen(function* () {
      const { poll } = yield* OutcomePoller
      const records = Effect.map(fakeRecords, (all) => all.map(({ transaction }) => transaction.status))
      const look = (at: number, actor: "reconciler" | "callback") =>
        Effect.flatMap(fakeRecords, (all) => {
          const stored = all[at]
          return stored === undefined ? Effect.die("no such record") : poll(stored, actor)
        })
      expect(yield* charge("one")).toBe("pending")
      yield* TestClock.adjust("16 minutes")
      yield* look(0, "reconciler")
      expect(yield* records).toEqual(["expired"])
      expect(yield* charge("two")).toBe("pending")
      provider.script.status = succeeded("first")
      yield* look(0, "callback")
      expect(yield* records).toEqual(["successful", "pending"])
      expect(yield* floatNow).toStrictEqual([FLOAT + 50_000n, 0n])
      // Who paid twice is seen by the tenant, and may be sent back the one; a third click is held against the payment that was found late.
      expect(yield* charge("three")).toBe("duplicate_charge_in_flight")
      provider.script.status = succeeded("second")
      yield* look(1, "callback")
      expect(yield* records).toEqual(["successful", "successful"])
      expect(yield* floatNow).toStrictEqual([FLOAT + 100_000n, 0n])
    }).pipe(Effect.provide(fakeGateway({ providers: [provider] })))
  }
)

const paid = { status: "successful", completedAt: 0 } as const
const failed = { status: "failed", completedAt: 0 } as const

/** A callback about a closed record, looked into whenever it is due, until it ends; the ages of its looks. */
const looked = Effect.fnUntraced(function* (
  world: ReturnType<typeof newWorld>,
  says: Reported | undefined,
  turn: (look: number) => void = () => {}
) {
  const { receive, round } = yield* ingress(world)
  yield* receive(
    "eversend",
    "route-key",
    callback({ reference: world.transaction.reference, ...(says === undefined ? {} : { says }) })
  )
  const ages: Array<number> = []
  for (let look = 0; look <= CALLBACK_RETRY_AGES_MS.length; look++) {
    turn(look)
    ages.push(yield* Clock.currentTimeMillis)
    yield* round
    world.due.push(...world.waiting.splice(0))
    const next = world.later[look] ?? null
    if (next === null) break
    yield* TestClock.setTime(next)
  }
  return { ages, end: world.done.length > 0 ? "done" : world.later.at(-1) === null ? "parked" : "due" }
})

it.effect.each<readonly [string, Partial<Payout>, Reported, Partial<Payout>]>([
  ["paid of what failed here", failed, "successful", { ...paid, version: 2 }],
  ["failed of what was paid here", paid, "failed", { ...paid, needsReview: true, version: 2 }],
  [
    "returned of what was paid here",
    paid,
    "returned",
    { ...paid, version: 2, returned: { amount: MinorUnits.make(5000n), at: 0, reason: "" } }
  ],
  ["paid of what is open here", {}, "successful", { ...paid, version: 2 }]
])(
  "a callback that says %s, while the provider's answer does not, is looked into again until the answer does",
  ([, record, says, after]) =>
    Effect.gen(function* () {
      const world = newWorld(record)
      const { ages, end } = yield* looked(world, says, (look) => {
        if (look === 6) world.transaction = { ...world.transaction, ...after }
      })
      expect([end, ages.length]).toStrictEqual(["done", 7])
      expect(world.heard[0]).toStrictEqual([says])
    })
)

it.effect("a callback that contradicts the record to the end is a person's, and never ends silently", () =>
  Effect.gen(function* () {
    const { ages, end } = yield* looked(newWorld(failed), "successful")
    expect([end, ages]).toStrictEqual(["parked", [0, ...CALLBACK_RETRY_AGES_MS]])
  })
)

it.effect("a callback that contradicts a record that a person has already is done", () =>
  Effect.map(looked(newWorld({ ...failed, needsReview: true }), "successful"), ({ ages, end }) =>
    expect([end, ages]).toStrictEqual(["done", [0]])
  )
)

it.effect.each<readonly [string, Partial<Payout>, Reported | undefined, string, ReadonlyArray<number>]>([
  ["successful", {}, "successful", "parked", [0, ...CALLBACK_RETRY_AGES_MS]],
  ["successful", failed, "successful", "parked", [0, ...CALLBACK_RETRY_AGES_MS]],
  ["pending", {}, "pending", "done", [0]],
  ["nothing", {}, undefined, "done", [0]]
])(
  "one that anybody may have sent is not done because a person has the record, where the history does not say that it came: %s",
  ([, record, says, end, ages]) =>
    Effect.gen(function* () {
      const world = { ...newWorld({ ...record, needsReview: true }), callbackAuth: "none" as const }
      expect(yield* looked(world, says)).toStrictEqual({ ages, end })
    })
)

it.effect.each([undefined, "pending"] as const)(
  "a callback that names no outcome of a closed record (%s), and that brings nothing new, gets the early looks, and is done after them",
  (says) =>
    Effect.map(looked(newWorld(paid), says), ({ ages, end }) =>
      expect([end, ages]).toStrictEqual(["done", [0, ...CALLBACK_RETRY_AGES_MS.slice(0, STALE_CALLBACK_LOOKS)]])
    )
)

it.effect("a callback that says what a closed record says is done with its first look", () =>
  Effect.map(looked(newWorld(paid), "successful"), ({ ages, end }) => expect([end, ages]).toStrictEqual(["done", [0]]))
)

it.effect("what anybody can say who knows the address is looked into, and not told to the person who rules", () =>
  Effect.gen(function* () {
    const world = { ...newWorld(failed), callbackAuth: "none" as const }
    expect((yield* looked(world, "successful")).end).toBe("parked")
    expect(world.heard[0]).toStrictEqual([])
  })
)
