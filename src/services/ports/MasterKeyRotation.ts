import { Context, type Effect, type Redacted } from "effect"
import { MessageError } from "../../runtime/MessageError.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** How many values of each place were written anew; what was re-wrapped before, or written over meanwhile, is not counted. */
export type RewrappedCounts = Readonly<Record<string, number>>

/** The rotation is not finished, and the reason. The values that were sealed again stay so; a repetition continues. */
export class RotationIncomplete extends MessageError("RotationIncomplete") {}

/**
 * Rotates the master key: every value under the old key is sealed again under the new one. The values themselves, the hashing key included,
 * do not change.
 */
export class MasterKeyRotation extends Context.Service<
  MasterKeyRotation,
  {
    /**
     * Re-wraps everything that `from` seals under the present master key, a few hundred values a commit, and writes one audit row when all
     * is done: nothing is sealed under `from` then. Stopped half-way, it goes on where it was; done twice, it changes nothing the second
     * time. Refused, before anything is changed, where a value opens with neither key, and while a gateway is connected, which is named: it
     * knows one key. None starts meanwhile. A command that seals under the old key is waited for in a few more passes, and then reported.
     */
    readonly rotate: (from: Redacted.Redacted, audit: AuditEntry) => Effect.Effect<RewrappedCounts, RotationIncomplete>
  }
>()("gateway/services/ports/MasterKeyRotation") {}
