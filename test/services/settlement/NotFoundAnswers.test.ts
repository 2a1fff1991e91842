import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Actor } from "../../../src/domain/Fact.ts"
import { minor, ZERO } from "../../../src/domain/Money.ts"
import type { Payout } from "../../../src/domain/Payment.ts"
import { Envelope } from "../../../src/http/api/Envelope.ts"
import { type ApplyStep, FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import type { Provider, StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { type StoredTransaction, Transactions } from "../../../src/services/ports/Transactions.ts"
import { Clawbacks } from "../../../src/services/settlement/Clawbacks.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { WebhookDispatcher } from "../../../src/services/webhooks/WebhookDispatcher.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakePolicy, policy } from "../../fakes/FakePolicy.ts"
import { fakeCodes } from "../../fakes/FakePorts.ts"
import { fakeRandomSource } from "../../fakes/FakeVault.ts"
import { NOON, payout } from "../../support/SampleTransactions.ts"

const HOUR = 3_600_000

/**
 * One payout of 10,000 UGX with a held fee of 1,000, and a provider that documents its query and says `answer` to it. `losing` is how many
 * commits are made and not heard of: what was decided is decided again. `takesMs` is how long the answer is under way.
 */
const given = (answer: StatusOutcome, { losing = 0, takesMs = 0 } = {}) => {
  let stored: StoredTransaction = { transaction: payout(), revision: 1n }
  let lost = 0
  const steps: Array<ApplyStep> = []
  const provider: Provider = {
    name: "eversend",
    mode: "live",
    fingerprints: () => ["one"],
    guarantees: {
      clientReference: "idempotent",
      lookup: "by_client_ref",
      callbackAuth: "hmac",
      quoteTtlMs: 1,
      notFoundGraceMs: 1
    },
    callbacks: { verify: () => Option.none() },
    payouts: {
      quote: () => Effect.die("unused"),
      send: () => Effect.die("unused"),
      fetchStatus: () => Effect.as(TestClock.adjust(takesMs), answer)
    }
  }
  const layer = OutcomePoller.layer.pipe(
    Layer.provide(Layer.provideMerge(Clawbacks.layer, Settlement.layer)),
    Layer.provide([
      fake(Transactions, { byReference: () => Effect.sync(() => Option.some(stored)) }),
      fake(FloatLedger, {
        apply: (step) =>
          Effect.sync(() => {
            if (step.expectedRevision !== stored.revision) return { _tag: "Stale" } as const
            steps.push(step)
            stored = { transaction: step.next, revision: stored.revision + 1n }
            return lost++ < losing ? ({ _tag: "Stale" } as const) : ({ _tag: "Applied" } as const)
          })
      }),
      Layer.succeed(ProviderRegistry, {
        known: ["eversend"],
        find: () => Option.some(provider),
        accounts: () => [provider],
        claimed: () => [],
        byRouteKey: () => Option.none(),
        routeKey: () => "",
        keptRouteKeys: () => []
      }),
      fake(WebhookDispatcher, { nudge: Effect.void }),
      fakeRandomSource(),
      Envelope.layer,
      fakeCodes(),
      fakePolicy()
    ])
  )
  const ask = (actor: Actor, about: StoredTransaction = stored) =>
    Effect.flatMap(OutcomePoller, (poller) => poller.poll(about, actor))
  const moved = (next: Partial<Payout>) => {
    const { transaction } = stored
    if (transaction.kind === "payout") stored = { transaction: { ...transaction, ...next }, revision: stored.revision + 1n }
  }
  return { layer, ask, moved, steps, now: () => stored.transaction, read: () => stored }
}

describe("a payout that the provider does not find", () => {
  it.effect("counts as never sent after enough scheduled questions, and not because of any other question", () => {
    const { ask, layer, now } = given({ _tag: "NotFound", note: "" })
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOON + HOUR)
      for (const actor of ["request", "callback", "request", "callback"] as const) yield* ask(actor)
      expect(now()).toMatchObject({ status: "pending", asked: 0, notFound: 0 })
      yield* ask("reconciler")
      yield* ask("reconciler")
      yield* ask("request")
      expect(now()).toMatchObject({ status: "pending", asked: 2, notFound: 2 })
      yield* ask("reconciler")
      expect(now()).toMatchObject({ status: "failed", fees: ZERO })
    }).pipe(Effect.provide(layer))
  })
})

describe("a payout that nobody found and that failed as never sent", () => {
  it.effect("is asked about again an hour later, because it may be found after all", () => {
    const { ask, layer, steps } = given({ _tag: "NotFound", note: "" })
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOON + HOUR)
      for (let question = 0; question < policy.notFoundCount; question++) yield* ask("reconciler")
      const failed = { next: { status: "failed", doubtedSince: NOON + HOUR }, nextPollAt: NOON + 2 * HOUR }
      expect(steps.at(-1)).toMatchObject(failed)
      yield* TestClock.setTime(NOON + 2 * HOUR)
      yield* ask("reconciler")
      expect(steps.at(-1)).toMatchObject({ ...failed, nextPollAt: NOON + 25 * HOUR })
    }).pipe(Effect.provide(layer))
  })
})

describe("one status question", () => {
  const notFound = { _tag: "NotFound", note: "" } as const

  it.effect("counts once when the answer to its commit was lost and it is decided again", () => {
    const { ask, layer, now } = given(notFound, { losing: 1 })
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOON + HOUR)
      yield* ask("reconciler")
      expect(now()).toMatchObject({ status: "pending", asked: 1, notFound: 1 })
      yield* ask("reconciler")
      expect(now()).toMatchObject({ status: "pending", asked: 2, notFound: 2 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("counts once when several nodes ask it", () => {
    const { ask, layer, now, read } = given(notFound)
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOON + HOUR)
      const claimed = read()
      for (let node = 0; node < 5; node++) yield* ask("reconciler", claimed)
      expect(now()).toMatchObject({ status: "pending", asked: 1, notFound: 1 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("proves nothing about a record that has changed since it was asked", () => {
    const { ask, layer, moved, now, read } = given(notFound)
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOON + HOUR)
      yield* ask("reconciler")
      yield* ask("reconciler")
      const claimed = read()
      // It went to another provider and came back meanwhile: of that nobody has asked yet.
      moved({ version: 3, updatedAt: NOON, asked: 2, notFound: 2 })
      yield* ask("reconciler", claimed)
      expect(now()).toMatchObject({ status: "pending", asked: 2, notFound: 2 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("proves nothing when it was asked within the grace, however late its answer came", () => {
    const { ask, layer, moved, now } = given(notFound, { takesMs: 5_000 })
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOON + policy.notFoundGraceMs - 1)
      moved({ asked: 5, notFound: 5 })
      yield* ask("reconciler")
      expect(now()).toMatchObject({ status: "pending", asked: 6, notFound: 6 })
      yield* ask("reconciler")
      expect(now()).toMatchObject({ status: "failed" })
    }).pipe(Effect.provide(layer))
  })
})

describe("a payout whose first answer is that it was returned", () => {
  it.effect("counts as delivered before, shows the fee of the delivery, and gets its principal back", () => {
    const { ask, layer, now, steps } = given({
      _tag: "Returned",
      amount: minor(10_000n),
      currency: "UGX",
      fee: ZERO,
      charged: minor(700n),
      at: NOON + HOUR,
      note: "refunded"
    })
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOON + HOUR)
      yield* ask("callback")
      expect(now()).toMatchObject({
        status: "successful",
        fees: minor(700n),
        returned: { amount: minor(10_000n), at: NOON + HOUR, reason: "refunded" }
      })
      expect(steps.map(({ entry, event }) => [entry?.phase, event?.type])).toStrictEqual([
        ["settle", "payout.successful"],
        ["return", "payout.returned"]
      ])
      expect(steps[0]?.entry?.postings).toStrictEqual([
        { currency: "UGX", account: "reserved", amount: -11_000n },
        { currency: "UGX", account: "paid_out", amount: 10_000n },
        { currency: "UGX", account: "provider_fees", amount: 700n },
        { currency: "UGX", account: "available", amount: 300n }
      ])
    }).pipe(Effect.provide(layer))
  })
})
