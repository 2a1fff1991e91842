import type * as Schema from "./Schema.ts"

export type ErrorClass = "terminal" | "retriable" | "ambiguous"

interface Told {
  readonly class: ErrorClass
  readonly code: string
  readonly message: string
  readonly details: object
  /** The HTTP status; absent where no answer could be read. */
  readonly status?: number | undefined
  /** `X-Request-Id` of the answer: name it when you ask the operator. */
  readonly requestId?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** Any error of a call. Take it apart with `isGatewayError`, by its class and its code. */
export class GatewayError extends Error {
  override readonly name = "GatewayError"
  readonly class: ErrorClass
  readonly code: string
  readonly details: object
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(told: Told) {
    super(`${told.code}: ${told.message}`, { cause: told.cause })
    this.class = told.class
    this.code = told.code
    this.details = told.details
    this.status = told.status
    this.requestId = told.requestId
    this.retryAfterSeconds = told.retryAfterSeconds
  }

  /** The transaction that the error names. Of `duplicate_charge_in_flight` it is the earlier charge. */
  get reference(): string | undefined {
    return "reference" in this.details && typeof this.details.reference === "string" ? this.details.reference : undefined
  }
}

/** No answer of the gateway came, or none that could be read. A question is `retriable` then; a call that moves money is `ambiguous`. */
interface NoAnswer {
  readonly code: "no_answer"
  readonly details: object
}

/** Your signal stopped a call that may have moved money already. */
interface Aborted {
  readonly code: "aborted"
  readonly details: object
}

/** `waitFor` gave up: the outcome was not known in time. */
interface StillOpen {
  readonly code: "still_open"
  readonly details: { readonly reference: string }
}

type ErrorOf<Class extends ErrorClass, Wire> = Wire extends { readonly code: string; readonly details: object }
  ? GatewayError & { readonly class: Class; readonly code: Wire["code"]; readonly details: Wire["details"] }
  : never

/** A definite refusal. Reverse your side and tell your user. */
export type TerminalError = ErrorOf<"terminal", Schema.TerminalError>
/** Nothing moved. The client has tried again already; do so later, with the same key. */
export type RetriableError = ErrorOf<"retriable", Schema.RetriableError | NoAnswer>
/** The outcome is not known. Reverse nothing: wait for the reference, or send the same request with the same key. */
export type AmbiguousError = ErrorOf<"ambiguous", Schema.AmbiguousError | NoAnswer | Aborted | StillOpen>

export const isGatewayError = (error: unknown): error is TerminalError | RetriableError | AmbiguousError =>
  error instanceof GatewayError
