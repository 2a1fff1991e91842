import type { Effect } from "effect"
import type { Operation } from "./Client.ts"
import type { request } from "./NodeServices.ts"
import type { Process } from "./Stage.ts"

/** How one request is sent to a node, and whether another one stood beside it when it was answered. */
export type Ask = (process?: Process, beside?: () => string | null) => Effect.Effect<void>

/** One request as it leaves its client. */
export interface Sent {
  readonly body: Uint8Array
  readonly key: string | null
  readonly asked: Parameters<typeof request>[2]
}

/** What the client does with the answer that it hears. */
export type Heard = (answer: Omit<Operation["answers"][number], "beside">) => void
