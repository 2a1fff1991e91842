import { Context, type Effect } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller } from "../../domain/Tenant.ts"

/** One operator's change, to be written in the same commit as the change itself. */
export interface AuditEntry {
  readonly at: Instant
  /** The operating system's user for a command, "<app_id>/<key_id>" for a request. */
  readonly actor: string
  /** As the command says it: "tenant create", "float credit". */
  readonly action: string
  /** The tenant, key or corridor that was changed. */
  readonly subject: string
  /** The parameters; never a secret, never a full number. */
  readonly details: Readonly<Record<string, string>>
}

/** The author and time of a change, and the members of its audit row besides the change itself. */
export interface AuditBy extends Pick<AuditEntry, "at" | "actor"> {
  readonly details?: AuditEntry["details"]
}

/** A change that a tenant made with a key of its own: it goes to the tenant's stream, and not to the operators' log. */
export interface TenantChange extends AuditEntry {
  readonly tenant: { readonly appId: AppId; readonly mode: Mode }
}

export const tenantChange = (
  { appId, keyId, mode }: Caller,
  at: Instant,
  action: string,
  details: AuditEntry["details"]
): TenantChange => ({ at, actor: `${appId}/${keyId}`, action, subject: appId, details, tenant: { appId, mode } })

/** A change and who made it, as ports that change configuration take it: an operator's or a tenant's. */
export type AuditedChange = AuditEntry | TenantChange

export interface AuditRow extends AuditEntry {
  readonly sequence: bigint
  /** A keyed HMAC over the previous row's hash and this row, in hex. */
  readonly hash: string
}

/** Null for no filter. */
export interface AuditFilter {
  readonly actor: string | null
  /** The action, or what it begins with: "float" is every change of a float. */
  readonly action: string | null
  /** The subject, or what it begins with before a slash. */
  readonly subject: string | null
  /** Included. */
  readonly from: Instant | null
  /** Not included. */
  readonly to: Instant | null
}

/** The end of the chain. A copy outside the database shows later whether everything up to it is still there. */
export interface AuditHead {
  readonly sequence: bigint
  /** In hex; empty before the first row. */
  readonly hash: string
}

/** As `gateway audit verify --head` takes it. */
export const headText = ({ hash, sequence }: AuditHead): string => `${sequence}:${hash}`

/**
 * The message of a process's log line that has the head as `audit_head`. It is written when the process sees the log end there, and when it
 * has appended to it.
 */
export const AUDIT_HEAD_MESSAGE = "the end of the audit log"

export interface CurrentAuditHead extends AuditHead {
  /** Whether a gateway wrote it. */
  readonly authentic: boolean
}

/** A row that says who may do what, and is not as the log says. */
export interface AccessDifference {
  /** "operator asha", "key shop/k_1", "tenant shop". */
  readonly subject: string
  readonly found: string
}

export interface AuditReport {
  /** So many rows hold, from the first on. */
  readonly rows: bigint
  /** The first place that does not: changed, removed, or not written by a gateway. Null where everything holds. */
  readonly brokenAt: bigint | null
  readonly why: string | null
  readonly head: AuditHead
  /** The rows that are there, and that no gateway wrote as they are; the first hundred. */
  readonly forged: ReadonlyArray<bigint>
  /** Operators, keys, tenants, limits, ceilings, denials, corridors, switches and proposals that differ from what the genuine rows say, or whose seal does not fit. */
  readonly access: ReadonlyArray<AccessDifference>
}

/**
 * The operators' audit log: a chain in which each row holds a keyed hash over the row before it. Other ports append to it, each entry in the
 * same commit as its change; this port only reads. `verify` reports damage as data: it never fails because of what it finds. A database that
 * cannot be read is a defect.
 */
export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Newest first, at most `limit`. */
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<AuditRow>>
    /**
     * As `list`, of those that fit, before a row. A page looks at a bounded number of rows: it may hold fewer, or none, and still say before which
     * row the next one begins; null where nothing older is left.
     */
    readonly search: (
      filter: AuditFilter,
      page: { readonly limit: number; readonly before: bigint | null }
    ) => Effect.Effect<{ readonly rows: ReadonlyArray<AuditRow>; readonly next: bigint | null }>
    readonly head: Effect.Effect<CurrentAuditHead>
    /** The hash, in hex, that the row of this number has now; null where there is no such row. */
    readonly hashAt: (sequence: bigint) => Effect.Effect<string | null>
    /**
     * Recomputes the whole chain, up to a head that only a gateway can have written, and replays it: each present permission must come from
     * an operator's change. Only with `exported`, a head that was seen outside, does it detect a database that was restored as a whole to
     * an earlier state. The first digits of its hash are enough.
     */
    readonly verify: (exported: AuditHead | null) => Effect.Effect<AuditReport>
  }
>()("gateway/services/ports/AuditLog") {}
