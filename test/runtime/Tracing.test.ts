import { describe, expect, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { inSpan } from "../../src/runtime/Tracing.ts"

const names = Effect.gen(function* () {
  const span = yield* Effect.orDie(Effect.currentSpan)
  return span.name
}).pipe(inSpan("step"))

const request = inSpan("request", { root: true })(names)

describe("the spans of a request", () => {
  it.effect("are a root alone where nobody collects them: log lines carry its ids", () =>
    Effect.gen(function* () {
      expect(yield* request).toBe("request")
    })
  )

  it.effect("are one for each step where a collector is set", () => {
    const made: Array<readonly [string, string]> = []
    const tracer = Tracer.make({
      span: (options) => {
        made.push([options.name, options.parent._tag])
        return new Tracer.NativeSpan(options)
      }
    })
    return Effect.gen(function* () {
      expect(yield* request).toBe("step")
      expect(made).toStrictEqual([
        ["request", "None"],
        ["step", "Some"]
      ])
    }).pipe(Effect.provideService(Tracer.Tracer, tracer))
  })
})
