import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { reader } from "../../src/ConfigRules.ts"
import { countingHere } from "../../src/persistence/requests/RateLimitsMemory.ts"
import { eversendProvider } from "../../src/providers/eversend/Settings.ts"
import { type Pace, paced } from "../../src/providers/Pace.ts"
import { CallKind, withTurn } from "../../src/runtime/CallTurn.ts"

const account = {
  EVERSEND_BASE_URL: "https://api.example/v1",
  EVERSEND_LIVE_CLIENT_ID: "id",
  EVERSEND_LIVE_CLIENT_SECRET: "secret",
  EVERSEND_LIVE_WEBHOOK_SECRET: "secret"
}
const bounds = { timeoutMs: 1_000, refuseLoopback: false, refuseRemote: false }

/** The pace of the live account, and what is wrong with the settings. */
const read = (variables: Readonly<Record<string, string>>) => {
  const mistakes: Array<string> = []
  const accounts = eversendProvider.configured(reader({ ...account, ...variables }, mistakes), mistakes, bounds)
  return { mistakes, pace: (accounts && eversendProvider.accountsOf(accounts)[0]?.pace) ?? null }
}

const perSecond = (count: number, burst: number) => ({ count, windowMs: 1_000, burst })
const standard: Pace = {
  all: perSecond(10, 10),
  money: perSecond(4, 4),
  quote: perSecond(3, 3),
  status: "off",
  other: perSecond(1, 2)
}

describe("the pace settings of an account", () => {
  it("bound all of its calls together, and leave a fifth to polls whatever the other kinds ask", () => {
    expect(read({})).toStrictEqual({ mistakes: [], pace: standard })
    expect(read({ EVERSEND_LIVE_PACE: "20/s:5" }).pace).toStrictEqual({
      all: perSecond(20, 5),
      money: perSecond(8, 2),
      quote: perSecond(6, 1),
      status: "off",
      other: perSecond(2, 2)
    })
  })

  it("bound one kind of them, or none", () => {
    const kinds = { EVERSEND_LIVE_PACE_MONEY: "9/s", EVERSEND_LIVE_PACE_QUOTE: "60/m:1", EVERSEND_LIVE_PACE_STATUS: "5/s" }
    expect(read({ ...kinds, EVERSEND_LIVE_PACE_OTHER: "off" })).toStrictEqual({
      mistakes: [],
      pace: {
        all: perSecond(10, 10),
        money: perSecond(9, 9),
        quote: { count: 60, windowMs: 60_000, burst: 1 },
        status: perSecond(5, 5),
        other: "off"
      }
    })
    const off = read({ EVERSEND_LIVE_PACE: "off" }).pace
    expect(off).toMatchObject({ money: "off", quote: "off", status: "off", other: "off" })
    // It bounds nothing, and is there to be closed where a provider asks to be left alone.
    expect(off?.all).toStrictEqual({ count: 10_000, windowMs: 1_000, burst: 10_000 })
  })

  it("are none at a simulator, unless one is set", () => {
    const simulated = { EVERSEND_BASE_URL: "http://127.0.0.1:9/v1" }
    expect(read(simulated).pace).toBeNull()
    expect(read({ ...simulated, EVERSEND_LIVE_PACE: "10/s:10" }).pace).toStrictEqual(standard)
    expect(read({ ...simulated, EVERSEND_LIVE_PACE_QUOTE: "1/s:1" }).pace).toMatchObject({ quote: perSecond(1, 1) })
  })

  it.each(["fast", "0/s", "10", "10/d", "-1/s", "10/s:0", "1.5/s", "10/s:", "10000000/s"])(
    "are refused by name where one is no rate: %s",
    (text) => {
      for (const part of ["PACE", "PACE_MONEY", "PACE_QUOTE", "PACE_STATUS", "PACE_OTHER"])
        expect(read({ [`EVERSEND_LIVE_${part}`]: text }).mistakes).toStrictEqual([
          `EVERSEND_LIVE_${part} must be off, or a rate and its burst such as 500/s:1000, not "${text}"`
        ])
    }
  )

  it("are refused where a kind is faster than the account", () => {
    const faster = read({ EVERSEND_LIVE_PACE: "5/s", EVERSEND_LIVE_PACE_QUOTE: "301/m", EVERSEND_LIVE_PACE_STATUS: "300/m" })
    expect(faster.mistakes).toStrictEqual([
      "EVERSEND_LIVE_PACE_QUOTE is faster than EVERSEND_LIVE_PACE, which bounds all calls of the account"
    ])
    expect(read({ EVERSEND_LIVE_PACE_MONEY: "11/s" }).mistakes).toHaveLength(1)
  })
})

const SECONDS = 8
/** The calls of each kind that leave within 8 s while somebody asks for more of each than the account has. */
const crowded = (pace: Pace, kinds: ReadonlyArray<CallKind>) =>
  Effect.gen(function* () {
    const begun = yield* Clock.currentTimeMillis
    const sent = new Map<CallKind, number>()
    const { call } = paced(
      {
        call: () =>
          Effect.gen(function* () {
            const kind = yield* CallKind
            if ((yield* Clock.currentTimeMillis) - begun < SECONDS * 1_000) sent.set(kind, (sent.get(kind) ?? 0) + 1)
            return { _tag: "Answered", status: 200, contentType: "", body: "" } as const
          })
      },
      { provider: "eversend", mode: "live", turn: "current", pace },
      countingHere()
    )
    const one = { operation: "any", method: "GET", url: "http://127.0.0.1", headers: {}, body: null, timeoutMs: 15_000 } as const
    const asker = (kind: CallKind) =>
      Effect.gen(function* () {
        while ((yield* Clock.currentTimeMillis) - begun < SECONDS * 1_000) {
          yield* Effect.provideService(withTurn(call(one), kind !== "status"), CallKind, kind)
          yield* Effect.sleep(100)
        }
      })
    const askers = kinds.flatMap((kind) => Array.from({ length: 12 }, () => asker(kind)))
    const all = yield* Effect.forkChild(Effect.all(askers, { concurrency: "unbounded" }))
    for (let step = 0; step < SECONDS * 20; step++) yield* TestClock.adjust(100)
    yield* Fiber.join(all)
    return (kind: CallKind) => (sent.get(kind) ?? 0) / SECONDS
  })

describe("an account of ten calls a second of which everybody wants more", () => {
  it.effect("lets polls have a fifth of them", () =>
    Effect.gen(function* () {
      const perSecondOf = yield* crowded(standard, ["money", "quote", "other", "status"])
      expect(perSecondOf("status")).toBeGreaterThan(1.9)
      expect(perSecondOf("money")).toBeGreaterThan(3.5)
    })
  )

  it.effect("lets prices have theirs however many banks, balances and holders are read", () =>
    Effect.gen(function* () {
      const perSecondOf = yield* crowded(standard, ["quote", "other"])
      expect(perSecondOf("quote")).toBeGreaterThan(2.7)
      expect(perSecondOf("other")).toBeLessThan(1.5)
    })
  )
})
