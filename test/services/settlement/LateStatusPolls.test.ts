import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { minor } from "../../../src/domain/Money.ts"
import type { Collection } from "../../../src/domain/Payment.ts"
import { pollLeaseMs } from "../../../src/domain/TimeLimits.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { ProviderGuarantees, StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { given, HOUR, NotFound, Returned, reference, StillPending, Succeeded, Unknown } from "./StatusPollsFixture.ts"

describe("“not found”", () => {
  /** Heard so often that it is enough, so long after sending. */
  const heard = (guarantees: Partial<ProviderGuarantees>, ageMs: number, notFound = policy.notFoundCount - 1) =>
    Effect.gen(function* () {
      const world = given(payout({ asked: 5, notFound }), NotFound, { guarantees })
      yield* world.poll(NOON + ageMs)
      return world.read().transaction.status
    })

  it.effect.each<readonly [ProviderGuarantees["lookup"], string]>([
    ["by_client_ref", "failed"],
    ["by_client_ref_inferred", "pending"],
    ["by_provider_ref", "pending"],
    ["none", "pending"]
  ])("of a provider that finds %s leaves a payout %s", ([lookup, status]) =>
    Effect.map(heard({ lookup }, HOUR), (became) => expect(became).toBe(status))
  )

  it.effect("proves nothing within the longer grace of the setting and the provider", () =>
    Effect.gen(function* () {
      const { notFoundGraceMs } = policy
      expect(yield* heard({ notFoundGraceMs: 1 }, notFoundGraceMs - 1)).toBe("pending")
      expect(yield* heard({ notFoundGraceMs: 1 }, notFoundGraceMs)).toBe("failed")
      expect(yield* heard({ notFoundGraceMs: HOUR }, HOUR - 1)).toBe("pending")
      expect(yield* heard({ notFoundGraceMs: HOUR }, HOUR)).toBe("failed")
    })
  )

  it.effect("proves nothing before it was said often enough in a row", () =>
    Effect.map(heard({}, HOUR, policy.notFoundCount - 2), (status) => expect(status).toBe("pending"))
  )

  it.effect.each([payout({ asked: 5, notFound: 5 }), collection({ asked: 5, notFound: 5 })])(
    "proves nothing of a provider that is not registered",
    (record) =>
      Effect.gen(function* () {
        const world = given(record, NotFound, { registered: false })
        yield* world.poll(NOON + HOUR)
        expect(world.read().transaction.status).toBe("pending")
      })
  )

  const charge = (expiresAt: number) => collection({ asked: 5, notFound: 5, expiresAt })
  it.effect.each<readonly [string, Transaction, Partial<ProviderGuarantees>, string]>([
    ["ends a charge whose payer's time is over", charge(NOON + 1), {}, "expired"],
    [
      "ends no charge that the provider cannot find by our reference",
      charge(NOON + 1),
      { chargeLookup: "by_provider_ref" },
      "pending"
    ],
    ["nor while its payer has time", charge(NOON + 2 * HOUR), { chargeLookup: "by_provider_ref" }, "pending"],
    ["still ends a payout of that provider", payout({ asked: 5, notFound: 5 }), { chargeLookup: "by_provider_ref" }, "failed"],
    [
      "proves nothing of a charge within the provider's grace for charges",
      charge(NOON + 2 * HOUR),
      { chargeNotFoundGraceMs: HOUR + 1 },
      "pending"
    ],
    ["proves that a charge was never sent after that grace", charge(NOON + 2 * HOUR), { chargeNotFoundGraceMs: HOUR }, "failed"],
    ["is no matter of that grace for a payout", payout({ asked: 5, notFound: 5 }), { chargeNotFoundGraceMs: HOUR + 1 }, "failed"]
  ])("%s", ([, record, guarantees, status]) =>
    Effect.gen(function* () {
      const world = given(record, NotFound, { guarantees })
      yield* world.poll(NOON + HOUR)
      expect(world.read().transaction.status).toBe(status)
    })
  )
})

describe("a charge whose payer did not say the code in time", () => {
  const expiresAt = TOLD_AT
  const waiting = collection({
    status: "requires_action",
    expiresAt,
    nextAction: { _tag: "otp", pinId: "VE1", message: "the code", expiresAt }
  })

  it.effect("is expired where no code was sent: nothing was charged, and nobody is asked", () =>
    Effect.gen(function* () {
      const world = given(waiting, Succeeded, { code: "free" })
      expect(yield* world.poll()).toBe(true)
      expect(world.closed).toStrictEqual([[reference, TOLD_AT]])
      expect(world.read().transaction.status).toBe("expired")
      expect(world.steps.map(({ line }) => line)).toStrictEqual([
        {
          at: TOLD_AT,
          actor: "reconciler",
          fact: "Expired",
          note: "the code expired and nothing was charged",
          status: "expired"
        }
      ])
      expect(world.queries).toStrictEqual([])
    })
  )

  it.effect("is left alone while a request is sending a code: that request brings the answer", () =>
    Effect.gen(function* () {
      const world = given(waiting, Succeeded, { code: "leased" })
      expect(yield* world.poll()).toBe(false)
      expect([world.steps, world.queries]).toStrictEqual([[], []])
      expect(world.closed).toStrictEqual([[reference, TOLD_AT]])
    })
  )

  it.effect("counts as charged where the answer to a code was lost: from then on it is polled like any other", () =>
    Effect.gen(function* () {
      const world = given(waiting, Succeeded, { code: "unheard" })
      expect(yield* world.poll()).toBe(false)
      expect(world.read().transaction).toMatchObject({ status: "pending", expiresAt: TOLD_AT + policy.collectionExpiryMs })
      expect(world.steps.map(({ line }) => line)).toStrictEqual([
        { at: TOLD_AT, actor: "reconciler", fact: "Charged", note: "the answer to a code was lost", status: "pending" }
      ])
      expect(world.queries).toStrictEqual([])
    })
  )

  const redirect = { _tag: "redirect", redirectUrl: "https://pay.example/1", message: "", expiresAt } as const
  it.effect.each<readonly [string, Partial<Collection>]>([
    ["its time is not over", { expiresAt: TOLD_AT + 1 }],
    ["its payer has a page to go to", { nextAction: redirect }],
    ["its payer was asked for nothing yet", { nextAction: null }],
    ["it was placed", { status: "pending", nextAction: null }]
  ])("is none while %s: the provider is asked", ([, change]) =>
    Effect.gen(function* () {
      const world = given({ ...waiting, ...change }, StillPending)
      expect(yield* world.poll()).toBe(true)
      expect(world.queries).toHaveLength(1)
    })
  )

  it.effect("is one as well where no time was set", () =>
    Effect.gen(function* () {
      const world = given({ ...waiting, expiresAt: null }, Succeeded, { code: "free" })
      expect(yield* world.poll()).toBe(true)
      expect(world.read().transaction.status).toBe("expired")
    })
  )
})

describe("a charge whose code was called wrong", () => {
  const uncalled = collection({
    status: "requires_action",
    expiresAt: TOLD_AT + HOUR,
    nextAction: { _tag: "otp", pinId: "VE1", message: "the code", expiresAt: TOLD_AT + HOUR }
  })
  const charge = { ...uncalled, wrongCode: true } as const
  const alert = ["Error", "a provider made a charge although it called its code wrong", { reference, provider: "eversend" }]
  const errors = ({ lines }: ReturnType<typeof given>) => lines.filter(([level]) => level === "Error")

  it.effect.each<StatusOutcome>([StillPending, Succeeded])(
    "takes no code any more once its provider has it, and an operator hears that another charge may have been placed",
    (answer) =>
      Effect.gen(function* () {
        const world = given(charge, answer, { code: "wrong" })
        yield* world.poll()
        expect(world.closed).toStrictEqual([[reference, TOLD_AT]])
        expect(errors(world)).toStrictEqual([alert])
      })
  )

  it.effect("is left to the request that submits another code", () =>
    Effect.gen(function* () {
      const world = given(charge, StillPending, { code: "leased" })
      yield* world.poll()
      expect([world.closed, errors(world)]).toStrictEqual([[[reference, TOLD_AT]], []])
    })
  )

  it.effect.each<readonly [string, Collection, StatusOutcome]>([
    ["its provider has no such charge", charge, NotFound],
    ["its provider does not answer", charge, Unknown],
    ["no code was called wrong", uncalled, StillPending],
    ["it was placed since", { ...charge, status: "pending", nextAction: null }, StillPending]
  ])("is none while %s: another code may be entered", ([, record, answer]) =>
    Effect.gen(function* () {
      const world = given(record, answer)
      yield* world.poll()
      expect([world.closed, errors(world)]).toStrictEqual([[], []])
    })
  )

  it.effect("is asked about when its time is over, because its provider may have it all the same", () =>
    Effect.gen(function* () {
      const world = given(charge, NotFound, { code: "wrong" })
      yield* world.poll(TOLD_AT + HOUR)
      expect(world.queries).toHaveLength(1)
      expect(world.closed).toStrictEqual([[reference, TOLD_AT + HOUR]])
    })
  )
})

describe("the poller", () => {
  it.effect("claims at most sixteen due records for the lease of a poll, and polls as the schedule", () =>
    Effect.gen(function* () {
      const world = given(payout(), NotFound)
      yield* Effect.gen(function* () {
        yield* TestClock.setTime(TOLD_AT)
        const { round } = yield* OutcomePoller
        expect([yield* round, yield* round]).toStrictEqual([1, 0])
      }).pipe(Effect.provide(world.layer))
      const claim = [TOLD_AT, 16, pollLeaseMs(policy.providerTimeoutMs)]
      expect(world.claims).toStrictEqual([claim, claim])
      expect(world.steps).toMatchObject([{ line: { actor: "reconciler", fact: "NotFound" }, next: { asked: 1, notFound: 1 } }])
    })
  )

  it.effect("names the record in every line that its poll logs", () =>
    Effect.gen(function* () {
      const world = given(payout(), StillPending, { calling: Effect.logInfo("called") })
      yield* Effect.flatMap(OutcomePoller, ({ round }) => round).pipe(Effect.provide(world.layer))
      expect(world.lines[0]).toStrictEqual(["Info", "called", { reference }])
    })
  )

  it.effect("goes on after a poll that broke, and the log says so", () =>
    Effect.gen(function* () {
      const world = given(payout(), StillPending, { calling: Effect.die(new Error("the adapter broke")) })
      expect(yield* Effect.flatMap(OutcomePoller, ({ round }) => round).pipe(Effect.provide(world.layer))).toBe(1)
      expect(world.lines).toStrictEqual([["Error", "an item of a worker broke", { worker: "OutcomePoller" }]])
    })
  )

  it.effect(
    "asks about a successful charge for 45 days where the provider lists nothing that is taken back, and for three where it does",
    () =>
      Effect.gen(function* () {
        const settled = collection({ status: "successful", completedAt: NOON, observedAmount: minor(10_000n), asked: 2 })
        const polled = Effect.fnUntraced(function* (lists: boolean) {
          const world = given(settled, Succeeded, { lists })
          yield* world.poll(NOON + 72 * HOUR)
          return world.steps.map(({ nextPollAt }) => nextPollAt)
        })
        expect([yield* polled(false), yield* polled(true)]).toStrictEqual([[NOON + 7 * 24 * HOUR], [null]])
      })
  )

  it.effect("asks for disputes and refunds of a successful charge after a callback that says nothing of the whole charge", () =>
    Effect.gen(function* () {
      const settled = collection({
        status: "successful",
        providerReference: "P1",
        observedAmount: minor(10_000n),
        completedAt: NOON
      })
      const world = given(settled, Succeeded, { clawbacks: true })
      yield* world.poll()
      yield* world.pollFor("successful")
      expect(world.asked).toEqual([])
      yield* world.pollFor()
      expect(world.asked).toEqual([{ since: NOON, until: TOLD_AT + 24 * HOUR, providerReference: "P1" }])
      yield* world.pollBy("operator")
      expect(world.asked).toHaveLength(2)
      const open = given(collection(), StillPending, { clawbacks: true })
      yield* open.pollFor()
      const paid = given(payout({ status: "successful", completedAt: NOON }), Succeeded, { clawbacks: true })
      yield* paid.pollFor()
      expect([open.asked, paid.asked]).toEqual([[], []])
    })
  )

  it.effect(
    "asks for refunds of a charge that is said to be reversed before it opens a case: it may be a part, in one case",
    () =>
      Effect.gen(function* () {
        const settled = collection({ status: "successful", providerReference: "P1", completedAt: NOON })
        for (const poll of ["poll", "pollFor"] as const) {
          const world = given(settled, Returned, { clawbacks: true })
          yield* world[poll]()
          expect(world.asked).toHaveLength(1)
          expect(world.read().transaction.needsReview).toBe(true)
        }
      })
  )

  it.effect("looks for due records four times a second", () =>
    Effect.gen(function* () {
      const world = given(payout(), StillPending, { isDue: false })
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped((yield* OutcomePoller).run)
        yield* TestClock.adjust("1 second")
      }).pipe(Effect.scoped, Effect.provide(world.layer))
      expect(world.claims.map(([now]) => now)).toStrictEqual([0, 250, 500, 750, 1_000])
    })
  )
})
