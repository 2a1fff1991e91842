import { Context, type Effect, type Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Whether the transaction was in review when an operator acknowledged it, and until when its alerts rest. */
export interface Acknowledgement {
  readonly inReview: boolean
  readonly until: Instant
}

/** What operators have seen and are looking after. Nothing about the transaction changes, and it goes on being polled. */
export class Acknowledgements extends Context.Service<
  Acknowledgements,
  {
    /**
     * Its alerts rest until then, or until it goes into review or out of it. Once more sets another time. None, and no audit row, where the
     * reference has nothing open.
     */
    readonly acknowledge: (
      reference: Reference,
      until: Instant,
      audit: AuditEntry
    ) => Effect.Effect<Option.Option<Acknowledgement>>
  }
>()("gateway/services/ports/Acknowledgements") {}
