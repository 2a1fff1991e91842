import { Context, Effect, Layer, Option, Schema } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { AppId, Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { MinorUnits, toDecimal } from "../../domain/Money.ts"
import { consoleActor } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { FloatEntries, type PostedAdjustment } from "../ports/FloatEntries.ts"
import { NotCarriedOut, Proposals } from "../ports/Proposals.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { Tenants } from "../ports/Tenants.ts"
import { type AdjustmentWish, FloatAdjustments } from "../tenants/FloatAdjustments.ts"
import { type Acting, NotDecided } from "./Deciding.ts"

/** Credits and debits of floats from the console, always by two people: one proposes, and what another approves is posted (`Approvals`). */
export class FloatApprovals extends Context.Service<
  FloatApprovals,
  {
    /** Opens the proposal. Refused where the tenant is not there, or where the same external id waits already or was posted before. */
    readonly propose: (wish: AdjustmentWish, acting: Acting) => Effect.Effect<void, NotDecided>
    /** Posts it as it was written down. Refused where the external id was posted before, by whatever way: nothing is posted then. */
    readonly carryOut: (proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>
  }
>()("gateway/services/approvals/FloatApprovals") {
  static readonly layer = Layer.effect(
    FloatApprovals,
    Effect.gen(function* () {
      const tenants = yield* Tenants
      const proposals = yield* Proposals
      const randomSource = yield* RandomSource
      const adjustments = yield* FloatAdjustments
      const entries = yield* FloatEntries

      const propose = Effect.fn("FloatApprovals.propose")(function* (wish: AdjustmentWish, { at, by }: Acting) {
        const { amount, appId, currency, direction, externalId, mode, note } = wish
        if (Option.isNone(yield* tenants.find(appId))) return yield* new NotDecided({ message: `There is no tenant ${appId}.` })
        const used = yield* entries.adjustment(appId, mode, externalId)
        if (Option.isSome(used)) return yield* new NotDecided({ message: usedBefore(externalId, used.value) })
        const subject = `${appId}/${mode}/${externalId}`
        const details = encodeWish({
          app_id: appId,
          mode,
          amount_minor: amount,
          amount_currency: currency,
          external_id: externalId,
          note
        })
        const opened = yield* proposals.open(
          {
            id: yield* randomSource.reference,
            kind: `float ${direction}`,
            subject,
            details,
            proposedBy: by,
            proposedAt: at
          },
          // The external id is in the subject: a detail of that name says that it was posted.
          {
            at,
            actor: consoleActor(by),
            action: "float propose",
            subject,
            details: { direction, mode, currency, amount_minor: amount.toString(), note }
          }
        )
        if (!opened) return yield* new NotDecided({ message: `The external id ${externalId} waits already for a second person.` })
      })

      const carryOut = Effect.fn("FloatApprovals.carryOut")(function* (proposal: Proposal, by: AuditBy) {
        const wish = yield* wishOf(proposal)
        const { isNew } = yield* adjustments.adjust(wish, by).pipe(
          Effect.catchTags({
            NotAdjusted: ({ message }) => Effect.fail(new NotCarriedOut({ message })),
            NoSuchTenant: ({ appId }) => Effect.fail(new NotCarriedOut({ message: `there is no tenant ${appId}` }))
          })
        )
        if (!isNew)
          return yield* new NotCarriedOut({
            message: `the external id ${wish.externalId} was posted before, with the same amount: nothing was posted again`
          })
      })

      return FloatApprovals.of({ propose, carryOut })
    })
  )
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
const decodeDetails = Schema.decodeUnknownEffect(Details)

/** The proposed adjustment, as it was written down. */
const wishOf = ({ details, kind }: Proposal): Effect.Effect<AdjustmentWish> =>
  Effect.matchEffect(decodeDetails(details), {
    onFailure: (error) => Effect.die(error),
    onSuccess: ({ amount_currency: currency, amount_minor: amount, app_id: appId, external_id: externalId, mode, note }) =>
      Effect.succeed({ appId, mode, currency, amount, externalId, note, direction: kind === "float debit" ? "debit" : "credit" })
  })
