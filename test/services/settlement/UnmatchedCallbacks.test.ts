import { expect, it } from "@effect/vitest"
import { Effect, Metric, Option } from "effect"
import { TestClock } from "effect/testing"
import { Mode, type Reference } from "../../../src/domain/Ids.ts"
import type { CallbackHint } from "../../../src/services/ports/ProviderInbox.ts"
import { namesOurs } from "../../../src/services/settlement/ProviderCallbacks.ts"
import { newReference } from "../../support/WebhookReceiver.ts"
import { callback, ingress, newWorld, payout } from "./ProviderCallbacksFixture.ts"

const given = Effect.gen(function* () {
  const world = newWorld()
  world.unmatchedCallbacks = { count: 1, windowMs: 60_000, burst: 2 }
  const { receive, round } = yield* ingress(world)
  let sent = 0
  const junk = (provider = "eversend") =>
    receive(provider, "route-key", callback({ providerReference: `nobody-${sent++}` })).pipe(
      Effect.catchTag("rate_limited", ({ retry_after_seconds, scope }) => Effect.succeed([scope, retry_after_seconds]))
    )
  const genuine = () =>
    receive("eversend", "route-key", callback({ reference: world.transaction.reference, providerReference: `ours-${sent++}` }))
  const refused = Effect.map(Metric.snapshot, (metrics) =>
    metrics
      .filter(({ id, state }) => id === "gateway_callbacks_unmatched_refused_total" && "count" in state && state.count !== 0)
      .map(({ attributes, state }) => [attributes, state])
  )
  return { world, round, junk, genuine, refused }
})

it.effect(
  "stores no more callbacks that match nothing than their account may send, and every one that matches, and the neighbours'",
  () =>
    Effect.gen(function* () {
      const { genuine, junk, refused, round } = yield* given
      expect(yield* junk()).toBe("stored")
      yield* round
      expect([yield* junk(), yield* junk(), yield* junk()]).toEqual(["stored", "stored", ["server", 60]])
      expect([yield* genuine(), yield* genuine(), yield* genuine()]).toEqual(["stored", "stored", "stored"])
      expect([yield* junk("neighbour"), yield* junk("neighbour"), yield* junk("neighbour")]).toEqual([
        "stored",
        "stored",
        "stored"
      ])
      expect(yield* refused).toEqual([
        [
          { provider: "eversend", mode: "test" },
          { count: 1, incremental: true }
        ]
      ])
      yield* TestClock.adjust("1 minute")
      expect([yield* junk(), yield* junk()]).toEqual(["stored", ["server", 60]])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
)

it.effect("looks none up before it is stored while none has matched nothing, and stores what cannot be looked up", () =>
  Effect.gen(function* () {
    const { genuine, junk, round, world } = yield* given
    yield* genuine()
    expect(world.calls).toEqual(["store"])
    yield* junk()
    yield* round
    yield* junk()
    yield* junk()
    expect(yield* junk()).toEqual(["server", 60])
    world.unread = Effect.die("no connection")
    expect(yield* genuine()).toBe("stored")
    // Long after the last one nobody looks any more.
    yield* TestClock.adjust("11 minutes")
    world.calls.length = 0
    yield* genuine()
    expect(world.calls).toEqual(["store"])
  })
)

it.effect("counts each account by itself, from zero on", () =>
  Effect.gen(function* () {
    const { junk, round } = yield* given
    const zeros = (yield* Metric.snapshot).filter(({ id }) => id === "gateway_callbacks_unmatched_refused_total")
    expect(zeros.map(({ attributes }) => attributes)).toEqual(Mode.literals.map((mode) => ({ provider: "eversend", mode })))
    yield* junk()
    yield* junk("neighbour")
    yield* round
    const sent = (provider: string) => Effect.replicateEffect(junk(provider), 3)
    const bounded = ["stored", "stored", ["server", 60]]
    expect([yield* sent("eversend"), yield* sent("neighbour")]).toEqual([bounded, bounded])
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
)

it.effect("bounds nothing where that is off, and looks none up before it is stored", () =>
  Effect.gen(function* () {
    const world = newWorld()
    world.keepsNone = true
    const { receive, round } = yield* ingress(world)
    yield* receive("eversend", "route-key", callback({ providerReference: "nobody" }))
    yield* round
    world.calls.length = 0
    expect(yield* receive("eversend", "route-key", callback({ reference: newReference() }))).toBe("stored")
    expect(world.calls).toEqual(["store"])
  })
)

const ours = payout()
const foreign = payout({ provider: "mtn" })
it.effect.each<readonly [string, Partial<CallbackHint>, boolean, ReadonlyArray<string>]>([
  ["by our reference", { reference: ours.reference, providerReference: "ever-9" }, true, [ours.reference]],
  ["by our reference, although another account has it now", { reference: foreign.reference }, true, [foreign.reference]],
  ["by the provider's reference alone", { providerReference: "ever-1" }, true, ["ever-1"]],
  [
    "by the provider's reference, beside one that is nobody's",
    { reference: newReference(), providerReference: "ever-1" },
    true,
    [expect.any(String) as never, "ever-1"]
  ],
  ["by none that is ours", { providerReference: "ever-9" }, false, ["ever-9"]],
  ["by none at all", {}, false, []]
])("a callback names a record of ours, which is never closed as junk: %s", ([, hint, isOurs, looked]) =>
  Effect.gen(function* () {
    const lookedUp: Array<string> = []
    const lookups = {
      byReference: (reference: Reference) => {
        lookedUp.push(reference)
        const found = [ours, foreign].find((one) => one.reference === reference)
        return Effect.succeed(Option.map(Option.fromUndefinedOr(found), (transaction) => ({ transaction, revision: 1n })))
      },
      byProviderReference: (_provider: string, _mode: Mode, reference: string) => {
        lookedUp.push(reference)
        return Effect.succeed(reference === "ever-1" ? [{ transaction: ours, revision: 1n }] : [])
      }
    }
    const named = { reference: null, providerReference: null, ...hint }
    const arrived = {
      id: newReference(),
      provider: "eversend",
      mode: "test",
      receivedAt: 0,
      digest: new Uint8Array(),
      hint: named
    } as const
    expect([yield* namesOurs(lookups)(arrived), lookedUp]).toEqual([isOurs, looked])
  })
)
