/** What a release could bring that comes after this one: columns, an index and a check of tables that every payment writes to or reads. */
export const ofNextRelease = {
  name: "9999_next",
  steps: [
    {
      form: "transaction",
      sql: "ALTER TABLE transactions ADD COLUMN batch text; ALTER TABLE journal ADD COLUMN weight int NOT NULL DEFAULT 1"
    },
    { form: "index", name: "journal_by_fact", table: "journal", definition: "(app_id, fact, at)" },
    { form: "transaction", sql: "ALTER TABLE tenants ADD CONSTRAINT named CHECK (app_id <> '') NOT VALID" },
    { form: "validate", table: "tenants", constraint: "named" }
  ]
} as const
