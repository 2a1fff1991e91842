export const name = "0011_observability"

/** What operators look at: what is open, what the last checks found, and the span that began each transaction. */
export const sql = `
-- Small whatever the history is: every scrape and gateway status look at it.
CREATE INDEX transactions_open ON transactions (created_at) WHERE status IN ('pending', 'requires_action');

-- W3C trace context of the request, so that work that comes later can be linked to it.
ALTER TABLE transactions ADD COLUMN traceparent text;

-- The last ledger verify, and the last reconcile of each provider.
CREATE TABLE checks (
  name text NOT NULL CHECK (name IN ('ledger verify', 'reconcile')),
  -- The provider that was compared; empty for the ledger.
  subject text NOT NULL,
  at timestamptz NOT NULL,
  differences int NOT NULL CHECK (differences >= 0),
  PRIMARY KEY (name, subject)
);
`
