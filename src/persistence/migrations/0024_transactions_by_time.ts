export const name = "0024_transactions_by_time"

/** A tenant's own list, the newest first. Its filters have no index of their own: each would cost every payment an entry. */
export const sql = `
CREATE INDEX transactions_by_tenant_and_time ON transactions (app_id, mode, created_at, reference);
`
