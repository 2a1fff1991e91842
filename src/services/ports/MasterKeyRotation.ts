import { Context, type Effect, type Redacted } from "effect"
import { MessageError } from "../../runtime/MessageError.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** How many values were re-wrapped per place, without those that were re-wrapped earlier or overwritten meanwhile. */
export type RewrappedCounts = Readonly<Record<string, number>>

/** The rotation is not finished; the message says why. Values that were re-wrapped stay so, and the next run continues. */
export class RotationIncomplete extends MessageError("RotationIncomplete") {}

/** Seals every value of the old master key under the new one. The values themselves do not change, nor does the hashing key. */
export class MasterKeyRotation extends Context.Service<
  MasterKeyRotation,
  {
    /**
     * Re-wraps everything that `from` seals under the present master key, a few hundred values per commit. When `from` no
     * longer seals anything, writes one audit row. A run that is interrupted can be resumed; a second complete run changes
     * nothing.
     *
     * Refused, before anything is changed, when a value opens with neither key, or while a gateway is connected (the error
     * names it), because a gateway knows one key only; none can start during a rotation. A command that still seals under the
     * old key is handled by a few more passes and then reported.
     */
    readonly rotate: (from: Redacted.Redacted, audit: AuditEntry) => Effect.Effect<RewrappedCounts, RotationIncomplete>
  }
>()("gateway/services/ports/MasterKeyRotation") {}
