import { Cache, Clock, Context, Duration, Effect, Option } from "effect"
import { passedAtLeast } from "../../domain/ClockLeaps.ts"
import { DuplicateChargeInFlight } from "../../domain/errors/Ambiguous.ts"
import { RequestInProgress } from "../../domain/errors/Retriable.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { RawJson } from "../../domain/Json.ts"
import { isTerminal } from "../../domain/Payment.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { ClockTrust } from "../ports/ClockWatch.ts"
import { PayerLocks } from "../ports/PayerLocks.ts"
import { Tenants } from "../ports/Tenants.ts"
import { Transactions } from "../ports/Transactions.ts"
import { OutcomePoller, type Polled } from "../settlement/OutcomePoller.ts"

/** How far back an earlier charge of a number counts, in time that has certainly passed (contract GUARD-1). */
const LOOK_BACK_MS = 15 * 60_000
/** Each further look means that another charge of the number was placed since the last one. */
const LOOKS_AT_MOST = 4
/** How many earlier charges are polled at the same time. */
const POLLED_AT_ONCE = 1_024

/** The number to charge. */
export interface Payer {
  readonly appId: AppId
  readonly mode: Mode
  readonly partyHash: Uint8Array
  /** The charge itself, which does not compete with itself when it is placed again. */
  readonly own: Reference
}

/** The latest charge of a number. A new charge commits only if this is still the latest. */
export interface LastCharge {
  readonly holder: Reference | null
}

/**
 * The double-charge guard: a tenant does not charge a number again while an earlier momo charge of it may still be paid, or
 * right after one that succeeded. It is independent of the idempotency key, and protects a customer who repeats an action with
 * a new key.
 *
 * The final check is in the money step (`FloatLedger.open`, and `Codes.begin` for a code): it returns `PayerBusy` when another
 * charge of the number was placed after the look here.
 */
export class ChargeGuard extends Context.Service<
  ChargeGuard,
  {
    /**
     * Runs `place` once no recent charge of the number is live, successful, or failed without proof. A charge whose outcome is
     * not certain is polled first, which may settle it. For a tenant with repeat sales, charges that were known as successful
     * when its request arrived do not count. `place` returns none when another was faster: all is checked again.
     */
    readonly placeWhenFree: <A, E>(
      payer: Payer,
      place: (last: LastCharge) => Effect.Effect<Option.Option<A>, E>
    ) => Effect.Effect<A, E | DuplicateChargeInFlight | RequestInProgress>
  }
>()("gateway/services/ChargeGuard") {
  static readonly layer = layerOf(ChargeGuard)(function* () {
    const locks = yield* PayerLocks
    const transactions = yield* Transactions
    const poller = yield* OutcomePoller
    const tenants = yield* Tenants
    const trust = yield* ClockTrust

    // Requests that find the same earlier charge at the same time share one poll.
    const polls = yield* Cache.makeWith<Reference, Pick<Polled, "isAbsent">>(
      Effect.fnUntraced(function* (reference) {
        const stored = yield* transactions.byReference(reference)
        return Option.isSome(stored) ? yield* poller.poll(stored.value, "request") : {}
      }),
      { capacity: POLLED_AT_ONCE, timeToLive: () => Duration.zero }
    )

    const read = (reference: Reference) =>
      Effect.map(
        transactions.byReference(reference),
        Option.map(({ transaction }) => transaction)
      )

    /**
     * Returns the earlier charge, after polling it, if it blocks the new one. A charge that waits for a code with none being
     * submitted had a wrong one: it blocks only if the provider has it, or does not answer (contract GUARD-9).
     */
    const blockingCharge = Effect.fnUntraced(function* (
      reference: Reference,
      hasCodeOnItsWay: boolean,
      isOtherSale: (earlier: Transaction) => boolean
    ) {
      const earlier = yield* read(reference)
      if (Option.isNone(earlier) || isOtherSale(earlier.value)) return Option.none()
      if (isSure(earlier.value)) return Option.filter(earlier, mayBePaid)
      const { isAbsent = false } = yield* Cache.get(polls, reference)
      const isFree = (now: Transaction) => isAbsent && !hasCodeOnItsWay && needsCode(now)
      return Option.filter(yield* read(reference), (now) => mayBePaid(now) && !isFree(now))
    })

    const placeWhenFree = Effect.fn("ChargeGuard.placeWhenFree")(function* <A, E>(
      { appId, mode, own, partyHash }: Payer,
      place: (last: LastCharge) => Effect.Effect<Option.Option<A>, E>
    ) {
      const since = yield* Clock.currentTimeMillis
      const leaps = yield* trust.leaps
      const repeats = yield* tenants.repeatSales(appId)
      const isOtherSale = (earlier: Transaction) => repeats && succeededBefore(earlier, since)
      for (let look = 0; look < LOOKS_AT_MOST; look++) {
        const charges = yield* locks.charges(appId, mode, partyHash)
        for (const { at, reference } of charges.placed) {
          if (reference === own || passedAtLeast(leaps, at, since) >= LOOK_BACK_MS) continue
          const earlier = yield* blockingCharge(reference, reference === charges.holder, isOtherSale)
          if (Option.isSome(earlier)) return yield* duplicateOf(earlier.value)
        }
        const placed = yield* place({ holder: charges.holder })
        if (Option.isSome(placed)) return placed.value
      }
      return yield* new RequestInProgress({})
    })

    return { placeWhenFree }
  })
}

/** Whether no answer of the provider can change what the charge means for the guard. */
const isSure = (earlier: Transaction): boolean =>
  earlier.status === "successful" || (isTerminal(earlier) && !isContested(earlier))

/** It failed or expired in a way that its provider may correct, or the provider contradicts that (contract GUARD-8). */
const isContested = ({ doubtedSince, needsReview }: Transaction): boolean => needsReview || doubtedSince !== undefined

/** The charge itself waits for a code, or for the result of one. */
const needsCode = (earlier: Transaction): boolean =>
  earlier.kind === "collection" && earlier.status === "requires_action" && earlier.nextAction?._tag !== "redirect"

const mayBePaid = (earlier: Transaction): boolean =>
  (earlier.status !== "failed" && earlier.status !== "expired") || isContested(earlier)

/** With repeat sales, a charge that succeeded before the request is another sale; one that succeeds during it is not. */
const succeededBefore = ({ completedAt, status }: Transaction, since: Instant): boolean =>
  status === "successful" && completedAt !== null && completedAt < since

const duplicateOf = (earlier: Transaction): DuplicateChargeInFlight =>
  new DuplicateChargeInFlight({
    reference: earlier.reference,
    status: earlier.status,
    amount_minor: earlier.amount,
    currency: earlier.currency,
    metadata: new RawJson(earlier.metadata),
    created_at: iso(earlier.createdAt),
    ...(earlier.status === "successful" ? { already_succeeded: "true" as const } : {})
  })
