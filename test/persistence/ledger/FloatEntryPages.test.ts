import { expect, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { credit, debit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { FloatEntriesPg } from "../../../src/persistence/ledger/FloatEntriesPg.ts"
import { FloatEntries, type FloatName } from "../../../src/services/ports/FloatEntries.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, given } from "../../support/LedgerSteps.ts"
import { waitsForLock } from "../../support/LockWaits.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"
import { givenLedger } from "../../support/TestLedger.ts"

const MINUTE_MS = 60_000
const ugx: FloatName = { appId, mode: "live", currency: "UGX" }

const adjusted = (direction: "credit" | "debit", amount: bigint, externalId: string, at: number) =>
  Effect.flatMap(FloatLedger, ({ adjust }) =>
    adjust({
      ...ugx,
      direction,
      amount: minor(amount),
      externalId,
      note: "by hand",
      at,
      entry: (direction === "credit" ? credit : debit)("UGX", minor(amount)),
      audit: auditEntry()
    })
  )

const credited = (externalId: string, at: number) => adjusted("credit", 300n, externalId, at)

/** It is noon, and whoever asks for the time again is answered so much later. */
const fromNoon = (machine: Clock.Clock, eachMs: number): Clock.Clock => {
  let now = NOON - eachMs
  const next = () => {
    now += eachMs
    return now
  }
  return Object.assign(Object.create(machine), { currentTimeMillisUnsafe: next, currentTimeMillis: Effect.sync(next) })
}

it.live("a search that takes too long ends its page where it came to, and the next one goes on there", () =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    yield* Effect.gen(function* () {
      for (const minutes of [1, 10, 20, 300]) yield* credited(`${minutes} minutes ago`, NOON - minutes * MINUTE_MS)
      const machine = yield* Clock.Clock
      const { list } = yield* FloatEntries
      const slow = <A>(work: Effect.Effect<A>) => Effect.provideService(work, Clock.Clock, fromNoon(machine, 5_000))
      const idsOf = ({ items }: Effect.Success<ReturnType<typeof list>>) => items.map(({ externalId }) => externalId)
      const first = yield* slow(list(ugx, null, 10))
      expect(idsOf(first)).toEqual(["1 minutes ago", "10 minutes ago"])
      expect(first.next).toEqual({
        at: NOON - 15 * MINUTE_MS,
        reference: "",
        revision: 0n,
        balance: { available: 600n, reserved: 0n }
      })
      const second = yield* slow(list(ugx, first.next, 10))
      expect(idsOf(second)).toEqual(["20 minutes ago"])
      const third = yield* list(ugx, second.next, 10)
      expect([idsOf(third), third.next]).toEqual([["300 minutes ago"], null])
      expect([...first.items, ...second.items, ...third.items].map(({ after }) => after.available)).toEqual([
        1200n,
        900n,
        600n,
        300n
      ])
      // A page that two steps back fill is full, and one that the last entry fills is the last.
      const quick = fromNoon(machine, 0)
      const full = yield* Effect.provideService(list(ugx, null, 3), Clock.Clock, quick)
      expect([idsOf(full).length, full.next?.at]).toEqual([3, NOON - 20 * MINUTE_MS])
      const all = yield* Effect.provideService(list(ugx, null, 4), Clock.Clock, quick)
      expect([idsOf(all).length, all.next]).toEqual([4, null])
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("what is posted while entries are read is not among them, and the newest ends in the position that was read", () =>
  Effect.gen(function* () {
    const { node, url } = yield* given(0n)
    yield* Effect.gen(function* () {
      yield* credited("before", NOON)
      const { list } = yield* FloatEntries
      const beside = yield* givenLedger(url)
      const other = Context.get(beside, SqlClient.SqlClient)
      const locked = yield* Deferred.make<void>()
      const posting = yield* Effect.gen(function* () {
        // The reader has its position by then, and waits for the entries.
        yield* other`LOCK TABLE journal IN ACCESS EXCLUSIVE MODE`
        yield* Deferred.succeed(locked, undefined)
        yield* waitsForLock(Context.get(node, SqlClient.SqlClient))
        yield* Effect.provideContext(credited("meanwhile", NOON + 1), beside)
      }).pipe(other.withTransaction, Effect.forkChild)
      yield* Deferred.await(locked)
      const reading = yield* Effect.forkChild(list(ugx, null, 10))
      yield* Fiber.join(posting)
      const { items } = yield* Fiber.join(reading)
      expect(items.map(({ after, externalId }) => [externalId, after.available])).toEqual([["before", 300n]])
      expect((yield* list(ugx, null, 10)).items.map(({ externalId }) => externalId)).toEqual(["meanwhile", "before"])
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("what was posted by hand is found by its external id, in its own mode", () =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    yield* Effect.gen(function* () {
      yield* credited("bank-17", NOON)
      const { adjustment } = yield* FloatEntries
      expect(yield* adjustment(appId, "live", "bank-17")).toEqual(
        Option.some({ at: NOON, direction: "credit", currency: "UGX", amount: 300n })
      )
      yield* adjusted("debit", 200n, "bank-16", NOON)
      expect(yield* adjustment(appId, "live", "bank-16")).toEqual(
        Option.some({ at: NOON, direction: "debit", currency: "UGX", amount: 200n })
      )
      expect(yield* adjustment(appId, "live", "bank-18")).toEqual(Option.none())
      expect(yield* adjustment(appId, "test", "bank-17")).toEqual(Option.none())
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
