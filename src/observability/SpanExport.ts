import { type Attributes, type AttributeValue, SpanKind, SpanStatusCode } from "@opentelemetry/api"
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base"
import { isListed } from "./Attributes.ts"

/** What one search by a tenant or a transaction has to find, on every span of a trace that is about one. */
const OF_THE_TRACE = ["gateway.reference", "gateway.app_id", "gateway.mode"] as const
const FIRST_CLIENT_FAULT = 400
const FIRST_SERVER_FAULT = 500

/**
 * Spans as they leave: with the names of the semantic conventions, one name an attribute, the error's type where there is one, and no attribute
 * that is not listed, so that no library's own can slip past. All of it is done here, so that it costs nothing where nobody collects spans.
 */
export const conventional = (exporter: SpanExporter): SpanExporter => ({
  export: (spans, done) => exporter.export(withTheirTrace(spans.map(cleanSpan)), done),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  shutdown: () => exporter.shutdown()
})

const cleanSpan = (span: ReadableSpan): ReadableSpan => {
  const clean = withoutPath(span.attributes["url.path"], span.attributes["http.route"])
  const listed = (attributes: Attributes | undefined): Attributes =>
    Object.fromEntries(
      Object.entries(attributes ?? {})
        // Of a request without a tenant.
        .filter(([name, value]) => isListed(name) && value !== "")
        .map(([name, value]) => [oneName(name), typeof value === "string" ? clean(value) : value])
    )
  const events = span.events.map((event) => ({ ...event, attributes: listed(event.attributes) }))
  const own = { ...listed(span.attributes), ...databaseAttributes(span) }
  const errorType = errorTypeOf(span, own, events)
  const { message } = span.status
  const status = {
    code: errorType === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR,
    ...(errorType === null || message === undefined ? {} : { message: clean(message) })
  }
  return changed(span, {
    name: own["db.query.summary"] ?? span.name,
    attributes: errorType === null ? own : { ...own, "error.type": errorType },
    events,
    links: span.links.map((link) => ({ ...link, attributes: listed(link.attributes) })),
    // A client's mistake is no error of ours: its code stands in error.type.
    status: isRefusal(span) ? { code: SpanStatusCode.UNSET } : status
  })
}

/** Not a copy: a span's own fields are accessors of its class. */
const changed = (span: ReadableSpan, fields: Readonly<Record<string, unknown>>): ReadableSpan =>
  Object.create(span, Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value, enumerable: true }])))

/** Names without a room of their own are the gateway's. */
const oneName = (name: string): string => (name.includes(".") ? name : `gateway.${name}`)

const isRefusal = ({ attributes, kind }: ReadableSpan): boolean => {
  const status = attributes["http.response.status_code"]
  return kind === SpanKind.SERVER && typeof status === "number" && status < FIRST_SERVER_FAULT
}

/** Why it failed, of few different words; null where it did not. */
const errorTypeOf = (span: ReadableSpan, own: Attributes, events: ReadableSpan["events"]): string | null => {
  const said = own["error.type"]
  if (typeof said === "string") return said
  if (span.kind === SpanKind.CLIENT) {
    const [status, outcome] = [own["http.response.status_code"], own["gateway.outcome"]]
    if (typeof status === "number" && status >= FIRST_CLIENT_FAULT) return String(status)
    if (typeof outcome === "string" && outcome !== "Answered") return outcome
  }
  if (span.status.code !== SpanStatusCode.ERROR) return null
  const thrown = events.findLast(({ attributes }) => attributes?.["exception.type"] !== undefined)?.attributes?.["exception.type"]
  return typeof thrown === "string" ? thrown : "_OTHER"
}

const OPERATION = /^\s*(?:WITH\b[^]*?\)\s*)?(SELECT|INSERT|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK)\b/i
const TARGET = /\b(?:FROM|INTO|UPDATE)\s+(\w+)/i

/** What a statement does, and to what: its span is named so. */
const databaseAttributes = ({ attributes }: ReadableSpan): Attributes => {
  const text = attributes["db.query.text"]
  const [, operation] = typeof text === "string" ? (OPERATION.exec(text) ?? []) : []
  if (typeof text !== "string" || operation === undefined) return {}
  const [, target] = TARGET.exec(text) ?? []
  const name = operation.toUpperCase()
  return { "db.operation.name": name, "db.query.summary": target === undefined ? name : `${name} ${target}` }
}

/** Where the spans of one trace are about one transaction, tenant and mode, each of them says so. */
const withTheirTrace = (spans: ReadonlyArray<ReadableSpan>): Array<ReadableSpan> => {
  const values = new Map<string, Set<AttributeValue>>()
  for (const span of spans)
    for (const name of OF_THE_TRACE) {
      const value = span.attributes[name]
      const key = `${span.spanContext().traceId} ${name}`
      if (value !== undefined) values.set(key, (values.get(key) ?? new Set()).add(value))
    }
  return spans.map((span) => {
    const shared = OF_THE_TRACE.flatMap((name) => {
      const found = values.get(`${span.spanContext().traceId} ${name}`)
      return found?.size === 1 ? [...found].map((value) => [name, value] as const) : []
    })
    return shared.length === 0 ? span : changed(span, { attributes: { ...Object.fromEntries(shared), ...span.attributes } })
  })
}

/** Errors name the path of their request, and the path of a callback ends in a secret. */
const withoutPath =
  (path: AttributeValue | undefined, route: AttributeValue | undefined) =>
  (text: string): string =>
    typeof path === "string" && path.length > 1 ? text.replaceAll(path, typeof route === "string" ? route : "<path>") : text
