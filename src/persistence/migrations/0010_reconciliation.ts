export const name = "0010_reconciliation"

/** What was begun at one provider on one day. */
export const sql = `
CREATE INDEX transactions_by_provider_day ON transactions (provider, mode, created_at, reference);
`
