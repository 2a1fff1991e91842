import { Context, Effect } from "effect"
import { isReference } from "../../domain/Ids.ts"
import { credit, debit, type FloatPosition } from "../../domain/Ledger.ts"
import { LARGEST_AMOUNT, toDecimal } from "../../domain/Money.ts"
import { MessageError } from "../../runtime/MessageError.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { type Adjustment, FloatLedger } from "../ports/FloatLedger.ts"
import { NoSuchTenant } from "./TenantKeys.ts"

/** The amount to credit to a float or debit from it. */
export type AdjustmentWish = Pick<Adjustment, "appId" | "mode" | "currency" | "amount" | "externalId" | "note" | "direction">

/** Why nothing was posted: one line for the operator. */
class NotAdjusted extends MessageError("NotAdjusted") {}

/** Manual credits and debits of a float, for the command line and the console. */
export class FloatAdjustments extends Context.Service<
  FloatAdjustments,
  {
    /**
     * Posts once per external id, with its audit row. Repeating the same call posts nothing: `isNew` is false, and the position
     * is the one right after the posting. Refused when the external id cannot name an adjustment, was used for something else or
     * belongs to one of the tenant's transactions, and when the float cannot cover a debit or hold a credit.
     */
    readonly adjust: (
      wish: AdjustmentWish,
      by: AuditBy
    ) => Effect.Effect<{ readonly position: FloatPosition; readonly isNew: boolean }, NotAdjusted | NoSuchTenant>
  }
>()("gateway/services/tenants/FloatAdjustments") {
  static readonly layer = layerOf(FloatAdjustments)(function* () {
    const ledger = yield* FloatLedger

    const adjust = Effect.fn("FloatAdjustments.adjust")(function* (wish: AdjustmentWish, { actor, at, details }: AuditBy) {
      const { amount, appId, currency, direction, externalId, mode, note } = wish
      const mistake = externalIdMistake(externalId)
      if (mistake !== null) return yield* new NotAdjusted(mistake)
      const entry = direction === "credit" ? credit(currency, amount) : debit(currency, amount)
      const own = { mode, currency, amount_minor: amount.toString(), external_id: externalId, note }
      const adjusted = yield* ledger.adjust({
        ...wish,
        entry,
        at,
        audit: { at, actor, action: `float ${direction}`, subject: appId, details: { ...own, ...details } }
      })
      switch (adjusted._tag) {
        case "Adjusted":
          return { position: adjusted.position, isNew: adjusted.isNew }
        case "Conflict":
          return yield* new NotAdjusted(
            `the external id ${externalId} was used for another adjustment: take a new one, or repeat that one exactly`
          )
        case "OfRecord":
          return yield* new NotAdjusted(
            `${externalId} is a transaction of this tenant, which is booked by what becomes of it: see transaction show ${externalId}`
          )
        case "ShortFloat":
          return yield* new NotAdjusted(
            `only ${currency} ${toDecimal(adjusted.available, currency)} (${adjusted.available} minor) is available`
          )
        case "FullFloat":
          return yield* new NotAdjusted(
            `the float would be larger than ${currency} ${toDecimal(LARGEST_AMOUNT, currency)} (${LARGEST_AMOUNT} minor), which is the most that it can hold`
          )
        case "NoTenant":
          return yield* new NoSuchTenant({ appId })
      }
    })

    return { adjust }
  })
}

/** Characters that cannot be seen, and every space except the ordinary one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]|[^\P{Zs} ]/u

/**
 * Why a text cannot name an adjustment, as one line; null where it can. One that only looks like another external id would post
 * the same money twice, and so would a transaction's reference in small letters.
 */
export const externalIdMistake = (externalId: string): string | null => {
  if (UNSEEN.test(externalId))
    return "the external id has a character that cannot be seen, or a space that is not the ordinary one: type it"
  const reference = externalId.toUpperCase()
  return reference !== externalId && isReference(reference)
    ? `the external id ${externalId} is the reference ${reference} in small letters: write it in capitals`
    : null
}
