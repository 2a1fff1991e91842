import { Clock, Context, Effect, Option } from "effect"
import { noteWithCandidates } from "../../domain/Candidates.ts"
import type { Fact } from "../../domain/Fact.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import { isTerminal } from "../../domain/Payment.ts"
import { stampOf } from "../../domain/ProviderAccount.ts"
import { isTooLateToSend, leavesBy } from "../../domain/TimeLimits.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { type CapturedCall, withCapturedCall } from "../../runtime/CapturedCall.ts"
import { LeavesBy, latestTime } from "../../runtime/LatestTime.ts"
import { candidatesNoted, candidatesNow, noteMovedOn, noteNotSent, noteUsed } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { whereTraced } from "../../runtime/Tracing.ts"
import type { Provider } from "../ports/Provider.ts"
import { VelocityLimits } from "../ports/VelocityLimits.ts"
import { Settlement } from "../settlement/Settlement.ts"

type NotSent = Extract<Fact, { readonly _tag: "NotSent" }>

/** A provider that can take over a payout or charge on the tenant's terms. `fee`: what it quoted; null for a charge. */
interface NextProvider<Offer> {
  readonly provider: Pick<Provider, "name" | "fingerprints">
  readonly fee: MinorUnits | null
  /** The fee is refunded when the whole payout is returned. */
  readonly feeReturns?: boolean
  readonly offer: Offer
}

/** A payout or charge that is ready to be sent, and the providers that could take over. */
interface FailoverPlan<Offer, Outcome> {
  /** As stored: its provider is the first one to try. */
  readonly record: Transaction
  /** When the record was written, or leased for its code. */
  readonly recordedAt: Instant
  readonly first: Offer
  /** Makes one call to a provider, once. */
  readonly send: (offer: Offer) => Effect.Effect<Outcome>
  /** The next provider that could take over; none when there is no other. */
  readonly nextAfter: (offer: Offer) => Effect.Effect<Option.Option<NextProvider<Offer>>>
}

/** The last provider's answer, with its request and response. */
export interface Sent<Outcome> {
  readonly outcome: Outcome | NotSent
  readonly raw: CapturedCall | null
  /** The record was moved to another provider. */
  readonly isRerouted: boolean
}

/**
 * When a payout or charge goes to the next provider, and when it must not.
 *
 * It goes on only after `NotSent`: no byte left the process, because the connection was refused or a circuit is open. The
 * record is first moved to the next provider in a separate commit, and only then sent there. If the process dies in between,
 * the record names the only provider that may have received it.
 *
 * It never goes on
 * - after a missing response (`Unknown`) or any answer, including a refusal: the payment may have been executed, or the tenant
 *   has to know;
 * - after the process was suspended too long: others may have moved or failed the record, so nothing is sent at all;
 * - once the record has changed, is closed, or its provider has a handle of it (the table of moves in `domain` keeps it there);
 * - when the use case offers no provider: the next one would cost more than was reserved or deliver another amount, its account
 *   has a daily ceiling, the recipient is a wallet of the first one, or the payer's code belongs to the first one.
 */
export class Failover extends Context.Service<
  Failover,
  {
    /** Sends once to each provider in turn, and returns the last one's answer. The outcome is not applied yet. */
    readonly send: <Offer, Outcome extends { readonly _tag: string; readonly note: string }>(
      plan: FailoverPlan<Offer, Outcome>
    ) => Effect.Effect<Sent<Outcome>>
  }
>()("gateway/services/Failover") {
  static readonly layer = layerOf(Failover)(function* () {
    const settlement = yield* Settlement
    const limits = yield* VelocityLimits

    const send = Effect.fnUntraced(function* <Offer, Outcome extends { readonly _tag: string; readonly note: string }>(
      plan: FailoverPlan<Offer, Outcome>
    ) {
      const { nextAfter, record } = plan
      let turn = { provider: record.provider, offer: plan.first, recordedAt: plan.recordedAt }
      for (let attempt = 1; ; attempt++) {
        yield* noteUsed(turn.provider, attempt)
        const { isLate, outcome, raw } = yield* inAttempt(attempt)(sendInTime(turn.recordedAt, plan.send(turn.offer)))
        if (outcome._tag === "NotSent") yield* noteNotSent(turn.provider, attempt, outcome.note)
        // The process may also have been suspended during the call.
        const isStale = isLate || isTooLateToSend(turn.recordedAt, yield* latestTime)
        const next = outcome._tag === "NotSent" && !isStale ? yield* nextAfter(turn.offer) : Option.none()
        const recordedAt = yield* Clock.currentTimeMillis
        const why = { note: outcome.note, attempt: attempt + 1 }
        const isMoved = Option.isSome(next) && (yield* moveRecord(record, turn.provider, next.value, why))
        if (!isMoved) return { outcome: yield* withOthers(outcome), raw, isRerouted: attempt > 1 }
        turn = { provider: next.value.provider.name, offer: next.value.offer, recordedAt }
      }
    })

    /** False when the record has changed in the meantime: another process knows its outcome. */
    const moveRecord = Effect.fnUntraced(function* (
      { appId, currency, kind, reference }: Transaction,
      from: string,
      { fee, feeReturns = false, provider }: NextProvider<unknown>,
      why: { readonly note: string; readonly attempt: number }
    ) {
      const { name } = provider
      yield* noteUsed(name, why.attempt)
      const reason = [`never sent to ${from}, goes to ${name}`, why.note].filter((part) => part !== "").join(": ")
      const note = noteWithCandidates(reason, yield* candidatesNoted)
      const returns = feeReturns ? ({ feeReturns } as const) : {}
      const fact = { _tag: "Rerouted", provider: name, ...stampOf(provider, currency), fee, ...returns, note } as const
      const moved = yield* settlement.applyFromProvider(from, { reference, fact, actor: "request" })
      const isMoved = moved.provider === name && !isTerminal(moved)
      if (!isMoved) yield* noteMovedOn(name)
      if (isMoved && kind === "payout") yield* limits.giveBackCeiling(appId, reference)
      return isMoved
    })

    return { send }
  })
}

/** The note of a payment that was never sent says why no other provider took it over. */
const withOthers = Effect.fnUntraced(function* <Outcome extends { readonly _tag: string; readonly note: string }>(
  outcome: Outcome
) {
  if (outcome._tag !== "NotSent" || (yield* candidatesNow).length < 2) return outcome
  return { ...outcome, note: noteWithCandidates(outcome.note, yield* candidatesNoted) }
})

/** Marks a call's spans and log lines with the number of the attempt. */
const inAttempt =
  (attempt: number) =>
  <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const traced = whereTraced<A, E, R>(Effect.annotateSpans({ "gateway.attempt": attempt }))(call)
    return attempt === 1 ? traced : Effect.annotateLogs(traced, { attempt })
  }

/**
 * Makes one money call, once. A record that was written too long ago is not sent: the process was suspended too long, and
 * others may have declared the record never sent. The age is checked here, and again by `LeavesBy` when each request of the
 * call that can move money leaves, because other requests may come first. Also used without failover. `endsAt`: what is sent is
 * worth nothing to the provider after it.
 */
export const sendInTime = Effect.fnUntraced(function* <Outcome>(
  recordedAt: Instant,
  call: Effect.Effect<Outcome>,
  endsAt: Instant = leavesBy(recordedAt)
) {
  const leaves = Math.min(leavesBy(recordedAt), endsAt)
  if ((yield* latestTime) > leaves) return { outcome: tooLateToSend, raw: null, isLate: true }
  return { ...(yield* Effect.provideService(withCapturedCall(call), LeavesBy, leaves)), isLate: false }
})

const tooLateToSend: NotSent = { _tag: "NotSent", note: "the process was paused too long: too late to send" }
