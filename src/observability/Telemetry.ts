import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import type { Attributes, AttributeValue } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-base"
import { Layer } from "effect"
import { isListed } from "./Attributes.ts"

/** How long spans may take to be flushed when the process stops; a dead collector must not keep it alive. */
const SHUTDOWN_MS = 3_000
export interface TelemetryOptions {
  /** OTEL_EXPORTER_OTLP_ENDPOINT: `/v1/traces` is appended. */
  readonly endpoint: string | undefined
  /** OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: used as it stands, before the other. */
  readonly tracesEndpoint: string | undefined
  readonly serviceName: string
  readonly serviceVersion: string
}

const layer = (options: TelemetryOptions): Layer.Layer<never> => {
  const url = tracesUrl(options)
  if (url === undefined) return Layer.empty
  const { serviceName, serviceVersion } = options
  return NodeSdk.layer(() => ({
    spanProcessor: new BatchSpanProcessor(listedOnly(new OTLPTraceExporter({ url }))),
    resource: { serviceName, serviceVersion },
    shutdownTimeout: SHUTDOWN_MS
  }))
}

/** Spans to an OTLP/HTTP collector. Off, and free, where no endpoint is set. Sampling, batches, headers and resource follow OTEL_*. */
export const Telemetry = { layer }

const tracesUrl = ({ endpoint, tracesEndpoint }: TelemetryOptions): string | undefined => {
  if (tracesEndpoint !== undefined) return tracesEndpoint
  return endpoint === undefined ? undefined : `${endpoint.replace(/\/+$/, "")}/v1/traces`
}

/** The allow-list is applied where spans leave, so that no library's own attributes can slip past it. */
const listedOnly = (exporter: SpanExporter): SpanExporter => ({
  export: (spans, done) => exporter.export(spans.map(shown), done),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  shutdown: () => exporter.shutdown()
})

const shown = (span: ReadableSpan): ReadableSpan => {
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
