import { Clock, Context, Effect, Option } from "effect"
import type { Beneficiary } from "../domain/Beneficiary.ts"
import { invalid, NotFound, type ValidationFailed } from "../domain/errors/Terminal.ts"
import { isReference } from "../domain/Ids.ts"
import type { Caller } from "../domain/Tenant.ts"
import { layerOf } from "../runtime/ServiceLayer.ts"
import { tenantChange } from "./ports/AuditLog.ts"
import { Beneficiaries, type BeneficiaryCursor } from "./ports/Beneficiaries.ts"

/** A tenant's saved recipients, masked (contract BEN-1 to BEN-4). */
export class BeneficiaryBook extends Context.Service<
  BeneficiaryBook,
  {
    /** One page, newest first. `more`: whether another page follows. */
    readonly page: (
      caller: Caller,
      limit: number,
      from: BeneficiaryCursor | null
    ) => Effect.Effect<{ readonly items: ReadonlyArray<Beneficiary>; readonly more: boolean }>
    readonly find: (caller: Caller, id: string) => Effect.Effect<Beneficiary, NotFound>
    /** Removes all of the caller's recipients in both modes, if `confirmation` is exactly the caller's app id; otherwise none. */
    readonly purge: (caller: Caller, confirmation: string | undefined) => Effect.Effect<number, ValidationFailed>
  }
>()("gateway/services/BeneficiaryBook") {
  static readonly layer = layerOf(BeneficiaryBook)(function* () {
    const beneficiaries = yield* Beneficiaries

    return {
      page: Effect.fn("BeneficiaryBook.page")(function* ({ appId, mode }, limit, from) {
        const found = yield* beneficiaries.list(appId, mode, limit + 1, from)
        return { items: found.slice(0, limit), more: found.length > limit }
      }),

      find: Effect.fn("BeneficiaryBook.find")(function* ({ appId, mode }, id) {
        const found = isReference(id) ? yield* beneficiaries.find(appId, mode, id) : Option.none()
        if (Option.isNone(found)) return yield* new NotFound({})
        return found.value
      }),

      purge: Effect.fn("BeneficiaryBook.purge")(function* (caller, confirmation) {
        const { appId } = caller
        if (confirmation !== appId) return yield* invalid("X-Confirm-Purge", "must be the caller's own app id")
        return yield* beneficiaries.purge(appId, tenantChange(caller, yield* Clock.currentTimeMillis, "beneficiaries purge", {}))
      })
    }
  })
}
