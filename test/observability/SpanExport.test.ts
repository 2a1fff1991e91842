import { type Attributes, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from "@opentelemetry/sdk-trace-base"
import { expect, it } from "vitest"
import { conventional } from "../../src/observability/SpanExport.ts"

interface Given {
  readonly name: string
  readonly kind?: SpanKind
  readonly attributes?: Attributes
  readonly thrown?: Error
}

/** What a collector gets of spans that have one trace. */
const exported = async (...all: ReadonlyArray<Given>) => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(conventional(exporter))] })
  const within = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 }
  for (const { attributes = {}, kind = SpanKind.INTERNAL, name, thrown } of all) {
    const span = provider.getTracer("test").startSpan(name, { kind, attributes }, trace.setSpanContext(ROOT_CONTEXT, within))
    if (thrown !== undefined) {
      span.recordException(thrown)
      span.setStatus({ code: SpanStatusCode.ERROR, message: thrown.message })
    }
    span.end()
  }
  await provider.forceFlush()
  return exporter.getFinishedSpans().map(({ attributes, name, status }) => ({ name, attributes, status: status.code }))
}

it("says of a span that failed why, and of a request that was refused that it is no fault of ours", async () => {
  const [asked, unheard, refused, broken, thrown] = await exported(
    { name: "provider.call", kind: SpanKind.CLIENT, attributes: { outcome: "Answered", "http.response.status_code": 503 } },
    { name: "provider.call", kind: SpanKind.CLIENT, attributes: { outcome: "NoAnswer" } },
    { name: "POST", kind: SpanKind.SERVER, attributes: { "http.response.status_code": 401, "error.type": "unauthorized" } },
    { name: "POST", kind: SpanKind.SERVER, attributes: { "http.response.status_code": 500, "error.type": "internal_error" } },
    { name: "Payouts.create", thrown: new TypeError("broke") }
  )
  expect(asked).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "503" } })
  expect(unheard).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "NoAnswer" } })
  expect(refused).toMatchObject({ status: SpanStatusCode.UNSET, attributes: { "error.type": "unauthorized" } })
  expect(broken).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "internal_error" } })
  expect(thrown).toMatchObject({ status: SpanStatusCode.ERROR, attributes: { "error.type": "TypeError" } })
})

it("has one name for an attribute, and on each span of a trace the transaction, tenant and mode that it is about", async () => {
  const ofTrace = { "gateway.reference": "R1", "gateway.mode": "test" }
  const spans = await exported(
    { name: "inner", attributes: { provider: "eversend", msisdn: "256700000001" } },
    { name: "outer", attributes: { ...ofTrace, "gateway.app_id": "" } }
  )
  expect(spans.map(({ attributes }) => attributes)).toEqual([{ ...ofTrace, "gateway.provider": "eversend" }, ofTrace])
  const several = await exported(
    { name: "one", attributes: { reference: "R1" } },
    { name: "two", attributes: { reference: "R2" } },
    { name: "three" }
  )
  expect(several.map(({ attributes }) => attributes["gateway.reference"])).toEqual(["R1", "R2", undefined])
})

it("names a statement by what it does, and to what", async () => {
  const statement = (text: string) => ({ name: "postgresql", kind: SpanKind.CLIENT, attributes: { "db.query.text": text } })
  const spans = await exported(
    statement("SELECT applied FROM apply_step(p_app_id => $1)"),
    statement("\n  INSERT INTO provider_inbox AS i (id) VALUES ($1)"),
    statement("UPDATE open_work w SET lease_until = $1"),
    statement("something else")
  )
  expect(spans.map(({ name }) => name)).toEqual(["SELECT apply_step", "INSERT provider_inbox", "UPDATE open_work", "postgresql"])
  expect(spans[0]?.attributes).toMatchObject({ "db.operation.name": "SELECT", "db.query.summary": "SELECT apply_step" })
})
