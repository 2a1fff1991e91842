import { Effect } from "effect"
import { MessageError } from "../../runtime/MessageError.ts"

/** One line for the person who starts the gateway. No code distinguishes its kinds, so it has no other field. */
export class EmbeddedPostgresError extends MessageError("EmbeddedPostgresError") {
  /** Runs a promise; its rejection becomes `<doing>: <first line of the reason>`. */
  static attempt<A>(doing: string, run: () => PromiseLike<A>): Effect.Effect<A, EmbeddedPostgresError> {
    return Effect.tryPromise({
      try: run,
      catch: (cause) => new EmbeddedPostgresError(`cannot ${doing}: ${firstLine(cause)}`)
    })
  }
}

const firstLine = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).trim().split("\n", 1).join("")
