import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { CALLBACK_RETRY_AGES_MS, CLAIMS_AT_MOST, callbackId } from "../../../src/services/settlement/ProviderCallbacks.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { newReference } from "../../support/WebhookReceiver.ts"
import { callback, ingress, newWorld } from "./ProviderCallbacksFixture.ts"

const LOOK = "ProviderCallbacks.look"
const REQUEST = "request"
/** Callbacks whose spans are remembered, and those that are looked into at once. */
const SPANS_KEPT = 1_000
const AT_ONCE = 32

/** A gateway whose callbacks come in requests with a span each. */
const givenTraced = Effect.gen(function* () {
  const telemetry = givenTelemetry()
  const world = newWorld()
  const { reference } = world.transaction
  const { receive, round } = yield* ingress(world).pipe(Effect.provide(telemetry.layer))
  const traced = Effect.provide(telemetry.layer)
  const request = (hint: Parameters<typeof callback>[0]) =>
    receive("eversend", "route-key", callback(hint)).pipe(Effect.withSpan(REQUEST), traced)
  const idOf = (at: number) => [...world.stored.values()][at]?.id
  const named = Effect.map(telemetry.spans, (spans) => (name: string) => spans.filter(([one]) => one === name))
  return { ...telemetry, world, reference, request, round: traced(round), idOf, named }
})

describe("a callback is found in traces", () => {
  it.effect("by the span of the request that it came with, which says whether it is new", () =>
    Effect.gen(function* () {
      const { idOf, named, reference, request } = yield* givenTraced
      yield* request({ reference })
      yield* request({ reference })
      yield* request({ providerReference: "ever-1" })
      const account = { provider: "eversend", mode: "test" }
      expect((yield* named)(REQUEST).map(([, attributes]) => attributes)).toStrictEqual([
        { ...account, duplicate: false, callback_id: idOf(0), "gateway.reference": reference },
        { ...account, duplicate: true, "gateway.reference": reference },
        { ...account, duplicate: false, callback_id: idOf(1) }
      ])
    })
  )

  it.effect("by the span of each look, the first of which is linked to that request", () =>
    Effect.gen(function* () {
      const { idOf, links, named, reference, request, round, world } = yield* givenTraced
      world.learns = Effect.succeed(false)
      yield* request({ reference })
      yield* request({ reference, providerReference: "another" })
      yield* round
      const looks = (yield* named)(LOOK)
      expect(looks.map(([, attributes]) => attributes)).toStrictEqual(
        [0, 1].map((at) => ({ callback_id: idOf(at), provider: "eversend", mode: "test" }))
      )
      expect(new Set(yield* links).size).toBe(2)
      world.due.push(...world.waiting.splice(0))
      yield* round
      expect((yield* named)(LOOK)).toHaveLength(4)
      expect(yield* links).toHaveLength(2)
    })
  )

  it.effect("and the requests of so many are remembered, the oldest forgotten", () =>
    Effect.gen(function* () {
      const { links, named, request, round } = yield* givenTraced
      for (let each = 0; each <= SPANS_KEPT; each++) yield* request({ reference: newReference() })
      for (let looked = 0; looked <= SPANS_KEPT; looked += AT_ONCE) yield* round
      expect((yield* named)(LOOK)).toHaveLength(SPANS_KEPT + 1)
      expect(yield* links).toHaveLength(SPANS_KEPT)
    })
  )
})

describe("a callback is in the log", () => {
  it.effect("when it is parked without a match, and not before", () =>
    Effect.gen(function* () {
      const { idOf, lines, request, round, world } = yield* givenTraced
      yield* request({ reference: newReference() })
      for (const age of [0, ...CALLBACK_RETRY_AGES_MS]) {
        expect(lines).toEqual([])
        yield* TestClock.setTime(age)
        yield* round
        world.due.push(...world.waiting.splice(0))
      }
      const names = { callback_id: idOf(0), provider: "eversend", mode: "test", note: "it matched nothing" }
      expect(lines).toEqual([["Warn", "a callback is parked", names]])
    })
  )

  it.effect("when it is parked because asking told nothing", () =>
    Effect.gen(function* () {
      const { lines, reference, request, round, world } = yield* givenTraced
      world.learns = Effect.succeed(false)
      yield* request({ reference })
      world.due.push(...world.due.splice(0).map((one) => ({ ...one, looks: CALLBACK_RETRY_AGES_MS.length })))
      yield* round
      expect(lines.map(([level, text, { note }]) => [level, text, note])).toEqual([
        ["Warn", "a callback is parked", "nothing was learnt"]
      ])
    })
  )

  it.effect("when it is parked because no look into it came to an end", () =>
    Effect.gen(function* () {
      const { lines, reference, request, round, world } = yield* givenTraced
      yield* request({ reference })
      world.due.push(...world.due.splice(0).map((one) => ({ ...one, claims: CLAIMS_AT_MOST })))
      yield* round
      expect(lines.map(([level, text]) => [level, text])).toEqual([
        ["Warn", "a callback is parked: none of the looks into it came to an end"]
      ])
    })
  )

  it.effect("when the database cannot say whose it is, when asking breaks, and when what was found cannot be kept", () =>
    Effect.gen(function* () {
      const { lines, reference, request, round, world } = yield* givenTraced
      yield* request({ reference })
      world.unread = Effect.die(new Error("a server is down"))
      yield* round
      delete world.unread
      world.learns = Effect.die(new Error("broken"))
      world.due.push(...world.waiting.splice(0))
      yield* round
      world.unkept = Effect.die(new Error("a server is down"))
      world.due.push(...world.waiting.splice(0))
      yield* round
      expect(lines.map(([level, text, { worker }]) => [level, text, worker])).toEqual([
        ["Error", "whose a callback is could not be read", undefined],
        ["Error", "the poll for a callback broke", undefined],
        ["Error", "the poll for a callback broke", undefined],
        ["Error", "an item of a worker broke", "ProviderCallbacks"]
      ])
    })
  )
})

it("the same bytes of the same account have the same id, and no others", () => {
  const given = { provider: "eversend", mode: "live", digest: Buffer.alloc(32, 1) } as const
  const others = [{}, { provider: "mtn" }, { mode: "test" as const }, { digest: Buffer.alloc(32, 2) }]
  expect(new Set(others.map((other) => callbackId({ ...given, ...other }))).size).toBe(others.length)
  expect(callbackId({ ...given, digest: Buffer.alloc(32, 1) })).toBe(callbackId(given))
})
