import { Context, type Effect } from "effect"
import type { Denial, DenylistEntry, DenylistKind, NamedValue } from "../../domain/Denylist.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Values that a request names, and the kind of entry that would deny them. */
export interface NamedParty {
  readonly kind: DenylistKind
  readonly values: ReadonlyArray<NamedValue>
}

/**
 * The denylist: blocked destinations, and numbers and names that screening denies, kept as keyed hashes. Every node sees an addition with its
 * next request. Adding a value twice changes nothing.
 */
export class Denylist extends Context.Service<
  Denylist,
  {
    /** The kinds of which one of the values is denied; spelling does not matter. */
    readonly matches: (parties: ReadonlyArray<NamedParty>) => Effect.Effect<ReadonlySet<DenylistKind>>
    /** False when it was denied before. */
    readonly add: (kind: DenylistKind, denial: Denial, reason: string, audit: AuditEntry) => Effect.Effect<boolean>
    /** Newest first, at most `limit`. */
    readonly list: (kinds: ReadonlyArray<DenylistKind>, limit: number) => Effect.Effect<ReadonlyArray<DenylistEntry>>
  }
>()("gateway/services/ports/Denylist") {}
