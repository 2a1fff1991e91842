import { Context, type Effect, type Option } from "effect"
import type { Beneficiary } from "../../domain/Beneficiary.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { AuditedChange } from "./AuditLog.ts"

/** Where a page ended: the next one begins with what is older. */
export interface BeneficiaryCursor {
  readonly createdAt: number
  readonly id: string
}

/**
 * Recipients that tenants have paid, masked. `FloatLedger.apply` saves them in the commit that records the payout's acceptance; this port reads
 * and purges. Each tenant and mode sees its own rows only. Newest first, and a page continues after its cursor whatever is added meanwhile.
 */
export class Beneficiaries extends Context.Service<
  Beneficiaries,
  {
    /** The tenant's own, of one mode, newest first, at most `limit`; those after `from` where it is given. */
    readonly list: (
      appId: AppId,
      mode: Mode,
      limit: number,
      from: BeneficiaryCursor | null
    ) => Effect.Effect<ReadonlyArray<Beneficiary>>
    /** None for an absent one, a foreign one or one of the other mode alike. */
    readonly find: (appId: AppId, mode: Mode, id: Reference) => Effect.Effect<Option.Option<Beneficiary>>
    /** Removes every one of the tenant's, of both modes, and writes their count down with the change, once and in the same commit. */
    readonly purge: (appId: AppId, change: AuditedChange) => Effect.Effect<number>
  }
>()("gateway/services/ports/Beneficiaries") {}
