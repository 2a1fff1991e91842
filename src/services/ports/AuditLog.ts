import { Context, type Effect } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller } from "../../domain/Tenant.ts"

/** A change by an operator. It is committed together with the change itself. */
export interface AuditEntry {
  readonly at: Instant
  /** The operating system's user for a command, "<app_id>/<key_id>" for a request. */
  readonly actor: string
  /** The name of the command: "tenant create", "float credit". */
  readonly action: string
  /** The tenant, key or corridor that was changed. */
  readonly subject: string
  /** The parameters; never a secret, never a full number. */
  readonly details: Readonly<Record<string, string>>
}

/** Who made a change and when, and further details for its audit row. */
export interface AuditBy extends Pick<AuditEntry, "at" | "actor"> {
  readonly details?: AuditEntry["details"]
}

/** A change that a tenant made with its own API key. It goes to the tenant's stream, not to the operators' log. */
export interface TenantChange extends AuditEntry {
  readonly tenant: { readonly appId: AppId; readonly mode: Mode }
}

export const tenantChange = (
  { appId, keyId, mode }: Caller,
  at: Instant,
  action: string,
  details: AuditEntry["details"]
): TenantChange => ({ at, actor: `${appId}/${keyId}`, action, subject: appId, details, tenant: { appId, mode } })

/** An audited change by an operator or a tenant, for the ports that change configuration. */
export type AuditedChange = AuditEntry | TenantChange

export interface AuditRow extends AuditEntry {
  readonly sequence: bigint
  /** A keyed HMAC over the previous row's hash and this row, in hex. */
  readonly hash: string
}

/** Null for no filter. */
export interface AuditFilter {
  readonly actor: string | null
  /** The action or its beginning: "float" matches every change of a float. */
  readonly action: string | null
  /** The subject, or the part of it before a slash. */
  readonly subject: string | null
  /** Inclusive. */
  readonly from: Instant | null
  /** Exclusive. */
  readonly to: Instant | null
}

/** The end of the chain. A copy outside the database proves later that no row up to it is missing. */
export interface AuditHead {
  readonly sequence: bigint
  /** In hex; empty before the first row. */
  readonly hash: string
}

/** In the form that `gateway audit verify --head` accepts. */
export const headText = ({ hash, sequence }: AuditHead): string => `${sequence}:${hash}`

/** The log line with the head as `audit_head`, after a process reads the end of the log or appends a row. */
export const AUDIT_HEAD_MESSAGE = "the end of the audit log"

export interface CurrentAuditHead extends AuditHead {
  /** Whether a gateway wrote this row. */
  readonly authentic: boolean
}

/** A row of the access tables that does not agree with the audit log. */
export interface AccessDifference {
  /** "operator asha", "key shop/k_1", "tenant shop". */
  readonly subject: string
  readonly found: string
}

export interface AuditReport {
  /** How many rows are valid, counted from the first. */
  readonly rows: bigint
  /** The first invalid row: changed, missing, or not written by a gateway. Null when all are valid. */
  readonly brokenAt: bigint | null
  readonly why: string | null
  readonly head: AuditHead
  /** Rows that exist but that no gateway wrote in their present form; at most the first hundred. */
  readonly forged: ReadonlyArray<bigint>
  /**
   * Operators, keys, tenants, limits, ceilings, denials, corridors, switches and proposals that differ from what the genuine
   * audit rows say, or whose seal does not match.
   */
  readonly access: ReadonlyArray<AccessDifference>
}

/**
 * The operators' audit log: a hash chain, in which each row holds a keyed hash over itself and the row before it. This port
 * only reads; other ports append an entry in the same commit as the change it describes. `verify` reports damage as data and
 * never fails because of it. A database that cannot be read is a defect.
 */
export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Newest first, at most `limit`. */
    readonly list: (limit: number) => Effect.Effect<ReadonlyArray<AuditRow>>
    /**
     * As `list`, filtered, from before a given row. A page examines a bounded number of rows, so it may hold fewer than `limit`
     * items or none while `next` is set. `next` is the row to continue before; null when nothing older is left.
     */
    readonly search: (
      filter: AuditFilter,
      page: { readonly limit: number; readonly before: bigint | null }
    ) => Effect.Effect<{ readonly rows: ReadonlyArray<AuditRow>; readonly next: bigint | null }>
    readonly head: Effect.Effect<CurrentAuditHead>
    /** The hash, in hex, that this row has now; null when the row does not exist. */
    readonly hashAt: (sequence: bigint) => Effect.Effect<string | null>
    /**
     * Recomputes the whole chain up to a head that only a gateway can have written, and replays it: every present permission
     * must come from an operator's change. To detect a database that was restored as a whole to an earlier state, pass
     * `exported`, a head that was recorded outside the database; the first digits of its hash are enough.
     */
    readonly verify: (exported: AuditHead | null) => Effect.Effect<AuditReport>
  }
>()("gateway/services/ports/AuditLog") {}
