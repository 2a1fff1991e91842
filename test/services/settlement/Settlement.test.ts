import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { encodeEvent } from "../../../src/domain/Event.ts"
import { OtpIncorrect } from "../../../src/domain/errors/Retriable.ts"
import {
  ChargeRejectedByProvider,
  InsufficientWalletFloat,
  PayoutRejectedByProvider
} from "../../../src/domain/errors/Terminal.ts"
import type { Fact } from "../../../src/domain/Fact.ts"
import { release, settle } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { POLLED_FOR_MS } from "../../../src/domain/PollSchedule.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { recordView } from "../../../src/domain/View.ts"
import { errorEnvelope, successEnvelope } from "../../../src/http/api/Envelope.ts"
import { type News } from "../../../src/services/settlement/Settlement.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { cases } from "../../support/ReviewCases.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { claim, collected, EVENT, failed, given, paid, raw, reference, said, written } from "./SettlementFixture.ts"
import { FIRST } from "./StoredRecord.ts"

describe("one fact", () => {
  it.effect("is one commit of the record, its entry, the history, the event, the answer and what was sent and received", () =>
    Effect.gen(function* () {
      const { read, seen, steps, told } = given(payout())
      const next = {
        ...payout({ status: "successful", providerReference: "P1", fees: minor(750n) }),
        version: 2,
        updatedAt: TOLD_AT,
        completedAt: TOLD_AT,
        said: ["succeeded 10000 UGX"],
        saidAtOpening: [],
        ruling: null
      }
      expect(yield* told({ fact: said.Succeeded, claim, raw })).toStrictEqual(next)
      const { appId, mode } = next
      expect(steps).toStrictEqual([
        {
          expectedRevision: FIRST,
          before: payout(),
          next,
          entry: settle("UGX", minor(10_000n), minor(1_000n), minor(750n)),
          line: { at: TOLD_AT, actor: "callback", fact: "Succeeded", note: "amount 10000 UGX; fee 750", status: "successful" },
          event: encodeEvent({ id: EVENT, appId, mode, type: "payout.successful", reference, at: TOLD_AT }, recordView(next)),
          nextPollAt: TOLD_AT + 3_600_000,
          response: { claim, response: successEnvelope(201, recordView(next)) },
          savesBeneficiary: true,
          restoreLimits: false,
          wipeDestination: true,
          raw
        }
      ])
      expect(read()).toStrictEqual({ transaction: next, revision: FIRST + 1n })
      expect(seen).toStrictEqual({ reads: 1, nudges: 1 })
    })
  )

  it.effect("bears no moment before the step that it follows, where the clock of this node is behind", () =>
    Effect.gen(function* () {
      const at = TOLD_AT + 2_000
      const { line, next } = yield* written(payout({ updatedAt: at }), { fact: said.Succeeded })
      expect([line.at, next.updatedAt, next.completedAt]).toStrictEqual([at, at, at])
      // A clock that was wrong by more says nothing.
      const far = yield* written(payout({ updatedAt: TOLD_AT + 600_000 }), { fact: said.Succeeded })
      expect(far.line.at).toBe(TOLD_AT)
    })
  )

  it.effect("that changes nothing leaves a line in the history and nothing else", () =>
    Effect.gen(function* () {
      const record = payout({ status: "failed", completedAt: NOON })
      const { seen, steps, told } = given(record)
      expect(yield* told({ fact: said.Refused })).toMatchObject({ status: "failed", version: 1 })
      expect(steps).toMatchObject([
        {
          next: { status: "failed", version: 1, completedAt: NOON },
          entry: null,
          line: { at: TOLD_AT, actor: "callback", fact: "Refused", note: "", status: "failed" },
          event: null,
          nextPollAt: null,
          response: null,
          raw: null
        }
      ])
      expect(seen).toStrictEqual({ reads: 1, nudges: 0 })
    })
  )

  it.effect("gives back what a payout had reserved when it is refused", () =>
    Effect.gen(function* () {
      const { entry, event } = yield* written(payout(), { fact: said.Refused })
      expect(entry).toStrictEqual(release("UGX", minor(11_000n)))
      expect(event?.type).toBe("payout.failed")
    })
  )

  it.effect("leaves an open record to the next poll of the schedule", () =>
    Effect.gen(function* () {
      const { nextPollAt } = yield* written(payout(), { fact: said.Accepted })
      expect(nextPollAt).toBe(NOON + 2 * 60_000)
      expect(policy.pollSchedule.open).toContain(2 * 60_000)
    })
  )
})

describe("beside the money", () => {
  // What the recipient of a closed payout was is kept sealed nowhere; only a payout has a recipient to keep, and windows to count in.
  it.effect.each<readonly [string, Transaction, Fact, string]>([
    ["a payout that the provider took", payout(), said.Accepted, "keeps the recipient"],
    ["a payout that was paid", payout(), said.Succeeded, "keeps the recipient, wipes the destination"],
    ["a payout that was refused", payout(), said.Refused, "counts in no limit, wipes the destination"],
    ["a payout that was never sent", payout(), said.NotSent, "counts in no limit, wipes the destination"],
    ["a payout that nobody knows of", payout(), said.Unknown, ""],
    ["a payout that is under way", payout(), said.StillPending, ""],
    ["a payout that goes to another provider", payout(), said.Rerouted, ""],
    ["a failed payout that is refused again", failed, said.Refused, "wipes the destination"],
    ["a paid payout that was returned", paid, said.Returned, "wipes the destination"],
    ["a charge that the provider took", collection(), said.Accepted, ""],
    ["a charge that was paid", collection({ amount: minor(10_000n) }), said.Succeeded, "wipes the destination"],
    ["a charge that was refused", collection(), said.Refused, "wipes the destination"],
    ["a charge that was paid before", collected, said.Succeeded, "wipes the destination"],
    ["an exchange that was done", cases["pending exchange"], said.Succeeded, "wipes the destination"],
    ["an exchange that was refused", cases["pending exchange"], said.Refused, "wipes the destination"]
  ])("%s: what else its commit does", ([, record, fact, effects]) =>
    Effect.gen(function* () {
      const { restoreLimits, savesBeneficiary, wipeDestination } = yield* written(record, { fact })
      const done = [
        ...(savesBeneficiary ? ["keeps the recipient"] : []),
        ...(restoreLimits ? ["counts in no limit"] : []),
        ...(wipeDestination ? ["wipes the destination"] : [])
      ]
      expect(done.join(", ")).toBe(effects)
    })
  )
})

describe("a refusal", () => {
  it.effect.each<readonly [string, Fact, true | undefined]>([
    ["because the provider's wallet does not cover the payout counts as the gateway's", { ...said.Refused, kind: "pool" }, true],
    ["because of the payment itself does not", said.Refused, undefined],
    ["that never was one does not", said.Accepted, undefined]
  ])("%s", ([, fact, walletTooSmall]) =>
    Effect.gen(function* () {
      expect((yield* written(payout(), { fact })).walletTooSmall).toBe(walletTooSmall)
    })
  )
})

describe("the answer of the request's key", () => {
  const waiting = collection({ status: "requires_action" })
  const charged = collection({ amount: minor(10_000n) })
  const refusal = { reference, failure_code: "provider_rejected" } as const

  it.effect.each<readonly [string, Transaction, Fact, Parameters<typeof errorEnvelope>[0]]>([
    ["a refused payout", payout(), said.Refused, new PayoutRejectedByProvider(refusal)],
    ["a refused charge", charged, said.Refused, new ChargeRejectedByProvider(refusal)],
    [
      "a payout beyond the provider's wallet",
      payout(),
      { ...said.Refused, kind: "pool" },
      new InsufficientWalletFloat({ reference })
    ],
    ["a charge whose code was wrong", waiting, said.WrongCode, new OtpIncorrect({ reference, attempts_remaining: 4 })]
  ])("%s keeps its refusal", ([, record, fact, error]) =>
    Effect.gen(function* () {
      const { response } = yield* written(record, { fact, claim })
      expect(response).toStrictEqual({ claim, response: errorEnvelope(error) })
    })
  )

  it.effect("keeps the record as it is after the fact, with the operation's own status", () =>
    Effect.gen(function* () {
      const { next, response } = yield* written(charged, { fact: said.Succeeded, claim, successStatus: 200 })
      expect(response).toStrictEqual({ claim, response: successEnvelope(200, recordView(next)) })
    })
  )

  it.effect.each<readonly [string, Omit<News, "reference" | "actor">]>([
    ["while the provider is silent", { fact: said.Unknown, claim }],
    ["while the provider cannot be reached", { fact: { ...said.Unknown, reason: "unavailable" }, claim }],
    ["while the provider's answer cannot be read", { fact: { ...said.Unknown, reason: "bad_response" }, claim }],
    ["where nothing was sent, so that the same key may pay", { fact: said.NotSent, claim }],
    ["where no request waits for it", { fact: said.Succeeded, claim: null }]
  ])("keeps nothing %s", ([, news]) =>
    Effect.gen(function* () {
      expect((yield* written(payout(), news)).response).toBeNull()
    })
  )
})

describe("the history", () => {
  const OLD = NOON + POLLED_FOR_MS
  it.effect.each<readonly [string, Fact, number, string]>([
    ["the provider's own words", { ...said.Refused, note: "no" }, TOLD_AT, "no"],
    ["what was paid, and the fee", { ...said.Succeeded, note: "done" }, TOLD_AT, "done; amount 10000 UGX; fee 750"],
    [
      "that no amount and no fee were named",
      { ...said.Succeeded, amount: null, currency: null, fee: null },
      TOLD_AT,
      "amount unsaid; fee unsaid"
    ],
    ["nothing where there is nothing to say", said.StillPending, TOLD_AT, ""],
    ["that the schedule is over", said.StillPending, OLD, "polled to the end of the schedule: a person has to look"],
    [
      "the words and that the schedule is over",
      { ...said.Unknown, note: "silence" },
      OLD,
      "silence; polled to the end of the schedule: a person has to look"
    ]
  ])("has %s", ([, fact, at, note]) =>
    Effect.gen(function* () {
      expect((yield* written(payout(), { fact }, at)).line.note).toBe(note)
    })
  )
})
