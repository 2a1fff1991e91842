import { Context } from "effect"
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
}

const none: EdgeRequest = { requestId: "", rawHeaders: [], body: new Uint8Array(), caller: null }

/** Set by the edge for each request, and empty outside one. */
export const CurrentRequest = Context.Reference<EdgeRequest>("gateway/http/CurrentRequest", { defaultValue: () => none })
