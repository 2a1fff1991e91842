import { Context, type Effect, type Redacted } from "effect"
import type { Denial, DenialKind } from "../../domain/Denial.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Rows of what is refused, seen by every node at once. */
export class Denials extends Context.Service<
  Denials,
  {
    /** Which of the values are denied; spelling does not matter. */
    readonly matches: (kind: DenialKind, values: ReadonlyArray<Redacted.Redacted>) => Effect.Effect<boolean>
    /** False when it was denied before. */
    readonly add: (kind: DenialKind, value: Redacted.Redacted, reason: string, audit: AuditEntry) => Effect.Effect<boolean>
    /** Newest first, at most `limit`. */
    readonly list: (kinds: ReadonlyArray<DenialKind>, limit: number) => Effect.Effect<ReadonlyArray<Denial>>
  }
>()("gateway/services/ports/Denials") {}
