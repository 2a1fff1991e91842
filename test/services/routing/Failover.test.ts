import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { minor } from "../../../src/domain/Money.ts"
import type { Payout } from "../../../src/domain/Payment.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { captureCall } from "../../../src/runtime/CapturedCall.ts"
import { LatestTime } from "../../../src/runtime/LatestTime.ts"
import { beginCandidates, candidatesNoted, emptyTrail, RouteTrail } from "../../../src/runtime/RouteTrail.ts"
import type { PayoutOutcome } from "../../../src/services/ports/Provider.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { Failover } from "../../../src/services/routing/Failover.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { fake } from "../../fakes/Fake.ts"
import { facts } from "../../support/SampleFacts.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"

const { Accepted, NotSent, Refused, Succeeded, Unknown } = facts(10_000n)
const { reference } = payout()
const never = { ...NotSent, note: "connection refused" }
const tooLate = { _tag: "NotSent", note: "the process was paused too long: too late to send" } as const

interface World {
  /** What the providers answer, in their order. */
  readonly answers: ReadonlyArray<PayoutOutcome>
  /** What the record is after it was moved; null: where the move leads. */
  readonly moved?: Partial<Payout> | null
  /** How long before it is sent it was recorded, how long each call takes, and how long moving it takes. */
  readonly ageMs?: number
  readonly callMs?: number
  readonly movingMs?: number
  /** Done in each call. */
  readonly call?: Effect.Effect<void>
  /** What is sent: a payout, where nothing is said. */
  readonly record?: Transaction
}

const names = ["eversend", "pawapay", "mtn"]

/**
 * A payout that the first provider is to send, and that the others could take over; what each was told, what came of it, and for
 * which records the ceiling of a test account was given back.
 */
const sending = ({ ageMs = 0, answers, call = Effect.void, callMs = 0, moved = null, movingMs = 0, record = payout() }: World) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(NOON + ageMs)
    const sent: Array<string> = []
    const moves: Array<unknown> = []
    const givenBack: Array<unknown> = []
    const limits = fake(VelocityLimits, { giveBackCeiling: (...of) => Effect.sync(() => void givenBack.push(of)) })
    const settlement = fake(Settlement, {
      applyFromProvider: (from, news) =>
        Effect.as(
          Effect.andThen(
            Effect.sync(() => void moves.push([from, news])),
            TestClock.adjust(movingMs)
          ),
          payout({ provider: news.fact._tag === "Rerouted" ? news.fact.provider : "", ...moved })
        )
    })
    const ended = yield* Effect.flatMap(Failover, ({ send }) =>
      send({
        record,
        recordedAt: NOON,
        first: 0,
        send: (turn: number) =>
          Effect.gen(function* () {
            sent.push(names[turn] ?? "nobody")
            yield* call
            yield* captureCall(() => ({ request: `to ${names[turn]}`, response: null }))
            yield* TestClock.adjust(callMs)
            return answers[turn] ?? Unknown
          }),
        nextAfter: (turn) => {
          const provider = turn + 1 < answers.length ? names[turn + 1] : undefined
          return Effect.succeed(
            provider === undefined
              ? Option.none()
              : Option.some({
                  provider: { name: provider, fingerprints: () => [`${provider}'s`] },
                  fee: minor(900n),
                  offer: turn + 1
                })
          )
        }
      })
    ).pipe(Effect.provide(Layer.provide(Failover.layer, [settlement, limits])))
    return { ended, sent, moves, givenBack }
  })

const rawOf = (name: string) => ({ request: `to ${name}`, response: null })

describe("a payout", () => {
  it.effect.each<PayoutOutcome>([Accepted, Succeeded, Refused, Unknown, { ...Unknown, reason: "unavailable" }])(
    "that was answered $_tag goes to no other provider",
    (answer) =>
      Effect.gen(function* () {
        expect(yield* sending({ answers: [answer, Accepted] })).toStrictEqual({
          ended: { outcome: answer, raw: rawOf("eversend"), isRerouted: false },
          sent: ["eversend"],
          moves: [],
          givenBack: []
        })
      })
  )

  it.effect("that provably never left is moved to the next provider, and then sent there", () =>
    Effect.gen(function* () {
      const fact = { _tag: "Rerouted", provider: "pawapay", account: "pawapay's", fee: minor(900n) } as const
      const note = "never sent to eversend, goes to pawapay: connection refused"
      expect(yield* sending({ answers: [never, Accepted] })).toStrictEqual({
        ended: { outcome: Accepted, raw: rawOf("pawapay"), isRerouted: true },
        sent: ["eversend", "pawapay"],
        moves: [["eversend", { reference, fact: { ...fact, note }, actor: "request" }]],
        givenBack: [[payout().appId, reference]]
      })
    })
  )

  it.effect("says in the spans and lines of each call which provider's turn it is", () =>
    Effect.gen(function* () {
      const { layer, lines, spans } = givenTelemetry()
      const call = Effect.withSpan(Effect.logInfo("provider call"), "call")
      yield* sending({ answers: [never, Accepted], call }).pipe(Effect.provide(layer))
      expect(yield* spans).toEqual([1, 2].map((attempt) => ["call", { "gateway.attempt": attempt }]))
      expect(lines.map(([, , names]) => names)).toEqual([{}, { attempt: 2 }])
    })
  )

  it.effect("goes on from each provider that it never left for, until nobody is left", () =>
    Effect.gen(function* () {
      const { ended, moves, sent } = yield* sending({ answers: [{ ...never, note: "" }, never, never] })
      expect([ended, sent]).toStrictEqual([{ outcome: never, raw: rawOf("mtn"), isRerouted: true }, names])
      expect(moves).toMatchObject([
        ["eversend", { fact: { note: "never sent to eversend, goes to pawapay" } }],
        ["pawapay", { fact: { note: "never sent to pawapay, goes to mtn: connection refused" } }]
      ])
    })
  )

  it.effect.each<readonly [string, Partial<Payout>]>([
    ["stayed where it is", { provider: "eversend" }],
    ["was closed meanwhile", { status: "failed" }]
  ])("is not sent to the next provider where the record %s", ([, moved]) =>
    Effect.gen(function* () {
      const { ended, sent } = yield* sending({ answers: [never, Accepted], moved })
      expect([ended, sent]).toStrictEqual([{ outcome: never, raw: rawOf("eversend"), isRerouted: false }, ["eversend"]])
    })
  )
})

describe("what a payment counted in", () => {
  it.effect.each<readonly [string, World]>([
    ["a charge, which has no ceiling", { answers: [never, Accepted], record: collection() }],
    ["a payout that stayed where it is", { answers: [never, Accepted], moved: { provider: "eversend" } }],
    ["a payout that was answered", { answers: [Accepted, Accepted] }]
  ])("gives no ceiling back: %s", ([, world]) =>
    Effect.gen(function* () {
      expect((yield* sending(world)).givenBack).toStrictEqual([])
    })
  )
})

describe("the candidates of a payout", () => {
  /** What its notes say of these candidates, and of its outcome. */
  const noted = (candidates: ReadonlyArray<string>, world: World) =>
    Effect.gen(function* () {
      yield* beginCandidates(candidates)
      const { ended, moves } = yield* sending(world)
      return { candidates: yield* candidatesNoted, outcome: ended.outcome.note, moves }
    }).pipe(Effect.provideService(RouteTrail, emptyTrail()))
  const notSent = "eversend not_sent #1 (connection refused)"

  it.effect("say which of them nothing left for, and which one has it, also in the line that moves it", () =>
    Effect.gen(function* () {
      const { candidates, moves, outcome } = yield* noted(names, { answers: [never, Accepted] })
      const all = `${notSent}; pawapay used #2; mtn not_asked`
      expect([candidates, outcome]).toStrictEqual([all, Accepted.note])
      const note = `never sent to eversend, goes to pawapay: connection refused; candidates: ${all}`
      expect(moves).toMatchObject([["eversend", { fact: { note } }]])
    })
  )

  it.effect("say of one whose turn came too late that the payout had moved on, and end the note of one that was never sent", () =>
    Effect.gen(function* () {
      const { candidates, outcome } = yield* noted(names, { answers: [never, Accepted], moved: { status: "failed" } })
      const all = `${notSent}; pawapay moved_on; mtn not_asked`
      expect([candidates, outcome]).toStrictEqual([all, `connection refused; candidates: ${all}`])
    })
  )

  it.effect.each<readonly [string, ReadonlyArray<string>, PayoutOutcome, string]>([
    ["where there was no other", ["eversend"], never, "connection refused"],
    ["where there were two", ["eversend", "mtn"], never, `connection refused; candidates: ${notSent}; mtn not_asked`],
    ["of an answer", names, Unknown, Unknown.note]
  ])("end the note of one that was never sent, and no other: %s", ([, candidates, answer, note]) =>
    Effect.gen(function* () {
      expect((yield* noted(candidates, { answers: [answer] })).outcome).toBe(note)
    })
  )
})

describe("a process that stood still", () => {
  it.effect("sends nothing that was recorded more than thirty seconds ago, to nobody", () =>
    Effect.gen(function* () {
      const answers = [never, Accepted]
      expect(yield* sending({ answers, ageMs: 30_001 })).toStrictEqual({
        ended: { outcome: tooLate, raw: null, isRerouted: false },
        sent: [],
        moves: [],
        givenBack: []
      })
      expect((yield* sending({ answers, ageMs: 30_000 })).sent).toStrictEqual(["eversend", "pawapay"])
    })
  )

  it.effect("sends nothing to anybody once it was too late, also where the time turns out to be earlier right after", () =>
    Effect.gen(function* () {
      const times = [NOON + 30_001]
      const shrinking = () => times.pop() ?? NOON
      const { ended, sent } = yield* Effect.provideService(sending({ answers: [never, Accepted] }), LatestTime, shrinking)
      expect([ended, sent]).toStrictEqual([{ outcome: tooLate, raw: null, isRerouted: false }, []])
    })
  )

  it.effect("within a call goes to no other provider", () =>
    Effect.gen(function* () {
      const { ended, moves, sent } = yield* sending({ answers: [never, Accepted], callMs: 30_001 })
      expect([ended, sent, moves]).toStrictEqual([
        { outcome: never, raw: rawOf("eversend"), isRerouted: false },
        ["eversend"],
        []
      ])
    })
  )

  it.effect("while the record was moved does not send it there", () =>
    Effect.gen(function* () {
      const { ended, sent } = yield* sending({ answers: [never, Accepted], movingMs: 30_001 })
      expect([ended, sent]).toStrictEqual([{ outcome: tooLate, raw: null, isRerouted: true }, ["eversend"]])
    })
  )

  it.effect("counts from when the record was moved, for the next provider", () =>
    Effect.gen(function* () {
      const { sent } = yield* sending({ answers: [never, never, Accepted], callMs: 20_000 })
      expect(sent).toStrictEqual(names)
    })
  )
})
