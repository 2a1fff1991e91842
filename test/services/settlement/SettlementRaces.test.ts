import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { CallTime } from "../../../src/domain/CallTimes.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor, ZERO } from "../../../src/domain/Money.ts"
import { POLLED_FOR_MS } from "../../../src/domain/PollSchedule.ts"
import { CallTrail } from "../../../src/runtime/CallTrail.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { given, reference, said, written } from "./SettlementFixture.ts"
import { FIRST } from "./StoredRecord.ts"

it.effect("“not found” proves nothing where it answers no poll", () =>
  Effect.gen(function* () {
    const old = collection({ notFound: 9, asked: 9, expiresAt: NOON })
    expect((yield* written(old, { fact: said.NotFound })).next).toStrictEqual(old)
  })
)

describe("a record that was polled to the end of the schedule", () => {
  const OLD = NOON + POLLED_FOR_MS
  it.effect("goes to a person in the commit of its last poll, and is polled no more", () =>
    Effect.gen(function* () {
      const { line, next, nextPollAt } = yield* written(payout(), { fact: said.Unknown }, OLD)
      expect([next, nextPollAt]).toStrictEqual([
        { ...payout(), needsReview: true, saidAtOpening: [], version: 2, updatedAt: OLD },
        null
      ])
      expect(line.status).toBe("pending")
    })
  )

  it.effect("is polled on where its payer could pay it until now: an outage at that moment sends nothing to a person", () =>
    Effect.gen(function* () {
      const charge = collection({ payableUntil: OLD })
      const { next, nextPollAt } = yield* written(charge, { fact: said.Unknown }, OLD)
      expect([next.needsReview, nextPollAt]).toStrictEqual([false, OLD + 3_600_000])
    })
  )

  it.effect("goes there once, and not a moment earlier", () =>
    Effect.gen(function* () {
      expect((yield* written(payout(), { fact: said.Unknown }, OLD - 1)).next).toStrictEqual(payout())
      const open = payout({ needsReview: true, version: 2 })
      expect((yield* written(open, { fact: said.Unknown }, OLD)).next).toStrictEqual(open)
    })
  )
})

describe("news of one provider", () => {
  it.effect("is written while the record is there", () =>
    Effect.gen(function* () {
      const { heardFrom, steps } = given(payout())
      expect(yield* heardFrom("eversend", said.Accepted)).toMatchObject({ providerReference: "P1" })
      expect(steps).toHaveLength(1)
    })
  )

  it.effect("is none once the record is at another provider: nothing is written, and the log says so", () =>
    Effect.gen(function* () {
      const { heardFrom, lines, steps } = given(payout({ provider: "pawapay" }))
      expect(yield* heardFrom("eversend", said.Refused)).toStrictEqual(payout({ provider: "pawapay" }))
      expect(steps).toStrictEqual([])
      expect(lines).toStrictEqual([
        [
          "Warn",
          "ignored a fact from a provider that no longer has the transaction",
          { reference, provider: "eversend", fact: "Refused", actor: "callback" }
        ]
      ])
    })
  )
})

describe("a record that moves while a fact is written", () => {
  it.effect("is decided about as it then is", () =>
    Effect.gen(function* () {
      const moved = payout({ providerReference: "P9", version: 2 })
      const { seen, steps, told } = given(payout(), [moved])
      const { next } = { next: yield* told({ fact: said.Refused }) }
      expect(next).toMatchObject({ status: "failed", providerReference: "P9", version: 3 })
      expect(steps.map(({ expectedRevision }) => expectedRevision)).toStrictEqual([FIRST + 1n])
      expect(seen).toStrictEqual({ reads: 2, nudges: 1 })
    })
  )

  it.effect("is read once less where the caller has just read it, and again where it has moved on since", () =>
    Effect.gen(function* () {
      const lastKnown = { transaction: payout(), revision: FIRST }
      const still = given(payout())
      yield* still.told({ fact: said.Accepted, lastKnown })
      expect(still.seen.reads).toBe(0)
      const moving = given(payout(), [payout({ providerReference: "P9" })])
      yield* moving.told({ fact: said.Refused, lastKnown })
      expect(moving.seen.reads).toBe(1)
      expect(moving.steps).toMatchObject([{ expectedRevision: FIRST + 1n, next: { providerReference: "P9" } }])
    })
  )

  const times = (count: number) => Array.from({ length: count }, (_, at) => payout({ version: at + 2 }))

  it.effect("is decided about sixteen times at most: that it never stands still is a defect", () =>
    Effect.gen(function* () {
      expect(yield* given(payout(), times(15)).told({ fact: said.Refused })).toMatchObject({ status: "failed" })
      const restless = given(payout(), times(16))
      const exit = yield* Effect.exit(restless.told({ fact: said.Refused }))
      expect(String(exit)).toContain(`the transaction ${reference} kept moving`)
      expect([restless.steps, restless.seen.reads]).toStrictEqual([[], 16])
    })
  )

  it.effect("that does not exist is a defect", () =>
    Effect.gen(function* () {
      const other = Reference.make("00000000000000000000000009")
      const exit = yield* Effect.exit(given(payout()).told({ reference: other, fact: said.Refused }))
      expect(String(exit)).toContain(`there is no transaction ${other}`)
    })
  )
})

describe("a success that the float cannot hold", () => {
  const note = "amount 10000 UGX; fee 750; not booked: the float cannot hold that much"
  const left = { needsReview: true, status: "pending", said: ["succeeded 10000 UGX"], version: 2 }

  it.effect("books nothing and waits for a person, and the history says why", () =>
    Effect.gen(function* () {
      const { read, steps, told } = given(collection({ amount: minor(10_000n) }), ["full float"])
      expect(yield* told({ fact: said.Succeeded })).toMatchObject(left)
      expect(steps).toMatchObject([{ entry: null, line: { fact: "Succeeded", note, status: "pending" } }])
      expect(read().transaction).toMatchObject(left)
    })
  )

  it.effect("is not tried again where the record moves before that is written", () =>
    Effect.gen(function* () {
      const moved = collection({ amount: minor(10_000n), providerReference: "P9" })
      const { steps, told } = given(collection({ amount: minor(10_000n) }), ["full float", moved])
      expect(yield* told({ fact: said.Succeeded })).toMatchObject({ ...left, providerReference: "P9" })
      expect(steps).toMatchObject([{ entry: null, line: { note } }])
    })
  )
})

describe("what operators see of a fact", () => {
  it.effect("is how long the provider's calls took, in the one line that they led to", () =>
    Effect.gen(function* () {
      const call: CallTime = { provider: "eversend", operation: "payout", end: "200", tookMs: 19.4, phases: { wait: 2.5 } }
      const { steps, told } = given(payout())
      yield* Effect.andThen(told({ fact: said.Accepted }), told({ fact: said.Succeeded })).pipe(
        Effect.provideService(CallTrail, [call])
      )
      expect(steps.map(({ line }) => line.calls)).toStrictEqual([[call], undefined])
    })
  )

  it.effect("is one line with the reference, who brought it, the status and whether money moved", () =>
    Effect.gen(function* () {
      const { lines, told } = given(payout())
      yield* told({ fact: said.Accepted })
      yield* told({ fact: said.Refused })
      const line = { reference, actor: "callback" }
      expect(lines).toStrictEqual([
        ["Info", "applied a fact", { ...line, fact: "Accepted", transaction_status: "pending", moved: false }],
        ["Info", "applied a fact", { ...line, fact: "Refused", transaction_status: "failed", moved: true }]
      ])
    })
  )

  it.effect("is a warning where the provider took more than the fee that was held", () =>
    Effect.gen(function* () {
      const { lines, told } = given(payout())
      yield* told({ fact: { ...said.Succeeded, fee: minor(1_300n) } })
      expect(lines[0]).toStrictEqual([
        "Warn",
        "the provider took more than the fee that was held: the gateway bears the drift",
        { reference, drift_minor: "300", currency: "UGX" }
      ])
      expect(lines).toHaveLength(2)
      const exact = given(payout())
      yield* exact.told({ fact: { ...said.Succeeded, fee: ZERO } })
      expect(exact.lines.map(([level]) => level)).toStrictEqual(["Info"])
    })
  )

  it.effect("is a span that is found by the reference", () =>
    Effect.gen(function* () {
      const { spans, told } = given(payout())
      yield* told({ fact: said.Accepted })
      expect(yield* spans).toStrictEqual([
        ["Settlement.apply", { "gateway.reference": reference, "gateway.fact": "Accepted", "gateway.actor": "callback" }]
      ])
    })
  )
})
