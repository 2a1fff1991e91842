import { Effect, Layer, Logger, References, Tracer } from "effect"

/** One line of the log: how grave it is, what it says, and its annotations. */
export type LogLine = readonly [level: string, message: string, annotations: Readonly<Record<string, unknown>>]
/** One span: its name and its attributes. */
export type SpanSeen = readonly [name: string, attributes: Readonly<Record<string, unknown>>]

/** Collects what is logged and traced within its layer, in order. */
export const givenTelemetry = () => {
  const lines: Array<LogLine> = []
  const spans: Array<Tracer.NativeSpan> = []
  const logger = Logger.make(({ fiber, logLevel, message }) => {
    const text = String(Array.isArray(message) ? message[0] : message)
    lines.push([logLevel, text, { ...fiber.getRef(References.CurrentLogAnnotations) }])
  })
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return {
    lines,
    spans: Effect.sync(() => spans.map(({ attributes, name }): SpanSeen => [name, Object.fromEntries(attributes)])),
    /** The trace and the span that each span of another process is a child of. */
    parents: Effect.sync(() =>
      spans.flatMap(({ parent }) =>
        parent._tag === "Some" && parent.value._tag === "ExternalSpan"
          ? [[parent.value.traceId, parent.value.spanId] as const]
          : []
      )
    ),
    links: Effect.sync(() => spans.flatMap(({ links }) => links.map(({ span }) => [span.traceId, span.spanId] as const))),
    layer: Layer.merge(Logger.layer([logger]), Layer.succeed(Tracer.Tracer, tracer))
  }
}
