export const name = "0004_fx"

/** Exchanges between a tenant's positions: a third kind of record with an entry of its own, and the quotes that they are made of. */
export const sql = `
ALTER TABLE transactions DROP CONSTRAINT transactions_kind_check;
ALTER TABLE transactions ADD CONSTRAINT transactions_kind_check CHECK (kind IN ('collection', 'payout', 'exchange'));

ALTER TABLE journal DROP CONSTRAINT journal_phase_check;
ALTER TABLE journal ADD CONSTRAINT journal_phase_check
  CHECK (phase IN ('credit', 'debit', 'reserve', 'collect', 'settle', 'release', 'exchange', 'return', 'correct'));

CREATE TABLE fx_quotes (
  app_id text NOT NULL REFERENCES tenants,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  quote_id text NOT NULL,
  provider text NOT NULL,
  -- The provider's own handle, worth nothing without the gateway's credentials there.
  token text NOT NULL,
  source_currency text NOT NULL,
  source_minor bigint NOT NULL CHECK (source_minor > 0),
  destination_currency text NOT NULL,
  destination_minor bigint NOT NULL CHECK (destination_minor > 0),
  destination_raw text NOT NULL,
  rate text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The idempotency key that it was taken by: only that one may take it again.
  taken_by text,
  PRIMARY KEY (app_id, mode, quote_id)
);
CREATE INDEX fx_quotes_expiring ON fx_quotes (app_id, mode, expires_at);
`
