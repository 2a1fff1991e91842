export const name = "0013_keys_by_age"

/** What finds the idempotency keys that have had their 90 days. */
export const sql = `
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
`
