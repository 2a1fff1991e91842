import type { AmbiguousError } from "./Ambiguous.ts"
import type { RetriableError } from "./Retriable.ts"
import type { TerminalError } from "./Terminal.ts"

/** Every error that a request may be answered with. */
export type ApiError = TerminalError | RetriableError | AmbiguousError
