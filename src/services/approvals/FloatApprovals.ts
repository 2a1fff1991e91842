import { Context, Effect, Option, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { AppId, Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { MinorUnits, toDecimal } from "../../domain/Money.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { FloatEntries, type PostedAdjustment } from "../ports/FloatEntries.ts"
import { NotCarriedOut } from "../ports/Proposals.ts"
import { Tenants } from "../ports/Tenants.ts"
import { type AdjustmentWish, externalIdMistake, FloatAdjustments } from "../tenants/FloatAdjustments.ts"
import { type Acting, makeProposing, NotDecided, writtenIn } from "./Deciding.ts"

/** Credits and debits of floats from the console: one person proposes, another approves, and exactly that is posted. */
export class FloatApprovals extends Context.Service<
  FloatApprovals,
  {
    /** Opens the proposal. Refused without such a tenant, or for an external id that cannot name an adjustment or is taken. */
    readonly propose: (wish: AdjustmentWish, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Posts the proposed amount. Refused, with nothing posted, when the external id was already posted by any means. */
    readonly carryOut: (proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>
  }
>()("gateway/services/approvals/FloatApprovals") {
  static readonly layer = layerOf(FloatApprovals)(function* () {
    const tenants = yield* Tenants
    const open = yield* makeProposing
    const adjustments = yield* FloatAdjustments
    const entries = yield* FloatEntries

    const propose = Effect.fn("FloatApprovals.propose")(function* (wish: AdjustmentWish, acting: Acting) {
      const { amount, appId, currency, direction, externalId, mode, note } = wish
      const mistake = externalIdMistake(externalId)
      if (mistake !== null) return yield* new NotDecided(`Nothing was proposed: ${mistake}.`)
      if (Option.isNone(yield* tenants.find(appId))) return yield* new NotDecided(`There is no tenant ${appId}.`)
      const used = yield* entries.adjustment(appId, mode, externalId)
      if (Option.isSome(used)) return yield* new NotDecided(usedBefore(externalId, used.value))
      const details = encodeWish({
        app_id: appId,
        mode,
        amount_minor: amount,
        amount_currency: currency,
        external_id: externalId,
        note
      })
      // The external id is in the subject, because a detail of that name means that it was posted.
      const audit = {
        action: "float propose",
        details: { direction, mode, currency, amount_minor: amount.toString(), note }
      }
      const waitsAlready = `The external id ${externalId} waits already for a second person.`
      const subject = `${appId}/${mode}/${externalId}`
      yield* open({ kind: `float ${direction}`, subject, details, audit, waitsAlready }, acting)
    })

    const carryOut = Effect.fn("FloatApprovals.carryOut")(function* (proposal: Proposal, by: AuditBy) {
      const wish = yield* wishOf(proposal)
      const { isNew } = yield* adjustments.adjust(wish, by).pipe(
        Effect.catchTags({
          NotAdjusted: ({ message }) => Effect.fail(new NotCarriedOut(message)),
          NoSuchTenant: ({ appId }) => Effect.fail(new NotCarriedOut(`there is no tenant ${appId}`))
        })
      )
      if (!isNew)
        return yield* new NotCarriedOut(
          `the external id ${wish.externalId} was posted before, with the same amount: nothing was posted again`
        )
    })

    return { propose, carryOut }
  })
}

const usedBefore = (externalId: string, { amount, at, currency, direction }: PostedAdjustment): string =>
  `The external id ${externalId} was posted before, at ${iso(at)}: a ${direction} of ${currency} ${toDecimal(amount, currency)}.`

const Details = Schema.Struct({
  app_id: AppId,
  mode: Mode,
  amount_minor: Schema.BigIntFromString.pipe(Schema.decodeTo(Schema.toType(MinorUnits))),
  amount_currency: Currency,
  external_id: Schema.String,
  note: Schema.String
})
const encodeWish = Schema.encodeSync(Details)
const decodeDetails = writtenIn(Details)

const wishOf = ({ details, kind }: Proposal): Effect.Effect<AdjustmentWish> =>
  Effect.map(
    decodeDetails(details),
    ({ amount_currency: currency, amount_minor: amount, app_id: appId, external_id: externalId, mode, note }) => ({
      appId,
      mode,
      currency,
      amount,
      externalId,
      note,
      direction: kind === "float debit" ? "debit" : "credit"
    })
  )
