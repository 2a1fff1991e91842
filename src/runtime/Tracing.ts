import { Effect, type Fiber, Option, Tracer } from "effect"

/**
 * A span of that name, for work of every request. `Effect.fn` also notes the places of its definition and call, which takes longer than
 * most of this work. Without a collector of spans, only a root is made: the lines of the log carry its ids.
 */
export const inSpan =
  (name: string, options: Tracer.SpanOptionsNoTrace = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const spanned = Effect.useSpan(name, options, (span) => Effect.provideService(effect, Tracer.ParentSpan, span))
    return options.root === true ? spanned : Effect.withFiber((fiber) => (isTraced(fiber) ? spanned : effect))
  }

/** The effect with `traced` where spans are collected, and the effect itself elsewhere. */
export const whereTraced =
  <A, E, R>(traced: (effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  (effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => (isTraced(fiber) ? traced(effect) : effect))

/** Annotates the current span where spans are collected; elsewhere the attributes are not even made. */
export const annotateTraced = (attributes: () => Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.withFiber((fiber) =>
    isTraced(fiber) && fiber.cache.tracerEnabled ? Effect.annotateCurrentSpan(attributes()) : Effect.void
  )

/** The effect in the span that it runs in, or else in a root of that name: the lines that it logs carry a trace's id in either. */
export const inSomeSpan =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber(({ cache: { span } }) => (span === undefined ? inSpan(name, { root: true })(effect) : effect))

/** Effect's own tracer keeps spans in memory only, for as long as they last. */
const isTraced = ({ cache: { tracer } }: Fiber.Fiber<unknown, unknown>): boolean =>
  tracer !== undefined && tracer !== Tracer.nativeTracer

/** The current span as a trace context to keep; null where nothing is traced. */
export const currentTraceparent: Effect.Effect<string | null> = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  Option.match(span, { onNone: () => null, onSome: traceparentOf })
)

export const spanLink = (traceparent: string): Option.Option<Tracer.SpanLink> =>
  Option.map(spanIdsOf(traceparent), (ids) => ({ span: Tracer.externalSpan(ids), attributes: {} }))

/** Links the current span to those where its work began; what is null, or no trace context, links to nothing. */
export const linkCurrentSpan = (traceparents: ReadonlyArray<string | null>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => (isTraced(fiber) ? link(traceparents) : Effect.void))

const link = (traceparents: ReadonlyArray<string | null>): Effect.Effect<void> =>
  Effect.map(Effect.option(Effect.currentSpan), (span) => {
    const links = linksTo(traceparents)
    if (Option.isSome(span) && links.length > 0) span.value.addLinks(links)
  })

/** As `linkCurrentSpan`, for the spans that are made within. */
export const linkingSpans =
  (traceparents: ReadonlyArray<string | null>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.linkSpans(
      effect,
      linksTo(traceparents).map(({ span }) => span)
    )

const linksTo = (traceparents: ReadonlyArray<string | null>): ReadonlyArray<Tracer.SpanLink> =>
  traceparents.flatMap((traceparent) => (traceparent === null ? [] : Option.toArray(spanLink(traceparent))))

/** Where something was traced: the ids of one span. */
interface SpanIds {
  readonly traceId: string
  readonly spanId: string
}

const W3C = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
const NOBODY = /^0+$/

/** W3C trace context, as it is stored and as it is sent. */
const traceparentOf = ({ spanId, traceId }: SpanIds): string => `00-${traceId}-${spanId}-01`

/** None for any text that is no trace context of version 00. */
const spanIdsOf = (traceparent: string): Option.Option<SpanIds> => {
  const [, traceId = "", spanId = ""] = W3C.exec(traceparent) ?? []
  return traceId === "" || NOBODY.test(traceId) || NOBODY.test(spanId) ? Option.none() : Option.some({ traceId, spanId })
}
