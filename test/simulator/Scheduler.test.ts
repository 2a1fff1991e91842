import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { openAccount } from "../../src/simulator/Account.ts"
import { makeScheduler } from "../../src/simulator/Scheduler.ts"
import { databaseFolder } from "../support/DatabaseFolder.ts"

const TURNS = 2_000

/** Whether a fiber ends without any time passing. */
const ends = (fiber: { readonly pollUnsafe: () => unknown }) =>
  Effect.promise(async () => {
    for (let turn = 0; turn < TURNS && fiber.pollUnsafe() === undefined; turn++)
      await new Promise<void>((resolve) => setImmediate(resolve))
    return fiber.pollUnsafe() !== undefined
  })

it.effect("what is due is done when it is asked for, although the clock was moved as its worker fell asleep", () =>
  Effect.gen(function* () {
    const dataDir = mkdtempSync(join(databaseFolder(), "scheduler-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(dataDir, { recursive: true, force: true })))
    const account = yield* openAccount(dataDir)
    const clock = yield* Clock.Clock
    const later: Clock.Clock = {
      ...clock,
      sleep: (duration) => Effect.andThen(TestClock.adjust("10 seconds"), clock.sleep(duration))
    }
    const scheduler = yield* makeScheduler({ account, providers: [], delayMs: 0 })
    const work = { kind: "settle", transaction: "none" } as const
    const job = { id: "j", at: 2_000, provider: "p", account: "a", work }
    yield* Effect.provideService(scheduler.commit([{ fact: "job", job }]), Clock.Clock, later)
    yield* TestClock.adjust("1 second")
    expect(yield* Clock.currentTimeMillis).toBe(11_000)
    const flushing = yield* Effect.forkChild(scheduler.flush)
    expect(yield* ends(flushing)).toBe(true)
    expect(account.jobs()).toEqual([])
  })
)
