import { it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { describe, expect } from "vitest"
import { applyStatement } from "../../../src/persistence/ledger/FloatLedgerPg.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, applyStep, given, openOne, openStep, position, succeeded } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"

/** A payout that was opened and settled. */
const settled = Effect.gen(function* () {
  const claim = yield* givenClaim(appId, "settled")
  const ledger = yield* FloatLedger
  yield* ledger.open(openStep(claim, 10_000n))
  const step = yield* applyStep(claim, succeeded)
  yield* ledger.apply(step)
  return { reference: claim.reference, step }
})

/** An entry, and the rule of the table that refuses it; null where it is as it should be. */
const entries: ReadonlyArray<readonly [refusedBy: string | null, columns: string, values: string]> = [
  [null, "slot, phase, currencies, accounts, amounts", "'open', 'credit', '{UGX,UGX}', '{available,credited}', '{5,-5}'"],
  [null, "fact", "'Noted'"],
  [
    "entry_is_whole",
    "slot, phase, currencies, accounts, amounts",
    "'open', 'credit', '{UGX,UGX}', '{available,credited}', '{5,-4}'"
  ],
  [
    "entry_is_whole",
    "slot, phase, currencies, accounts, amounts",
    "'close', 'exchange', '{UGX,UGX,KES,KES}', '{reserved,fx_out,available,fx_in}', '{-5,4,3,-2}'"
  ],
  ["entry_is_whole", "slot, phase, currencies, accounts, amounts", "'open', 'credit', '{UGX}', '{available,credited}', '{5,-5}'"],
  ["entry_is_whole", "slot, phase, currencies, accounts, amounts", "'open', 'credit', '{UGX,UGX}', '{available}', '{5,-5}'"],
  [
    "entry_is_whole",
    "slot, phase, currencies, accounts, amounts",
    "'open', 'credit', '{UGX,UGX,NULL,NULL}', '{available,credited,available,credited}', '{5,-5,3,-3}'"
  ],
  ["entry_is_whole", "slot, phase, currencies, accounts, amounts", "'open', 'credit', '{UGX,UGX}', '{available,NULL}', '{5,-5}'"],
  ["entry_is_whole", "slot, phase, currencies, accounts, amounts", "'open', 'credit', '{UGX,UGX}', '{available,mine}', '{5,-5}'"],
  [
    "entry_is_whole",
    "slot, phase, currencies, accounts, amounts",
    "'open', 'credit', '{UGX,UGX,UGX}', '{available,credited,pool}', '{5,-5,0}'"
  ],
  ["entry_is_whole", "currencies, accounts, amounts", "'{UGX,UGX}', '{available,credited}', '{5,-5}'"],
  ["entry_is_whole", "slot", "'open'"]
]

describe("the journal", () => {
  it.live("has one row a step, with the line of the history and the entry", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { reference } = yield* settled
        const rows =
          yield* sql`SELECT revision, fact, status, slot, phase, amounts FROM journal WHERE reference = ${reference} ORDER BY 1`
        expect(rows.map((row) => ({ ...row, amounts: [...Object(row["amounts"])].map(Number).sort() }))).toStrictEqual([
          { revision: 1n, fact: "Opened", status: "pending", slot: "open", phase: "reserve", amounts: [-11_000, 11_000] },
          {
            revision: 2n,
            fact: "Succeeded",
            status: "successful",
            slot: "close",
            phase: "settle",
            amounts: [-11_000, 10_000, 1_000].sort()
          }
        ])
        expect(yield* sql`SELECT slots FROM transactions WHERE reference = ${reference}`).toStrictEqual([
          { slots: ["open", "close"] }
        ])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("takes no second entry in a slot of a record, and nothing of the step or the batch that brings it", () =>
    Effect.gen(function* () {
      const { node } = yield* given(50_000n)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { reference, step } = yield* settled
        // So much stays reserved that nothing but the slot refuses the second entry.
        yield* openOne(appId, "kept", 20_000n)
        const other = yield* givenClaim(appId, "other")
        yield* (yield* FloatLedger).open(openStep(other, 10_000n))
        const again = { ...step, expectedRevision: step.expectedRevision + 1n, traceparent: null }
        const others = { ...(yield* applyStep(other, succeeded)), traceparent: null }
        for (const steps of [[again], [others, again]])
          expect(Exit.isFailure(yield* Effect.exit(sql.unsafe(...applyStatement(steps))))).toBe(true)
        expect(yield* position(appId)).toStrictEqual([7_000n, 32_000n])
        expect(yield* sql`SELECT revision FROM transactions WHERE reference = ${reference}`).toStrictEqual([{ revision: 2n }])
        expect(yield* sql`SELECT count(*)::int AS count FROM journal WHERE reference = ${reference}`).toStrictEqual([
          { count: 2 }
        ])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("refuses an entry that does not balance, is not whole or has no slot", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      const sql = yield* Effect.provideContext(SqlClient.SqlClient, node)
      const refusedBy = (columns: string, values: string) => {
        const fact = columns === "fact" ? "" : ", fact"
        return sql
          .unsafe(
            `INSERT INTO journal (app_id, reference, revision, mode, at, actor, note, ${columns}${fact})
              VALUES ('acme', gen_random_uuid(), 1, 'live', now(), 'operator', '', ${values}${fact === "" ? "" : ", 'Credited'"})`
          )
          .pipe(
            Effect.as(null),
            Effect.catch(({ reason: { cause } }: SqlError.SqlError) =>
              Effect.succeed(cause instanceof Error ? (/"(entry_\w+)"/.exec(cause.message)?.[1] ?? cause.message) : "?")
            )
          )
      }
      const found = yield* Effect.forEach(entries, ([, columns, values]) => refusedBy(columns, values))
      expect(found).toStrictEqual(entries.map(([expected]) => expected))
    }).pipe(Effect.scoped)
  )
})
