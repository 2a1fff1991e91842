import { Option, type Tracer } from "effect"
import { linkTo } from "../runtime/TraceLinks.ts"
import { valuesOf } from "./BodyGuard.ts"

/** The caller's own trace, as a link and never as a parent: nobody outside decides what our traces hold. */
export const callersTrace = (rawHeaders: ReadonlyArray<string>): Array<Tracer.SpanLink> => {
  const [traceparent, ...more] = valuesOf(rawHeaders, "traceparent")
  return traceparent === undefined || more.length > 0 ? [] : Option.toArray(linkTo(traceparent))
}
