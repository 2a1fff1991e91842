import type * as Schema from "./Schema.ts"

export type ErrorClass = "terminal" | "retriable" | "ambiguous"

interface ErrorFields {
  readonly class: ErrorClass
  readonly code: string
  readonly message: string
  readonly details: object
  /** The HTTP status; absent where no answer could be read. */
  readonly status?: number | undefined
  /** `X-Request-Id` of the answer: name it when you ask the operator. */
  readonly requestId?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  /** The gateway had kept the answer for the idempotency key, and gave it again. */
  readonly isReplayed?: boolean | undefined
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
  readonly isReplayed: boolean

  constructor(fields: ErrorFields) {
    super(`${fields.code}: ${fields.message}`, { cause: fields.cause })
    this.class = fields.class
    this.code = fields.code
    this.details = fields.details
    this.status = fields.status
    this.requestId = fields.requestId
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.isReplayed = fields.isReplayed ?? false
  }

  /**
   * Whether this refusal is the outcome of its idempotency key: it names the key's transaction, which failed, or the gateway had kept it.
   * Any other refusal is of this call only, and says nothing about an earlier one with the same key.
   */
  get settlesKey(): boolean {
    return this.class === "terminal" && (this.isReplayed || this.reference !== undefined)
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

/**
 * A definite refusal of this call. Reverse your side and tell your user; but if the key may have been sent before, as by a process that
 * died, only where `settlesKey`. `idempotency_key_reused` says that the key's payment has another body and stands, and `not_found` of a
 * read says nothing about a payment: reverse nothing because of these two.
 */
export type TerminalError = ErrorOf<"terminal", Schema.TerminalError>
/** Nothing moved. The client has tried again already; do so later, with the same key. */
export type RetriableError = ErrorOf<"retriable", Schema.RetriableError | NoAnswer>
/** The outcome is not known. Reverse nothing: wait for the reference, or send the same request with the same key. */
export type AmbiguousError = ErrorOf<"ambiguous", Schema.AmbiguousError | NoAnswer | Aborted | StillOpen>

export const isGatewayError = (error: unknown): error is TerminalError | RetriableError | AmbiguousError =>
  error instanceof GatewayError
