import { Context } from "effect"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import type { StoredResponse } from "./Idempotency.ts"

/** Turns a result into the exact bytes of its response, so that what a commit stores is what is sent. Pure: the same result, the same bytes. */
export class ResponseEncoder extends Context.Service<
  ResponseEncoder,
  {
    /** `status` is the operation's own success status. */
    readonly success: (status: number, view: unknown) => StoredResponse
    /** The status is the one that belongs to the error's code. */
    readonly error: (error: ApiError) => StoredResponse
  }
>()("gateway/services/ports/ResponseEncoder") {}
