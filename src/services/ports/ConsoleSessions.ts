import { Context, type Effect, type Option } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Operator, OperatorName } from "../../domain/Operator.ts"
import type { AuditEntry } from "./AuditLog.ts"

/** A session is identified by the hash of the token that the browser holds. */
export interface NewSession {
  readonly tokenHash: Uint8Array
  readonly operator: OperatorName
  readonly at: Instant
  /** The previous session of the same browser, which ends. */
  readonly replaces: Uint8Array | null
}

/** When a session expires: after it was idle this long, or this long after it began. */
export interface SessionLimits {
  readonly idleMs: number
  readonly longestMs: number
}

/** Failed log-ins with one name from one client, or with any name from one client. */
export interface FailedLogInCount {
  readonly subject: string
  readonly failures: number
  /** The time of the first of them. */
  readonly since: Instant
}

/** The console's sessions and its failed log-ins. Every node sees the beginning and the end of a session at once. */
export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    /** Begins a session and writes its audit row. Also removes sessions past their maximum lifetime. */
    readonly begin: (session: NewSession, limits: SessionLimits, audit: AuditEntry) => Effect.Effect<void>
    /**
     * The session's operator in the present state. None when the session has expired or does not exist, when the operator was
     * removed, and when no gateway wrote the operator's row. `counts`: whether this read counts as use; the refresh of a page
     * does not keep a session alive.
     */
    readonly find: (
      tokenHash: Uint8Array,
      at: Instant,
      limits: SessionLimits,
      counts: boolean
    ) => Effect.Effect<Option.Option<Operator>>
    /** Does nothing when there is no such session. */
    readonly end: (tokenHash: Uint8Array, audit: AuditEntry) => Effect.Effect<void>
    /** Those of the given subjects that have a failure after `after`. */
    readonly failures: (subjects: ReadonlyArray<string>, after: Instant) => Effect.Effect<ReadonlyArray<FailedLogInCount>>
    /** Counts a failure per subject and returns the counts. One from before `after` restarts at one; older ones are removed. */
    readonly countFailure: (
      subjects: ReadonlyArray<string>,
      at: Instant,
      after: Instant
    ) => Effect.Effect<ReadonlyArray<FailedLogInCount>>
    /** Writes the audit row of a lock-out. */
    readonly recordLockOut: (audit: AuditEntry) => Effect.Effect<void>
  }
>()("gateway/services/ports/ConsoleSessions") {}
