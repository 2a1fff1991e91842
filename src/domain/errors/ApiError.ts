import type { AmbiguousError } from "./Ambiguous.ts"
import type { RetriableError } from "./Retriable.ts"
import type { TerminalError } from "./Terminal.ts"

/**
 * Every error that a request may be answered with, in three classes:
 *
 * - terminal: a definite refusal. Nothing moved, and the same request with the same key never does better.
 * - retriable: nothing moved and nothing was kept. The same request with the same key may do better later.
 * - ambiguous: the outcome is not known. Poll the reference, or repeat with the same key.
 *
 * `classOf` in `http/Envelope` reads the class of an error. It is shown to the tenant, and `http/Idempotent` decides by it what the key
 * remembers.
 */
export type ApiError = TerminalError | RetriableError | AmbiguousError
