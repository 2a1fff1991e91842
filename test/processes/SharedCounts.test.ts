import { describe, expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { AppId } from "../../src/domain/Ids.ts"
import { type Conversation, makeConversation } from "../../src/processes/Conversation.ts"
import { ofPrimary, ofWorkers } from "../../src/processes/Questions.ts"
import { makeSharedCircuits } from "../../src/processes/SharedCircuits.ts"
import { makeSharedCounts } from "../../src/processes/SharedCounts.ts"
import { sharedRateLimits } from "../../src/processes/SharedRateLimits.ts"
import { RateLimits } from "../../src/services/ports/RateLimits.ts"

const FAILURES = 4
const OPEN_MS = 1_000
const line = { provider: "eversend", mode: "live", operation: "send" } as const
const tenants = ["acme", "zebra", "yak"].map((name) => AppId.make(name))
const limit = { count: 10, windowMs: 60_000, burst: 10 }

/** What a pipe does to a message: another process gets a copy of what JSON can hold, later. */
const piped = (to: () => Conversation | undefined) => (message: object) => {
  const text = JSON.stringify(message)
  setImmediate(() => to()?.hear(JSON.parse(text)))
}

/** A primary process with two workers, in one process. */
const givenMachine = Effect.gen(function* () {
  const primaries: Array<Conversation> = []
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const machine = yield* Clock.Clock
  let passedMs = 0
  const clock: Clock.Clock = Object.assign(Object.create(machine), {
    currentTimeMillis: Effect.map(machine.currentTimeMillis, (now) => now + passedMs)
  })
  const counts = makeSharedCounts(clock, { failures: FAILURES, openMs: OPEN_MS }, (touched) => {
    for (const { ask } of primaries) fork(ask(ofPrimary.lines, [touched]))
  })
  const join = Effect.gen(function* () {
    const share = counts.forWorker()
    const circuits = makeSharedCircuits()
    const ends: { primary?: Conversation; worker?: Conversation } = {}
    const primary = yield* makeConversation(
      piped(() => ends.worker),
      share.answers
    )
    const worker = yield* makeConversation(
      piped(() => ends.primary),
      [circuits.heard]
    )
    Object.assign(ends, { primary, worker })
    primaries.push(primary)
    yield* primary.ask(ofPrimary.lines, yield* counts.touched)
    const limits = Context.get(yield* Layer.build(sharedRateLimits(worker, 2)), RateLimits)
    const states = circuits.statesOf(worker)
    /** As if the primary were too busy to say in time whether a call may begin. */
    const hurried = circuits.statesOf({
      ask: (question, asked) =>
        Effect.map(worker.ask(question, asked), (answer) => (question.name === ofWorkers.beginCall.name ? Option.none() : answer))
    })
    const fail = Effect.fnUntraced(function* (tenant: AppId) {
      const end = yield* states.begin(line, tenant)
      yield* end?.("failed") ?? Effect.void
    })
    return { die: share.end, fail, hurried, limits, states }
  })
  const [first, second] = [yield* join, yield* join]
  return {
    first,
    second,
    join,
    pass: (ms: number) => Effect.sync(() => (passedMs += ms)),
    // Messages keep their order: who has an answer has heard what was said before it.
    delivered: Effect.andThen(first.states.standing(line), second.states.standing(line))
  }
})

describe("what the workers of one machine count together", () => {
  it.live("a rate limit is as large for two workers as for one process", () =>
    Effect.gen(function* () {
      const { first, second } = yield* givenMachine
      const takes = Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? first : second).limits.take("reads:acme", limit, 1))
      const answers = yield* Effect.all(takes, { concurrency: "unbounded" })
      expect(answers.filter(({ _tag }) => _tag === "Allowed")).toHaveLength(limit.burst)
      yield* second.limits.giveBack("reads:acme", limit, 1)
      expect((yield* first.limits.take("reads:acme", limit, 1))._tag).toBe("Allowed")
      expect((yield* first.limits.take("reads:acme", limit, 1))._tag).toBe("Limited")
    })
  )

  it.live("failures in all workers open a circuit, which then holds calls back in each of them and in one that joins later", () =>
    Effect.gen(function* () {
      const { delivered, first, join, second } = yield* givenMachine
      const [acme, zebra, yak] = tenants
      for (const tenant of [acme, zebra]) {
        if (tenant === undefined) continue
        yield* first.fail(tenant)
        expect(yield* second.states.isOpen(line, yak ?? null)).toBe(false)
        yield* second.fail(tenant)
        yield* delivered
      }
      const third = yield* join
      for (const { states } of [first, second, third]) {
        expect(yield* states.isOpen(line, yak ?? null)).toBe(true)
        expect(yield* states.begin(line, yak ?? null)).toBeNull()
        expect((yield* states.standing(line)).all).toBe(true)
      }
      expect(yield* first.states.isOpen({ ...line, operation: "quote" }, yak ?? null)).toBe(false)
    })
  )

  it.live("one worker alone makes the trial of an open circuit, and another does when that one dies", () =>
    Effect.gen(function* () {
      const { delivered, first, pass, second } = yield* givenMachine
      const yak = tenants[2] ?? null
      for (const tenant of tenants.slice(0, 2)) for (const worker of [first, second]) yield* worker.fail(tenant)
      yield* delivered
      yield* pass(OPEN_MS)
      expect(yield* first.states.begin(line, yak)).not.toBeNull()
      expect(yield* second.states.begin(line, yak)).toBeNull()
      yield* first.die
      const trial = yield* second.states.begin(line, yak)
      yield* trial?.("answered") ?? Effect.void
      yield* delivered
      expect(yield* first.states.isOpen(line, yak)).toBe(false)
      expect((yield* first.states.standing(line)).all).toBe(false)
    })
  )

  it.live("a trial whose answer came too late for its worker ends with that call, and not never", () =>
    Effect.gen(function* () {
      const { delivered, first, pass, second } = yield* givenMachine
      const yak = tenants[2] ?? null
      for (const tenant of tenants.slice(0, 2)) for (const worker of [first, second]) yield* worker.fail(tenant)
      yield* delivered
      // Held back, and gone ahead all the same: it decides nothing.
      const early = yield* first.hurried.begin(line, yak)
      yield* early?.("answered") ?? Effect.void
      expect(yield* second.states.isOpen(line, yak)).toBe(true)
      yield* pass(OPEN_MS)
      const trial = yield* first.hurried.begin(line, yak)
      expect(yield* second.states.begin(line, yak)).toBeNull()
      yield* trial?.("answered") ?? Effect.void
      yield* delivered
      expect(yield* second.states.begin(line, yak)).not.toBeNull()
      expect((yield* second.states.standing(line)).all).toBe(false)
    })
  )

  it.effect("a worker whose primary does not answer has its share of a limit, and holds no call back", () =>
    Effect.gen(function* () {
      const mute = { ask: () => Effect.succeedNone }
      const limits = Context.get(yield* Layer.build(sharedRateLimits(mute, 2)), RateLimits)
      const answers = yield* Effect.forEach(Array.from({ length: 10 }), () => limits.take("reads:acme", limit, 1))
      expect(answers.filter(({ _tag }) => _tag === "Allowed")).toHaveLength(limit.burst / 2)
      const { heard, statesOf } = makeSharedCircuits()
      yield* heard.answer([{ line, isUntouched: false }])
      expect(yield* statesOf(mute).isOpen(line, null)).toBe(false)
      expect(yield* statesOf(mute).begin(line, null)).not.toBeNull()
    })
  )

  it.effect("a question that nobody answers ends", () =>
    Effect.gen(function* () {
      const { ask } = yield* makeConversation(() => {}, [])
      const asking = yield* Effect.forkChild(ask(ofPrimary.alive, null))
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(asking)).toEqual(Option.none())
    })
  )
})
