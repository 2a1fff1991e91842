import { Context, type Effect, type Option } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Operator, OperatorName } from "../../domain/Operator.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** Known by the hash of what the browser holds. */
export interface NewSession {
  readonly tokenHash: Uint8Array
  readonly operator: OperatorName
  readonly at: Instant
  /** The one that the same browser had before; it ends. */
  readonly replaces: Uint8Array | null
}

/** When a session is over: this long after it was last used, and after it began. */
export interface SessionLimits {
  readonly idleMs: number
  readonly longestMs: number
}

/** Wrong tokens of one name from one client, or of all names from one client. */
export interface FailedLogInCount {
  readonly subject: string
  readonly failures: number
  /** The first of them. */
  readonly since: Instant
}

/** The sessions of the console, and its failed attempts to sign in. Every node sees a session that began or ended at once. */
export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    /** Begins a session, and writes down that it did. It removes those of which the longest time is over. */
    readonly begin: (session: NewSession, limits: SessionLimits, audit: AuditEntry) => Effect.Effect<void>
    /**
     * The operator of the session, in the present state. None when it is over, absent, or its operator was removed or is in a row that no
     * gateway wrote. `counts`: this read counts as use; a page that refreshes itself does not keep a session open.
     */
    readonly find: (
      tokenHash: Uint8Array,
      at: Instant,
      limits: SessionLimits,
      counts: boolean
    ) => Effect.Effect<Option.Option<Operator>>
    /** A session that is not there is no mistake. */
    readonly end: (tokenHash: Uint8Array, audit: AuditEntry) => Effect.Effect<void>
    /** Of these subjects, those with a failure after `after`. */
    readonly failures: (subjects: ReadonlyArray<string>, after: Instant) => Effect.Effect<ReadonlyArray<FailedLogInCount>>
    /** Counts a failure for each subject, from one where the last count began before `after`, and answers the counts. Older counts are removed. */
    readonly countFailure: (
      subjects: ReadonlyArray<string>,
      at: Instant,
      after: Instant
    ) => Effect.Effect<ReadonlyArray<FailedLogInCount>>
    /** Writes down that a subject was locked out. */
    readonly recordLockOut: (audit: AuditEntry) => Effect.Effect<void>
  }
>()("gateway/services/ports/ConsoleSessions") {}
