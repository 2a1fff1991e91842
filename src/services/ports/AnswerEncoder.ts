import { Context } from "effect"
import type { AmbiguousError } from "../../domain/errors/Ambiguous.ts"
import type { RetriableError } from "../../domain/errors/Retriable.ts"
import type { TerminalError } from "../../domain/errors/Terminal.ts"
import type { StoredAnswer } from "./Idempotency.ts"

/** Turns an answer into its exact bytes, so that what is stored with a commit is what is sent. Pure: the same answer, the same bytes. */
export class AnswerEncoder extends Context.Service<
  AnswerEncoder,
  {
    /** `status` is the operation's own success status. */
    readonly success: (status: number, view: unknown) => StoredAnswer
    readonly refusal: (error: TerminalError | RetriableError | AmbiguousError) => StoredAnswer
  }
>()("gateway/services/ports/AnswerEncoder") {}
