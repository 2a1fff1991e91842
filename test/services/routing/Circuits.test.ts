import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { inPassing, isPatient } from "../../../src/runtime/CallTurn.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"

it.effect("a call through a circuit waits for its turn as long as its caller would: a free read in passing holds up nobody", () =>
  Effect.gen(function* () {
    const circuits = yield* Circuits
    const asked = circuits.through(
      { provider: "mtn", mode: "live", operation: "reads" },
      { call: isPatient, verdict: () => "answered", instead: Effect.succeed(true) }
    )
    expect([yield* asked, yield* inPassing(asked)]).toStrictEqual([true, false])
  }).pipe(Effect.provide(Circuits.layer.pipe(Layer.provide(fakePolicy()))))
)
