import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { LedgerRecord } from "../../../src/domain/Exchange.ts"
import { minor } from "../../../src/domain/Money.ts"
import { pollLeaseMs } from "../../../src/domain/TimeLimits.ts"
import type { Collection } from "../../../src/domain/Transaction.ts"
import type { CodeStanding } from "../../../src/services/ports/Codes.ts"
import type { Provider, ProviderGuarantees, StatusOutcome, StatusQuery } from "../../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { OutcomePoller, pollProvider } from "../../../src/services/settlement/OutcomePoller.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { unexpected } from "../../fakes/Fake.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { fakeCodes } from "../../fakes/FakePorts.ts"
import { cases } from "../../support/ReviewCases.ts"
import { facts, TOLD_AT } from "../../support/SampleFacts.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { FIRST, storedRecord } from "./StoredRecord.ts"

const HOUR = 3_600_000
const { NotFound, Refused, Returned, StillPending, Succeeded, Unknown } = facts(10_000n)
const { reference } = payout()
const exchange = cases["pending exchange"]

const everything = ["payouts", "collections", "exchange"] as const

interface World {
  readonly guarantees?: Partial<ProviderGuarantees>
  /** What the provider can be polled about. */
  readonly offers?: ReadonlyArray<"payouts" | "collections" | "exchange">
  readonly registered?: boolean
  readonly isDue?: boolean
  /** What the call of the provider does besides. */
  readonly calling?: Effect.Effect<void>
  /** Where the code of the charge stands; undefined: nobody asks for it. */
  readonly code?: CodeStanding
}

/** One record, its provider, which answers every query alike, and the poller a minute after the record was made. */
const given = (record: LedgerRecord, answer: StatusOutcome, world: World = {}) => {
  const { calling = Effect.void, code, guarantees, isDue = true, offers = everything, registered = true } = world
  const telemetry = givenTelemetry()
  const queries: Array<StatusQuery> = []
  const closed: Array<unknown> = []
  const claims: Array<readonly [now: number, limit: number, leaseMs: number]> = []
  const kept = storedRecord(record, [], {
    claimDue: (...claim) =>
      Effect.sync(() => {
        claims.push(claim)
        return isDue && claims.length === 1 ? [{ transaction: record, revision: FIRST }] : []
      })
  })
  const unused = (...args: ReadonlyArray<unknown>) => unexpected("a provider", args)
  const fetchStatus = (query: StatusQuery) => {
    queries.push(query)
    return Effect.as(calling, answer)
  }
  const operations: Required<Pick<Provider, "payouts" | "collections" | "exchange">> = {
    payouts: { quote: unused, send: unused, fetchStatus },
    collections: { charge: unused, fetchStatus },
    exchange: { quote: unused, execute: unused, fetchStatus }
  }
  const provider: Provider = {
    name: "eversend",
    mode: "live",
    guarantees: {
      clientReference: "idempotent",
      lookup: "by_client_ref",
      callbackAuth: "hmac",
      quoteTtlMs: 1,
      notFoundGraceMs: 1,
      ...guarantees
    },
    callbacks: { verify: unused },
    ...Object.fromEntries(offers.map((name) => [name, operations[name]]))
  }
  const layer = OutcomePoller.layer.pipe(
    Layer.provide(Settlement.layer),
    Layer.provide([
      kept.ports,
      Layer.succeed(ProviderRegistry, {
        known: ["eversend"],
        find: (name, mode) => (registered && name === "eversend" && mode === "live" ? Option.some(provider) : Option.none()),
        byRouteKey: unused,
        routeKey: unused
      }),
      fakeCodes(
        code === undefined
          ? {}
          : {
              close: (about, at) =>
                Effect.sync(() => {
                  closed.push([about, at])
                  return code
                })
            }
      )
    ]),
    Layer.merge(telemetry.layer)
  )
  const poll = (at = TOLD_AT, traceparent: string | null = null) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      return yield* (yield* OutcomePoller).poll({ ...kept.read(), traceparent }, "reconciler")
    }).pipe(Effect.provide(layer))
  return { ...kept, ...telemetry, layer, provider, poll, queries, closed, claims }
}

/** The facts that were written, with their notes. */
const told = ({ steps }: Pick<ReturnType<typeof given>, "steps">) =>
  steps.map(({ line: { fact, note } }) => (note === "" ? fact : `${fact}: ${note}`))

describe("a provider that is polled", () => {
  it.effect.each<readonly [string, LedgerRecord, Partial<StatusQuery>]>([
    [
      "a payout",
      payout({ providerReference: "P1", destinationCurrency: "KES" }),
      { currency: "UGX", destinationCurrency: "KES" }
    ],
    ["a collection", collection({ providerReference: "P1" }), { currency: "UGX", destinationCurrency: null }],
    ["an exchange", { ...exchange, providerReference: "P1" }, { currency: "UGX", destinationCurrency: "KES" }]
  ])("is told what is known of %s", ([, record, query]) =>
    Effect.gen(function* () {
      const { poll, queries } = given(record, StillPending)
      yield* poll()
      expect(queries).toStrictEqual([{ reference, providerReference: "P1", sentAt: NOON, ...query }])
    })
  )

  it.effect.each<readonly ["payouts" | "collections" | "exchange", LedgerRecord]>([
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

const paid = payout({ status: "successful", completedAt: NOON })

describe("a poll", () => {
  it.effect.each<readonly [string, LedgerRecord, StatusOutcome, boolean, ReadonlyArray<string>]>([
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

  it.effect.each<readonly [string, LedgerRecord, ReadonlyArray<string>]>([
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
    })
  )

  it.effect("is a span that is found by the reference and the tenant, and linked to the request that began the record", () =>
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
      expect(yield* world.links).toStrictEqual([["a".repeat(32), "b".repeat(16)]])
    })
  )
})

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

  it.effect("proves nothing of a provider that is not registered", () =>
    Effect.gen(function* () {
      const world = given(payout({ asked: 5, notFound: 5 }), NotFound, { registered: false })
      yield* world.poll(NOON + HOUR)
      expect(world.read().transaction.status).toBe("pending")
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

  it.effect("counts as charged where nobody heard the answer to a code: from then on it is polled like any other", () =>
    Effect.gen(function* () {
      const world = given(waiting, Succeeded, { code: "unheard" })
      expect(yield* world.poll()).toBe(false)
      expect(world.read().transaction).toMatchObject({ status: "pending", expiresAt: TOLD_AT + policy.collectionExpiryMs })
      expect(world.steps.map(({ line }) => line)).toStrictEqual([
        { at: TOLD_AT, actor: "reconciler", fact: "Charged", note: "nobody heard the answer to a code", status: "pending" }
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
