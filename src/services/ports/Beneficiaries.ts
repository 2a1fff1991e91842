import { Context, type Effect, type Option } from "effect"
import type { Beneficiary } from "../../domain/Beneficiary.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { AuditedChange } from "./AuditLog.ts"

/** Where a page ended. The next page begins with the rows older than this one. */
export interface BeneficiaryCursor {
  readonly createdAt: number
  readonly id: string
}

/**
 * The recipients that a tenant has paid, masked. `FloatLedger.apply` stores them in the commit that records the payout's
 * acceptance; this port reads and purges them. A tenant sees only its own rows of one mode.
 */
export class Beneficiaries extends Context.Service<
  Beneficiaries,
  {
    /**
     * The tenant's recipients in one mode, newest first, at most `limit`, beginning after the cursor when one is given. Rows
     * that are added while a client pages do not shift the pages.
     */
    readonly list: (
      appId: AppId,
      mode: Mode,
      limit: number,
      from: BeneficiaryCursor | null
    ) => Effect.Effect<ReadonlyArray<Beneficiary>>
    /** None when it does not exist, belongs to another tenant or is of the other mode. */
    readonly find: (appId: AppId, mode: Mode, id: Reference) => Effect.Effect<Option.Option<Beneficiary>>
    /** Removes all of the tenant's recipients in both modes, and returns how many, as the change's audit row says. */
    readonly purge: (appId: AppId, change: AuditedChange) => Effect.Effect<number>
  }
>()("gateway/services/ports/Beneficiaries") {}
