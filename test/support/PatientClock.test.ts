import { expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { patientClock, workedMs } from "./PatientClock.ts"

/** Nothing else of this process runs meanwhile, as where it gets no processor. */
const standStill = (ms: number) =>
  Effect.sync(() => {
    const until = Date.now() + ms
    while (Date.now() < until);
  })

/** Whatever has happened is heard of. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

it.live("by the clock of the tests nothing passes while their process stands still, and a sleep goes on after it", () =>
  Effect.gen(function* () {
    const sleeping = yield* Effect.forkChild(Effect.provideService(Effect.sleep(200), Clock.Clock, patientClock))
    yield* turn
    const before = workedMs()
    yield* standStill(500)
    yield* turn
    expect(workedMs() - before).toBeLessThan(100)
    expect(sleeping.pollUnsafe()).toBeUndefined()
    yield* Fiber.join(sleeping)
    expect(workedMs() - before).toBeGreaterThan(150)
  })
)
