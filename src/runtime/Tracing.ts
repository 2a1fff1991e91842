import { Effect, type Fiber, Option, Tracer } from "effect"

/**
 * A span with this name, for work that every request does. `Effect.fn` also captures the stack of its definition and its call,
 * which takes longer than most of this work. Without a span collector only a root span is made: the log lines carry its ids.
 */
export const inSpan =
  (name: string, options: Tracer.SpanOptionsNoTrace = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const spanned = Effect.useSpan(name, options, (span) => Effect.provideService(effect, Tracer.ParentSpan, span))
    return options.root === true ? spanned : Effect.withFiber((fiber) => (isTraced(fiber) ? spanned : effect))
  }

/** The effect with `traced` applied where spans are collected, and the plain effect elsewhere. */
export const whereTraced =
  <A, E, R>(traced: (effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  (effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => (isTraced(fiber) ? traced(effect) : effect))

/** Annotates the current span where spans are collected; elsewhere the attributes are not even computed. */
export const annotateTraced = (attributes: () => Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.withFiber((fiber) =>
    isTraced(fiber) && fiber.cache.tracerEnabled ? Effect.annotateCurrentSpan(attributes()) : Effect.void
  )

/** Effect's own tracer keeps spans only in memory, for as long as they last. */
const isTraced = ({ cache: { tracer } }: Fiber.Fiber<unknown, unknown>): boolean =>
  tracer !== undefined && tracer !== Tracer.nativeTracer

/** The current span as a trace context to store; null where nothing is traced. */
export const currentTraceparent: Effect.Effect<string | null> = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  Option.match(span, { onNone: () => null, onSome: traceparentOf })
)

/** The same for the span that the trace began with in this process: the request's own span. */
export const rootTraceparent: Effect.Effect<string | null> = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  Option.match(span, { onNone: () => null, onSome: (one) => traceparentOf(rootOf(one)) })
)

const rootOf = (span: Tracer.Span): Tracer.Span => {
  const parent = Option.getOrUndefined(span.parent)
  return parent?._tag === "Span" ? rootOf(parent) : span
}

/** Further trace contexts that the work of a transaction is linked to; null links to nothing. */
interface ContinuedOptions {
  readonly alsoOf?: ReadonlyArray<string | null>
}

/**
 * A span with this name in the trace in which its transaction began, in whichever process: so one trace shows a payment's whole
 * life, and is sampled as a whole. If the current span belongs to another trace, it is linked. Where no trace is known, the
 * span is a root.
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

/** In the current span, or else in one with this name as by `inTraceOf`: either way the log lines carry a trace id. */
export const inSomeSpan =
  (name: string, traceparent: string | null | undefined) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber(({ cache: { span } }) => (span === undefined ? inTraceOf(name, traceparent)(effect) : effect))

/** A child of the span in which the work was requested, although it runs in another fiber. */
export const asChildOf =
  (traceparent: string | null) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const parent = spanOf(traceparent)
    return parent === undefined ? effect : Effect.provideService(effect, Tracer.ParentSpan, parent)
  }

/** A link to a caller's trace context; none for a text that is no trace context of version 00. */
export const spanLink = (traceparent: string): Option.Option<Tracer.SpanLink> =>
  Option.map(Option.fromUndefinedOr(spanOf(traceparent)), (span) => ({ span, attributes: {} }))

/** Links the spans made within to those in which their work began; null, or what is no trace context, links to nothing. */
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
const ALL_ZEROS = /^0+$/
const SAMPLED = 1

/** W3C trace context, as it is stored. */
const traceparentOf = ({ sampled, spanId, traceId }: Tracer.Span): string => `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`

/** Undefined for a text that is no trace context of version 00. */
const spanOf = (traceparent: string | null): Tracer.ExternalSpan | undefined => {
  const [, traceId = "", spanId = "", flags = ""] = W3C.exec(traceparent ?? "") ?? []
  if (traceId === "" || ALL_ZEROS.test(traceId) || ALL_ZEROS.test(spanId)) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED })
}
