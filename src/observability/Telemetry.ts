import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import type { Attributes, AttributeValue } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Metric, Redacted, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import { isListed } from "./Attributes.ts"
import type { Family } from "./Family.ts"

/** How long spans may take to be flushed when the process stops; a dead collector must not keep it alive. */
const SHUTDOWN_MS = 3_000
/** The same for the gauges, of which the collector has had nearly all. */
const GAUGES_SHUTDOWN_MS = 1_000

/** One signal's collector. */
interface Collector {
  readonly url: string
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly timeoutMs: number
}

/** What the standard OTEL_* variables say; null for a signal that goes nowhere. */
export interface TelemetryOptions {
  readonly traces: Collector | null
  readonly metrics: Collector | null
  readonly metricsEveryMs: number
  readonly metricsCompression: "gzip" | "none"
  readonly metricsTemporality: "cumulative" | "delta"
  readonly serviceName: string
  readonly serviceVersion: string
  /** Of OTEL_RESOURCE_ATTRIBUTES. */
  readonly attributes: Readonly<Record<string, string>>
}

/** One for each process, unless OTEL_RESOURCE_ATTRIBUTES names another: spans and metrics of two processes are never taken for those of one. */
const INSTANCE_ID = crypto.randomUUID()

const layer = (options: TelemetryOptions): Layer.Layer<never> => Layer.merge(traces(options), metrics(options, SHUTDOWN_MS))

/** The gauges, sent to the same collector: `families` are read before each export. */
const gauges = (options: TelemetryOptions, families: Effect.Effect<ReadonlyArray<Family>>): Layer.Layer<never> =>
  options.metrics === null ? Layer.empty : Layer.unwrap(Effect.sync(() => gaugesOn(options, families)))

/** Traces and metrics to an OTLP/HTTP collector. Off, and free, where they have none. The SDK reads samplers, limits, batches and compression of spans. */
export const Telemetry = { layer, gauges }

const traces = (options: TelemetryOptions): Layer.Layer<never> => {
  if (options.traces === null) return Layer.empty
  const { headers, timeoutMs, url } = options.traces
  return NodeSdk.layer(() => ({
    spanProcessor: new BatchSpanProcessor(
      onlyListed(new OTLPTraceExporter({ url, headers: Redacted.value(headers), timeoutMillis: timeoutMs }))
    ),
    resource: resourceOf(options),
    shutdownTimeout: SHUTDOWN_MS
  }))
}

const resourceOf = ({ attributes, serviceName, serviceVersion }: TelemetryOptions) => ({
  serviceName,
  serviceVersion: attributes["service.version"] ?? serviceVersion,
  attributes: { "service.instance.id": INSTANCE_ID, ...attributes }
})

/** The gauges have a registry of their own. It is emptied before each export, so that no gauge of something gone stays in it. */
const gaugesOn = (options: TelemetryOptions, families: Effect.Effect<ReadonlyArray<Family>>): Layer.Layer<never> => {
  const registry: typeof Metric.MetricRegistry.Service = new Map()
  const own = Layer.succeed(Metric.MetricRegistry, registry)
  const refill = Effect.gen(function* () {
    const all = yield* families
    registry.clear()
    for (const { help, name, samples } of all) for (const [labels, value] of samples) yield* set(name, help, labels, value)
  }).pipe(Effect.provideService(Metric.MetricRegistry, registry))
  const refillRegularly = Effect.gen(function* () {
    // The last export, which the exporter makes when the process stops, has the last look.
    yield* Effect.addFinalizer(() => refill)
    yield* Effect.forkScoped(Effect.repeat(refill, Schedule.spaced(options.metricsEveryMs)))
  })
  return Layer.provideMerge(Layer.effectDiscard(refillRegularly), Layer.provide(metrics(options, GAUGES_SHUTDOWN_MS), own))
}

const set = (name: string, description: string, labels: Readonly<Record<string, string>>, value: number | bigint) =>
  typeof value === "bigint"
    ? Metric.update(Metric.withAttributes(Metric.gauge(name, { description, bigint: true }), labels), value)
    : Metric.update(Metric.withAttributes(Metric.gauge(name, { description }), labels), value)

/** What the registry around it holds: what this process counts, or its gauges. */
const metrics = (options: TelemetryOptions, shutdownTimeout: number): Layer.Layer<never> => {
  if (options.metrics === null) return Layer.empty
  const { headers, timeoutMs, url } = options.metrics
  const inTime: typeof fetch = (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.any([...(init?.signal ? [init.signal] : []), AbortSignal.timeout(timeoutMs)]) })
  return OtlpMetrics.layer({
    url,
    headers: Redacted.value(headers),
    compression: options.metricsCompression,
    resource: resourceOf(options),
    exportInterval: options.metricsEveryMs,
    temporality: options.metricsTemporality,
    shutdownTimeout
  }).pipe(
    Layer.provide([OtlpSerialization.layerProtobuf, FetchHttpClient.layer]),
    Layer.provide(Layer.succeed(FetchHttpClient.Fetch, inTime))
  )
}

/** The allow-list is applied where spans leave, so that no library's own attributes can slip past it. */
const onlyListed = (exporter: SpanExporter): SpanExporter => ({
  export: (spans, done) => exporter.export(spans.map(cleanSpan), done),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  shutdown: () => exporter.shutdown()
})

const cleanSpan = (span: ReadableSpan): ReadableSpan => {
  const clean = withoutPath(span.attributes["url.path"], span.attributes["http.route"])
  const listed = (attributes: Attributes | undefined): Attributes =>
    Object.fromEntries(
      Object.entries(attributes ?? {})
        .filter(([name]) => isListed(name))
        .map(([name, value]) => [name, typeof value === "string" ? clean(value) : value])
    )
  const { message } = span.status
  // Not a copy: a span's own fields are accessors of its class.
  return Object.create(span, {
    attributes: { value: listed(span.attributes) },
    events: { value: span.events.map((event) => ({ ...event, attributes: listed(event.attributes) })) },
    links: { value: span.links.map((link) => ({ ...link, attributes: listed(link.attributes) })) },
    status: { value: message === undefined ? span.status : { ...span.status, message: clean(message) } }
  })
}

/** Errors name the path of their request, and the path of a callback ends in a secret. */
const withoutPath =
  (path: AttributeValue | undefined, route: AttributeValue | undefined) =>
  (text: string): string =>
    typeof path === "string" && path.length > 1 ? text.replaceAll(path, typeof route === "string" ? route : "<path>") : text
