import { Effect } from "effect"
import { noteWithCandidates } from "../domain/Candidates.ts"
import { type EventType, encodeEvent } from "../domain/Event.ts"
import { RequestInProgress } from "../domain/errors/Retriable.ts"
import { TenantFrozen } from "../domain/errors/Terminal.ts"
import type { Instant } from "../domain/Instant.ts"
import { nextPoll } from "../domain/PollSchedule.ts"
import type { Caller } from "../domain/Tenant.ts"
import type { Transaction } from "../domain/Transaction.ts"
import { recordView } from "../domain/View.ts"
import { takeCallTimes } from "../runtime/CallTrail.ts"
import { latestTime } from "../runtime/LatestTime.ts"
import { candidatesNoted, candidatesOnceUsed, noteChosen, noteUsed } from "../runtime/RouteTrail.ts"
import { FloatLedger, type OpenOutcome, type OpenStep } from "./ports/FloatLedger.ts"
import type { Claim } from "./ports/Idempotency.ts"
import { Policy } from "./ports/Policy.ts"
import { RandomSource } from "./ports/RandomSource.ts"

/** The members that every new record has. Its reference is the claim's: one claim of a key creates at most one record. */
export const newRecord = ({ appId, mode }: Caller, { reference }: Claim, createdAt: Instant) => ({
  reference,
  appId,
  mode,
  providerReference: null,
  needsReview: false,
  version: 1,
  failure: null,
  createdAt,
  updatedAt: createdAt,
  completedAt: null,
  asked: 0,
  notFound: 0
})

/** A record to open, and the rows that are committed with it. An absent member has no row. */
export interface Opening
  extends Pick<OpenStep, "claim" | "entry">,
    Partial<Pick<OpenStep, "beneficiary" | "counters" | "partyHash" | "accountHash" | "payer">> {
  readonly record: Transaction
  /** Null when the contract names no event for a record that has just begun: the response reports it. */
  readonly event: EventType | null
  /** For the history. */
  readonly note?: string
}

/**
 * The results that the caller must handle: opened, or refused for a full window, an insufficient float or another charge of the
 * payer. After a refusal nothing was written.
 */
export type OpenResult = Exclude<OpenOutcome, { readonly _tag: "Frozen" | "ClaimLost" }>

/**
 * Opens a record: the commit with which every payout, collection and exchange begins. Record, reservation, counters, key, event
 * and history are written together or not at all, before any provider is asked to move money. If the process dies afterwards,
 * the money is reserved and the poller polls the provider by our reference.
 *
 * Refused when the tenant was frozen in the meantime, and as in progress when the claim is no longer the newest of its key,
 * because another request has it, or when its lease is over: the process was paused, and the tenant may have found by now that
 * the key has made nothing (contract IDEM-17). A pause after this check is noticed before anything is sent (`sendInTime`).
 */
export const recordOpener = Effect.gen(function* () {
  const ledger = yield* FloatLedger
  const randomSource = yield* RandomSource
  const policy = yield* Policy

  return Effect.fnUntraced(function* ({ event: type, note = "", record, ...step }: Opening) {
    const { appId, createdAt: at, mode, reference, status } = record
    if ((yield* latestTime) > step.claim.leaseUntil) return yield* new RequestInProgress({})
    const event =
      type === null
        ? null
        : encodeEvent({ id: yield* randomSource.reference, appId, mode, type, reference, at }, recordView(record))
    const waitsForCode = record.kind === "collection" && record.nextAction?._tag === "otp"
    if (waitsForCode) yield* noteChosen(record.provider, "code_sent")
    const candidates = yield* waitsForCode ? candidatesNoted : candidatesOnceUsed(record.provider)
    const calls = yield* takeCallTimes
    const opened = yield* ledger.open({
      beneficiary: null,
      counters: [],
      partyHash: null,
      // A provider gets the recipient with the request itself; it is not needed again.
      sealedDestination: null,
      ...step,
      transaction: record,
      line: {
        at,
        actor: "request",
        fact: "Opened",
        note: noteWithCandidates(note, candidates),
        status,
        ...(calls.length === 0 ? {} : { calls })
      },
      event,
      nextPollAt: nextPoll(record, policy.pollSchedule, at) ?? at
    })
    if (opened._tag === "Frozen") return yield* new TenantFrozen({})
    if (opened._tag === "ClaimLost") return yield* new RequestInProgress({})
    if (opened._tag === "Opened" && !waitsForCode) yield* noteUsed(record.provider, 1)
    return opened
  })
})
