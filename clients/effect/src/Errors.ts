import { Data } from "effect"
import * as Client from "../../typescript/src/Gateway.ts"

/**
 * A definite refusal of this call: reverse your side; but if its key may have been sent before, only where `error.settlesKey`, and never
 * because of `idempotency_key_reused` or of a read's `not_found`. `error.code` and `error.details` say why.
 */
export class TerminalError extends Data.TaggedError("TerminalError")<{ readonly error: Client.TerminalError }> {
  override readonly message = this.error.message
}

/** Nothing moved: run the same effect again later, with the same key. */
export class RetriableError extends Data.TaggedError("RetriableError")<{ readonly error: Client.RetriableError }> {
  override readonly message = this.error.message
}

/** The outcome is not known. Reverse nothing: wait for `error.reference`, or run the same effect with the same key. */
export class AmbiguousError extends Data.TaggedError("AmbiguousError")<{ readonly error: Client.AmbiguousError }> {
  override readonly message = this.error.message
}

/** A delivery that the gateway did not sign. */
export class WebhookRefused extends Data.TaggedError("WebhookRefused")<{ readonly problem: Client.WebhookError["problem"] }> {}

export type GatewayFailure = TerminalError | RetriableError | AmbiguousError

/** What else is thrown is a mistake in the program, and a defect. */
export const failureOf = (error: unknown): GatewayFailure => {
  if (!Client.isGatewayError(error)) throw error
  switch (error.class) {
    case "terminal":
      return new TerminalError({ error })
    case "retriable":
      return new RetriableError({ error })
    case "ambiguous":
      return new AmbiguousError({ error })
  }
}
