import { Context, type Effect } from "effect"
import type { Denial, DenylistEntry, DenylistKind, NamedValue } from "../../domain/Denylist.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Values from a request and the kind of denylist entry that would match them. */
export interface NamedParty {
  readonly kind: DenylistKind
  readonly values: ReadonlyArray<NamedValue>
}

/** The denylist of destinations, numbers and names, as keyed hashes. Every node's next request sees an addition. */
export class Denylist extends Context.Service<
  Denylist,
  {
    /** The kinds for which one of the values is denied. Differences in spelling are ignored. */
    readonly matches: (parties: ReadonlyArray<NamedParty>) => Effect.Effect<ReadonlySet<DenylistKind>>
    /** False, and nothing changes, when the value was denied already. */
    readonly add: (kind: DenylistKind, denial: Denial, reason: string, audit: AuditEntry) => Effect.Effect<boolean>
    /** Newest first, at most `limit`. */
    readonly list: (kinds: ReadonlyArray<DenylistKind>, limit: number) => Effect.Effect<ReadonlyArray<DenylistEntry>>
  }
>()("gateway/services/ports/Denylist") {}
