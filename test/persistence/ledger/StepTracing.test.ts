import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric, Option, type Tracer } from "effect"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { linkedBatch, withRootTraceparent, withTraceparent } from "../../../src/persistence/ledger/StepTracing.ts"
import { openStep } from "../../support/LedgerSteps.ts"
import { exchange } from "../../support/ReviewCases.ts"
import { payout } from "../../support/SampleTransactions.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"

const reference = Reference.make("00000000000000000000000001")
const scope = { appId: AppId.make("acme"), mode: "live", endpoint: "POST /v1/payouts", key: "k" } as const
const step = openStep({ scope, fence: 1n, reference, leaseUntil: 0 }, 10_000n)

const traceparentOf = ({ spanId, traceId }: Tracer.Span) => `00-${traceId}-${spanId}-01`

describe("a step in a trace", () => {
  it.effect("is handed on with the span that it is made in, or with none", () =>
    Effect.gen(function* () {
      const commit = withTraceparent(({ traceparent }: { readonly traceparent: string | null }) => Effect.succeed(traceparent))
      const [told, span] = yield* Effect.all([commit({}), Effect.currentSpan]).pipe(Effect.withSpan("request"))
      expect(told).toBe(traceparentOf(span))
      expect(yield* commit({})).toBeNull()
    })
  )

  it.effect("that begins a transaction says in its span which", () =>
    Effect.gen(function* () {
      const telemetry = givenTelemetry()
      const told: Array<string | null> = []
      const open = withRootTraceparent(({ traceparent }) =>
        Effect.sync(() => (told.push(traceparent), { _tag: "Opened" as const }))
      )
      const roots: Array<string> = []
      const each = (transaction: (typeof step)["transaction"]) =>
        Effect.andThen(
          Effect.map(Effect.orDie(Effect.currentSpan), (root) => void roots.push(traceparentOf(root))),
          open({ ...step, transaction }).pipe(Effect.withSpan("open"))
        ).pipe(Effect.withSpan("request"))
      const outcomes = yield* Effect.forEach([payout(), exchange({})], each).pipe(Effect.provide(telemetry.layer))
      expect(outcomes).toEqual([{ _tag: "Opened" }, { _tag: "Opened" }])
      const common = { "gateway.mode": "live", "gateway.provider": "eversend" }
      const opened = (yield* telemetry.spans).filter(([name]) => name === "open")
      expect(opened.map(([, attributes]) => attributes)).toStrictEqual([
        { ...common, "gateway.reference": reference, "gateway.kind": "payout", "gateway.corridor": "UG/UGX/payout/momo" },
        { ...common, "gateway.reference": exchange({}).reference, "gateway.kind": "exchange" }
      ])
      // What comes later goes on where the request began.
      expect([told, roots.length]).toEqual([roots, 2])
    })
  )
})

describe("a statement for several steps", () => {
  const traceparents = ["a", "b"].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`)
  const traced = [...traceparents, null].map((traceparent) => ({ ...step, traceparent }))
  const spanOf = Effect.fnUntraced(function* (steps: typeof traced) {
    const telemetry = givenTelemetry()
    const statement = Effect.succeed("done").pipe(Effect.withSpan("statement"))
    const done = yield* linkedBatch(
      "open",
      steps,
      ({ transaction }) => transaction
    )(statement).pipe(Effect.provide(telemetry.layer))
    expect(done).toBe("done")
    const [first] = yield* telemetry.spans
    return { attributes: first?.[1], links: yield* telemetry.links }
  })

  it.effect("has a span that is linked to each of theirs, and says how many there are", () =>
    Effect.gen(function* () {
      expect(yield* spanOf(traced)).toStrictEqual({
        attributes: { "gateway.batch_size": 3 },
        links: ["a", "b"].map((digit) => [digit.repeat(32), digit.repeat(16)])
      })
    })
  )

  it.effect("is in the trace of the step that is alone in it, and sampled as that is", () =>
    Effect.gen(function* () {
      const [first = step] = traced
      const parents: Array<unknown> = []
      const seen = Effect.map(Effect.orDie(Effect.currentSpan), ({ parent }) => void parents.push(parent))
      for (const flags of ["01", "00"]) {
        const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-${flags}`
        const statement = seen.pipe(Effect.withSpan("statement"))
        yield* linkedBatch(
          "apply",
          [{ ...first, traceparent }],
          ({ transaction }) => transaction
        )(statement).pipe(Effect.provide(givenTelemetry().layer))
      }
      const parent = { _tag: "ExternalSpan", traceId: "a".repeat(32), spanId: "b".repeat(16) }
      expect(parents).toMatchObject([{ value: { ...parent, sampled: true } }, { value: { ...parent, sampled: false } }])
    })
  )

  it.effect("says which transaction it is about where there is one", () =>
    Effect.gen(function* () {
      const names = { "gateway.reference": reference, "gateway.app_id": "acme", "gateway.mode": "live" }
      expect((yield* spanOf(traced.slice(0, 1))).attributes).toStrictEqual({ "gateway.batch_size": 1, ...names })
      expect((yield* spanOf([])).attributes).toStrictEqual({ "gateway.batch_size": 0 })
    })
  )

  it.effect("is counted by its kind and by how many there are", () =>
    Effect.gen(function* () {
      yield* linkedBatch("apply", traced, ({ transaction }) => transaction)(Effect.void)
      const found = (yield* Metric.snapshot).find(
        ({ attributes, id }) => id === "gateway_money_step_batch_size" && attributes?.["step"] === "apply"
      )
      expect(Option.fromUndefinedOr(found)).toMatchObject({
        value: {
          type: "Histogram",
          description: "How many money steps one statement held.",
          state: { count: 1, sum: 3, buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256].map((bound) => [bound, bound < 3 ? 0 : 1]) }
        }
      })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
