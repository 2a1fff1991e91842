import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import type { StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { Review } from "../../../src/services/settlement/Review.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { FLOAT, floatNow, pay } from "../../support/PaymentRequests.ts"
import { differences, onlyRecord, routedTo } from "../../support/RoutedGateway.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const words = {
  paid: { _tag: "Succeeded", providerReference: "P1", amount: minor(10_000n), currency: "UGX", fee: null, note: "" },
  refused: {
    _tag: "Refused",
    providerReference: "P1",
    kind: "other",
    failure: { code: "provider_rejected", message: "no" },
    note: ""
  },
  unsure: {
    _tag: "Refused",
    isUnsure: true,
    providerReference: "P1",
    kind: "other",
    failure: { code: "unknown", message: "INTERNAL" },
    note: "INTERNAL"
  },
  pending: { _tag: "StillPending", providerReference: "P1", note: "" },
  absent: { _tag: "NotFound", note: "" }
} as const satisfies Record<string, StatusOutcome>

/** A payout, and a provider that answers every status query as it is told. */
const given = Effect.gen(function* () {
  const alpha = fakeProvider("alpha", { sending: "silent", status: words.pending })
  const { node } = yield* routedTo([alpha])
  const says = (next: StatusOutcome) => Effect.sync(() => void (alpha.script.status = next))
  return { node, says }
})

const resolved = (reference: Reference, outcome: "successful" | "failed") =>
  Effect.gen(function* () {
    const { resolve } = yield* Review
    return yield* resolve(reference, { outcome, amount: null, fee: null, evidence: "their statement" }, auditEntry())
  }).pipe(Effect.provide(Review.layer))

const standing = Effect.map(onlyRecord, ({ transaction: { needsReview, status } }) => [status, needsReview])
/** The schedule asks whatever is due. */
const hours = Effect.fnUntraced(function* (count: number) {
  for (let hour = 0; hour < count; hour++) {
    yield* TestClock.adjust("1 hour")
    yield* (yield* OutcomePoller).round
  }
})

it.effect("a resolved review stays resolved while the provider repeats itself, and reopens for a new contradiction", () =>
  Effect.gen(function* () {
    const { node, says } = yield* given
    yield* Effect.gen(function* () {
      yield* pay("one")
      yield* says(words.paid)
      yield* hours(1)
      expect(yield* standing).toStrictEqual(["successful", false])
      yield* says(words.refused)
      yield* hours(5)
      expect(yield* standing).toStrictEqual(["successful", true])
      const { reference } = (yield* onlyRecord).transaction
      yield* resolved(reference, "successful")
      expect(yield* (yield* OutcomePoller).round).toBe(0)
      const asked = Effect.map((yield* Transactions).history(reference), (lines) => lines.length)
      const before = yield* asked
      yield* hours(80)
      expect(yield* standing).toStrictEqual(["successful", false])
      // The questions of the second and the fourth day, and no more.
      expect((yield* asked) - before).toBe(2)
      const stored = Option.getOrThrow(yield* (yield* Transactions).byReference(reference))
      yield* says({ ...words.paid, amount: minor(4_000n) })
      yield* (yield* OutcomePoller).poll(stored, "callback")
      expect(yield* standing).toStrictEqual(["successful", true])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a payout that was returned as never sent goes to review when the provider reports it as under way", () =>
  Effect.gen(function* () {
    const { node, says } = yield* given
    yield* Effect.gen(function* () {
      yield* pay("one")
      yield* says(words.absent)
      yield* hours(6)
      expect(yield* standing).toStrictEqual(["failed", false])
      const float = yield* floatNow
      yield* says(words.pending)
      yield* (yield* OutcomePoller).poll(yield* onlyRecord, "callback")
      expect(yield* standing).toStrictEqual(["failed", true])
      expect(yield* floatNow).toStrictEqual(float)
      yield* resolved((yield* onlyRecord).transaction.reference, "failed")
      yield* (yield* OutcomePoller).poll(yield* onlyRecord, "callback")
      expect(yield* standing).toStrictEqual(["failed", false])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

/** A payout that failed in words that its provider may correct: it was heard twice, a minute apart, and the float came back. */
const doubted = Effect.gen(function* () {
  const { node, says } = yield* given
  const failed = Effect.gen(function* () {
    yield* pay("one")
    yield* says(words.unsure)
    yield* TestClock.adjust("15 seconds")
    yield* (yield* OutcomePoller).round
    expect(yield* standing).toStrictEqual(["pending", false])
    yield* TestClock.adjust("1 minute")
    yield* (yield* OutcomePoller).round
    expect(yield* standing).toStrictEqual(["failed", false])
    expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
  })
  return { failed, node, says }
})

it.effect("a payout that failed in words that its provider corrects a day later goes to review, and the ruling pays for it", () =>
  Effect.gen(function* () {
    const { failed, node, says } = yield* doubted
    yield* Effect.gen(function* () {
      yield* failed
      yield* hours(2)
      yield* says(words.paid)
      yield* hours(21)
      expect(yield* standing).toStrictEqual(["failed", false])
      yield* hours(1)
      expect(yield* standing).toStrictEqual(["failed", true])
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
      yield* resolved((yield* onlyRecord).transaction.reference, "successful")
      expect(yield* standing).toStrictEqual(["successful", false])
      expect(yield* floatNow).toStrictEqual([FLOAT - 11_000n, 0n])
      expect(yield* differences).toStrictEqual([])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a payout that failed in such words is asked about until its provider is sure of it", () =>
  Effect.gen(function* () {
    const { failed, node, says } = yield* doubted
    yield* Effect.gen(function* () {
      yield* failed
      const { reference } = (yield* onlyRecord).transaction
      const heard = Effect.map((yield* Transactions).history(reference), (lines) => lines.length)
      const before = yield* heard
      const asked = (count: number) =>
        Effect.andThen(
          hours(count),
          Effect.map(heard, (after) => after - before)
        )
      const next = Effect.flatMap(Transactions, ({ nextPoll }) => nextPoll(reference))
      expect(yield* asked(1)).toBe(1)
      expect(yield* next).toMatchObject({ _tag: "Some" })
      yield* says(words.refused)
      expect(yield* asked(23)).toBe(2)
      expect(yield* next).toMatchObject({ _tag: "None" })
      expect(yield* asked(60)).toBe(2)
      expect(yield* standing).toStrictEqual(["failed", false])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("what failed in such words and is under way after all is a person's", () =>
  Effect.gen(function* () {
    const { failed, node, says } = yield* doubted
    yield* Effect.gen(function* () {
      yield* failed
      yield* says(words.pending)
      yield* hours(1)
      expect(yield* standing).toStrictEqual(["failed", true])
      expect((yield* onlyRecord).transaction).toHaveProperty("doubtedSince")
      yield* resolved((yield* onlyRecord).transaction.reference, "failed")
      expect((yield* onlyRecord).transaction).not.toHaveProperty("doubtedSince")
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

/** A payout that was given back as never sent, and that the provider has under way after all. */
const givenBack = Effect.gen(function* () {
  const { node, says } = yield* given
  const hears = (word: StatusOutcome) =>
    Effect.gen(function* () {
      yield* says(word)
      yield* (yield* OutcomePoller).poll(yield* onlyRecord, "callback")
    })
  const opened = Effect.gen(function* () {
    yield* pay("one")
    yield* says(words.absent)
    yield* hours(6)
    yield* hears(words.pending)
    expect(yield* standing).toStrictEqual(["failed", true])
    return (yield* onlyRecord).transaction.reference
  })
  return { hears, node, opened }
})

it.effect("a success that came after the case was opened reopens it when it is repeated, until a person has ruled on it", () =>
  Effect.gen(function* () {
    const { hears, node, opened } = yield* givenBack
    yield* Effect.gen(function* () {
      const reference = yield* opened
      yield* hears(words.paid)
      yield* resolved(reference, "failed")
      yield* hears(words.pending)
      expect(yield* standing).toStrictEqual(["failed", false])
      yield* hears(words.paid)
      expect(yield* standing).toStrictEqual(["failed", true])
      yield* resolved(reference, "failed")
      for (const word of [words.paid, words.pending]) yield* hears(word)
      expect(yield* standing).toStrictEqual(["failed", false])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a ruling does not include answers that came while it was made, and applies only to the case it was made for", () =>
  Effect.gen(function* () {
    const { hears, node, opened } = yield* givenBack
    yield* Effect.gen(function* () {
      const reference = yield* opened
      const ledger = yield* FloatLedger
      /** The ruling's first commit comes after this. */
      const after = <A, E, R>(news: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const context = yield* Effect.context<R>()
          let isFirst = true
          const first = Effect.suspend(() => {
            if (!isFirst) return Effect.void
            isFirst = false
            return Effect.asVoid(Effect.provideContext(Effect.orDie(news), context))
          })
          return Layer.succeed(FloatLedger, {
            ...ledger,
            resolve: (...step) => Effect.andThen(first, ledger.resolve(...step))
          })
        })
      yield* resolved(reference, "failed").pipe(Effect.provide(yield* after(hears(words.paid))))
      expect(yield* standing).toStrictEqual(["failed", false])
      yield* hears(words.paid)
      expect(yield* standing).toStrictEqual(["failed", true])
      const another = Effect.andThen(resolved(reference, "failed"), hears({ ...words.paid, amount: minor(4_000n) }))
      const refused = yield* Effect.flip(resolved(reference, "failed").pipe(Effect.provide(yield* after(another))))
      expect(refused.message).toMatch(/^the provider said something of \S+ since: it is at revision \d+ now/)
      expect(yield* standing).toStrictEqual(["failed", true])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
