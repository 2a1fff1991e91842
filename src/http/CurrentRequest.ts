import { Context, Effect, type Fiber } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { Caller } from "../domain/Tenant.ts"

/** A request that passed the edge: what every handler may need of it. */
export interface EdgeRequest {
  readonly requestId: string
  /** Names and values in turn, duplicates included. */
  readonly rawHeaders: ReadonlyArray<string>
  /** Empty for GET, HEAD and DELETE. */
  readonly body: Uint8Array
  /** Null on the paths that nobody signs. */
  readonly caller: Caller | null
  /** Told by an endpoint whose work goes on when the request is cut short: then this is still waited for, and is the answer. */
  readonly outlasts: (answer: Fiber.Fiber<HttpServerResponse.HttpServerResponse>) => Effect.Effect<void>
}

const none: EdgeRequest = { requestId: "", rawHeaders: [], body: new Uint8Array(), caller: null, outlasts: () => Effect.void }

/** Set by the edge for each request, and empty outside one. */
export const CurrentRequest = Context.Reference<EdgeRequest>("gateway/http/CurrentRequest", { defaultValue: () => none })
