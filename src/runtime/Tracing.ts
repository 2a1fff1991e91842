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

/** Effect's own tracer keeps spans in memory only, for as long as they last. */
const isTraced = ({ cache: { tracer } }: Fiber.Fiber<unknown, unknown>): boolean =>
  tracer !== undefined && tracer !== Tracer.nativeTracer

/** The current span as a trace context to keep; null where nothing is traced. */
export const currentTraceparent: Effect.Effect<string | null> = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  Option.match(span, { onNone: () => null, onSome: traceparentOf })
)

/** The same of the span that the trace began with in this process: a request's own. */
export const rootTraceparent: Effect.Effect<string | null> = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  Option.match(span, { onNone: () => null, onSome: (one) => traceparentOf(rootOf(one)) })
)

const rootOf = (span: Tracer.Span): Tracer.Span => {
  const parent = Option.getOrUndefined(span.parent)
  return parent?._tag === "Span" ? rootOf(parent) : span
}

/** The trace contexts that work of a transaction is also linked to; what is null, or none, links to nothing. */
export interface ContinuedOptions {
  readonly alsoOf?: ReadonlyArray<string | null>
}

/**
 * A span of that name in the trace in which its transaction began, whichever process that was: one trace tells a payment's whole life, and
 * is sampled as a whole. The span that it runs in, of another trace, is linked. A root of its own where no trace is known.
 */
export const inTraceOf = (name: string, traceparent: string | null | undefined, { alsoOf = [] }: ContinuedOptions = {}) => {
  const began = spanOf(traceparent ?? null)
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber(({ cache: { span: current } }) => {
      const isWithin = current !== undefined && (began === undefined || current.traceId === began.traceId)
      if (isWithin) return inSpan(name, { links: linksTo(alsoOf) })(effect)
      const links = [...linksTo(alsoOf), ...(current === undefined ? [] : [{ span: current, attributes: {} }])]
      const options = began === undefined ? { root: true, links } : { parent: began, links }
      return Effect.useSpan(name, options, (span) => Effect.provideService(effect, Tracer.ParentSpan, span))
    })
}

/** In the span that it runs in, or else in one of that name as by `inTraceOf`: the lines that it logs carry a trace's id in either. */
export const inSomeSpan =
  (name: string, traceparent: string | null | undefined) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber(({ cache: { span } }) => (span === undefined ? inTraceOf(name, traceparent)(effect) : effect))

/** A child of the span that it was asked for in, though it runs in another fiber. */
export const asChildOf =
  (traceparent: string | null) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const parent = spanOf(traceparent)
    return parent === undefined ? effect : Effect.provideService(effect, Tracer.ParentSpan, parent)
  }

/** A link to where a caller's trace context leads; none for any text that is no trace context of version 00. */
export const spanLink = (traceparent: string): Option.Option<Tracer.SpanLink> =>
  Option.map(Option.fromUndefinedOr(spanOf(traceparent)), (span) => ({ span, attributes: {} }))

/** Links the spans that are made within to those where their work began; what is null, or no trace context, links to nothing. */
export const linkingSpans =
  (traceparents: ReadonlyArray<string | null>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.linkSpans(
      effect,
      linksTo(traceparents).map(({ span }) => span)
    )

const linksTo = (traceparents: ReadonlyArray<string | null>): ReadonlyArray<Tracer.SpanLink> =>
  traceparents.flatMap((traceparent) => (traceparent === null ? [] : Option.toArray(spanLink(traceparent))))

const W3C = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const NOBODY = /^0+$/
const SAMPLED = 1

/** W3C trace context, as it is stored. */
const traceparentOf = ({ sampled, spanId, traceId }: Tracer.Span): string => `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`

/** None for any text that is no trace context of version 00. */
const spanOf = (traceparent: string | null): Tracer.ExternalSpan | undefined => {
  const [, traceId = "", spanId = "", flags = ""] = W3C.exec(traceparent ?? "") ?? []
  if (traceId === "" || NOBODY.test(traceId) || NOBODY.test(spanId)) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED })
}
