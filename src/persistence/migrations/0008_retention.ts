export const name = "0008_retention"

/** What finds the keyed HMACs of numbers that have had their 90 days. */
export const sql = `
CREATE INDEX transactions_with_party ON transactions (created_at) WHERE party_hash IS NOT NULL;
CREATE INDEX payer_locks_by_age ON payer_locks (at);
`
