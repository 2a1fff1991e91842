import { expect, it } from "@effect/vitest"
import { Context, Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { breachesStatement } from "../../../src/persistence/ledger/LedgerRule.ts"
import { ledgerRules } from "../../../src/persistence/ledger/LedgerVerificationPg.ts"
import { functionFiles } from "../../../src/persistence/schema/FunctionFiles.ts"
import { Migrations } from "../../../src/persistence/schema/Migrations.ts"
import { recordText } from "../../../src/persistence/transactions/StoredRecord.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { collection, NOON } from "../../support/SampleTransactions.ts"
import { givenLedger } from "../../support/TestLedger.ts"

const NAME = "0025_corrections"
/** More than two batches of the migration. */
const RECORDS = 2_300
const releaseBefore = Migrations.all.filter(({ name }) => name < NAME)

const collected = collection({
  amount: minor(20_000n),
  status: "successful",
  observedAmount: minor(19_000n),
  observedCurrency: "UGX",
  fees: minor(285n),
  completedAt: NOON,
  version: 4
})
/** As the release before wrote what a person had reversed. */
const old = {
  ...collected,
  observedAmount: minor(0n),
  fees: minor(0n),
  failure: { code: "unknown", message: "It was reversed after it had succeeded." },
  ruling: { outcome: "failed", known: ["succeeded 19000 UGX"] }
} as const

/** Of a hundred records one was reversed, and another one corrected. */
const inserted = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const at = sql`to_timestamp(${NOON / 1000})`
  yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, slots, created_at)
    SELECT 'acme', r.reference, 'live', 'collection', 'successful', false, 'eversend', 3,
      replace(CASE WHEN r.n % 100 = 0 THEN ${recordText(old)} ELSE ${recordText(collected)} END, ${collected.reference}, r.reference)::json,
      CASE WHEN r.n % 50 = 0 THEN '{close,correction}'::text[] ELSE '{close}' END, ${at}
    FROM (SELECT n, 'R' || lpad(n::text, 25, '0') AS reference FROM generate_series(1, ${RECORDS}::int) n) r`
  const posted = (revision: number, slot: string, phase: string, amounts: string) => sql`
    INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts, record_digest)
    SELECT app_id, reference, ${revision}::int, mode, ${at}, 'review', 'Resolved', '', status, ${slot}, ${phase}, '{UGX,UGX,UGX}',
      '{available,collected,provider_fees}', ${amounts}::bigint[], record_digest(record::text) FROM transactions WHERE 'correction' = ANY (slots)`
  yield* posted(2, "close", "collect", "{18715,-19000,285}")
  yield* posted(3, "correction", "correct", "{-18715,19000,-285}")
})

it.live(
  "what an earlier release reversed says so as this one does, with the amounts of the journal; nothing else is changed, and nothing twice",
  () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.promise(() => freshDatabase())
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* Migrations.apply(releaseBefore, functionFiles)
        yield* inserted(sql)
        const standing = sql<{ reference: string; record: unknown; revision: bigint }>`
          SELECT reference, record, revision FROM transactions ORDER BY 1`
        const isReversed = ({ reference }: { readonly reference: string }) => reference.endsWith("00")
        const before = yield* standing
        yield* Database.migrate
        const after = yield* standing
        expect(after.filter((one) => !isReversed(one))).toStrictEqual(before.filter((one) => !isReversed(one)))
        expect(after.filter(isReversed).map(({ revision }) => revision)).toStrictEqual(
          Array.from({ length: RECORDS / 100 }, () => 4n)
        )
        expect(yield* sql`SELECT DISTINCT revision, actor, note, status FROM journal WHERE fact = 'Migrated'`).toStrictEqual([
          {
            revision: 4n,
            actor: "operator",
            note: "a reversal of an earlier release: 19000 had been collected, 285 charged",
            status: "successful"
          }
        ])
        const kept = ["corrections_make_the_record", "records_are_as_written", "corrections_are_one_a_case"]
        for (const one of ledgerRules.filter(({ rule }) => kept.includes(rule))) {
          const found = yield* sql.unsafe<{ subject: string }>(breachesStatement(one, RECORDS))
          const references = found.map(({ subject }) => ({ reference: subject.split("/")[1] ?? "" }))
          expect(references.filter(isReversed)).toStrictEqual([])
        }
      }).pipe(Effect.provide(Database.layer({ url: Redacted.make(url) })))

      const ports = yield* givenLedger(Redacted.make(url))
      const reference = Reference.make(`R${"100".padStart(25, "0")}`)
      const stored = yield* Context.get(ports, Transactions).byReference(reference)
      expect(Option.getOrThrow(stored).transaction).toStrictEqual({
        ...collected,
        reference,
        ruling: old.ruling,
        reversed: { amount: 18_715n, at: NOON, reason: old.failure.message }
      })
    }).pipe(Effect.scoped)
)
