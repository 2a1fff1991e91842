import { Effect, Option, Tracer } from "effect"
import { spanIdsOf, traceparentOf } from "../../domain/Traceparent.ts"

/** The current span as a trace context to keep; null where nothing is traced. */
export const currentTraceparent: Effect.Effect<string | null> = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  Option.match(span, { onNone: () => null, onSome: traceparentOf })
)

export const linkTo = (traceparent: string): Option.Option<Tracer.SpanLink> =>
  Option.map(spanIdsOf(traceparent), (ids) => ({ span: Tracer.externalSpan(ids), attributes: {} }))

/** Links the current span to those where its work began; what is null, or no trace context, links to nothing. */
export const linked = (traceparents: ReadonlyArray<string | null>): Effect.Effect<void> =>
  Effect.map(Effect.option(Effect.currentSpan), (span) => {
    const links = traceparents.flatMap((traceparent) => (traceparent === null ? [] : Option.toArray(linkTo(traceparent))))
    if (Option.isSome(span) && links.length > 0) span.value.addLinks(links)
  })
