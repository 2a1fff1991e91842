import { describe, expect, it } from "@effect/vitest"
import { type Context, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { AppId, type Mode } from "../../../src/domain/Ids.ts"
import { ActingTenant, asWait } from "../../../src/runtime/CallTurn.ts"
import { type LateCalls, SharedLateCalls } from "../../../src/services/ports/SharedLateCalls.ts"
import type { CallVerdict } from "../../../src/services/routing/CircuitStates.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { fakePolicy, policy } from "../../fakes/FakePolicy.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"

const TIMEOUT_MS = policy.providerTimeoutMs
const { failures: OPENS } = policy.circuit
const tenants = [AppId.make("one"), AppId.make("two"), AppId.make("three")]

/** Nodes that tell each other what is late, as through the database. */
const givenNodes = (count: number) => {
  const said = new Map<number, ReadonlyArray<LateCalls>>()
  return Effect.forEach(Array.from({ length: count }), (_, node) => {
    const shared = Layer.succeed(SharedLateCalls, {
      exchange: (mine) =>
        Effect.sync(() => {
          said.set(node, mine)
          const sums = new Map<string, LateCalls>()
          for (const one of [...said].flatMap(([other, late]) => (other === node ? [] : late))) {
            const name = `${one.line} ${one.tenant}`
            sums.set(name, { ...one, calls: one.calls + (sums.get(name)?.calls ?? 0) })
          }
          return [...sums.values()]
        })
    })
    const lastSaid = () => said.get(node)
    return Effect.map(Layer.build(Layer.provide(Circuits.layer, [fakePolicy(), shared])), (context) => ({ context, lastSaid }))
  })
}

/** A provider that takes every call and answers after `takes`, or not before the time limit; `received` is what it may have executed. */
const givenProvider = (takes: () => number) => {
  const provider = { received: 0, unknown: 0 }
  const call = Effect.suspend(() => {
    provider.received += 1
    const ms = takes()
    const how: CallVerdict = ms < TIMEOUT_MS ? "answered" : "failed"
    return Effect.as(Effect.sleep(Math.min(ms, TIMEOUT_MS)), how)
  }).pipe(
    Effect.tap((how) =>
      Effect.sync(() => {
        if (how === "failed") provider.unknown += 1
      })
    )
  )
  return { provider, call }
}

const heldBack: CallVerdict = "unreachable"
const send = (call: Effect.Effect<CallVerdict>, at: { readonly tenant?: AppId; readonly mode?: Mode } = {}) =>
  Effect.flatMap(Circuits, (circuits) =>
    circuits.through(
      { provider: "acme-pay", mode: at.mode ?? "live", operation: "send" },
      { call, verdict: (exit) => (Exit.isSuccess(exit) ? exit.value : "failed"), instead: Effect.succeed(heldBack) }
    )
  ).pipe(Effect.provideService(ActingTenant, at.tenant ?? null))

const isOpen = (mode: Mode = "live", tenant: AppId | null = null) =>
  Effect.flatMap(Circuits, (circuits) => circuits.isOpen({ provider: "acme-pay", mode, operation: "send" })).pipe(
    Effect.provideService(ActingTenant, tenant)
  )

/** A steady stream of payouts, so many a second, each of another tenant and by another node in turn, for `seconds`. */
const stream = Effect.fnUntraced(function* (
  nodes: ReadonlyArray<{ readonly context: Context.Context<Circuits> }>,
  call: Effect.Effect<CallVerdict>,
  { aSecond, seconds }: { readonly aSecond: number; readonly seconds: number }
) {
  for (let sent = 0; sent < aSecond * seconds; sent++) {
    const node = nodes[sent % nodes.length]
    const tenant = tenants[sent % tenants.length]
    if (node === undefined || tenant === undefined) return
    yield* Effect.forkChild(Effect.provideContext(send(call, { tenant }), node.context), { startImmediately: true })
    yield* TestClock.adjust(1000 / aSecond)
  }
})

/** Time for what is under way to end. */
const allEnd = TestClock.adjust(2 * TIMEOUT_MS)

describe("a provider that stops answering", () => {
  it.effect.each([1, 2, 4])(
    "has 200 payouts of unknown outcome at most, at 100 a second for a minute over %i nodes, that answered in 300 ms before",
    (count) =>
      Effect.gen(function* () {
        let isSilent = false
        const { call, provider } = givenProvider(() => (isSilent ? Number.POSITIVE_INFINITY : 300))
        const nodes = yield* givenNodes(count)
        yield* stream(nodes, call, { aSecond: 100, seconds: 10 })
        expect(provider).toStrictEqual({ received: 1_000, unknown: 0 })
        isSilent = true
        yield* stream(nodes, call, { aSecond: 100, seconds: 60 })
        yield* allEnd
        // Those on their way when it stopped, those of the first second, and the trials.
        expect(provider.unknown).toBeGreaterThan(100)
        expect(provider.unknown).toBeLessThanOrEqual(200)
      }).pipe(Effect.scoped)
  )

  it.effect("is noticed after its usual time by the calls in flight, before one of them has failed, and the log says why", () =>
    Effect.gen(function* () {
      const { layer, lines } = givenTelemetry()
      yield* Effect.gen(function* () {
        const [node] = yield* givenNodes(1)
        const { call, provider } = givenProvider(() => (provider.received > 100 ? Number.POSITIVE_INFINITY : 300))
        yield* Effect.gen(function* () {
          yield* stream([node ?? expect.fail()], call, { aSecond: 100, seconds: 1 })
          yield* TestClock.adjust("1 second")
          yield* stream([node ?? expect.fail()], call, { aSecond: 20, seconds: 1 })
          expect(yield* isOpen()).toBe(false)
          yield* TestClock.adjust("1 second")
          expect(yield* isOpen()).toBe(true)
          expect(provider.unknown).toBe(0)
          const standing = yield* Effect.flatMap(Circuits, (circuits) =>
            circuits.standing({ provider: "acme-pay", mode: "live", operation: "send" })
          )
          expect(standing).toStrictEqual({ all: true, tenants: [], isSilent: true })
        }).pipe(Effect.provideContext((node ?? expect.fail()).context))
      }).pipe(Effect.provide(layer))
      expect(lines.filter(([, text]) => text.startsWith("a circuit"))).toStrictEqual([
        [
          "Warn",
          "a circuit opened: calls in flight are not answered in their usual time, and no further one begins",
          { provider: "acme-pay", mode: "live", operation: "send" }
        ]
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("goes on having the calls that are in flight, whose answers count", () =>
    Effect.gen(function* () {
      const [node] = yield* givenNodes(1)
      const { call, provider } = givenProvider(() => 300)
      const slow = givenProvider(() => 12_000)
      yield* Effect.gen(function* () {
        yield* stream([node ?? expect.fail()], call, { aSecond: 50, seconds: 1 })
        yield* TestClock.adjust("1 second")
        const sent = yield* Effect.forEach(Array.from({ length: OPENS }), (_, at) =>
          Effect.forkChild(send(slow.call, at % 2 === 0 ? {} : { tenant: AppId.make(`t${at}`) }), { startImmediately: true })
        )
        yield* TestClock.adjust("1500 millis")
        expect(yield* isOpen()).toBe(true)
        yield* TestClock.adjust("11 seconds")
        expect(yield* Effect.forEach(sent, Fiber.join)).toStrictEqual(Array(OPENS).fill("answered"))
        expect(provider.unknown + slow.provider.unknown).toBe(0)
        // Half of them are enough: no trial was needed.
        expect(yield* isOpen()).toBe(false)
      }).pipe(Effect.provideContext((node ?? expect.fail()).context))
    }).pipe(Effect.scoped)
  )

  it.effect("in one mode stops the calls of no other mode", () =>
    Effect.gen(function* () {
      const [node] = yield* givenNodes(1)
      const { call } = givenProvider(() => Number.POSITIVE_INFINITY)
      yield* Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: OPENS }), () =>
          Effect.forkChild(send(call, { mode: "test" }), { startImmediately: true })
        )
        yield* TestClock.adjust("10 seconds")
        expect([yield* isOpen("test"), yield* isOpen("live")]).toStrictEqual([true, false])
      }).pipe(Effect.provideContext((node ?? expect.fail()).context))
    }).pipe(Effect.scoped)
  )

  it.effect("for one tenant's recipients alone is left alone by that tenant, and not by the others", () =>
    Effect.gen(function* () {
      const [node] = yield* givenNodes(1)
      const [one, two] = tenants
      const { call } = givenProvider(() => Number.POSITIVE_INFINITY)
      yield* Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: 3 * OPENS }), () =>
          Effect.forkChild(send(call, { tenant: one ?? expect.fail() }), { startImmediately: true })
        )
        yield* TestClock.adjust("10 seconds")
        expect([yield* isOpen("live", one), yield* isOpen("live", two)]).toStrictEqual([true, false])
      }).pipe(Effect.provideContext((node ?? expect.fail()).context))
    }).pipe(Effect.scoped)
  )

  it.effect("is noticed by nodes together where each alone has too few calls to tell", () =>
    Effect.gen(function* () {
      const nodes = yield* givenNodes(4)
      const { call } = givenProvider(() => Number.POSITIVE_INFINITY)
      const open = Effect.forEach(nodes, ({ context }) => Effect.provideContext(isOpen(), context))
      for (const [at, { context }] of nodes.entries())
        yield* Effect.forEach(Array.from({ length: OPENS / 4 }), () =>
          Effect.forkChild(Effect.provideContext(send(call, { tenant: tenants[at % 3] ?? expect.fail() }), context), {
            startImmediately: true
          })
        )
      yield* TestClock.adjust("9 seconds")
      expect(yield* open).toStrictEqual([false, false, false, false])
      // Before the first of them has been open for a second: it then lets a trial call through.
      yield* TestClock.adjust("1500 millis")
      expect(yield* open).toStrictEqual([true, true, true, true])
    }).pipe(Effect.scoped)
  )

  it.effect("is told of by the node that noticed, in numbers of its tenants, and no more once that node is quiet", () =>
    Effect.gen(function* () {
      const [node] = yield* givenNodes(1)
      const { context, lastSaid } = node ?? expect.fail()
      const { call } = givenProvider(() => Number.POSITIVE_INFINITY)
      yield* Effect.gen(function* () {
        yield* Effect.forEach(Array.from({ length: OPENS }), (_, at) =>
          Effect.forkChild(send(call, { tenant: tenants[at % 2] ?? expect.fail() }), { startImmediately: true })
        )
        yield* TestClock.adjust(TIMEOUT_MS * (2 / 3) + 500)
        expect(yield* isOpen()).toBe(true)
        const half = (tenant: AppId | undefined) => ({ line: "acme-pay:live:send", tenant, calls: OPENS / 2 })
        expect(lastSaid()).toStrictEqual([half(tenants[0]), half(tenants[1])])
        yield* allEnd
        expect(lastSaid()).toStrictEqual([])
      }).pipe(Effect.provideContext(context))
    }).pipe(Effect.scoped)
  )
})

describe("a provider that is slow, and answers", () => {
  it.effect.each([
    { name: "whose slowest hundredth takes 5 s", takes: (call: number) => (call % 100 === 0 ? 5_000 : 800) },
    { name: "that takes 5 s for everything", takes: () => 5_000 },
    { name: "that leaves a fifth of the calls without an answer", takes: (call: number) => (call % 5 === 0 ? 20_000 : 300) }
  ])("is not cut off: one $name", ({ takes }) =>
    Effect.gen(function* () {
      const [node] = yield* givenNodes(1)
      const { call, provider } = givenProvider(() => takes(provider.received))
      yield* stream([node ?? expect.fail()], call, { aSecond: 50, seconds: 60 })
      yield* allEnd
      expect(provider.received).toBe(3_000)
    }).pipe(Effect.scoped)
  )

  it.effect("is not cut off for the time that calls wait for our own pace", () =>
    Effect.gen(function* () {
      const [node] = yield* givenNodes(1)
      const { call } = givenProvider(() => 300)
      yield* Effect.gen(function* () {
        yield* stream([node ?? expect.fail()], call, { aSecond: 50, seconds: 1 })
        yield* TestClock.adjust("1 second")
        yield* Effect.forEach(Array.from({ length: 3 * OPENS }), () =>
          Effect.forkChild(send(Effect.andThen(asWait(Effect.sleep("7 seconds")), call)), { startImmediately: true })
        )
        yield* TestClock.adjust("5 seconds")
        expect(yield* isOpen()).toBe(false)
        yield* TestClock.adjust("5 seconds")
        expect(yield* isOpen()).toBe(false)
      }).pipe(Effect.provideContext((node ?? expect.fail()).context))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "and takes 5 s from one moment to the next is left alone until half of what opened it is answered, and no longer",
    () =>
      Effect.gen(function* () {
        const [node] = yield* givenNodes(1)
        let takes = 300
        const { call, provider } = givenProvider(() => takes)
        yield* stream([node ?? expect.fail()], call, { aSecond: 50, seconds: 10 })
        takes = 5_000
        yield* stream([node ?? expect.fail()], call, { aSecond: 50, seconds: 6 })
        const before = provider.received
        yield* stream([node ?? expect.fail()], call, { aSecond: 50, seconds: 30 })
        expect(provider.received - before).toBe(1_500)
      }).pipe(Effect.scoped)
  )
})
