import { describe, expect, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import type { Actor } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { POLLED_FOR_MS } from "../../../src/domain/PollSchedule.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { tellTurnedAway } from "../../../src/runtime/CallTurn.ts"
import { makePollLines, OutcomePoller, type Polled } from "../../../src/services/settlement/OutcomePoller.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { NOON, payout } from "../../support/SampleTransactions.ts"
import { given, reference, Succeeded, told, Unknown } from "./StatusPollsFixture.ts"
import { FIRST } from "./StoredRecord.ts"

const away = { retryAfterMs: 2_000, intervalMs: 500 }
const turnedAway = { calling: tellTurnedAway(away) }

describe("a question that the pace turned away", () => {
  it.effect.each<Actor>(["request", "callback", "operator"])(
    "of a %s is answered from the record as it is, and comes back only as scheduled",
    (actor) =>
      Effect.gen(function* () {
        const world = given(payout(), Unknown, turnedAway)
        expect(yield* world.pollBy(actor)).toStrictEqual({ learnt: false, turnedAway: true, record: payout() })
        expect([world.steps, world.putBack]).toStrictEqual([[], []])
      })
  )

  it.effect("of the schedule is not counted and asked again soon, unless it was answered all the same", () =>
    Effect.gen(function* () {
      const world = given(payout(), Unknown, turnedAway)
      expect(yield* world.pollBy("reconciler")).toStrictEqual({ learnt: false, turnedAway: true, record: payout() })
      expect([world.steps, world.putBack]).toMatchObject([[], [[reference, expect.any(Number)]]])
      const answered = given(payout(), Succeeded, turnedAway)
      expect(yield* answered.pollBy("reconciler")).toMatchObject({ learnt: true, record: { status: "successful" } })
      expect(answered.putBack).toStrictEqual([])
    })
  )

  it.effect("leaves a payout that was asked about for a day to a person, and the history says why nothing was learnt", () =>
    Effect.gen(function* () {
      const world = given(payout(), Unknown, turnedAway)
      const polled = yield* world.pollBy("reconciler", [], NOON + POLLED_FOR_MS)
      expect(polled).toMatchObject({ learnt: false, turnedAway: true, record: { needsReview: true } })
      expect(told(world)).toStrictEqual([
        "Unknown: the question was turned away; polled to the end of the schedule: a person has to look"
      ])
    })
  )
})

describe("questions that wait for the pace of their account", () => {
  const numbered = (number: number, change: Partial<Transaction> = {}): Transaction =>
    ({ ...payout(), reference: Reference.make(String(number).padStart(26, "0")), ...change }) as Transaction
  const [one, two, three, newcomer] = [numbered(1), numbered(2), numbered(3), numbered(4)]

  /** One poller that asks about several records, each of which is turned away by its provider as `world` says. */
  const asking = <A>(
    world: ReturnType<typeof given>,
    use: (ask: (record: Transaction, at?: number, actor?: Actor) => Effect.Effect<Polled>) => Effect.Effect<A>
  ) =>
    Effect.flatMap(OutcomePoller, ({ poll }) =>
      use((record, at = TOLD_AT, actor = "reconciler") =>
        Effect.andThen(TestClock.setTime(at), poll({ transaction: record, revision: FIRST }, actor))
      )
    ).pipe(
      Effect.provide(world.layer),
      // Half of an interval.
      Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 })
    )
  /** How long after they were asked about for the first time each of them is asked about again. */
  const waits = ({ putBack }: ReturnType<typeof given>) => putBack.map(([name, at]) => [Number(name), at - TOLD_AT])
  const held = (from: Partial<typeof away> = {}) =>
    given(payout(), Unknown, {
      calling: tellTurnedAway({ ...away, ...from }),
      fingerprints: ["one", "two"]
    })

  it.effect("come one interval after another once the account takes calls, the oldest first", () =>
    Effect.gen(function* () {
      const world = held()
      yield* asking(world, (ask) => Effect.forEach([one, two, three], (record) => ask(record)))
      expect(waits(world)).toStrictEqual([
        [1, 2_250],
        [2, 2_750],
        [3, 3_250]
      ])
    })
  )

  it.effect("come within half a minute and one interval, however many wait", () =>
    Effect.gen(function* () {
      const world = held({ intervalMs: 20_000 })
      yield* asking(world, (ask) => Effect.forEach([one, two, three], (record) => ask(record)))
      expect(waits(world).map(([, wait]) => wait)).toStrictEqual([12_000, 32_000, 40_000])
    })
  )

  it.effect.each<readonly [string, Partial<Transaction>]>([
    ["another account", { account: "two" }],
    ["another currency, which may be another account of the provider", { currency: "KES" }]
  ])("hold up nothing of %s", ([, change]) =>
    Effect.gen(function* () {
      const world = held()
      yield* asking(world, (ask) => Effect.forEach([one, numbered(2, change)], (record) => ask(record)))
      expect(waits(world)).toStrictEqual([
        [1, 2_250],
        [2, 2_250]
      ])
      expect(world.queries).toHaveLength(2)
    })
  )

  it.effect("let none that comes later pass: it goes to the end of the line, and its provider is not asked", () =>
    Effect.gen(function* () {
      const world = held()
      yield* asking(world, (ask) =>
        Effect.gen(function* () {
          yield* ask(one)
          expect(yield* ask(newcomer, TOLD_AT + 1_000)).toStrictEqual({ learnt: false, turnedAway: true, record: newcomer })
        })
      )
      expect(world.queries.map((query) => query.reference)).toStrictEqual([one.reference])
      // Right behind the first one, whose interval ends at 2,500.
      expect(waits(world)).toStrictEqual([
        [1, 2_250],
        [4, 2_750]
      ])
    })
  )

  it.effect("are asked in their turn, although others wait behind them", () =>
    Effect.gen(function* () {
      const world = held()
      yield* asking(world, (ask) =>
        Effect.gen(function* () {
          yield* ask(one)
          yield* ask(two)
          yield* ask(one, TOLD_AT + 2_250)
        })
      )
      expect(world.queries.map((query) => query.reference)).toStrictEqual([one.reference, one.reference])
    })
  )

  it.effect("let a question pass that somebody waits for", () =>
    Effect.gen(function* () {
      const world = held()
      yield* asking(world, (ask) => Effect.andThen(ask(one), ask(newcomer, TOLD_AT, "callback")))
      expect(world.queries.map((query) => query.reference)).toStrictEqual([one.reference, newcomer.reference])
    })
  )

  it.effect("hold up nothing from the moment at which the last interval has passed", () =>
    Effect.gen(function* () {
      const isAsked = (at: number) => {
        const world = held()
        return Effect.map(
          asking(world, (ask) => Effect.andThen(ask(one), ask(newcomer, at))),
          () => world.queries.length === 2
        )
      }
      expect([yield* isAsked(TOLD_AT + 2_499), yield* isAsked(TOLD_AT + 2_500)]).toStrictEqual([false, true])
    })
  )

  // Another node may have asked about a record that waits here.
  it.effect("are forgotten where more than 10,000 wait: the oldest goes to the end of the line once more", () =>
    Effect.gen(function* () {
      const isRemembered = Effect.fnUntraced(function* (count: number) {
        const { behind, join } = makePollLines()
        yield* Effect.forEach(
          Array.from({ length: count }, (_, at) => numbered(at + 1)),
          (record) => join(record, away),
          {
            discard: true
          }
        )
        return (yield* behind(one)) === null
      })
      expect([yield* isRemembered(10_000), yield* isRemembered(10_001)]).toStrictEqual([true, false])
    })
  )
})
