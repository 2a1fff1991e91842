import { Option } from "effect"

/** Where something was traced: the ids of one span. */
export interface SpanIds {
  readonly traceId: string
  readonly spanId: string
}

const W3C = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
const NOBODY = /^0+$/

/** W3C trace context, as it is stored and as it is sent. */
export const traceparentOf = ({ spanId, traceId }: SpanIds): string => `00-${traceId}-${spanId}-01`

/** None for any text that is no trace context of version 00. */
export const spanIdsOf = (traceparent: string): Option.Option<SpanIds> => {
  const [, traceId = "", spanId = ""] = W3C.exec(traceparent) ?? []
  return traceId === "" || NOBODY.test(traceId) || NOBODY.test(spanId) ? Option.none() : Option.some({ traceId, spanId })
}
