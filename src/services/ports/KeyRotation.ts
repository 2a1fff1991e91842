import { Context, Data, type Effect, type Redacted } from "effect"
import type { AuditEntry } from "./AuditLog.ts"

/** How many values of each place were re-wrapped now; what was re-wrapped before is not counted again. */
export type Rewrapped = Readonly<Record<string, number>>

/** Nothing was changed, and why. */
export class NotRotated extends Data.TaggedError("NotRotated")<{ readonly message: string }> {}

/** Changes the master key. The keys that it seals, the hashing key among them, stay what they are. */
export class KeyRotation extends Context.Service<
  KeyRotation,
  {
    /**
     * Re-wraps everything that `from` seals under the present master key, a few hundred values a commit, and writes one audit row when all
     * is done. Stopped half-way, it goes on where it was; done twice, it changes nothing the second time. Refused, before anything is
     * changed, where a value opens with neither key. No gateway may run meanwhile: it knows one key.
     */
    readonly rotate: (from: Redacted.Redacted, audit: AuditEntry) => Effect.Effect<Rewrapped, NotRotated>
  }
>()("gateway/services/ports/KeyRotation") {}
