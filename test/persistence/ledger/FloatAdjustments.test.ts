import { it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { describe, expect } from "vitest"
import { AppId } from "../../../src/domain/Ids.ts"
import { credit, debit } from "../../../src/domain/Ledger.ts"
import { LARGEST_AMOUNT, minor } from "../../../src/domain/Money.ts"
import { isFullFloat } from "../../../src/persistence/ledger/ManualEntries.ts"
import { type Adjustment, FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, given, openOne, position } from "../../support/LedgerSteps.ts"
import { givenFloat } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const adjustmentOf = (direction: "credit" | "debit", amount: bigint, externalId: string): Adjustment => ({
  appId,
  mode: "live",
  currency: "UGX",
  direction,
  amount: minor(amount),
  externalId,
  note: "by hand",
  at: NOON,
  entry: (direction === "credit" ? credit : debit)("UGX", minor(amount)),
  audit: auditEntry()
})

describe("an operator's credits and debits", () => {
  it.live("posts an adjustment once per external id and answers its first result again", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        const adjustment = adjustmentOf("credit", 700n, "bank-1")
        const first = yield* ledger.adjust(adjustment)
        yield* givenFloat(appId, 50n)
        expect(yield* ledger.adjust(adjustment)).toStrictEqual({ ...first, isNew: false })
        const others: ReadonlyArray<Partial<Adjustment>> = [
          { amount: minor(701n) },
          { currency: "KES", entry: credit("KES", minor(700n)) },
          { direction: "debit", entry: debit("UGX", minor(700n)) }
        ]
        for (const other of others) expect(yield* ledger.adjust({ ...adjustment, ...other })).toStrictEqual({ _tag: "Conflict" })
        expect(yield* ledger.adjust({ ...adjustment, appId: AppId.make("nobody") })).toStrictEqual({ _tag: "NoTenant" })
        expect(yield* position(appId)).toStrictEqual([750n, 0n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("books nothing by the reference of a transaction that is there", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        yield* openOne(appId, "key", 10_000n)
        const [row] = yield* (yield* SqlClient.SqlClient)<{ reference: string }>`SELECT reference FROM transactions`
        for (const direction of ["debit", "credit"] as const)
          expect(yield* ledger.adjust(adjustmentOf(direction, 1n, row?.reference ?? ""))).toStrictEqual({ _tag: "OfRecord" })
        expect(yield* position(appId)).toStrictEqual([39_000n, 11_000n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("takes no more than there is, and credits no more in all than the largest amount", () =>
    Effect.gen(function* () {
      const { node } = yield* given(750n)
      yield* Effect.gen(function* () {
        const ledger = yield* FloatLedger
        expect(yield* ledger.adjust(adjustmentOf("debit", 751n, "bank-2"))).toStrictEqual({ _tag: "ShortFloat", available: 750n })
        expect(yield* ledger.adjust(adjustmentOf("debit", 750n, "bank-2"))).toMatchObject({ position: { available: 0n } })
        expect(yield* ledger.adjust(adjustmentOf("credit", LARGEST_AMOUNT - 750n, "bank-3"))).toMatchObject({ isNew: true })
        expect(yield* ledger.adjust(adjustmentOf("credit", 1n, "bank-4"))).toStrictEqual({ _tag: "FullFloat" })
        expect(yield* position(appId)).toStrictEqual([LARGEST_AMOUNT - 750n, 0n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it("knows a full float by what Citus passes on of its server's error, and no other constraint for one", () => {
    const refused = (constraint: string) => {
      const message = `new row for relation "float_positions_102213" violates check constraint "${constraint}"`
      const cause = Object.assign(new Error(message), { code: "23514" })
      return new SqlError.SqlError({
        reason: new SqlError.ConstraintError({ cause, message: "Query failed", operation: "execute" })
      })
    }
    expect(isFullFloat(refused("float_within_bounds"))).toBe(true)
    expect(isFullFloat(refused("float_within_bounds_102213"))).toBe(true)
    expect(isFullFloat(refused("float_positions_available_minor_check"))).toBe(false)
  })

  it.live("is posted, counted and audited in one commit, in its own mode", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      const sql = Context.get(node, SqlClient.SqlClient)
      const { adjust } = Context.get(node, FloatLedger)
      yield* adjust({ ...adjustmentOf("credit", 5n, "bank-1"), mode: "test" })
      yield* adjust(adjustmentOf("credit", 700n, "bank-1"))
      const others = { credited: 700n, debited: 200n, fxIn: 0n, fxOut: 0n, returned: 0n, owed: 0n }
      const after = { currency: "UGX", available: 500n, reserved: 0n, collected: 0n, paidOut: 0n, providerFees: 0n, ...others }
      expect(yield* adjust(adjustmentOf("debit", 200n, "bank-2"))).toStrictEqual({
        _tag: "Adjusted",
        position: after,
        isNew: true
      })
      expect(
        yield* sql`SELECT mode, available_minor, credited_minor, debited_minor, receivable_minor FROM float_positions ORDER BY mode`
      ).toEqual([
        { mode: "live", available_minor: 500n, credited_minor: 700n, debited_minor: 200n, receivable_minor: 0n },
        { mode: "test", available_minor: 5n, credited_minor: 5n, debited_minor: 0n, receivable_minor: 0n }
      ])
      const lines = yield* sql<{
        reference: string
      }>`SELECT j.reference, j.revision::int AS revision, actor, fact, j.note, slot, phase,
          array_to_string(currencies, ' ') AS currencies, array_to_string(accounts, ' ') AS accounts, array_to_string(amounts, ' ') AS amounts
        FROM journal j JOIN float_adjustments a USING (app_id, reference) WHERE j.mode = 'live' AND j.at = a.at ORDER BY external_id`
      const common = { revision: 1, actor: "operator", note: "by hand", currencies: "UGX UGX" }
      expect(lines).toMatchObject([
        { ...common, fact: "Credited", slot: "open", phase: "credit", accounts: "available credited", amounts: "700 -700" },
        { ...common, fact: "Debited", slot: "open", phase: "debit", accounts: "available debited", amounts: "-200 200" }
      ])
      const rows = yield* sql<{ details: string }>`SELECT details FROM audit_log ORDER BY sequence`
      expect(rows.map(({ details }) => JSON.parse(details)).slice(-2)).toStrictEqual(
        (
          [
            ["credit", "700", "bank-1"],
            ["debit", "200", "bank-2"]
          ] as const
        ).map(([direction, amount_minor, external_id], at) => ({
          ...auditEntry().details,
          app_id: appId,
          mode: "live",
          direction,
          currency: "UGX",
          amount_minor,
          external_id,
          reference: lines[at]?.reference,
          note: "by hand"
        }))
      )
    }).pipe(Effect.scoped)
  )
})
