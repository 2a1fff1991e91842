import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"

/** One operator's change, to be written in the same commit as the change itself. */
export interface AuditEntry {
  readonly at: Instant
  /** The operating system's user for a command, "<app_id>/<key_id>" for a request. */
  readonly actor: string
  /** As the command says it: "tenant create", "float credit". */
  readonly action: string
  /** What it was done to: a tenant, a key, a corridor. */
  readonly subject: string
  /** The parameters; never a secret, never a full number. */
  readonly details: Readonly<Record<string, string>>
}

export interface AuditRow extends AuditEntry {
  readonly sequence: bigint
  /** SHA-256 over the previous row's hash and this row, in hex. */
  readonly hash: string
}

export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Newest first, at most `limit`. */
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<AuditRow>>
    /** Recomputes the whole chain: how many rows hold, and the first place that does not (changed, removed, or not written by us). */
    readonly verify: Effect.Effect<{ readonly rows: bigint; readonly brokenAt: bigint | null }>
  }
>()("gateway/services/ports/AuditLog") {}
