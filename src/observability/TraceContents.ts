import { type AttributeValue, diag, SpanStatusCode } from "@opentelemetry/api"
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace-base"
import { changed } from "./SpanExport.ts"

/** What one search by a tenant or a transaction has to find, on every span of a trace that is about one. */
const OF_THE_TRACE = ["gateway.reference", "gateway.app_id", "gateway.mode"] as const
/** As they are named where they are set: without the room of the gateway, too. */
const nameOf = (name: (typeof OF_THE_TRACE)[number]) => name.slice("gateway.".length)
/** So many spans are held back, of all traces together. Beyond them the oldest trace goes as it is. */
const SPANS_HELD = 20_000
/** So many traces are remembered after their root: what ends after it is about the same. */
const TRACES_REMEMBERED = 1_000

/** What the spans of one trace are about. */
type About = Map<string, Set<AttributeValue>>

/**
 * Holds the spans of a trace until its root has ended, and then passes all of them on: where they are about one transaction, tenant and mode,
 * each of them says so. A request knows its transaction only after its first steps, and may then wait for its provider for longer than spans
 * are kept to be sent together.
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
    for (const span of spans) if (!isNobodys(span)) next.onEnd(withShared(span, about))
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
      if (span.parentSpanContext === undefined || ended.has(traceId)) pass(traceId)
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

/** A collector that refuses the last spans is no reason for a process to end as if it had failed. */
const refused = (error: unknown): void => diag.error("the last spans could not be sent", error)

const aboutOf = (spans: ReadonlyArray<ReadableSpan>, before: About = new Map()): About => {
  for (const { attributes } of spans)
    for (const name of OF_THE_TRACE) {
      const value = attributes[name] ?? attributes[nameOf(name)]
      if (value !== undefined && value !== "") before.set(name, (before.get(name) ?? new Set()).add(value))
    }
  return before
}

/** A statement that serves many at once, or looks whether there is work, belongs to nobody's trace: it is sent only where it failed. */
const isNobodys = ({ attributes, links, parentSpanContext, status }: ReadableSpan): boolean =>
  parentSpanContext === undefined &&
  links.length === 0 &&
  attributes["db.system.name"] !== undefined &&
  status.code !== SpanStatusCode.ERROR

/** A trace that is about several of them says it only where each is named. */
const withShared = (span: ReadableSpan, about: About): ReadableSpan => {
  const shared = [...about].flatMap(([name, values]) =>
    values.size === 1 ? [...values].map((value) => [name, value] as const) : []
  )
  return shared.length === 0 ? span : changed(span, { attributes: { ...Object.fromEntries(shared), ...span.attributes } })
}
