import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import type { Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type MomoParty, masked, type PayerDetails } from "../../domain/Party.ts"
import { tooLateToSend } from "../../domain/PollSchedule.ts"
import { isTooLateToSend } from "../../domain/TimeLimits.ts"
import { type Collection, isTerminal } from "../../domain/Transaction.ts"
import { type CapturedCall, withCapturedCall } from "../../runtime/CapturedCall.ts"
import { latestTime } from "../../runtime/LatestTime.ts"
import { Codes } from "../ports/Codes.ts"
import type { Claim } from "../ports/Idempotency.ts"
import { Policy } from "../ports/Policy.ts"
import type { ChargeOutcome, CodeRejected, CollectionOperations, Otp } from "../ports/Provider.ts"
import { Vault } from "../ports/Vault.ts"
import { type Able, firstToSucceed, Routes } from "../routing/Routes.ts"
import { type FinalError, outcomeResponse, type UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { Settlement } from "../settlement/Settlement.ts"

/** Wrong codes that one transaction may hear (contract CODE-6). */
export const WRONG_CODES_AT_MOST = 5

/** A charge whose record is there and whose payer is free. */
export interface Placement {
  readonly collection: Collection
  readonly corridor: Corridor
  readonly source: MomoParty
  readonly partyHash: Uint8Array
  readonly otp: Otp | null
  readonly redirectUrl: string | null
  readonly payer: PayerDetails | null
  /** The request's key; null where it sent none. */
  readonly claim: Claim | null
  /** When the record was made, or taken for its code: what stood still since then is not sent any more. */
  readonly takenAt: Instant
  /** `create` keeps a wrong code as its answer; `authorize` forgets its key, because another code may be tried with it. */
  readonly by: "create" | "authorize"
}

const successStatuses = { create: 201, authorize: 200 } as const

export type Charger = Able<CollectionOperations>

/** Those who reach the payer: not every provider of a row charges each of its networks. */
export const reaching = (chargers: ReadonlyArray<Charger>, payer: MomoParty, currency: Currency): ReadonlyArray<Charger> =>
  chargers.filter(({ part }) => part.reachesNetwork?.(payer, currency) ?? true)

/** Places charges and settles what was answered, codes among it. */
export class Charging extends Context.Service<
  Charging,
  {
    /**
     * Places a charge once. A wrong code leaves the transaction open, and so does one that was not sent to this payer for this tenant and
     * mode, of which the provider hears nothing; silence after a code is a charge that may have been placed. Only what
     * provably never left goes to the first of `others` that is ready, after the record was moved there; a code belongs to the provider that
     * sent it.
     */
    readonly place: (
      port: CollectionOperations,
      placement: Placement,
      others?: ReadonlyArray<Charger>
    ) => Effect.Effect<LedgerRecord, FinalError | UnknownOutcomeError>
    /** The keyed hash of a code for one transaction. */
    readonly codeHash: (reference: Reference, otp: Otp) => Uint8Array
  }
>()("gateway/services/Charging") {
  static readonly layer = Layer.effect(
    Charging,
    Effect.gen(function* () {
      const codes = yield* Codes
      const settlement = yield* Settlement
      const vault = yield* Vault
      const policy = yield* Policy
      const routes = yield* Routes

      const codeHash = (reference: Reference, { pin, pinId }: Otp) =>
        vault.hash("code", Redacted.make(`${reference}|${pinId}|${Redacted.value(pin)}`))

      const wrong = Effect.fnUntraced(function* (placement: Placement, otp: Otp, { note }: CodeRejected) {
        const { by, claim, collection, partyHash, source } = placement
        const { appId, mode, reference } = collection
        const stored = yield* codes.wrong({
          appId,
          mode,
          reference,
          partyHash,
          codeHash: codeHash(reference, otp),
          claim: by === "authorize" ? claim : null
        })
        const fact = {
          _tag: "WrongCode",
          pinId: otp.pinId,
          message: codeMessage(source),
          expiresAt: collection.createdAt + policy.otpExpiryMs,
          attemptsRemaining: Math.max(0, WRONG_CODES_AT_MOST - stored),
          note
        } as const
        const kept = by === "create" ? claim : null
        const settled = yield* settlement.apply({ reference, fact, actor: "request", claim: kept })
        return yield* Effect.fromResult(outcomeResponse(settled, fact))
      })

      /** Who takes the charge over, once the record is there; none where nobody is left, or the record has moved on meanwhile. */
      const reroute = Effect.fnUntraced(function* (
        { collection, otp }: Placement,
        from: string,
        left: ReadonlyArray<Charger>,
        why: string
      ) {
        if (otp !== null) return Option.none()
        const ready = (charger: Charger, index: number) =>
          Effect.as(routes.ready(charger.provider, "charge"), { charger, left: left.slice(index + 1) })
        const next = yield* Effect.option(firstToSucceed(left, ready))
        if (Option.isNone(next)) return Option.none()
        const provider = next.value.charger.provider.name
        const note = [`never sent to ${from}, goes to ${provider}`, why].filter((part) => part !== "").join(": ")
        const fact = { _tag: "Rerouted", provider, fee: null, note } as const
        // From before the record is moved: what stands still after that is not sent.
        const takenAt = yield* Clock.currentTimeMillis
        const record = yield* settlement.applyFromProvider(from, { reference: collection.reference, fact, actor: "request" })
        return record.provider === provider && !isTerminal(record) ? Option.some({ ...next.value, takenAt }) : Option.none()
      })

      const place = Effect.fn("Charging.place")(function* (
        port: CollectionOperations,
        placement: Placement,
        others: ReadonlyArray<Charger> = []
      ) {
        const { collection, corridor, otp, partyHash, payer, redirectUrl, source, takenAt } = placement
        const { amount, appId, mode, narration, reference } = collection
        if (otp !== null && !(yield* codes.isSent({ appId, mode, partyHash, pinId: otp.pinId })))
          return yield* wrong(placement, otp, notOwn)
        const order = { reference, corridor, amount, source, redirectUrl, narration, payer, otp }
        let at = { provider: collection.provider, port, left: others, takenAt }
        for (;;) {
          const isLate = isTooLateToSend(at.takenAt, yield* latestTime)
          const { outcome, raw } = isLate ? tooLateToSend : yield* withCapturedCall(at.port.charge(order))
          // A process that stood still knows nothing of what came meanwhile: what it was late with goes to nobody else, either.
          const moved =
            outcome._tag === "NotSent" && !isLate ? yield* reroute(placement, at.provider, at.left, outcome.note) : Option.none()
          if (Option.isNone(moved)) return yield* settle(placement, outcome, raw)
          const { charger, left, takenAt } = moved.value
          at = { provider: charger.provider.name, port: charger.part, left, takenAt }
        }
      })

      const settle = Effect.fnUntraced(function* (placement: Placement, outcome: ChargeOutcome, raw: CapturedCall | null) {
        const { by, claim, collection, otp } = placement
        const { reference } = collection
        if (outcome._tag === "CodeRejected") {
          if (otp === null) return yield* Effect.die(new Error("a code was refused that was not sent"))
          return yield* wrong(placement, otp, outcome)
        }
        if (otp !== null && (outcome._tag === "Accepted" || outcome._tag === "Unknown")) {
          const expiresAt = (yield* Clock.currentTimeMillis) + policy.collectionExpiryMs
          yield* settlement.apply({ reference, fact: { _tag: "Charged", expiresAt, note: "" }, actor: "request" })
        }
        const successStatus = successStatuses[by]
        const settled = yield* settlement.apply({ reference, fact: outcome, actor: "request", claim, successStatus, raw })
        return yield* Effect.fromResult(outcomeResponse(settled, outcome))
      })

      return Charging.of({ place, codeHash })
    })
  )
}

const notOwn: CodeRejected = { _tag: "CodeRejected", note: "no such code was sent to this payer" }

const codeMessage = ({ msisdn }: MomoParty): string =>
  `Ask the payer for the code that was sent to ${masked(Redacted.value(msisdn))}.`

/** What the payer of a charge does next: say the code that was sent. */
export const codeAction = (source: MomoParty, pinId: string, expiresAt: Instant) =>
  ({ _tag: "otp", pinId, message: codeMessage(source), expiresAt }) as const satisfies Collection["nextAction"]
