import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric, Redacted } from "effect"
import type { Reported } from "../../../src/domain/CallbackReport.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { isPatient } from "../../../src/runtime/CallTurn.ts"
import type { StatusOutcome, StatusQuery } from "../../../src/services/ports/Provider.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { pollProvider } from "../../../src/services/settlement/ProviderQuestion.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import {
  everything,
  exchange,
  given,
  HOUR,
  NotFound,
  paid,
  Refused,
  Returned,
  reference,
  StillPending,
  Succeeded,
  told,
  Unknown
} from "./StatusPollsFixture.ts"

describe("a provider that is polled", () => {
  it.effect.each<readonly [string, Transaction, Partial<StatusQuery>]>([
    [
      "a payout",
      payout({ providerReference: "P1", destinationCurrency: "KES" }),
      { currency: "UGX", destinationCurrency: "KES", country: "UG" }
    ],
    [
      "a collection",
      collection({ providerReference: "P1", contractFee: minor(300n) }),
      {
        currency: "UGX",
        destinationCurrency: null,
        country: "UG",
        charge: { country: "UG", method: "momo", network: "MTN", amount: collection().amount, fee: minor(300n) }
      }
    ],
    ["an exchange", { ...exchange, providerReference: "P1" }, { currency: "UGX", destinationCurrency: "KES" }]
  ])("is told what is known of %s", ([, record, query]) =>
    Effect.gen(function* () {
      const { poll, queries } = given(record, StillPending, { guarantees: { clientReference: "unique_reject" } })
      yield* poll()
      expect(queries).toStrictEqual([{ reference, providerReference: "P1", sentAt: NOON, ...query }])
    })
  )

  const windowed = (change = {}) => collection({ expiresAt: NOON + HOUR, ...change })
  it.effect.each<readonly [string, Transaction, at: number, over: Partial<StatusQuery>]>([
    ["is told no such thing of a charge while its payer has time", windowed(), NOON + HOUR - 1, {}],
    ["is told of an open charge that its payer's time is over", windowed(), NOON + HOUR, { isOver: true }],
    ["is told no such thing of a charge that ended", windowed({ status: "failed", completedAt: NOON }), NOON + HOUR, {}],
    ["is told no such thing of a payout", payout({ expiresAt: NOON + HOUR }), NOON + HOUR, {}]
  ])("%s", ([, record, at, over]) =>
    Effect.gen(function* () {
      const { poll, queries } = given(record, StillPending)
      yield* poll(at)
      expect(queries.map(({ isOver }) => (isOver === undefined ? {} : { isOver }))).toStrictEqual([over])
    })
  )

  const handled = { providerReference: "P1" }
  it.effect.each([
    ["payout", payout(handled), payout().maskedDestination],
    ["collection", collection(handled), collection().maskedSource]
  ] as const)(
    "and takes a second request by one reference in silence is told the other side of a %s, also once it gave a handle",
    ([, record, shown]) =>
      Effect.gen(function* () {
        const { poll, queries } = given(record, StillPending, { guarantees: { clientReference: "idempotent" } })
        yield* poll()
        expect(queries.map(({ party }) => (party === undefined ? null : Redacted.value(party)))).toStrictEqual([shown])
        expect(shown).toMatch(/\d{4}$/)
      })
  )

  it.effect.each<readonly ["payouts" | "collections" | "exchange", Transaction]>([
    ["payouts", payout()],
    ["collections", collection()],
    ["exchange", exchange]
  ])("and knows no %s leaves the outcome open", ([missing, record]) =>
    Effect.gen(function* () {
      const offers = everything.filter((name) => name !== missing)
      const world = given(record, Succeeded, { offers })
      expect(yield* world.poll()).toBe(false)
      expect([told(world), world.queries]).toStrictEqual([["Unknown: the provider cannot be asked for this"], []])
      expect(world.read().transaction.status).toBe("pending")
      const note = "the provider cannot be asked for this"
      expect(yield* pollProvider(world.provider, record)).toStrictEqual({ _tag: "Unknown", reason: "unavailable", note })
    })
  )

  it.effect("but is not registered leaves the outcome open; the poll counts, and the log says so", () =>
    Effect.gen(function* () {
      const world = given(payout(), Succeeded, { registered: false })
      expect(yield* world.poll()).toBe(false)
      expect(told(world)).toStrictEqual(["Unknown: the provider is not registered"])
      expect(world.read().transaction).toStrictEqual({ ...payout(), asked: 1 })
      expect(world.lines[0]).toStrictEqual([
        "Error",
        "an open transaction belongs to a provider that is not registered",
        { reference }
      ])
      expect(world.queries).toStrictEqual([])
    })
  )
})

describe("an account that is not set any more", () => {
  it.effect.each<readonly [string, Transaction, ReadonlyArray<string>, ReadonlyArray<string>, string, string]>([
    ["the record names it", payout({ account: "first" }), ["one"], [], "first", "one"],
    [
      "the record names none, and its provider had others",
      payout(),
      ["one", "two"],
      ["old", "older"],
      "old or older",
      "one and two"
    ]
  ])("is asked nothing, and neither is another: %s", ([, record, fingerprints, claimed, sent, set]) =>
    Effect.gen(function* () {
      const world = given(record, NotFound, { fingerprints, claimed })
      expect(yield* world.poll()).toBe(false)
      expect(world.queries).toStrictEqual([])
      expect(told(world)).toStrictEqual([
        `Unknown: it was sent with the account ${sent}, and those that are set are ${set}: what another account says proves nothing`
      ])
      expect(world.lines[0]).toStrictEqual([
        "Error",
        "an open transaction was sent with an account that is not set: nobody can ask what became of it",
        { reference, provider: "eversend", mode: "live", account_sent_with: sent, accounts_set: set }
      ])
      const counters = (yield* Metric.snapshot).filter(({ id }) => id === "gateway_polls_without_account_total")
      expect(counters.map(({ attributes, state }) => [attributes, state])).toStrictEqual(
        [
          ["live", 1],
          ["test", 0]
        ].map(([mode, count]) => [
          { provider: "eversend", mode },
          { count, incremental: true }
        ])
      )
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})

describe("a poll", () => {
  it.effect.each<readonly [string, Transaction, StatusOutcome, boolean, ReadonlyArray<string>]>([
    ["that it was paid", payout(), Succeeded, true, ["Succeeded: amount 10000 UGX; fee 750"]],
    ["that it was refused", payout(), Refused, true, ["Refused"]],
    ["that it is under way", payout(), StillPending, true, ["StillPending"]],
    ["that it is under way, although it is closed", paid, StillPending, false, ["StillPending"]],
    ["that a closed one came back", paid, Returned, true, ["Returned: account closed"]],
    ["nothing", payout(), Unknown, false, ["Unknown"]],
    ["that there is no such thing", payout(), NotFound, false, ["NotFound"]]
  ])("that hears %s writes it, and says whether anything was learnt", ([, record, answer, learnt, facts]) =>
    Effect.gen(function* () {
      const world = given(record, answer)
      expect([yield* world.poll(), told(world)]).toStrictEqual([learnt, facts])
      expect(world.seen.reads).toBe(0)
    })
  )

  it.effect("says where the provider has nothing by our reference: a callback that names it knows more", () =>
    Effect.gen(function* () {
      const world = given(payout(), NotFound)
      expect(yield* world.pollFor()).toStrictEqual({ learnt: false, isAbsent: true, record: payout() })
    })
  )

  it.effect.each<readonly [string, Transaction, StatusOutcome, ReadonlyArray<Reported>, string]>([
    [
      "under way, and one callback paid",
      payout(),
      StillPending,
      ["successful"],
      "StillPending: an authenticated callback says successful"
    ],
    [
      "refused, and callbacks paid and failed",
      payout(),
      Refused,
      ["successful", "failed"],
      "Refused: an authenticated callback says successful"
    ],
    ["paid, and one callback paid", payout(), Succeeded, ["successful"], "Succeeded: amount 10000 UGX; fee 750"],
    ["nothing, and one callback failed", payout(), NotFound, ["failed"], "NotFound: an authenticated callback says failed"]
  ])(
    "for callbacks writes into the history what they say, where the answer is another one: the provider says %s",
    ([, record, answer, said, fact]) =>
      Effect.gen(function* () {
        const world = given(record, answer)
        yield* world.pollFor(...said)
        expect(told(world)).toStrictEqual([fact])
      })
  )

  it.effect.each<readonly [string, Transaction, ReadonlyArray<string>]>([
    ["an open payout", payout(), ["Succeeded: account closed; amount 10000 UGX; fee 700", "Returned: account closed"]],
    ["a paid payout", paid, ["Returned: account closed"]],
    ["an open charge", collection(), ["Returned: account closed"]],
    ["an open exchange", exchange, ["Returned: account closed"]]
  ])("that hears that %s came back: only a payout was delivered before", ([, record, facts]) =>
    Effect.gen(function* () {
      const world = given(record, { ...Returned, charged: minor(700n) })
      expect(yield* world.poll()).toBe(true)
      expect(told(world)).toStrictEqual(facts)
    })
  )

  it.effect("that hears of a payout that came back keeps the provider's handle and books delivery and return", () =>
    Effect.gen(function* () {
      const world = given(payout({ providerReference: "P7" }), { ...Returned, charged: minor(700n) })
      yield* world.poll()
      expect(world.read().transaction).toMatchObject({
        status: "successful",
        providerReference: "P7",
        fees: 700n,
        returned: { amount: 10_000n, at: TOLD_AT, reason: "account closed" }
      })
      // A process that dies between the two leaves a poll that is due at once, and not one in an hour.
      expect(world.steps.map(({ nextPollAt }) => nextPollAt)).toEqual([TOLD_AT, null])
    })
  )

  it.effect("waits for its turn for a person alone: questions of requests and callbacks do not queue before payments", () =>
    Effect.gen(function* () {
      const waited: Array<boolean> = []
      const world = given(payout(), StillPending, {
        calling: Effect.map(isPatient, (patient) => void waited.push(patient))
      })
      const polls = Effect.flatMap(OutcomePoller, ({ poll }) =>
        Effect.forEach(["operator", "request", "callback", "reconciler"] as const, (actor) => poll(world.read(), actor))
      )
      yield* Effect.provide(polls, world.layer)
      expect(waited).toEqual([true, false, false, false])
    })
  )

  it.effect("is a span that is found by the reference and the tenant, in the trace of the request that began the record", () =>
    Effect.gen(function* () {
      const world = given(payout(), StillPending)
      yield* world.poll(TOLD_AT, `00-${"a".repeat(32)}-${"b".repeat(16)}-01`)
      const [span] = yield* world.spans
      expect(span).toStrictEqual([
        "OutcomePoller.poll",
        {
          "gateway.reference": reference,
          "gateway.app_id": "acme",
          "gateway.mode": "live",
          "gateway.actor": "reconciler"
        }
      ])
      expect(yield* world.parents).toStrictEqual([["a".repeat(32), "b".repeat(16)]])
    })
  )
})
