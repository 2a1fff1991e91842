import { Result } from "effect"
import { MalformedRequest } from "../domain/errors/Terminal.ts"
import { valuesOf } from "./BodyGuard.ts"

const PRINTABLE = /^[\x20-\x7e]{1,200}$/

/** The one `X-Audit-Reason` of a read that the audit keeps. */
export const auditReason = (rawHeaders: ReadonlyArray<string>): Result.Result<string, MalformedRequest> => {
  const [reason, ...more] = valuesOf(rawHeaders, "x-audit-reason")
  return reason !== undefined && more.length === 0 && PRINTABLE.test(reason) && reason.trim() !== ""
    ? Result.succeed(reason)
    : Result.fail(
        new MalformedRequest({
          issues: [{ path: "X-Audit-Reason", message: "is required once: 1 to 200 printable ASCII characters" }]
        })
      )
}
