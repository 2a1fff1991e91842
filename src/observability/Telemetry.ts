import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { type AttributeValue, diag, SpanStatusCode } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { BatchSpanProcessor, type ReadableSpan, type SpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Metric, Redacted, Schedule } from "effect"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import { SpanPropagationEnabled } from "effect/sql/Statement"
import type { Family } from "./Family.ts"
import { SdkDiagnostics, type SdkLogLevel } from "./SdkDiagnostics.ts"
import { changed, conventional } from "./SpanExport.ts"

/** How long flushing the spans may take when the process stops; a dead collector must not keep it alive. */
const SHUTDOWN_MS = 3_000
/** The same for the gauges, most of which the collector already has. */
const GAUGES_SHUTDOWN_MS = 1_000

/** One signal's collector. */
interface Collector {
  readonly url: string
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly timeoutMs: number
  /** In PEM: the authority that signed the collector's certificate, and our client certificate with its key. */
  readonly authority: string | null
  readonly certificate: string | null
  readonly key: Redacted.Redacted | null
}

/** The values of the standard OTEL_* variables; null for a signal that is not exported. */
export interface TelemetryOptions {
  readonly traces: Collector | null
  /** The level from which on the SDK's own messages are written to the log. */
  readonly sdkLogLevel: SdkLogLevel
  readonly metrics: Collector | null
  readonly metricsEveryMs: number
  readonly metricsCompression: "gzip" | "none"
  readonly metricsTemporality: "cumulative" | "delta"
  readonly serviceName: string
  readonly serviceVersion: string
  /** From OTEL_RESOURCE_ATTRIBUTES. */
  readonly attributes: Readonly<Record<string, string>>
}

/** One for each process, unless OTEL_RESOURCE_ATTRIBUTES names another, so that two processes are never mixed up. */
const INSTANCE_ID = crypto.randomUUID()

const layer = (options: TelemetryOptions): Layer.Layer<never> => Layer.merge(traces(options), metrics(options, SHUTDOWN_MS))

/** The gauges, sent to the same collector: `families` are read before each export. */
const gauges = (options: TelemetryOptions, families: Effect.Effect<ReadonlyArray<Family>>): Layer.Layer<never> =>
  options.metrics === null ? Layer.empty : Layer.unwrap(Effect.sync(() => gaugesOn(options, families)))

/** Traces and metrics to an OTLP/HTTP collector, off for a signal without one. The SDK reads samplers, limits and batches. */
export const Telemetry = { layer, gauges }

const traces = (options: TelemetryOptions): Layer.Layer<never> => {
  if (options.traces === null) return Layer.empty
  const { headers, timeoutMs, url } = options.traces
  const httpAgentOptions = { keepAlive: true, ...tlsOf(options.traces) }
  return NodeSdk.layer(() => ({
    spanProcessor: withWholeTraces(
      new BatchSpanProcessor(
        conventional(new OTLPTraceExporter({ url, headers: Redacted.value(headers), timeoutMillis: timeoutMs, httpAgentOptions }))
      )
    ),
    resource: resourceOf(options),
    shutdownTimeout: SHUTDOWN_MS
  })).pipe(
    Layer.provide(SdkDiagnostics.layer(options.sdkLogLevel)),
    // A statement's span itself shows why it failed.
    Layer.merge(Layer.succeed(SpanPropagationEnabled, true))
  )
}

/** Only the options that are set: without an authority, the runtime's own are used. */
const tlsOf = ({ authority, certificate, key }: Collector) => ({
  ...(authority === null ? {} : { ca: authority }),
  ...(certificate === null ? {} : { cert: certificate }),
  ...(key === null ? {} : { key: Redacted.value(key) })
})

const resourceOf = ({ attributes, serviceName, serviceVersion }: TelemetryOptions) => ({
  serviceName,
  serviceVersion: attributes["service.version"] ?? serviceVersion,
  attributes: { "service.instance.id": INSTANCE_ID, ...attributes }
})

/** The gauges' own registry, emptied before each export, so that a gauge of something that no longer exists disappears. */
const gaugesOn = (options: TelemetryOptions, families: Effect.Effect<ReadonlyArray<Family>>): Layer.Layer<never> => {
  const registry: typeof Metric.MetricRegistry.Service = new Map()
  const own = Layer.succeed(Metric.MetricRegistry, registry)
  const refill = Effect.gen(function* () {
    const all = yield* families
    registry.clear()
    for (const { help, name, samples } of all) for (const [labels, value] of samples) yield* set(name, help, labels, value)
  }).pipe(Effect.provideService(Metric.MetricRegistry, registry))
  const refillRegularly = Effect.gen(function* () {
    // The exporter makes a last export when the process stops; it must see the latest figures.
    yield* Effect.addFinalizer(() => refill)
    yield* Effect.forkScoped(Effect.repeat(refill, Schedule.spaced(options.metricsEveryMs)))
  })
  return Layer.provideMerge(Layer.effectDiscard(refillRegularly), Layer.provide(metrics(options, GAUGES_SHUTDOWN_MS), own))
}

const set = (name: string, description: string, labels: Readonly<Record<string, string>>, value: number | bigint) =>
  typeof value === "bigint"
    ? Metric.update(Metric.withAttributes(Metric.gauge(name, { description, bigint: true }), labels), value)
    : Metric.update(Metric.withAttributes(Metric.gauge(name, { description }), labels), value)

/** The metrics of the surrounding registry: the counters of this process, or its gauges. */
const metrics = (options: TelemetryOptions, shutdownTimeout: number): Layer.Layer<never> => {
  if (options.metrics === null) return Layer.empty
  const { headers, timeoutMs, url } = options.metrics
  const client = NodeHttpClient.layerUndiciOptions({
    connect: { timeout: timeoutMs, ...tlsOf(options.metrics) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs
  })
  return OtlpMetrics.layer({
    url,
    headers: Redacted.value(headers),
    compression: options.metricsCompression,
    resource: resourceOf(options),
    exportInterval: options.metricsEveryMs,
    temporality: options.metricsTemporality,
    shutdownTimeout
  }).pipe(Layer.provide([OtlpSerialization.layerProtobuf, client]))
}

/** The attributes by which a search finds a tenant or a transaction, set on every span of its trace. */
const OF_THE_TRACE = ["gateway.reference", "gateway.app_id", "gateway.mode"] as const
/** The name under which the attribute is set, which lacks the gateway's namespace. */
const nameOf = (name: (typeof OF_THE_TRACE)[number]) => name.slice("gateway.".length)
/** The most spans held back, of all traces together. Beyond it, the oldest trace is passed on as it is. */
const SPANS_HELD = 20_000
/** The number of ended traces that are remembered, because a span that ends after its root is about the same. */
const TRACES_REMEMBERED = 1_000

/** The subject of the spans of one trace. */
type About = Map<string, Set<AttributeValue>>

/**
 * Holds the spans of a trace until its root has ended, and then passes all of them on. If they are about one transaction,
 * tenant and mode, each of them is annotated with these. A request knows its transaction only after its first steps, and may
 * then wait for its provider for longer than the batch interval.
 */
export const withWholeTraces = (next: SpanProcessor): SpanProcessor => {
  const held = new Map<string, Array<ReadableSpan>>()
  const ended = new Map<string, About>()
  let count = 0

  const pass = (traceId: string): void => {
    const spans = held.get(traceId) ?? []
    held.delete(traceId)
    count -= spans.length
    const about = aboutOf(spans, ended.get(traceId))
    for (const span of spans) if (!isOfNoTransaction(span)) next.onEnd(withShared(span, about))
    ended.delete(traceId)
    ended.set(traceId, about)
    for (const oldest of ended.size > TRACES_REMEMBERED ? ended.keys().take(1) : []) ended.delete(oldest)
  }
  const passAll = (): void => {
    for (const traceId of held.keys()) pass(traceId)
  }

  return {
    onStart: (span, context) => next.onStart(span, context),
    onEnd: (span) => {
      const { traceId } = span.spanContext()
      const spans = held.get(traceId) ?? []
      held.set(traceId, spans)
      spans.push(span)
      count += 1
      if (isLocalRoot(span) || ended.has(traceId)) pass(traceId)
      else if (count > SPANS_HELD) for (const oldest of held.keys().take(1)) pass(oldest)
    },
    forceFlush: () => {
      passAll()
      return next.forceFlush().catch(refused)
    },
    shutdown: () => {
      passAll()
      return next.shutdown().catch(refused)
    }
  }
}

/** Whether the span began a trace here, or continues the trace of a transaction that began earlier. */
const isLocalRoot = ({ parentSpanContext }: ReadableSpan): boolean =>
  parentSpanContext === undefined || parentSpanContext.isRemote === true

/** If a collector rejects the last spans, the process must not exit as if it had failed. */
const refused = (error: unknown): void => diag.error("the last spans could not be sent", error)

const aboutOf = (spans: ReadonlyArray<ReadableSpan>, before: About = new Map()): About => {
  for (const { attributes } of spans)
    for (const name of OF_THE_TRACE) {
      const value = attributes[name] ?? attributes[nameOf(name)]
      if (value !== undefined && value !== "") before.set(name, (before.get(name) ?? new Set()).add(value))
    }
  return before
}

/** A statement for many transactions, or one that looks for work, is in no trace of a transaction, unless it failed. */
const isOfNoTransaction = ({ attributes, links, parentSpanContext, status }: ReadableSpan): boolean =>
  parentSpanContext === undefined &&
  links.length === 0 &&
  attributes["db.system.name"] !== undefined &&
  status.code !== SpanStatusCode.ERROR

/** In a trace about several of them, each span names only its own. */
const withShared = (span: ReadableSpan, about: About): ReadableSpan => {
  const shared = [...about].flatMap(([name, values]) =>
    values.size === 1 ? [...values].map((value) => [name, value] as const) : []
  )
  return shared.length === 0 ? span : changed(span, { attributes: { ...Object.fromEntries(shared), ...span.attributes } })
}
