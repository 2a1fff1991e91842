import { expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Ref } from "effect"
import { TestClock } from "effect/testing"
import { Reference } from "../../../src/domain/Ids.ts"
import type { Collection, CollectionStatus } from "../../../src/domain/Payment.ts"
import { ChargeGuard, type LastCharge } from "../../../src/services/collections/ChargeGuard.ts"
import { ClockTrust } from "../../../src/services/ports/ClockWatch.ts"
import { PayerLocks } from "../../../src/services/ports/PayerLocks.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { fake } from "../../fakes/Fake.ts"
import { collection, NOON } from "../../support/SampleTransactions.ts"

const MINUTE = 60_000
const earlier = collection({ status: "pending" })
const payer = {
  appId: earlier.appId,
  mode: earlier.mode,
  partyHash: new Uint8Array(32),
  own: Reference.make("00000000000000000000000002")
}

const later = Reference.make("00000000000000000000000003")

interface World {
  /** What the record of the earlier charge says when the request comes. */
  readonly was?: CollectionStatus
  /** What besides its status says that its outcome is not sure, and whether the provider leaves it so where it is asked. */
  readonly contested?: Pick<Collection, "doubtedSince"> | Pick<Collection, "needsReview">
  readonly staysContested?: boolean
  /** Another charge was placed after it, and failed. */
  readonly followed?: boolean
  readonly repeats?: boolean
  /** What the provider says of the earlier charge. */
  readonly becomes?: CollectionStatus
  readonly age?: number
  /** When it was completed, where the record says so before the request comes; null where it does not say when. */
  readonly completedAt?: number | null
  /** By how much of its age the clock leapt a moment after it. */
  readonly leapt?: number
  /** It waits for its code: one is on its way, or was called wrong; and whether the provider, once asked, has no charge of it. */
  readonly code?: "on its way" | "wrong"
  readonly absent?: true
  /** How often another charge is faster. */
  readonly overtaken?: number
}

/** The guard before one earlier charge, made at noon; answers what was refused or compared with, and how often the provider was asked. */
const guarded = (world: World, own = payer.own) =>
  Effect.gen(function* () {
    const { layer, place, asked } = yield* standing(world)
    const leaps = world.leapt === undefined ? [] : [{ from: NOON + 1, to: NOON + 1 + world.leapt }]
    const ended = yield* ChargeGuard.pipe(
      Effect.flatMap(({ placeWhenFree }) => placeWhenFree({ ...payer, own }, place)),
      Effect.map(Option.some),
      Effect.catchTags({
        duplicate_charge_in_flight: ({ already_succeeded = "no" }) => Effect.succeed(already_succeeded),
        request_in_progress: () => Effect.succeed("in progress")
      }),
      Effect.provide(layer),
      Effect.provideService(ClockTrust, { ...ClockTrust.defaultValue(), leaps: Effect.succeed(leaps) }),
      Effect.exit
    )
    return { ended: Exit.isSuccess(ended) ? ended.value : ended, asked: yield* Ref.get(asked) }
  })

/** The guard before that charge, and what places the next one. */
const standing = (world: World) =>
  Effect.gen(function* () {
    const { age = MINUTE, code, followed = false, overtaken = 0, repeats = false } = world
    const { was = code === undefined ? "pending" : "requires_action" } = world
    const { becomes = was } = world
    const nextAction = code === undefined ? null : ({ _tag: "otp", pinId: "VE1", message: "say it", expiresAt: NOON } as const)
    yield* TestClock.setTime(NOON + age)
    const status = yield* Ref.make<CollectionStatus>(was)
    const asked = yield* Ref.make(0)
    const left = yield* Ref.make(overtaken)
    const layer = ChargeGuard.layer.pipe(
      Layer.provide([
        fake(PayerLocks, {
          charges: () => {
            const placed = [...(followed ? [{ reference: later, at: NOON + 1 }] : []), { reference: earlier.reference, at: NOON }]
            return Effect.succeed({ holder: code === "wrong" ? null : (placed[0]?.reference ?? null), placed })
          }
        }),
        fake(Tenants, { repeatSales: () => Effect.succeed(repeats) }),
        fake(Transactions, {
          byReference: (reference) =>
            Effect.map(Effect.all([Ref.get(status), Ref.get(asked)]), ([now, asks]) => {
              const { completedAt = was === "pending" ? NOON + age : NOON + 2 } = world
              const isContested = world.staysContested === true || asks === 0
              const earlier = collection({ status: now, nextAction, completedAt, ...(isContested ? world.contested : {}) })
              const transaction = reference === later ? collection({ status: "failed" }) : earlier
              return Option.some({ revision: 1n, transaction })
            })
        }),
        fake(OutcomePoller, {
          poll: (_, actor) =>
            Effect.as(
              // It takes a moment: whoever comes meanwhile can wait for it.
              Effect.andThen(
                Effect.andThen(
                  Effect.yieldNow,
                  Ref.update(asked, (n) => (actor === "request" ? n + 1 : Number.NaN))
                ),
                Ref.set(status, becomes)
              ),
              { learnt: true, record: collection(), ...(world.absent && { isAbsent: world.absent }) }
            )
        })
      ])
    )
    const place = (guard: LastCharge) =>
      Effect.map(
        Ref.getAndUpdate(left, (n) => n - 1),
        (n) => (n > 0 ? Option.none() : Option.some(guard.holder))
      )
    return { layer, place, asked }
  })

const free = Option.some(earlier.reference)

/** A charge whose code was wrong is not the one to compare with. */
const unheld = Option.some(null)

const denied = { needsReview: true }
const repeating = { staysContested: true }
const doubtedly = { was: "failed", becomes: "failed", contested: { doubtedSince: NOON } } as const
const expiredly = { was: "expired", becomes: "expired" } as const

const stories: ReadonlyArray<readonly [string, World, unknown, number]> = [
  ["refuses while the earlier charge is live", { becomes: "pending" }, "no", 1],
  ["refuses when it succeeded, and says so", { becomes: "successful" }, "true", 1],
  ["refuses what the record knows as successful, and asks nobody", { was: "successful" }, "true", 0],
  ["refuses when it succeeded while a later one failed", { was: "successful", followed: true }, "true", 0],
  ["refuses while it is live and a later one failed", { followed: true }, "no", 1],
  ["lets repeat sales follow what the record knows as successful", { was: "successful", repeats: true }, free, 0],
  [
    "lets no repeat sale follow what succeeded with the request",
    { was: "successful", repeats: true, completedAt: NOON + MINUTE },
    "true",
    0
  ],
  ["nor what succeeded nobody knows when", { was: "successful", repeats: true, completedAt: null }, "true", 0],
  ["lets no repeat sale follow what is live", { repeats: true }, "no", 1],
  ["nor what was live when the request came", { becomes: "successful", repeats: true }, "true", 1],
  ["goes on when it failed", { becomes: "failed" }, free, 1],
  ["goes on when it expired", { becomes: "expired" }, free, 1],
  ["refuses after one that failed in words that its provider may correct, and repeats", { ...doubtedly, ...repeating }, "no", 1],
  ["goes on once its provider is sure of the failure", doubtedly, free, 1],
  ["refuses after one that was charged after all, and says so", { ...doubtedly, becomes: "successful" }, "true", 1],
  ["refuses what fails so while it is asked about", { ...doubtedly, ...repeating, was: "pending" }, "no", 1],
  ["refuses after one whose failure its provider denies", { ...doubtedly, ...repeating, contested: denied }, "no", 1],
  ["refuses after one whose expiry its provider denies", { ...expiredly, ...repeating, contested: denied }, "no", 1],
  ["lets no repeat sale follow a failure without proof", { ...doubtedly, ...repeating, repeats: true }, "no", 1],
  ["looks fifteen minutes back for that, too", { ...doubtedly, age: 15 * MINUTE }, free, 0],
  [
    "goes on after one whose code was called wrong, and which its provider does not have",
    { code: "wrong", absent: true },
    unheld,
    1
  ],
  ["refuses after one whose code was called wrong while nobody says that it is not there", { code: "wrong" }, "no", 1],
  [
    "refuses after one whose code was called wrong, and which was made all the same",
    { code: "wrong", becomes: "pending" },
    "no",
    1
  ],
  ["refuses while a code is on its way, whatever its provider has", { code: "on its way", absent: true }, "no", 1],
  ["looks fifteen minutes back for a wrong code, too", { code: "wrong", age: 15 * MINUTE }, unheld, 0],
  ["asks nobody about one that surely failed", { was: "failed" }, free, 0],
  ["nor about one that surely expired", { was: "expired" }, free, 0],
  ["asks nobody about a success of which a person looks at the figures", { was: "successful", contested: denied }, "true", 0],
  ["looks fifteen minutes back", { age: 15 * MINUTE - 1 }, "no", 1],
  ["and no further", { age: 15 * MINUTE }, free, 0],
  ["looks fifteen minutes back for one that succeeded", { age: 15 * MINUTE - 1, was: "successful" }, "true", 0],
  ["and no further for that either", { age: 15 * MINUTE, was: "successful" }, free, 0],
  ["looks over a leap of the clock, in which no time passed", { age: 60 * MINUTE, leapt: 45 * MINUTE + 1 }, "no", 1],
  ["and no further than time passed", { age: 60 * MINUTE, leapt: 45 * MINUTE }, free, 0],
  ["looks again when another charge was faster", { becomes: "failed", overtaken: 2 }, free, 1],
  ["looks four times", { becomes: "failed", overtaken: 3 }, free, 1],
  ["and is in progress where another charge was faster each time", { becomes: "failed", overtaken: 4 }, "in progress", 1]
]
for (const [promise, world, expected, questions] of stories) {
  it.effect(promise, () =>
    Effect.map(guarded(world), ({ asked, ended }) => expect([ended, asked]).toStrictEqual([expected, questions]))
  )
}

it.effect("never refuses a charge because of itself", () =>
  Effect.map(guarded({}, earlier.reference), ({ asked, ended }) => expect([ended, asked]).toStrictEqual([free, 0]))
)

it.effect("polls once for the requests that wait at the same time, and once more for the next", () =>
  Effect.gen(function* () {
    const { asked, layer, place } = yield* standing({ becomes: "pending" })
    yield* Effect.gen(function* () {
      const { placeWhenFree } = yield* ChargeGuard
      const refused = Effect.flip(placeWhenFree(payer, place))
      yield* Effect.all([refused, refused], { concurrency: 2 })
      expect(yield* Ref.get(asked)).toBe(1)
      yield* refused
      expect(yield* Ref.get(asked)).toBe(2)
    }).pipe(Effect.provide(layer))
  })
)
