import { it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import type { Mode } from "../../../src/domain/Ids.ts"
import { applyStatement } from "../../../src/persistence/ledger/FloatLedgerPg.ts"
import { openStatement } from "../../../src/persistence/ledger/OpenSteps.ts"
import { appId, applyStep, given, openStep, succeeded } from "../../support/LedgerSteps.ts"
import { claimKey } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const endpoint = "POST /v1/payouts"
const hour = { name: "payout:hour", subject: "", startsAt: NOON, endsAt: NOON + 3_600_000, window: "hour" } as const

/** A tenant with UGX 10,000, an unused window and a payer that nobody charges, in each mode. */
const givenBothModes = Effect.gen(function* () {
  const { node } = yield* given(10_000n)
  const sql = Context.get(node, SqlClient.SqlClient)
  yield* sql`INSERT INTO float_positions (app_id, mode, currency, available_minor, credited_minor) VALUES (${appId}, 'test', 'UGX', 10000, 10000)`
  yield* sql`INSERT INTO counters (app_id, mode, name, subject, starts_at)
    SELECT ${appId}, m, ${hour.name}, '', to_timestamp(${NOON / 1000}) FROM unnest('{live,test}'::text[]) m`
  yield* sql`INSERT INTO payer_locks (app_id, mode, party_hash, at)
    SELECT ${appId}, m, ${new Uint8Array(32)}, now() FROM unnest('{live,test}'::text[]) m`
  return { node, sql }
})

const stepOf = Effect.fnUntraced(function* (mode: Mode) {
  const claimed = yield* claimKey({ appId, mode, endpoint, key: mode })
  if (claimed._tag !== "Fresh") return yield* Effect.die(new Error(`the key was ${claimed._tag}`))
  const step = openStep(claimed.claim, 1_000n)
  const counter = { ...hour, appId, mode, amount: 1n, bound: 5n }
  const transaction = { ...step.transaction, mode }
  return { ...step, transaction, counters: [counter], payer: { holder: null }, traceparent: null }
})

const exhausted: ReadonlyArray<readonly [what: string, change: string, verdict: string]> = [
  ["float", "UPDATE float_positions SET available_minor = 0, debited_minor = 10000 WHERE mode = 'live'", "ShortFloat"],
  ["window", "UPDATE counters SET used = 5 WHERE mode = 'live'", "OverCap"],
  ["payer", "UPDATE payer_locks SET reference = 'another charge' WHERE mode = 'live'", "PayerBusy"]
]

describe("a batch of both modes", () => {
  for (const [what, change, verdict] of exhausted)
    it.live(`compares each step with the ${what} of its own mode`, () =>
      Effect.gen(function* () {
        const { node, sql } = yield* givenBothModes
        yield* sql.unsafe(change)
        const steps = yield* Effect.provideContext(Effect.forEach(["live", "test"] as const, stepOf), node)
        const rows = yield* sql.unsafe<{ verdict: string }>(...openStatement(steps))
        expect(rows.map((row) => row.verdict)).toStrictEqual([verdict, "Opened"])
      }).pipe(Effect.scoped)
    )
})

describe("a decision", () => {
  for (const [how, copies] of [
    ["alone", 1],
    ["of a batch", 2]
  ] as const)
    it.live(`${how} applies to a transaction of its own mode only`, () =>
      Effect.gen(function* () {
        const { node, sql } = yield* givenBothModes
        const step = yield* Effect.provideContext(stepOf("live"), node)
        yield* sql.unsafe(...openStatement([step]))
        const applying = yield* Effect.provideContext(applyStep(step.claim, succeeded), node)
        const other = { ...applying, next: { ...applying.next, mode: "test" as const }, traceparent: null }
        const rows = yield* sql.unsafe<{ applied: boolean }>(...applyStatement(Array.from({ length: copies }, () => other)))
        expect(rows.map(({ applied }) => applied)).toStrictEqual(Array.from({ length: copies }, () => false))
      }).pipe(Effect.scoped)
    )
})
