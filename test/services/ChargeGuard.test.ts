import { expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Ref } from "effect"
import { TestClock } from "effect/testing"
import { Reference } from "../../src/domain/Ids.ts"
import type { CollectionStatus } from "../../src/domain/Transaction.ts"
import { ChargeGuard, type Guarded } from "../../src/services/ChargeGuard.ts"
import { PayerLocks } from "../../src/services/ports/PayerLocks.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { Reconciler } from "../../src/services/Reconciler.ts"
import { collection, NOON } from "../support/Given.ts"

const MINUTE = 60_000
const earlier = collection({ status: "pending" })
const payer = {
  appId: earlier.appId,
  mode: earlier.mode,
  partyHash: new Uint8Array(32),
  own: Reference.make("00000000000000000000000002")
}

interface World {
  /** What the provider says of the earlier charge. */
  readonly becomes?: CollectionStatus
  readonly age?: number
  /** How often another charge is faster. */
  readonly overtaken?: number
}

/** The guard before one earlier charge, made at noon; answers what was refused or compared with, and how often the provider was asked. */
const guarded = ({ age = MINUTE, becomes = "pending", overtaken = 0 }: World, own = payer.own) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(NOON + age)
    const status = yield* Ref.make<CollectionStatus>("pending")
    const asked = yield* Ref.make(0)
    const left = yield* Ref.make(overtaken)
    const layer = ChargeGuard.layer.pipe(
      Layer.provide([
        Layer.mock(PayerLocks, { holder: () => Effect.succeed(Option.some({ reference: earlier.reference, at: NOON })) }),
        Layer.mock(Transactions, {
          byReference: () =>
            Effect.map(Ref.get(status), (now) =>
              Option.some({ revision: 1n, transaction: collection({ status: now, completedAt: NOON + age }) })
            )
        }),
        Layer.mock(Reconciler, {
          ask: () =>
            Effect.as(
              Effect.andThen(
                Ref.update(asked, (n) => n + 1),
                Ref.set(status, becomes)
              ),
              true
            )
        })
      ])
    )
    const place = (guard: Guarded) =>
      Effect.map(
        Ref.getAndUpdate(left, (n) => n - 1),
        (n) => (n > 0 ? Option.none() : Option.some(guard.holder))
      )
    const ended = yield* ChargeGuard.pipe(
      Effect.flatMap(({ behind }) => behind({ ...payer, own }, place)),
      Effect.map(Option.some),
      Effect.catchTag("duplicate_charge_in_flight", ({ already_succeeded = "no" }) => Effect.succeed(already_succeeded)),
      Effect.provide(layer),
      Effect.exit
    )
    return { ended: Exit.isSuccess(ended) ? ended.value : ended, asked: yield* Ref.get(asked) }
  })

const free = Option.some(earlier.reference)

const stories: ReadonlyArray<readonly [string, World, unknown, number]> = [
  ["refuses while the earlier charge is live", { becomes: "pending" }, "no", 1],
  ["refuses when it succeeded, and says so", { becomes: "successful" }, "true", 1],
  ["goes on when it failed", { becomes: "failed" }, free, 1],
  ["goes on when it expired", { becomes: "expired" }, free, 1],
  ["looks fifteen minutes back", { age: 15 * MINUTE - 1 }, "no", 1],
  ["and no further", { age: 15 * MINUTE }, free, 0],
  ["looks again when another charge was faster", { becomes: "failed", overtaken: 2 }, free, 1]
]
for (const [promise, world, expected, questions] of stories) {
  it.effect(promise, () =>
    Effect.map(guarded(world), ({ asked, ended }) => expect([ended, asked]).toStrictEqual([expected, questions]))
  )
}

it.effect("never stands in the way of the charge itself", () =>
  Effect.map(guarded({}, earlier.reference), ({ asked, ended }) => expect([ended, asked]).toStrictEqual([free, 0]))
)
