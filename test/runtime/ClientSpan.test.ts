import { expect, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import { type HttpCall, inClientSpan } from "../../src/runtime/ClientSpan.ts"

const described = (call: Partial<HttpCall>) =>
  Effect.gen(function* () {
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const whole = { method: "POST", url: "https://pay.example/transfers", showsPath: true, ...call }
    yield* Effect.void.pipe(inClientSpan(whole), Effect.provideService(Tracer.Tracer, tracer))
    return spans.map(({ attributes, kind, name }) => ({ name, kind, attributes: Object.fromEntries(attributes) }))
  })

it.effect("a call is named by its method, and says where it went without user, query and number", () =>
  Effect.gen(function* () {
    const url =
      "https://user:secret@pay.example/v1/accounts/256772123456/N0FA4WSVG5NXQX5XH990S0AJ95?account_number=0123456789#part"
    expect(yield* described({ url, provider: "eversend", operation: "transfer" })).toEqual([
      {
        name: "POST",
        kind: "client",
        attributes: {
          "http.request.method": "POST",
          "url.full": "https://pay.example/v1/accounts/••••3456/N0FA4WSVG5NXQX5XH990S0AJ95",
          "server.address": "pay.example",
          "server.port": 443,
          provider: "eversend",
          operation: "transfer"
        }
      }
    ])
  })
)

it.effect("a tenant's endpoint is named without its path, which may be its secret", () =>
  Effect.gen(function* () {
    const [hook] = yield* described({ url: "http://127.0.0.1:9000/hooks/T0P-SECRET", showsPath: false })
    expect(hook?.attributes).toMatchObject({ "url.full": "http://127.0.0.1:9000/REDACTED", "server.port": 9000 })
    const [bare] = yield* described({ url: "http://hooks.example", showsPath: false })
    expect(bare?.attributes).toMatchObject({ "url.full": "http://hooks.example/", "server.port": 80 })
    const [none] = yield* described({ url: "no address" })
    expect(none?.attributes).toEqual({ "http.request.method": "POST" })
  })
)

it.effect("no call has a span where nobody collects them", () =>
  Effect.gen(function* () {
    const span = yield* Effect.option(Effect.currentSpan).pipe(
      inClientSpan({ method: "GET", url: "https://pay.example", showsPath: true })
    )
    expect(span._tag).toBe("None")
  })
)
