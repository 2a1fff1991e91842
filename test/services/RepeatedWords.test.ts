import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Answer } from "../../src/services/ports/Provider.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../src/services/settlement/OutcomePoller.ts"
import { Review } from "../../src/services/settlement/Review.ts"
import { countingProvider } from "../support/CountingProvider.ts"
import { auditEntry } from "../support/GivenDatabase.ts"
import { floatNow, onlyRecord, pay, routedTo } from "../support/GivenRoutes.ts"

const words = {
  paid: { _tag: "Succeeded", providerReference: "P1", amount: minor(10_000n), currency: "UGX", fee: null, note: "" },
  refused: {
    _tag: "Refused",
    providerReference: "P1",
    kind: "other",
    failure: { code: "provider_rejected", message: "no" },
    note: ""
  },
  pending: { _tag: "StillPending", providerReference: "P1", note: "" },
  absent: { _tag: "NotFound", note: "" }
} as const satisfies Record<string, Answer>

/** A payout, and a provider that answers every question with the word that is set. */
const given = Effect.gen(function* () {
  const alpha = countingProvider("alpha", { sending: "executed in silence" })
  let word: Answer = words.pending
  const provider: typeof alpha.provider = (mode) => {
    const whole = alpha.provider(mode)
    const { payouts } = whole
    return payouts === undefined ? whole : { ...whole, payouts: { ...payouts, ask: () => Effect.sync(() => word) } }
  }
  const { node } = yield* routedTo([{ ...alpha, provider }])
  const says = (next: Answer) => Effect.sync(() => void (word = next))
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

it.effect("a resolved review stays resolved while the provider repeats itself, and opens again for what is new", () =>
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
      yield* (yield* OutcomePoller).ask(stored, "callback")
      expect(yield* standing).toStrictEqual(["successful", true])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a payout that was given back as never sent goes to a person once the provider has it under way", () =>
  Effect.gen(function* () {
    const { node, says } = yield* given
    yield* Effect.gen(function* () {
      yield* pay("one")
      yield* says(words.absent)
      yield* hours(6)
      expect(yield* standing).toStrictEqual(["failed", false])
      const float = yield* floatNow
      yield* says(words.pending)
      yield* (yield* OutcomePoller).ask(yield* onlyRecord, "callback")
      expect(yield* standing).toStrictEqual(["failed", true])
      expect(yield* floatNow).toStrictEqual(float)
      yield* resolved((yield* onlyRecord).transaction.reference, "failed")
      yield* (yield* OutcomePoller).ask(yield* onlyRecord, "callback")
      expect(yield* standing).toStrictEqual(["failed", false])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
