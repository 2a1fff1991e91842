import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import type { Attributes, AttributeValue } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Metric, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import { isListed } from "./Attributes.ts"
import type { Family } from "./Gauges.ts"

/** How long spans may take to be flushed when the process stops; a dead collector must not keep it alive. */
const SHUTDOWN_MS = 3_000
/** The same for the gauges, of which the collector has had nearly all. */
const GAUGES_SHUTDOWN_MS = 1_000
const METRICS_EVERY = "15 seconds"

export interface TelemetryOptions {
  /** OTEL_EXPORTER_OTLP_ENDPOINT: `/v1/traces` and `/v1/metrics` are appended. */
  readonly endpoint: string | undefined
  /** OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: used as it stands, before the other. */
  readonly tracesEndpoint: string | undefined
  readonly serviceName: string
  readonly serviceVersion: string
}

const layer = (options: TelemetryOptions): Layer.Layer<never> => Layer.merge(traces(options), metrics(options, SHUTDOWN_MS))

/** The gauges, sent to the same collector: `families` are read before each export. */
const gauges = (options: TelemetryOptions, families: Effect.Effect<ReadonlyArray<Family>>): Layer.Layer<never> =>
  options.endpoint === undefined ? Layer.empty : Layer.unwrap(Effect.sync(() => gaugesOn(options, families)))

/** Traces and metrics to an OTLP/HTTP collector. Off, and free, where no endpoint is set. Sampling, batches and headers of traces follow OTEL_*. */
export const Telemetry = { layer, gauges }

const traces = (options: TelemetryOptions): Layer.Layer<never> => {
  const url = tracesUrl(options)
  if (url === undefined) return Layer.empty
  const { serviceName, serviceVersion } = options
  return NodeSdk.layer(() => ({
    spanProcessor: new BatchSpanProcessor(onlyListed(new OTLPTraceExporter({ url }))),
    resource: { serviceName, serviceVersion },
    shutdownTimeout: SHUTDOWN_MS
  }))
}

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
    yield* Effect.forkScoped(Effect.repeat(refill, Schedule.spaced(METRICS_EVERY)))
  })
  return Layer.provideMerge(Layer.effectDiscard(refillRegularly), Layer.provide(metrics(options, GAUGES_SHUTDOWN_MS), own))
}

const set = (name: string, description: string, labels: Readonly<Record<string, string>>, value: number | bigint) =>
  typeof value === "bigint"
    ? Metric.update(Metric.withAttributes(Metric.gauge(name, { description, bigint: true }), labels), value)
    : Metric.update(Metric.withAttributes(Metric.gauge(name, { description }), labels), value)

/** What the registry around it holds: what this process counts, or its gauges. */
const metrics = ({ endpoint, serviceName, serviceVersion }: TelemetryOptions, shutdownTimeout: number): Layer.Layer<never> =>
  endpoint === undefined
    ? Layer.empty
    : OtlpMetrics.layer({
        url: signalUrl(endpoint, "metrics"),
        resource: { serviceName, serviceVersion },
        exportInterval: METRICS_EVERY,
        shutdownTimeout
      }).pipe(Layer.provide([OtlpSerialization.layerProtobuf, FetchHttpClient.layer]))

const signalUrl = (endpoint: string, signal: "traces" | "metrics"): string => `${endpoint.replace(/\/+$/, "")}/v1/${signal}`

const tracesUrl = ({ endpoint, tracesEndpoint }: TelemetryOptions): string | undefined => {
  if (tracesEndpoint !== undefined) return tracesEndpoint
  return endpoint === undefined ? undefined : signalUrl(endpoint, "traces")
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
