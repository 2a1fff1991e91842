import { type Attributes, type AttributeValue, SpanKind, SpanStatusCode } from "@opentelemetry/api"
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base"
import { isListed } from "./Attributes.ts"

const FIRST_CLIENT_FAULT = 400
const FIRST_SERVER_FAULT = 500

/**
 * Exports spans under the names of the semantic conventions: one name per attribute, the error's type where there is one, and
 * no attribute that is not listed, so that none of a library slips through. All of it is done here, so that it costs nothing
 * where no spans are collected.
 */
export const conventional = (exporter: SpanExporter): SpanExporter => ({
  export: (spans, done) => exporter.export(spans.map(cleanSpan), done),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  shutdown: () => exporter.shutdown()
})

const cleanSpan = (span: ReadableSpan): ReadableSpan => {
  const clean = withoutPath(span.attributes)
  const listed = (attributes: Attributes | undefined): Attributes =>
    Object.fromEntries(
      Object.entries(attributes ?? {})
        .filter(([name]) => isListed(name))
        .map(([name, value]) => [oneName(name), typeof value === "string" ? clean(value) : value])
    )
  const events = span.events.map((event) => ({ ...event, attributes: listed(event.attributes) }))
  const { "error.type": said, ...own } = withoutEmpty({
    ...listed(span.attributes),
    ...httpAttributes(span),
    ...databaseAttributes(span)
  })
  const errorType = isRefusal(span) ? null : errorTypeOf(span, said, events)
  const { message } = span.status
  return changed(span, {
    name: own["db.query.summary"] ?? span.name,
    attributes: errorType === null ? own : { ...own, "error.type": errorType },
    events,
    links: span.links.map((link) => ({ ...link, attributes: listed(link.attributes) })),
    status: {
      code: errorType === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR,
      ...(errorType === null || message === undefined ? {} : { message: clean(message) })
    }
  })
}

/** For example the tenant of a request that has none. */
const withoutEmpty = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ""))

/** Not a copy: a span's own fields are accessors of its class. */
export const changed = (span: ReadableSpan, fields: Readonly<Record<string, unknown>>): ReadableSpan =>
  Object.create(span, Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { value, enumerable: true }])))

/** Names without a namespace are the gateway's. */
const oneName = (name: string): string => (name.includes(".") ? name : `gateway.${name}`)

/** A client's mistake is no error of ours; its code is in gateway.error_code. */
const isRefusal = ({ attributes, kind }: ReadableSpan): boolean => {
  const status = attributes["http.response.status_code"]
  return kind === SpanKind.SERVER && typeof status === "number" && status < FIRST_SERVER_FAULT
}

/** Why it failed, with low cardinality; null where it did not. */
const errorTypeOf = (
  { attributes, kind, status }: ReadableSpan,
  said: AttributeValue | undefined,
  events: ReadableSpan["events"]
): string | null => {
  if (typeof said === "string") return said
  const answer = attributes["http.response.status_code"]
  const isFault = typeof answer === "number" && answer >= (kind === SpanKind.SERVER ? FIRST_SERVER_FAULT : FIRST_CLIENT_FAULT)
  if (isFault && (kind === SpanKind.SERVER || kind === SpanKind.CLIENT)) return String(answer)
  // The gateway interrupted this call because it stops: its outcome is unknown.
  if (status.code !== SpanStatusCode.ERROR) return isCall(attributes, kind) && answer === undefined ? "interrupted" : null
  const thrown = events.findLast((event) => event.attributes?.["exception.type"] !== undefined)?.attributes?.["exception.type"]
  return typeof thrown === "string" ? thrown : "_OTHER"
}

const isCall = (attributes: Attributes, kind: SpanKind): boolean =>
  kind === SpanKind.CLIENT && attributes["http.request.method"] !== undefined

const KNOWN_METHODS = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"]

const httpAttributes = ({ attributes, kind }: ReadableSpan): Attributes => {
  const { "http.request.method": method, "http.route": route, "url.path": path } = attributes
  const { "url.full": url } = attributes
  return {
    ...(typeof url === "string" ? { "url.full": kind === SpanKind.CLIENT ? shownUrl(url) : "" } : {}),
    ...(typeof method === "string" && !KNOWN_METHODS.includes(method) ? { "http.request.method": "_OTHER" } : {}),
    ...(kind === SpanKind.SERVER && typeof path === "string" ? { "url.path": shownPath(path, route) } : {})
  }
}

const HIDDEN = "REDACTED"

/** The user, the query and the fragment, in case the span's author did not remove them. */
const shownUrl = (url: string): string => url.replace(/[?#].*$/s, "").replace(/\/\/[^/@]*@/, "//")

/** The last part of a callback's path is its secret, though it looks like an identifier. */
const SECRET_PART = /route_key/
/** An identifier of ours or a country, and neither a secret nor a number. */
const IDENTIFIER = /^([0-9A-HJKMNP-TV-Z]{26}|[A-Z]{2})$/

/** The caller's part of the path is hidden: a callback's path ends in its secret, and an unknown path may contain anything. */
const shownPath = (path: string, route: AttributeValue | undefined): string => {
  if (path === "/" || path === route) return path
  if (typeof route !== "string") return `/${HIDDEN}`
  const template = route.split("/")
  const parts = path.split("/")
  return parts
    .map((part, at) =>
      part === template[at] || (IDENTIFIER.test(part) && !SECRET_PART.test(template[at] ?? "")) ? part : HIDDEN
    )
    .join("/")
}

const OPERATION = /^\s*(?:WITH\b[^]*?\)\s*)?(SELECT|INSERT|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK)\b/i
const TARGET = /\b(?:FROM|INTO|UPDATE)\s+(\w+)/i

/** The operation and the table of a statement: they name its span. */
const databaseAttributes = ({ attributes }: ReadableSpan): Attributes => {
  const text = attributes["db.query.text"]
  const [, operation] = typeof text === "string" ? (OPERATION.exec(text) ?? []) : []
  if (typeof text !== "string" || operation === undefined) return {}
  const [, target] = TARGET.exec(text) ?? []
  const name = operation.toUpperCase()
  return { "db.operation.name": name, "db.query.summary": target === undefined ? name : `${name} ${target}` }
}

/** Errors name the path of their request. */
const withoutPath =
  ({ "http.route": route, "url.path": path }: Attributes) =>
  (text: string): string =>
    typeof path === "string" && path.length > 1 ? text.replaceAll(path, typeof route === "string" ? route : "<path>") : text
