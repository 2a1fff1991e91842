import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { isPatient, tellTurnedAway, withShortWait } from "../../../src/runtime/CallTurn.ts"
import { SharedLateCalls } from "../../../src/services/ports/SharedLateCalls.ts"
import { type CircuitCall, Circuits } from "../../../src/services/routing/Circuits.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { fakeSharedLateCalls } from "../../fakes/FakePorts.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"

it.effect("a call through a circuit waits for its turn as long as its caller would: a free read in passing holds up nobody", () =>
  Effect.gen(function* () {
    const circuits = yield* Circuits
    const asked = circuits.through(
      { provider: "mtn", mode: "live", operation: "reads" },
      { call: isPatient, verdict: () => "answered", instead: Effect.succeed(true) }
    )
    expect([yield* asked, yield* withShortWait(asked)]).toStrictEqual([true, false])
  }).pipe(Effect.provide(Circuits.layer.pipe(Layer.provide([fakePolicy(), fakeSharedLateCalls]))))
)

// Issue 38, line 2.
it.effect("a provider that turns calls away is busy: no number of such calls opens the circuit, as failures do", () =>
  Effect.gen(function* () {
    const circuits = yield* Circuits
    const after = Effect.fnUntraced(function* (provider: string, call: Effect.Effect<void>) {
      const line = { provider, mode: "live", operation: "send" } as const
      const wish: CircuitCall<void, never> = { call, verdict: () => "failed", instead: Effect.void }
      yield* Effect.forEach(Array.from({ length: 100 }), () => circuits.through(line, wish), { discard: true })
      return yield* circuits.isOpen(line)
    })
    const turnedAway = tellTurnedAway({ retryAfterMs: 1_000, intervalMs: 100 })
    expect([yield* after("busy", turnedAway), yield* after("broken", Effect.void)]).toStrictEqual([false, true])
  }).pipe(Effect.provide(Circuits.layer.pipe(Layer.provide([fakePolicy(), fakeSharedLateCalls]))))
)

it.effect("a circuit that opens is in the log with what the last call ended with", () =>
  Effect.gen(function* () {
    const { layer, lines } = givenTelemetry()
    const circuits = yield* Circuits
    const line = { provider: "mtn", mode: "live", operation: "send" } as const
    const call = Effect.succeed({ _tag: "Unknown", note: "HTTP 503" })
    const through = circuits.through(line, { call, verdict: () => "failed", instead: call })
    yield* Effect.provide(
      Effect.forEach(Array.from({ length: 100 }), () => through, { discard: true }),
      layer
    )
    expect(lines).toEqual([
      [
        "Warn",
        "a circuit opened: the provider fails, and is left alone for a while",
        { provider: "mtn", mode: "live", operation: "send", note: "HTTP 503" }
      ]
    ])
  }).pipe(Effect.provide(Circuits.layer.pipe(Layer.provide([fakePolicy(), fakeSharedLateCalls]))))
)

it.effect("nodes tell each other of a late call in no trace of its request, and not under its names", () => {
  const { layer, lines, spans } = givenTelemetry()
  const exchange = Effect.withSpan(Effect.logInfo("late calls are told"), "exchange")
  const told = Effect.map(spans, (seen) => seen.filter(([name]) => name === "exchange").length)
  return Effect.gen(function* () {
    const circuits = yield* Circuits
    const line = { provider: "mtn", mode: "live", operation: "send" } as const
    const never: CircuitCall<void, never> = { call: Effect.never, verdict: () => "failed", instead: Effect.void }
    yield* circuits
      .through(line, never)
      .pipe(
        Effect.withSpan("request"),
        Effect.annotateLogs("reference", "R"),
        Effect.annotateSpans("gateway.attempt", 2),
        Effect.forkChild
      )
    yield* TestClock.adjust("15 seconds")
    expect(yield* told).toBeGreaterThan(1)
    expect((yield* spans).filter(([name]) => name === "exchange")).not.toContainEqual(["exchange", { "gateway.attempt": 2 }])
    expect(new Set(lines.map(([, , names]) => names["reference"]))).toEqual(new Set([undefined]))
  }).pipe(
    Effect.provide(
      Circuits.layer.pipe(
        Layer.provide([
          fakePolicy(),
          Layer.succeed(SharedLateCalls, SharedLateCalls.of({ exchange: () => Effect.as(exchange, []) }))
        ])
      )
    ),
    Effect.provide(layer)
  )
})
