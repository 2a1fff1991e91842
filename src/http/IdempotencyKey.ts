import { Result } from "effect"
import { IdempotencyKeyRequired, MalformedRequest } from "../domain/errors/Terminal.ts"
import { valuesOf } from "./BodyGuard.ts"

const PRINTABLE = /^[\x20-\x7e]{1,255}$/

/** The one `Idempotency-Key` of a money-moving request; the gateway never invents one. */
export const idempotencyKey = (
  rawHeaders: ReadonlyArray<string>
): Result.Result<string, IdempotencyKeyRequired | MalformedRequest> => {
  const [key, ...more] = valuesOf(rawHeaders, "idempotency-key")
  if (key === undefined) return Result.fail(new IdempotencyKeyRequired())
  if (more.length > 0) return malformed("must be sent once")
  return PRINTABLE.test(key) ? Result.succeed(key) : malformed("must be 1 to 255 printable ASCII characters")
}

const malformed = (message: string): Result.Result<never, MalformedRequest> =>
  Result.fail(new MalformedRequest({ issues: [{ path: "Idempotency-Key", message }] }))
