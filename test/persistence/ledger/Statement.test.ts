import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { credit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { FloatEntriesPg } from "../../../src/persistence/ledger/FloatEntriesPg.ts"
import {
  FloatEntries,
  type FloatName,
  type StatementEntry,
  type StatementPage,
  type StatementPosition,
  type StatementRange
} from "../../../src/services/ports/FloatEntries.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, given } from "../../support/LedgerSteps.ts"
import { seeded } from "../../support/Random.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const ugx: FloatName = { appId, mode: "live", currency: "UGX" }
const START = Date.parse("2026-03-01T00:00:00Z")
const everything: StatementRange = { from: null, to: null, type: null, reference: null }

const credited = (externalId: string, amount: bigint, at: number) =>
  Effect.flatMap(FloatLedger, ({ adjust }) =>
    adjust({
      ...ugx,
      direction: "credit",
      amount: minor(amount),
      externalId,
      note: "the operator's own words",
      at,
      entry: credit("UGX", minor(amount)),
      audit: auditEntry()
    })
  )

const sum = (items: ReadonlyArray<StatementEntry>, of: "available" | "reserved") =>
  items.reduce((total, { change }) => total + change[of], 0n)

/** Every page; each has to add up, and to begin with what the one before ended with. */
const walked = Effect.fnUntraced(function* (range: StatementRange, limit: number) {
  const { statement } = yield* FloatEntries
  const pages: Array<StatementPage> = []
  for (let after: StatementPosition | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
    const page: StatementPage = yield* statement(ugx, range, { limit, after })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    for (const part of ["available", "reserved"] as const)
      expect(page.opening[part] + sum(page.items, part)).toBe(page.closing[part])
    if (pages.length > 0) expect(page.opening).toEqual(pages.at(-1)?.closing)
    pages.push(page)
    after = page.next
  }
  return pages
})

it.live("opening and the items are closing, for every interval and page of any history", () =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = seeded(41)
      const moments: Array<number> = []
      for (let each = 0; each < 60; each++) {
        // Several entries of one moment, and days without any.
        const at = START + random.below(12) * 86_400_000 + random.below(3) * 1_000
        moments.push(at)
        yield* credited(`bank-${each}`, BigInt(1 + random.below(1_000)), at)
      }
      const whole = (yield* walked(everything, 100)).flatMap(({ items }) => items)
      expect(whole.length).toBe(60)
      const [position] = yield* sql<{ available: bigint }>`SELECT available_minor AS available FROM float_positions
        WHERE app_id = ${appId} AND mode = 'live' AND currency = 'UGX'`
      expect(whole.at(-1)?.after.available).toBe(position?.available)
      for (let each = 0; each < 25; each++) {
        const [from, to] = [START + random.below(12) * 86_400_000, START + random.below(14) * 86_400_000]
        const pages = yield* walked({ ...everything, from, to }, 1 + random.below(20))
        expect(pages.flatMap(({ items }) => items)).toEqual(whole.filter(({ at }) => at >= from && at < to))
      }
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("an entry that is committed after a younger one is never skipped: the place behind it is refused", () =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    yield* Effect.gen(function* () {
      const { statement } = yield* FloatEntries
      for (const second of [1, 3, 5]) yield* credited(`at ${second}`, 100n, START + second * 1_000)
      const range = { ...everything, from: START, to: START + 60_000 }
      const first = yield* statement(ugx, range, { limit: 2, after: null })
      expect(first.items.map(({ externalId }) => externalId)).toEqual(["at 1", "at 3"])
      yield* credited("late", 10n, START + 2_000)
      const refused = yield* Effect.flip(statement(ugx, range, { limit: 2, after: first.next }))
      expect(refused).toMatchObject({ _tag: "validation_failed", issues: [{ path: "cursor" }] })
      const again = (yield* walked(range, 2)).flatMap(({ items }) => items)
      expect(again.map(({ externalId }) => externalId)).toEqual(["at 1", "late", "at 3", "at 5"])
      // A younger one changes no place.
      const place = (yield* statement(ugx, range, { limit: 2, after: null })).next
      yield* credited("younger", 10n, START + 9_000)
      const rest = yield* statement(ugx, range, { limit: 9, after: place })
      expect(rest.items.map(({ externalId }) => externalId)).toEqual(["at 3", "at 5", "younger"])
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.live("pages that are read while others write hold every entry once", () =>
  Effect.gen(function* () {
    const { node } = yield* given(0n)
    yield* Effect.gen(function* () {
      const writing = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 120 }, (_, each) => each),
          (each) => credited(`writer ${each}`, 7n, START + ((each * 37) % 90) * 1_000),
          { concurrency: 4, discard: true }
        )
      )
      const isOver = () => writing.pollUnsafe() !== undefined
      let [refusals, walks] = [0, 0]
      while (!isOver() || walks === 0) {
        const pages = yield* walked({ ...everything, from: START }, 10).pipe(
          Effect.catchTag("validation_failed", () => Effect.sync(() => void refusals++))
        )
        if (pages === undefined) continue
        walks++
        const ids = pages.flatMap(({ items }) => items.map(({ externalId }) => externalId))
        expect(new Set(ids).size).toBe(ids.length)
      }
      const ids = (yield* walked({ ...everything, from: START }, 10)).flatMap(({ items }) => items)
      expect(ids.filter(({ externalId }) => externalId?.startsWith("writer")).length).toBe(120)
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
