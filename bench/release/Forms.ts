import type { SteppedMigration } from "../../src/persistence/schema/Migration.ts"

const column = "ALTER TABLE transactions ADD COLUMN batch text; ALTER TABLE journal ADD COLUMN weight int NOT NULL DEFAULT 1"
/** A tenth of the records: references are spread evenly over their first character, and letters come after digits. */
const TENTH = "3"

/** A migration of each form that a release can bring, on the tables that every payment writes to. */
export const forms: ReadonlyArray<SteppedMigration> = [
  { name: "9001_column", steps: [{ form: "transaction", sql: column }] },
  {
    name: "9002_constraint",
    steps: [
      { form: "transaction", sql: "ALTER TABLE transactions ADD CONSTRAINT revised CHECK (revision > 0) NOT VALID" },
      { form: "validate", table: "transactions", constraint: "revised" }
    ]
  },
  {
    name: "9003_index",
    steps: [{ form: "index", name: "transactions_by_kind", table: "transactions", definition: "(app_id, kind, created_at)" }]
  },
  {
    name: "9004_index_of_partitions",
    steps: [{ form: "index", name: "journal_by_fact", table: "journal", definition: "(app_id, fact, at)" }]
  },
  {
    name: "9005_rows",
    steps: [
      {
        form: "batches",
        sql: `WITH batch AS (SELECT app_id, reference FROM transactions WHERE reference > $1 AND reference < '${TENTH}' ORDER BY reference LIMIT 500),
          changed AS (UPDATE transactions t SET batch = '' FROM batch b WHERE t.app_id = b.app_id AND t.reference = b.reference)
          SELECT max(reference) AS reached FROM batch`
      }
    ]
  }
]

/** As it is made without steps: in one transaction, which nobody writes past. */
export const plainly = "CREATE INDEX transactions_plainly ON transactions (app_id, kind, created_at)"
