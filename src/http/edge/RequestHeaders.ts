import { Option, Result, type Tracer } from "effect"
import { IdempotencyKeyRequired, MalformedRequest } from "../../domain/errors/Terminal.ts"
import { spanLink } from "../../runtime/Tracing.ts"

// Raw headers: names and values alternate, duplicates included. Effect's own headers would hide a header that was sent twice.

type RawHeaders = ReadonlyArray<string>

/** All values of a header, in the order in which they were sent. */
export const valuesOf = (rawHeaders: RawHeaders, name: string): ReadonlyArray<string> => {
  const values: Array<string> = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] ?? ""
    // The length alone rules out most names.
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? "")
  }
  return values
}

/** The value of a header that was sent exactly once. */
export const singleValue = (rawHeaders: RawHeaders, name: string): string | undefined => {
  const [value, ...more] = valuesOf(rawHeaders, name)
  return more.length === 0 ? value : undefined
}

/** The `Idempotency-Key` of a request that moves money, which must be sent once. The gateway never generates one. */
export const idempotencyKey = (rawHeaders: RawHeaders): Result.Result<string, IdempotencyKeyRequired | MalformedRequest> => {
  const [key, ...more] = valuesOf(rawHeaders, "idempotency-key")
  if (key === undefined) return Result.fail(new IdempotencyKeyRequired())
  if (more.length > 0) return malformed("Idempotency-Key", "must be sent once")
  return /^[\x20-\x7e]{1,255}$/.test(key)
    ? Result.succeed(key)
    : malformed("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
}

/** The `X-Audit-Reason` of an audited read, which must be sent once. */
export const auditReason = (rawHeaders: RawHeaders): Result.Result<string, MalformedRequest> => {
  const reason = singleValue(rawHeaders, "x-audit-reason")
  return reason !== undefined && /^[\x20-\x7e]{1,200}$/.test(reason) && reason.trim() !== ""
    ? Result.succeed(reason)
    : malformed("X-Audit-Reason", "is required once: 1 to 200 printable ASCII characters")
}

/** The caller's trace, as a link and never as a parent: a client must not decide the content of our traces. */
export const callerTraceLinks = (rawHeaders: RawHeaders): Array<Tracer.SpanLink> => {
  const traceparent = singleValue(rawHeaders, "traceparent")
  return traceparent === undefined ? [] : Option.toArray(spanLink(traceparent))
}

const malformed = (path: string, message: string): Result.Result<never, MalformedRequest> =>
  Result.fail(new MalformedRequest({ issues: [{ path, message }] }))
