import { Clock, Context, Effect, Layer, Option } from "effect"
import type { Beneficiary } from "../domain/Beneficiary.ts"
import { NotFound, ValidationFailed } from "../domain/errors/Terminal.ts"
import { isReference } from "../domain/Ids.ts"
import type { Caller } from "../domain/Tenant.ts"
import { Beneficiaries, type BeneficiaryCursor } from "./ports/Beneficiaries.ts"

/** A tenant's saved recipients, masked (contract BEN-1 to BEN-4). */
export class BeneficiaryBook extends Context.Service<
  BeneficiaryBook,
  {
    /** One page, newest first; `more` says whether another follows. */
    readonly page: (
      caller: Caller,
      limit: number,
      from: BeneficiaryCursor | null
    ) => Effect.Effect<{ readonly items: ReadonlyArray<Beneficiary>; readonly more: boolean }>
    readonly find: (caller: Caller, id: string) => Effect.Effect<Beneficiary, NotFound>
    /** Removes all, of both modes, when `confirmation` is the caller's own app id to the letter; deletes nothing otherwise. */
    readonly purge: (caller: Caller, confirmation: string | undefined) => Effect.Effect<number, ValidationFailed>
  }
>()("gateway/services/BeneficiaryBook") {
  static readonly layer = Layer.effect(
    BeneficiaryBook,
    Effect.gen(function* () {
      const beneficiaries = yield* Beneficiaries

      const page = Effect.fn("BeneficiaryBook.page")(function* (
        { appId, mode }: Caller,
        limit: number,
        from: BeneficiaryCursor | null
      ) {
        const found = yield* beneficiaries.list(appId, mode, limit + 1, from)
        return { items: found.slice(0, limit), more: found.length > limit }
      })

      const find = Effect.fn("BeneficiaryBook.find")(function* ({ appId, mode }: Caller, id: string) {
        const found = isReference(id) ? yield* beneficiaries.find(appId, mode, id) : Option.none()
        if (Option.isNone(found)) return yield* new NotFound({})
        return found.value
      })

      const purge = Effect.fn("BeneficiaryBook.purge")(function* (
        { appId, keyId, mode }: Caller,
        confirmation: string | undefined
      ) {
        if (confirmation !== appId) {
          return yield* new ValidationFailed({
            issues: [{ path: "X-Confirm-Purge", message: "must be the caller's own app id" }]
          })
        }
        const at = yield* Clock.currentTimeMillis
        return yield* beneficiaries.purge(appId, {
          at,
          actor: `${appId}/${keyId}`,
          action: "beneficiaries purge",
          subject: appId,
          details: {},
          tenant: { appId, mode }
        })
      })

      return BeneficiaryBook.of({ page, find, purge })
    })
  )
}
