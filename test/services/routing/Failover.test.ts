import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { minor } from "../../../src/domain/Money.ts"
import type { Payout } from "../../../src/domain/Payment.ts"
import { captureCall } from "../../../src/runtime/CapturedCall.ts"
import { LatestTime } from "../../../src/runtime/LatestTime.ts"
import type { PayoutOutcome } from "../../../src/services/ports/Provider.ts"
import { Failover } from "../../../src/services/routing/Failover.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakeVelocityLimits } from "../../fakes/FakeTenants.ts"
import { facts } from "../../support/SampleFacts.ts"
import { NOON, payout } from "../../support/SampleTransactions.ts"
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
}

const names = ["eversend", "pawapay", "mtn"]

/** A payout that the first provider is to send, and that the others could take over; what each was told, and what came of it. */
const sending = ({ ageMs = 0, answers, call = Effect.void, callMs = 0, moved = null, movingMs = 0 }: World) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(NOON + ageMs)
    const sent: Array<string> = []
    const moves: Array<unknown> = []
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
        record: payout(),
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
    ).pipe(Effect.provide(Layer.provide(Failover.layer, [settlement, fakeVelocityLimits()])))
    return { ended, sent, moves }
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
          moves: []
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
        moves: [["eversend", { reference, fact: { ...fact, note }, actor: "request" }]]
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

describe("a process that stood still", () => {
  it.effect("sends nothing that was recorded more than thirty seconds ago, to nobody", () =>
    Effect.gen(function* () {
      const answers = [never, Accepted]
      expect(yield* sending({ answers, ageMs: 30_001 })).toStrictEqual({
        ended: { outcome: tooLate, raw: null, isRerouted: false },
        sent: [],
        moves: []
      })
      expect((yield* sending({ answers, ageMs: 30_000 })).sent).toStrictEqual(["eversend", "pawapay"])
    })
  )

  it.effect("sends nothing to anybody once it was too late, also where the time turns out to be earlier right after", () =>
    Effect.gen(function* () {
      const times = [NOON + 30_001]
      const shrinking = Effect.sync(() => times.pop() ?? NOON)
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
