import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import { AppId } from "../../src/domain/Ids.ts"
import { countingHere } from "../../src/persistence/requests/RateLimitsMemory.ts"
import { type Pace, paced, retryAfterMs } from "../../src/providers/Pace.ts"
import type { ProviderResponse, Transport } from "../../src/providers/Transport.ts"
import { ActingTenant, CallKind, withMoneyTurn, withTurn } from "../../src/runtime/CallTurn.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import type { RateLimits } from "../../src/services/ports/RateLimits.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Clawbacks } from "../../src/services/settlement/Clawbacks.ts"
import { OutcomePoller } from "../../src/services/settlement/OutcomePoller.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { fake, unexpected } from "../fakes/Fake.ts"
import { fakePolicy } from "../fakes/FakePolicy.ts"
import { fakeCodes } from "../fakes/FakePorts.ts"
import { payout } from "../support/SampleTransactions.ts"

const five = { count: 5, windowMs: 1_000, burst: 5 }
const pace: Pace = { all: five, money: { count: 4, windowMs: 1_000, burst: 4 }, quote: "off", status: "off", other: "off" }
const answered: ProviderResponse = { _tag: "Answered", status: 200, contentType: "", body: "" }

const [noisy, neighbour] = [AppId.make("noisy"), AppId.make("neighbour")]

/** An account whose provider answers what it is told to, and when each call reached it. */
const given = (
  of: (calls: number) => ProviderResponse = () => answered,
  at: Pace = pace,
  buckets: RateLimits["Service"] = countingHere()
) => {
  const sent: Array<number> = []
  const transport: Transport = {
    call: () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        sent.push(now)
        return of(sent.length)
      })
  }
  const account = paced(transport, { provider: "mtn", mode: "live", turn: "current", pace: at }, buckets)
  const ask = (kind: CallKind) =>
    Effect.provideService(
      account.call({ operation: "any", method: "GET", url: "http://127.0.0.1", headers: {}, body: null, timeoutMs: 15_000 }),
      CallKind,
      kind
    )
  return { ask, heldMs: account.heldMs(""), sent }
}

/** The most calls that reached a provider within any second. */
const mostASecond = (sent: ReadonlyArray<number>) =>
  Math.max(...sent.map((from) => sent.filter((at) => at >= from && at < from + 1_000).length))

describe("the pace of an account", () => {
  it.effect("holds calls of all kinds together back, and lets money calls pass polls that come again", () =>
    Effect.gen(function* () {
      const { ask, sent } = given()
      const polls = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 40 }), () => withTurn(ask("status"), false), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust(1)
      const money = yield* Effect.forkChild(ask("money"))
      yield* TestClock.adjust(1_200)
      expect((yield* Fiber.join(money))._tag).toBe("Answered")
      expect(mostASecond(sent)).toBeLessThanOrEqual(10)
      // Five at once and five within the second for which polls wait; the other thirty come again.
      expect((yield* Fiber.join(polls)).filter(({ away }) => away !== null)).toHaveLength(30)
      expect(sent).toHaveLength(11)
    })
  )

  it.effect("closes the account for as long as the provider says, and a 429 is told to whoever called", () =>
    Effect.gen(function* () {
      const { ask, sent } = given((calls) => (calls === 1 ? { ...answered, status: 429, retryAfter: "20" } : answered))
      const first = yield* withTurn(ask("status"), false)
      expect(first.away).toStrictEqual({ retryAfterMs: 20_000, intervalMs: 200 })
      const second = yield* withTurn(ask("other"), true)
      expect(second.exit).toStrictEqual(Exit.succeed({ _tag: "NotSent", note: "the pace of the account at the provider" }))
      yield* TestClock.adjust(20_000)
      yield* ask("status")
      expect(sent).toHaveLength(2)
    })
  )

  it.effect("sends no call that waited while the provider turned another one away", () =>
    Effect.gen(function* () {
      const { ask, sent } = given((count) => (count === 6 ? { ...answered, status: 429, retryAfter: "20" } : answered))
      const calls = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 8 }), () => ask("other"), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust(2_000)
      expect((yield* Fiber.join(calls)).filter(({ _tag }) => _tag === "NotSent")).toHaveLength(2)
      expect(sent).toHaveLength(6)
    })
  )

  it.effect("is closed by a 503 that names a time, which is told as the failure that it is", () =>
    Effect.gen(function* () {
      const { ask, sent } = given((calls) => (calls === 1 ? { ...answered, status: 503, retryAfter: "20" } : answered))
      expect((yield* withTurn(ask("status"), false)).away).toBeNull()
      expect((yield* ask("money"))._tag).toBe("NotSent")
      expect(sent).toHaveLength(1)
    })
  )

  it.effect("refuses a request before it begins what would wait for longer than it can, and says for how long", () =>
    Effect.gen(function* () {
      const { heldMs } = given()
      const held = yield* Effect.forEach(Array.from({ length: 20 }), () => heldMs)
      // Four at once, and twelve that come within three seconds.
      expect(held.filter((ms) => ms === 0)).toHaveLength(16)
      expect(held.at(-1)).toBe(3_250)
      yield* TestClock.adjust(1_000)
      expect(yield* heldMs).toBe(0)
    })
  )

  it.effect("lets the first payment of a tenant through, however many another tenant sends", () =>
    Effect.gen(function* () {
      const { ask, heldMs, sent } = given()
      const pay = (tenant: AppId) =>
        withMoneyTurn(Effect.tap(heldMs, (ms) => (ms === 0 ? ask("money") : Effect.void))).pipe(
          Effect.provideService(ActingTenant, tenant)
        )
      // A hundred a second, at an account that takes four.
      const flood = yield* Effect.forkChild(Effect.forever(Effect.andThen(Effect.forkChild(pay(noisy)), Effect.sleep(10))))
      for (let second = 0; second < 20; second++) {
        yield* TestClock.adjust(1_000)
        const paying = yield* Effect.forkChild(pay(neighbour))
        yield* TestClock.adjust(5_000)
        expect(yield* Fiber.join(paying)).toBe(0)
      }
      yield* Fiber.interrupt(flood)
      expect(mostASecond(sent)).toBeLessThanOrEqual(8)
    })
  )

  it.effect("lets the first price of a tenant through, however many another tenant asks for", () =>
    Effect.gen(function* () {
      const { ask } = given(undefined, { ...pace, quote: { count: 3, windowMs: 1_000, burst: 3 } })
      const priced = (tenant: AppId) => Effect.provideService(ask("quote"), ActingTenant, tenant)
      const flood = yield* Effect.forkChild(Effect.forever(Effect.andThen(Effect.forkChild(priced(noisy)), Effect.sleep(10))))
      yield* TestClock.adjust(10_000)
      const price = yield* Effect.forkChild(priced(neighbour))
      yield* TestClock.adjust(7_500)
      yield* Fiber.interrupt(flood)
      expect((yield* Fiber.join(price))._tag).toBe("Answered")
    })
  )

  it.effect("is held for nobody whose request ended without its money call, and for a call only until it begins", () =>
    Effect.gen(function* () {
      const { ask, heldMs, sent } = given()
      // Whoever is refused after having been let through: for want of float, say.
      expect(yield* Effect.forEach(Array.from({ length: 40 }), () => withMoneyTurn(heldMs))).toStrictEqual(Array(40).fill(0))
      const pay = withMoneyTurn(Effect.andThen(heldMs, ask("money")))
      const paying = yield* Effect.forkChild(Effect.forEach(Array.from({ length: 4 }), () => pay, { concurrency: "unbounded" }))
      yield* Effect.yieldNow
      const waiting = yield* Effect.forEach(Array.from({ length: 12 }), () => heldMs)
      expect([waiting, yield* heldMs]).toStrictEqual([Array(12).fill(0), 3_250])
      yield* Fiber.join(paying)
      expect(sent).toHaveLength(4)
    })
  )

  it.effect("loses no token with a call that is interrupted while one is on its way", () =>
    Effect.gen(function* () {
      const tokens = { taken: 0, givenBack: 0 }
      const slow: RateLimits["Service"] = {
        ...countingHere(),
        reserve: () =>
          Effect.as(
            Effect.andThen(
              Effect.sleep(100),
              Effect.sync(() => tokens.taken++)
            ),
            { _tag: "Reserved", waitMs: 0 }
          ),
        giveBack: () => Effect.sync(() => void tokens.givenBack++)
      }
      const { ask, sent } = given(() => answered, pace, slow)
      for (const afterMs of [50, 150]) {
        const call = yield* Effect.forkChild(ask("money"))
        yield* TestClock.adjust(afterMs)
        const ended = yield* Effect.forkChild(Fiber.interrupt(call))
        yield* TestClock.adjust(1_000)
        yield* Fiber.join(ended)
      }
      expect([tokens.givenBack, sent]).toStrictEqual([tokens.taken, []])
      expect(tokens.taken).toBeGreaterThan(1)
    })
  )

  it("reads a Retry-After in seconds and as a date, at most five minutes of it", () => {
    const now = Date.parse("2026-01-31T12:00:00Z")
    expect(retryAfterMs("7", now)).toBe(7_000)
    expect(retryAfterMs("Sat, 31 Jan 2026 12:00:09 GMT", now)).toBe(9_000)
    expect(retryAfterMs("Sat, 31 Jan 2026 11:00:00 GMT", now)).toBe(0)
    expect(retryAfterMs("999999999", now)).toBe(300_000)
    for (const text of ["", "soon", "-1", "1.5", "2026-01-31"]) expect(retryAfterMs(text, now)).toBeUndefined()
  })
})

describe("an open payout", () => {
  it.effect("goes to a person after a day, however often its question is turned away", () =>
    Effect.gen(function* () {
      const { due, layer } = poller(given(() => ({ ...answered, status: 429 })).ask)
      const [first] = due
      if (first === undefined) throw new Error("nothing is due")
      const { transaction } = first
      const applied: Array<boolean> = []
      for (const age of [24 * HOUR - 1, 24 * HOUR]) {
        yield* TestClock.setTime(transaction.createdAt + age)
        yield* Effect.provide(
          Effect.flatMap(OutcomePoller, ({ poll }) => poll({ transaction, revision: 1n }, "reconciler")),
          layer
        )
        applied.push(first.isDone)
      }
      expect(applied).toStrictEqual([false, true])
    })
  )
})

const HOUR = 3_600_000
const OPEN = 150
/** 150 payouts that are due at one provider, and the poller that asks about them. */
const poller = (ask: ReturnType<typeof given>["ask"]) => {
  const due = Array.from({ length: OPEN }, (_, place) => ({
    transaction: payout({ reference: `reference-${String(place).padStart(3, "0")}` as never }),
    leasedUntil: 0,
    isDone: false
  }))
  const asked: Array<string> = []
  const unused = (...args: ReadonlyArray<unknown>) => unexpected("a provider", args)
  const provider: Provider = {
    name: "eversend",
    mode: "live",
    fingerprints: () => ["one"],
    guarantees: {
      clientReference: "unique_reject",
      lookup: "by_client_ref",
      callbackAuth: "none",
      quoteTtlMs: 1,
      notFoundGraceMs: 1
    },
    callbacks: { verify: unused },
    payouts: {
      quote: unused,
      send: unused,
      fetchStatus: ({ reference }) =>
        Effect.map(ask("status"), (response) => {
          if (response._tag !== "Answered" || response.status !== 200)
            return { _tag: "Unknown", reason: "unavailable", note: "" } as const
          asked.push(reference)
          return { _tag: "StillPending", providerReference: null, note: "" } as const
        })
    }
  }
  const ofReference = (reference: string) => due.find(({ transaction }) => transaction.reference === reference)
  const layer = OutcomePoller.layer.pipe(
    Layer.provide([
      fake(Transactions, {
        claimDue: (now, limit, leaseMs) =>
          Effect.sync(() => {
            const free = due.filter(({ isDone, leasedUntil }) => !isDone && leasedUntil <= now).slice(0, limit)
            for (const one of free) one.leasedUntil = now + leaseMs
            return free.map(({ transaction }) => ({ transaction, revision: 1n }))
          }),
        putBack: ({ reference }, at) =>
          Effect.sync(() => {
            const one = ofReference(reference)
            if (one !== undefined) one.leasedUntil = at
          })
      }),
      fake(Settlement, {
        applyAnswer: (_, { reference }) =>
          Effect.sync(() => {
            const one = ofReference(reference)
            if (one === undefined) throw new Error("nobody asked about it")
            one.isDone = true
            return one.transaction
          })
      }),
      Layer.succeed(ProviderRegistry, {
        known: ["eversend"],
        find: unused,
        accounts: () => [provider],
        claimed: () => [],
        byRouteKey: unused,
        routeKey: unused,
        keptRouteKeys: () => []
      }),
      fakeCodes(),
      fake(Clawbacks, {}),
      fakePolicy()
    ])
  )
  return { asked, due, layer }
}

describe("150 open payouts at an account of five calls a second", () => {
  it.effect("are all asked about within 40 seconds, the oldest first, and never more than ten in a second", () =>
    Effect.gen(function* () {
      const { ask, sent } = given()
      const { asked, due, layer } = poller(ask)
      const running = yield* Effect.forkChild(Effect.flatMap(OutcomePoller, ({ run }) => run).pipe(Effect.provide(layer)))
      for (let second = 0; second < 40; second++) yield* TestClock.adjust(1_000)
      yield* Fiber.interrupt(running)
      expect(mostASecond(sent)).toBeLessThanOrEqual(10)
      expect(sent).toHaveLength(OPEN)
      expect(due.every(({ isDone }) => isDone)).toBe(true)
      // The oldest are asked first: nobody is asked long after those that came after.
      const places = asked.map((reference) => Number(reference.slice(-3)))
      expect(Math.max(...places.map((place, turn) => Math.abs(place - turn)))).toBeLessThan(40)
    })
  )

  it.effect("that were turned away at two nodes at one moment come again at moments of each node's own", () =>
    Effect.gen(function* () {
      const waits = Effect.fnUntraced(function* (node: string) {
        const { ask } = given(() => ({ ...answered, status: 429, retryAfter: "10" }))
        const { due, layer } = poller(ask)
        const begun = yield* Clock.currentTimeMillis
        const round = Effect.flatMap(OutcomePoller, (one) => one.round).pipe(Effect.provide(layer), Random.withSeed(node))
        const asking = yield* Effect.forkChild(round)
        yield* TestClock.adjust(1_000)
        yield* Fiber.join(asking)
        return due.flatMap(({ leasedUntil }) => (leasedUntil > begun ? [leasedUntil - begun] : []))
      })
      const [one, other] = [yield* waits("one"), yield* waits("other")]
      expect([one.length, other.length]).toStrictEqual([16, 16])
      expect(one).not.toStrictEqual(other)
      // Each within its place in the line, which is as long as the account's pace has it.
      expect(Math.min(...one, ...other)).toBeGreaterThanOrEqual(10_000)
      expect(Math.max(...one.map((at, place) => Math.abs(at - (other[place] ?? 0))))).toBeLessThanOrEqual(200)
    })
  )

  it.effect("that were turned away by the provider are asked again once it takes calls, and nothing of it is counted", () =>
    Effect.gen(function* () {
      const { ask, sent } = given((calls) => (calls === 1 ? { ...answered, status: 429, retryAfter: "10" } : answered))
      const { due, layer } = poller(ask)
      const running = yield* Effect.forkChild(Effect.flatMap(OutcomePoller, ({ run }) => run).pipe(Effect.provide(layer)))
      for (let second = 0; second < 9; second++) yield* TestClock.adjust(1_000)
      expect(sent).toHaveLength(1)
      expect(due.some(({ isDone }) => isDone)).toBe(false)
      for (let second = 0; second < 60; second++) yield* TestClock.adjust(1_000)
      yield* Fiber.interrupt(running)
      expect(due.every(({ isDone }) => isDone)).toBe(true)
      expect(sent).toHaveLength(OPEN + 1)
    })
  )
})
