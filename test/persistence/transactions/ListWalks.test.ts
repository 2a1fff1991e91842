import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../../src/domain/Ids.ts"
import { iso } from "../../../src/domain/Instant.ts"
import type { Payment } from "../../../src/domain/Payment.ts"
import { recordText } from "../../../src/persistence/transactions/StoredRecord.ts"
import {
  type ListPosition,
  type TransactionFilter,
  type TransactionPage,
  Transactions
} from "../../../src/services/ports/Transactions.ts"
import { appId, given } from "../../support/LedgerSteps.ts"
import { type Random, seeded } from "../../support/Random.ts"
import { payout } from "../../support/SampleTransactions.ts"

const START = Date.parse("2026-03-01T00:00:00Z")
/** By so much a client goes back behind the last change that it saw (contract TXN-19). */
const OVERLAP_MS = 600_000
const everything: TransactionFilter = {
  kind: null,
  status: null,
  needsReview: null,
  currency: null,
  created: null,
  completed: null,
  updatedFrom: null,
  idempotencyKey: null,
  metadata: null
}

const opened = (number: number, at: number): Payment =>
  payout({ reference: Reference.make(`R${`${number}`.padStart(25, "0")}`), createdAt: at, updatedAt: at })

/** A step that has written its rows and waits to be committed. */
interface Waiting {
  readonly record: Payment
  readonly end: Deferred.Deferred<boolean>
  readonly step: Fiber.Fiber<unknown, unknown>
  readonly commitBy: number
}

/** Writes of many records at once, as several processes make them: each is committed some time after the moment that it bears. */
const givenWrites = Effect.fnUntraced(function* (random: Random) {
  const sql = yield* SqlClient.SqlClient
  const scope = yield* Effect.scope
  const committed = new Map<string, Payment>()
  let waiting: ReadonlyArray<Waiting> = []
  let now = START
  let made = 0

  const rows = (record: Payment) => {
    const at = iso(record.updatedAt)
    const write =
      record.version === 1
        ? sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
            VALUES (${appId}, ${record.reference}, 'live', 'payout', ${record.status}, false, 'eversend', 1, ${recordText(record)}::json, ${at}::timestamptz)`
        : sql`UPDATE transactions SET status = ${record.status}, revision = ${record.version}, record = ${recordText(record)}::json
            WHERE app_id = ${appId} AND reference = ${record.reference}`
    return Effect.andThen(
      write,
      sql`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status)
        VALUES (${appId}, ${record.reference}, ${record.version}, 'live', ${at}::timestamptz, 'callback', 'Succeeded', '', ${record.status})`
    )
  }

  const begin = Effect.fnUntraced(function* (record: Payment, commitBy: number) {
    const [written, end] = [yield* Deferred.make<void>(), yield* Deferred.make<boolean>()]
    const step = yield* rows(record).pipe(
      Effect.andThen(Deferred.succeed(written, undefined)),
      Effect.andThen(Deferred.await(end)),
      sql.withTransaction,
      Effect.forkIn(scope)
    )
    yield* Effect.raceFirst(Deferred.await(written), Effect.andThen(Fiber.join(step), Effect.void))
    waiting = [...waiting, { record, end, step, commitBy }]
  })

  const commit = Effect.fnUntraced(function* (isDue: (one: Waiting) => boolean) {
    const due = waiting.filter(isDue)
    waiting = waiting.filter((one) => !due.includes(one))
    for (const { end, record, step } of due) {
      yield* Deferred.succeed(end, true)
      yield* Fiber.join(step)
      committed.set(record.reference, record)
    }
  })

  /** Opens a record, or changes one that nothing waits for; the time goes on. */
  const one = Effect.fnUntraced(function* () {
    now += random.below(3) === 0 ? 0 : random.below(90_000)
    yield* commit(({ commitBy }) => commitBy <= now || random.chance(0.2))
    if (waiting.length === 4) yield* commit((each) => each === waiting[0])
    const free = [...committed.values()].filter(({ reference }) => waiting.every((each) => each.record.reference !== reference))
    const before = free.length > 0 && random.chance(0.5) ? free[random.below(free.length)] : undefined
    const isEnd = random.chance(0.6)
    const ended = isEnd ? { status: "successful" as const, completedAt: now } : {}
    const next = before === undefined ? opened(made++, now) : { ...before, version: before.version + 1, ...ended }
    yield* begin({ ...next, updatedAt: now }, now + random.below(OVERLAP_MS))
  })

  return { committed, one, begin, commit, commitAll: commit(() => true) }
})

type Writes = Effect.Success<ReturnType<typeof givenWrites>>

/** Every page of a list, while others write. */
const walked = Effect.fnUntraced(function* (filter: TransactionFilter, limit: number, between: Effect.Effect<unknown>) {
  const { list } = yield* Transactions
  const items: Array<Payment> = []
  for (let from: ListPosition | null = null, isFirst = true; isFirst || from !== null; isFirst = false) {
    const page: TransactionPage = yield* list({ appId, mode: "live" }, filter, { limit, from })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    items.push(...page.items)
    from = page.next
    yield* between
  }
  return items
})

const withWrites = (seed: number, run: (writes: Writes, random: Random) => Effect.Effect<void, unknown, Transactions>) =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    const random = seeded(seed)
    yield* Effect.flatMap(givenWrites(random), (writes) => run(writes, random)).pipe(Effect.provideContext(node), Effect.orDie)
  }).pipe(Effect.scoped)

/** Writes that come between the pages of one walk: a bounded number, because a list in the order of change grows where it is read. */
const several = (writes: Writes, random: Random) => {
  let left = 30
  return Effect.suspend(() => {
    const some = Math.min(left, random.below(4))
    left -= some
    return Effect.orDie(Effect.replicateEffect(Effect.suspend(writes.one), some))
  })
}

/** How a tenant keeps its books: by reference the newest copy, and where to go on. */
const makeBooks = (overlap: number) => {
  const books = new Map<string, Payment>()
  let last = 0
  return {
    books,
    from: () => Math.max(0, last - overlap),
    keep: (items: ReadonlyArray<Payment>) => {
      for (const item of items) {
        if ((books.get(item.reference)?.version ?? 0) < item.version) books.set(item.reference, item)
        last = Math.max(last, item.updatedAt)
      }
    }
  }
}

it.live.each([1, 2, 3])(
  "a client that goes on ten minutes before the last change that it saw has every change of any writers (%d)",
  (seed) =>
    withWrites(seed, (writes, random) =>
      Effect.gen(function* () {
        const { books, from, keep } = makeBooks(OVERLAP_MS)
        const run = Effect.fnUntraced(function* (between: Effect.Effect<unknown>) {
          const items = yield* walked({ ...everything, updatedFrom: from() }, 1 + random.below(5), between)
          // A record comes again in one walk only where it changed meanwhile, behind where it was.
          const places = items.map(({ reference, updatedAt }) => `${iso(updatedAt)} ${reference}`)
          expect(places).toStrictEqual([...new Set(places)].toSorted())
          expect(new Set(items.map(({ reference, version }) => `${reference} ${version}`)).size).toBe(items.length)
          keep(items)
        })
        for (let runs = 0; runs < 12; runs++) {
          yield* several(writes, random)
          yield* run(several(writes, random))
        }
        yield* writes.commitAll.pipe(Effect.orDie)
        yield* run(Effect.void)
        expect(books.size).toBeGreaterThan(20)
        expect(books).toStrictEqual(writes.committed)
      })
    )
)

it.live.each([4, 5])(
  "a walk has once what was committed before it began, in every order and with every filter, while others write (%d)",
  (seed) =>
    withWrites(seed, (writes, random) =>
      Effect.gen(function* () {
        for (let steps = 0; steps < 60; steps++) yield* Effect.orDie(writes.one())
        const filters: ReadonlyArray<readonly [TransactionFilter, (record: Payment) => boolean]> = [
          [everything, () => true],
          [{ ...everything, status: "successful" }, ({ status }) => status === "successful"],
          [
            { ...everything, created: { from: START + 600_000, to: START + 1_800_000 } },
            ({ createdAt }) => createdAt >= START + 600_000 && createdAt < START + 1_800_000
          ],
          [{ ...everything, completed: { from: null, to: null } }, ({ completedAt }) => completedAt !== null],
          [
            { ...everything, completed: { from: START + 600_000, to: START + 1_800_000 } },
            ({ completedAt }) => completedAt !== null && completedAt >= START + 600_000 && completedAt < START + 1_800_000
          ],
          [{ ...everything, updatedFrom: START + 900_000 }, ({ updatedAt }) => updatedAt >= START + 900_000]
        ]
        for (const [filter, isOne] of filters) {
          const before = [...writes.committed.values()].filter(isOne)
          const items = yield* walked(filter, 1 + random.below(4), several(writes, random))
          const seen = Map.groupBy(items, ({ reference, version }) => `${reference} ${version}`)
          expect([...seen.values()].filter(({ length }) => length > 1)).toStrictEqual([])
          // What changed while it was walked is where its change is, or has left the list.
          const unchanged = before.filter(({ reference, version }) => writes.committed.get(reference)?.version === version)
          const missed = unchanged.filter(({ reference, version }) => !seen.has(`${reference} ${version}`))
          expect(missed).toStrictEqual([])
          expect(items.filter((item) => !isOne(item))).toStrictEqual([])
        }
      })
    )
)

it.live(
  "a change that is committed after a younger one is missed from the last change that was seen, and found from ten minutes before",
  () =>
    withWrites(6, ({ begin, commit }) =>
      Effect.gen(function* () {
        const [bare, careful] = [makeBooks(0), makeBooks(OVERLAP_MS)]
        const run = ({ from, keep }: ReturnType<typeof makeBooks>) =>
          Effect.map(walked({ ...everything, updatedFrom: from() }, 2, Effect.void), keep)
        const [late, younger] = [opened(1, START + 1_000), opened(2, START + 2_000)]
        yield* begin(late, START)
        yield* begin(younger, START)
        yield* commit(({ record }) => record === younger)
        yield* Effect.andThen(run(bare), run(careful))
        yield* commit(() => true)
        yield* Effect.andThen(run(bare), run(careful))
        expect([...bare.books.keys()]).toStrictEqual([younger.reference])
        expect([...careful.books.keys()]).toStrictEqual([younger.reference, late.reference])
      })
    )
)
