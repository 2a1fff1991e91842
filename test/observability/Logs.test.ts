import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Redacted } from "effect"
import { TestClock, TestConsole } from "effect/testing"
import { annotations } from "../../src/observability/Attributes.ts"
import { Logs } from "../../src/observability/Logs.ts"
import { IsBounded } from "../../src/runtime/BoundedLog.ts"

class Refused extends Error {
  readonly request = { headers: { authorization: "Bearer hidden-token" } }
}

const logged = (format: "json" | "pretty", program: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    yield* program.pipe(Effect.provide(Logs.layer({ format, level: "Info" })))
    expect(yield* TestConsole.logLines).toEqual([])
    // What a line says of an error is set in under it.
    return (yield* TestConsole.errorLines).flatMap((text) => String(text).split(/\n(?! )/))
  })

describe("Logs", () => {
  it.effect("writes one JSON object a line on standard error, with the ids of its trace", () =>
    Effect.gen(function* () {
      const span = yield* Effect.makeSpan("payout")
      const lines = yield* logged(
        "json",
        Effect.logInfo("settled", 3, 5n).pipe(
          Effect.annotateLogs(annotations({ reference: "R1", moved: true })),
          Effect.withParentSpan(span)
        )
      )
      expect(lines.map((line) => JSON.parse(line))).toEqual([
        {
          time: "1970-01-01T00:00:00.000Z",
          level: "info",
          message: "settled 3 5",
          annotations: { reference: "R1", moved: true },
          trace_id: span.traceId,
          span_id: span.spanId
        }
      ])
    })
  )

  it.effect("writes nothing below its level", () =>
    Effect.gen(function* () {
      expect(yield* logged("json", Effect.andThen(Effect.logDebug("no"), Effect.logTrace("no")))).toEqual([])
    })
  )

  const timedOut = Effect.logWarning("request authentication timed out")
  const times = (count: number) => Effect.repeat({ times: count - 1 })
  /** What a line is, without when and where. */
  const said = (line: string) => {
    const { annotations, message } = JSON.parse(line)
    return [message, annotations]
  }

  it.effect("writes the first ten warnings of one sentence in ten seconds, and one line with the count of the others", () =>
    Effect.gen(function* () {
      const lines = yield* logged(
        "json",
        Effect.gen(function* () {
          yield* timedOut.pipe(Effect.annotateLogs(annotations({ request_id: "R" })), Effect.withSpan("POST"), times(35))
          yield* Effect.logError("the request broke")
          yield* TestClock.adjust("10 seconds")
          yield* timedOut.pipe(times(2))
        })
      )
      const own = ["request authentication timed out", { request_id: "R" }]
      expect(lines.map(said)).toEqual([
        ...Array.from({ length: 10 }, () => own),
        ["the request broke", {}],
        ["request authentication timed out", { count: 25 }],
        ["request authentication timed out", {}],
        ["request authentication timed out", {}]
      ])
      expect(JSON.parse(lines[11] ?? "")).toMatchObject({ level: "warn", time: "1970-01-01T00:00:00.000Z" })
      expect(JSON.parse(lines[11] ?? "")).not.toHaveProperty("trace_id")
    })
  )

  for (const name of ["provider", "app_id"] as const)
    it.effect(`counts what is about another ${name} by itself, and tells the counts when the process ends`, () =>
      Effect.gen(function* () {
        const alarm = (value: string) =>
          Effect.annotateLogs(Effect.logError("it fails"), annotations({ [name]: value, reference: "R1" }))
        const lines = yield* logged("json", Effect.andThen(alarm("one").pipe(times(12)), alarm("two").pipe(times(11))))
        expect(lines.length).toBe(22)
        expect(lines.slice(20).map(said)).toEqual([
          ["it fails", { [name]: "one", count: 2 }],
          ["it fails", { [name]: "two", count: 1 }]
        ])
      })
    )

  it.effect("writes one alarm of a kind in a minute, and one line with the count of the others", () =>
    Effect.gen(function* () {
      const alarm = (text: string) => Effect.annotateLogs(Effect.logError("it is not as expected"), annotations({ alarm: text }))
      const lines = yield* logged(
        "json",
        Effect.gen(function* () {
          yield* alarm("a word").pipe(times(20))
          yield* alarm("another").pipe(times(1))
          yield* TestClock.adjust("50 seconds")
          yield* alarm("a word")
          yield* TestClock.adjust("10 seconds")
          yield* alarm("a word")
        })
      )
      expect(lines.map((line) => said(line)[1])).toEqual([
        { alarm: "a word" },
        { alarm: "another" },
        { alarm: "a word", count: 20 },
        { alarm: "a word" }
      ])
    })
  )

  it.effect("holds back no lines below a warning, and none that were counted where they were made", () =>
    Effect.gen(function* () {
      const lines = yield* logged(
        "json",
        Effect.andThen(
          Effect.logInfo("request").pipe(times(30)),
          timedOut.pipe(Effect.provideService(IsBounded, true), times(30))
        )
      )
      expect(lines.length).toBe(60)
    })
  )

  it.effect("tells only sentences apart where there are too many kinds of lines", () =>
    Effect.gen(function* () {
      const reasons = Array.from({ length: 2_000 }, (_, at) => Effect.annotateLogs(timedOut, annotations({ reason: `${at}` })))
      const lines = yield* logged("json", Effect.all(reasons, { discard: true }))
      expect(lines.length).toBe(1_000 + 10 + 1)
      expect(said(lines.at(-1) ?? "")).toEqual(["request authentication timed out", { count: 990 }])
    })
  )

  for (const format of ["json", "pretty"] as const) {
    it.effect(`prints no secret, wherever it is attached (${format})`, () =>
      Effect.gen(function* () {
        const secret = Redacted.make("hidden-secret")
        const program = Effect.gen(function* () {
          yield* Effect.logInfo("key", secret, { secret, nested: [secret] })
          yield* Effect.logInfo("annotated").pipe(
            Effect.annotateLogs({ note: secret, "http.url": "/webhooks/eversend/hidden-route" })
          )
          yield* Effect.logError("failed", yield* Effect.sandbox(Effect.fail(new Refused("no"))).pipe(Effect.flip))
          yield* Effect.logError(new Refused("as a message"), { error: new Refused("as a field") })
        })
        const lines = yield* logged(format, program)
        expect(lines.length).toBe(4)
        expect(lines.join("\n")).not.toContain("hidden")
        expect(lines.join("\n")).toContain("http.url")
        expect(lines[2]).toContain("Error: no")
      })
    )
  }

  const hostile = "\u001b]0;paid\u0007\nforged\u202e\u200b\u2028\u009b31m"
  for (const format of ["json", "pretty"] as const) {
    it.effect(`lets no text control the terminal or forge a line (${format})`, () =>
      Effect.gen(function* () {
        yield* Effect.logInfo("said", hostile, Cause.die(new Error(hostile))).pipe(
          Effect.annotateLogs(annotations({ provider: hostile })),
          Effect.provide(Logs.layer({ format, level: "Info" }))
        )
        const lines = (yield* TestConsole.errorLines).join("\n").split("\n")
        expect(lines.filter((line) => /^forged|[\p{Cc}\p{Cf}\p{Zl}]/u.test(line))).toEqual([])
        expect(lines[0]).toContain("\\u001b]0;paid\\u0007\\nforged\\u202e\\u200b\\u2028\\u009b31m")
        if (format === "json") expect(JSON.parse(lines[0] ?? "").message).toBe(`said ${hostile}`)
      })
    )
  }
})
