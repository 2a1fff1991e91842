import { type Attributes, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from "@opentelemetry/sdk-trace-base"
import { expect, it } from "vitest"
import { conventional } from "../../src/observability/SpanExport.ts"
import { withWholeTraces } from "../../src/observability/Telemetry.ts"

interface Given {
  readonly name: string
  readonly kind?: SpanKind
  readonly attributes?: Attributes
  readonly thrown?: Error
}

/** A collector in memory; `end` ends a span of a trace whose root goes on. */
const collected = () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [withWholeTraces(new BatchSpanProcessor(conventional(exporter)))] })
  const root = provider.getTracer("test").startSpan("root", { root: true })
  const inTrace = trace.setSpan(ROOT_CONTEXT, root)
  return {
    exporter,
    provider,
    root,
    end: ({ attributes = {}, kind = SpanKind.INTERNAL, name, thrown }: Given) => {
      const span = provider.getTracer("test").startSpan(name, { kind, attributes }, inTrace)
      if (thrown !== undefined) {
        span.recordException(thrown)
        span.setStatus({ code: SpanStatusCode.ERROR, message: thrown.message })
      }
      span.end()
    }
  }
}

/** What a collector gets of spans that have one trace. */
const exported = async (...all: ReadonlyArray<Given>) => {
  const { end, exporter, provider } = collected()
  for (const one of all) end(one)
  await provider.forceFlush()
  return exporter.getFinishedSpans().map(({ attributes, name, status }) => ({ name, attributes, status: status.code }))
}

it("says of a span that failed why: a refused request is no fault of ours, and a call that the other side refused is one", async () => {
  const client = (attributes: Attributes) => ({ name: "POST", kind: SpanKind.CLIENT, attributes })
  const server = (attributes: Attributes) => ({ name: "POST", kind: SpanKind.SERVER, attributes })
  const [unavailable, refusedThere, unheard, givenUp, answered, refused, broken, replayed, thrown] = await exported(
    client({ "http.response.status_code": 503 }),
    client({ "http.response.status_code": 404 }),
    client({ "error.type": "timeout" }),
    client({ "http.request.method": "POST" }),
    client({ "http.response.status_code": 200 }),
    server({ "http.response.status_code": 401, "error.type": "unauthorized", "gateway.error_code": "unauthorized" }),
    server({ "http.response.status_code": 500, "error.type": "internal_error" }),
    server({ "http.response.status_code": 502 }),
    { name: "Payouts.create", thrown: new TypeError("broke") }
  )
  expect(unavailable).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "503" } })
  expect(refusedThere).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "404" } })
  expect(unheard).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "timeout" } })
  expect(givenUp).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "interrupted" } })
  expect(answered).toMatchObject({ status: SpanStatusCode.UNSET, attributes: { "http.response.status_code": 200 } })
  expect(refused?.status).toBe(SpanStatusCode.UNSET)
  expect(refused?.attributes).toEqual({ "http.response.status_code": 401, "gateway.error_code": "unauthorized" })
  expect(broken).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "internal_error" } })
  expect(replayed).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "502" } })
  expect(thrown).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "TypeError" } })
})

it("shows of a request's path what its route says and our identifiers, and of a method that nobody knows that it is one", async () => {
  const paths = async (path: string, route?: string) => {
    const attributes = { "url.path": path, ...(route === undefined ? {} : { "http.route": route }) }
    const [span] = await exported({ name: "GET", kind: SpanKind.SERVER, attributes })
    return span?.attributes["url.path"]
  }
  const reference = "N0FA4WSVG5NXQX5XH990S0AJ95"
  expect(await paths("/v1/payouts", "/v1/payouts")).toBe("/v1/payouts")
  expect(await paths(`/v1/payouts/${reference}`, "/v1/payouts/{reference}")).toBe(`/v1/payouts/${reference}`)
  expect(await paths("/v1/banks/UG", "/v1/banks/{country}")).toBe("/v1/banks/UG")
  expect(await paths("/v1/payouts/256772123456", "/v1/payouts/{reference}")).toBe("/v1/payouts/REDACTED")
  expect(await paths("/webhooks/eversend/secret-key", "/webhooks/{provider}/{route_key}")).toBe("/webhooks/REDACTED/REDACTED")
  expect(await paths(`/webhooks/eversend/${reference}`, "/webhooks/{provider}/{route_key}")).toBe("/webhooks/REDACTED/REDACTED")
  expect(await paths("/webhook/eversend/secret-key")).toBe("/REDACTED")
  expect(await paths("/")).toBe("/")
  const url = { "url.full": "https://user:secret@pay.example/v1?token=secret#secret" }
  const [call, served] = await exported(
    { name: "GET", kind: SpanKind.CLIENT, attributes: url },
    { name: "GET", kind: SpanKind.SERVER, attributes: url }
  )
  expect([call?.attributes, served?.attributes]).toEqual([{ "url.full": "https://pay.example/v1" }, {}])
  const [odd] = await exported({ name: "BREW", kind: SpanKind.SERVER, attributes: { "http.request.method": "BREW" } })
  expect(odd?.attributes).toEqual({ "http.request.method": "_OTHER" })
})

it("has one name for an attribute, and on each span of a trace the transaction, tenant and mode that it is about", async () => {
  const ofTrace = { "gateway.reference": "R1", "gateway.mode": "test" }
  const spans = await exported(
    { name: "inner", attributes: { provider: "eversend", msisdn: "256700000001" } },
    { name: "outer", attributes: { reference: "R1", "gateway.mode": "test", "gateway.app_id": "" } }
  )
  expect(spans.map(({ attributes }) => attributes)).toEqual([{ ...ofTrace, "gateway.provider": "eversend" }, ofTrace])
  const several = await exported(
    { name: "one", attributes: { reference: "R1" } },
    { name: "two", attributes: { reference: "R2" } },
    { name: "three" }
  )
  expect(several.map(({ attributes }) => attributes["gateway.reference"])).toEqual(["R1", "R2", undefined])
})

it("sends a trace when its root has ended, so that its first spans say what only a later one knew", async () => {
  const { end, exporter, provider, root } = collected()
  const names = () => exporter.getFinishedSpans().map(({ attributes, name }) => [name, attributes["gateway.reference"]])
  end({ name: "first" })
  end({ name: "second", attributes: { "gateway.reference": "R1" } })
  expect(names()).toEqual([])
  root.end()
  end({ name: "after its root" })
  await provider.forceFlush()
  expect(names()).toEqual([
    ["first", "R1"],
    ["second", "R1"],
    ["root", "R1"],
    ["after its root", "R1"]
  ])
})

it("names a statement by what it does, and to what", async () => {
  const statement = (text: string) => ({ name: "gateway", kind: SpanKind.CLIENT, attributes: { "db.query.text": text } })
  const spans = await exported(
    statement("SELECT applied FROM apply_step(p_app_id => $1)"),
    statement("\n  INSERT INTO provider_inbox AS i (id) VALUES ($1)"),
    statement("UPDATE open_work w SET lease_until = $1"),
    statement("something else")
  )
  expect(spans.map(({ name }) => name)).toEqual(["SELECT apply_step", "INSERT provider_inbox", "UPDATE open_work", "gateway"])
  expect(spans[0]?.attributes).toMatchObject({ "db.operation.name": "SELECT", "db.query.summary": "SELECT apply_step" })
})

it("sends no statement that is nobody's trace, unless it failed or is linked to somebody's", async () => {
  const { exporter, provider, root } = collected()
  const nobodys = (name: string, change: (span: Span) => void = () => {}) => {
    const span = provider.getTracer("test").startSpan(name, { root: true, attributes: { "db.system.name": "postgresql" } })
    change(span)
    span.end()
  }
  nobodys("looks for work")
  nobodys("failed", (span) => span.setStatus({ code: SpanStatusCode.ERROR }))
  nobodys("batch", (span) => span.addLink({ context: root.spanContext() }))
  await provider.forceFlush()
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(["failed", "batch"])
})
