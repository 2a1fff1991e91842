import type { Effect } from "effect"
import type { Account } from "./Account.ts"
import type { Ending, PlannedCallback, ResponseFault } from "./Endings.ts"
import type { Fact, OutgoingCallback, SimulatedTransaction } from "./Facts.ts"

export interface SimulatedRequest {
  readonly method: string
  /** As sent, but with duplicate slashes collapsed and without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly header: (name: string) => string | undefined
  readonly body: string
}

/** `silence` holds the connection open until the client leaves; `reset` is a TCP reset. */
export type SimulatedResponse =
  | {
      readonly kind: "response"
      readonly status: number
      readonly contentType: string
      readonly body: string
      readonly retryAfter?: string
    }
  | { readonly kind: "silence" }
  | { readonly kind: "reset" }

/** The services that the frame gives to each provider. */
export interface SimulatorContext {
  readonly account: Account
  /** The provider's own address, for pages that it serves to payers. */
  readonly origin: string
  /** Commits a new transaction with everything that its ending does to it. Returns the fault for the response. */
  readonly accept: (transaction: SimulatedTransaction, alongside?: ReadonlyArray<Fact>) => Effect.Effect<ResponseFault>
  /** Commits facts that no call caused, and schedules the callbacks about them. */
  readonly commit: (facts: ReadonlyArray<Fact>) => Effect.Effect<void>
  /** The payer has visited the page: now the ending plays. */
  readonly completeByPayer: (transaction: SimulatedTransaction) => Effect.Effect<ResponseFault>
  /** The ending that a control call chose for the next call of an operation that carries no number. Reading it uses it up. */
  readonly chosen: (operation: string) => Ending
}

/** An event that no call causes, from the body of a control call. Returns why it is impossible, or null once it is done. */
export type Order = (context: SimulatorContext, body: string) => Effect.Effect<string | null>

/** One simulated provider, as the server runs it. `simulatedWire` builds one from its wire. */
export interface SimulatedProvider {
  readonly name: string
  /** The path that its base URL ends in. */
  readonly mount: string
  readonly accounts: ReadonlyArray<{ readonly clientId: string }>
  /** The operations that carry no number, so that their ending is chosen beforehand. */
  readonly operations: ReadonlyArray<string>
  /** The response to a call that is turned away because there are too many. */
  readonly tooMany: SimulatedResponse
  /** Null where the provider sends no callback about such a transaction. */
  readonly callback: (transaction: SimulatedTransaction, planned: PlannedCallback, now: number) => OutgoingCallback | null
  /** The headers of a callback whose signature covers its address and time. */
  readonly sign?: (callback: OutgoingCallback, account: string, url: string, now: number) => OutgoingCallback["headers"]
  /** By name, in addition to those of every provider. */
  readonly orders?: Readonly<Record<string, Order>>
  readonly handler: (context: SimulatorContext) => (request: SimulatedRequest) => Effect.Effect<SimulatedResponse>
}
