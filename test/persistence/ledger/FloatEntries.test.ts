import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { credit, debit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { FloatEntriesPg } from "../../../src/persistence/ledger/FloatEntriesPg.ts"
import {
  type EntryPage,
  type EntryPosition,
  FloatEntries,
  type FloatEntry,
  type FloatName
} from "../../../src/services/ports/FloatEntries.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, applyStep, given, openStep, succeeded } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const PAYOUTS = 5
const PAGE = 3
const ugx: FloatName = { appId, mode: "live", currency: "UGX" }

const paidOut = Effect.fnUntraced(function* (key: string) {
  const ledger = yield* FloatLedger
  const claim = yield* givenClaim(appId, key)
  expect(yield* ledger.open(openStep(claim, 2_000n))).toEqual({ _tag: "Opened" })
  expect(yield* ledger.apply(yield* applyStep(claim, succeeded))).toEqual({ _tag: "Applied" })
})

const adjusted = (direction: "credit" | "debit", externalId: string, float: FloatName, at: number) =>
  Effect.flatMap(FloatLedger, ({ adjust }) =>
    adjust({
      ...float,
      direction,
      amount: minor(300n),
      externalId,
      note: "by hand; calls: bank sent 200 in 3 (wait 1)",
      at,
      entry: direction === "credit" ? credit("UGX", minor(300n)) : debit("UGX", minor(300n)),
      audit: auditEntry()
    })
  )

/** An exchange and a correction that leaves a debt, as they stand in the journal, with what they do to the positions. */
const exchangedAndCorrected = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const insert = (reference: string, phase: string, postings: string) =>
    sql.unsafe(`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, slot, phase, currencies, accounts, amounts)
      VALUES ('${appId}', '${reference.repeat(26)}', 2, 'live', to_timestamp(${NOON / 1000 + 60}), 'review', 'Resolved', 'n', ${phase}, ${postings})`)
  yield* insert("A", "'close', 'exchange'", "'{UGX,UGX,KES,KES}', '{available,fx_out,available,fx_in}', '{-50,50,7,-7}'")
  yield* insert("B", "'correction', 'correct'", "'{UGX,UGX,UGX}', '{available,receivable,paid_out}', '{-10,-500,510}'")
  yield* sql`UPDATE float_positions SET available_minor = available_minor - 60, fx_out_minor = fx_out_minor + 50,
    receivable_minor = receivable_minor + 500, paid_out_minor = paid_out_minor + 510`
  yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, fx_in_minor) VALUES (${appId}, 'live', 'KES', 7, 7)`
})

const everyPage = Effect.fnUntraced(function* (float: FloatName, limit: number) {
  const { list } = yield* FloatEntries
  const pages: Array<ReadonlyArray<FloatEntry>> = []
  let before: EntryPosition | null = null
  do {
    const page: EntryPage = yield* list(float, before, limit)
    pages.push(page.items)
    before = page.next
  } while (before !== null)
  return pages
})

it.live("lists every entry of a float once, the newest first, and ends each in what the entry before it began with", () =>
  Effect.gen(function* () {
    const { node } = yield* given(50_000n)
    yield* Effect.gen(function* () {
      for (let payout = 0; payout < PAYOUTS; payout++) yield* paidOut(`paid ${payout}`)
      yield* adjusted("debit", "bank-17", ugx, NOON + 1_000)
      yield* exchangedAndCorrected
      yield* adjusted("credit", "bank-17", { ...ugx, mode: "test" }, NOON)
      const sql = yield* SqlClient.SqlClient
      const [whole = [], ...others] = yield* everyPage(ugx, 100)
      expect([whole.length, others]).toEqual([1 + 2 * PAYOUTS + 1 + 2, []])
      const paged = yield* everyPage(ugx, PAGE)
      expect(paged.map(({ length }) => length)).toEqual([3, 3, 3, 3, 2])
      expect(paged.flat()).toEqual(whole)
      // Held against the position, and against nothing at the beginning.
      const [position] = yield* sql<{ available: bigint; reserved: bigint }>`
        SELECT available_minor - receivable_minor AS available, reserved_minor AS reserved FROM float_positions
        WHERE app_id = ${appId} AND mode = 'live' AND currency = 'UGX'`
      const states = [
        position,
        ...whole.map(({ after, change }) => ({
          available: after.available - change.available,
          reserved: after.reserved - change.reserved
        }))
      ]
      expect(whole.map(({ after }) => after)).toEqual(states.slice(0, -1))
      expect(states.at(-1)).toEqual({ available: 0n, reserved: 0n })
      expect(whole.slice(0, 3).map((entry) => [entry.phase, entry.change.available, entry.externalId])).toEqual([
        ["correct", -510n, null],
        ["exchange", -50n, null],
        ["debit", -300n, "bank-17"]
      ])
      // What a person wrote, whatever form it has.
      expect(whole[2]?.note).toBe("by hand; calls : bank sent 200 in 3 (wait 1)")
      const [kes = []] = yield* everyPage({ ...ugx, currency: "KES" }, 100)
      expect(kes.map(({ after, change, phase }) => [phase, change.available, after.available])).toEqual([["exchange", 7n, 7n]])
      expect((yield* everyPage({ ...ugx, mode: "test" }, 100)).flat().map(({ phase }) => phase)).toEqual(["credit"])
      expect((yield* everyPage({ ...ugx, currency: "GHS" }, 100)).flat()).toEqual([])
    }).pipe(Effect.provide(FloatEntriesPg), Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
