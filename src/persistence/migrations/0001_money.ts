export const name = "0001_money"

/**
 * What the money steps write. Every tenant's table leads its primary key with app_id, so that the schema can be distributed by it.
 * Locks are always taken in this order: transactions, idempotency_keys, tenants, float_positions; within a table by primary key.
 */
export const sql = `
CREATE TABLE tenants (
  app_id text PRIMARY KEY,
  status text NOT NULL CHECK (status IN ('active', 'frozen')),
  capabilities text[] NOT NULL,
  created_at timestamptz NOT NULL
);

-- Fences never repeat, not even for a key that was released and claimed anew.
CREATE SEQUENCE fences;

CREATE TABLE idempotency_keys (
  app_id text NOT NULL,
  mode text NOT NULL,
  endpoint text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  fence bigint NOT NULL,
  -- claimed: somebody works on it; pinned: a transaction exists, its answer is not final; done: the answer is kept.
  state text NOT NULL CHECK (state IN ('claimed', 'pinned', 'done')),
  lease_until timestamptz NOT NULL,
  reference text,
  answer_status int,
  answer_body bytea,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, mode, endpoint, key),
  CHECK ((state = 'done') = (answer_status IS NOT NULL AND answer_body IS NOT NULL)),
  CHECK (state <> 'pinned' OR reference IS NOT NULL),
  CHECK (state <> 'claimed' OR reference IS NULL)
);

CREATE TABLE transactions (
  app_id text NOT NULL,
  reference text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  kind text NOT NULL CHECK (kind IN ('collection', 'payout')),
  status text NOT NULL CHECK (status IN ('requires_action', 'pending', 'successful', 'failed', 'expired')),
  needs_review boolean NOT NULL,
  provider text NOT NULL,
  provider_reference text,
  -- Grows with every write; a step applies to exactly the revision that it was decided against.
  revision bigint NOT NULL,
  -- json and not jsonb: it is only ever read as a whole.
  record json NOT NULL,
  party_hash bytea,
  sealed_destination bytea,
  next_ask_at timestamptz,
  ask_lease_until timestamptz,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, reference)
);
CREATE UNIQUE INDEX transactions_by_reference ON transactions (reference);
CREATE INDEX transactions_by_provider_reference ON transactions (provider, provider_reference) WHERE provider_reference IS NOT NULL;
CREATE INDEX transactions_due ON transactions (next_ask_at) WHERE next_ask_at IS NOT NULL;

CREATE TABLE transaction_history (
  app_id text NOT NULL,
  reference text NOT NULL,
  line bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  fact text NOT NULL,
  note text NOT NULL,
  status text NOT NULL,
  PRIMARY KEY (app_id, reference, line)
);

-- One row an entry. settle and release share the slot 'close': only one of them can ever exist for a transaction.
CREATE TABLE journal (
  app_id text NOT NULL,
  reference text NOT NULL,
  slot text NOT NULL CHECK (slot IN ('open', 'close', 'return', 'correction')),
  mode text NOT NULL,
  phase text NOT NULL CHECK (phase IN ('credit', 'debit', 'reserve', 'collect', 'settle', 'release', 'return', 'correct')),
  at timestamptz NOT NULL,
  PRIMARY KEY (app_id, reference, slot)
);

CREATE TABLE postings (
  app_id text NOT NULL,
  reference text NOT NULL,
  slot text NOT NULL,
  currency text NOT NULL,
  account text NOT NULL CHECK (account IN ('available', 'reserved', 'collected', 'paid_out', 'provider_fees', 'credited', 'debited',
    'fx_in', 'fx_out', 'returned', 'drift', 'pool')),
  mode text NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor <> 0),
  PRIMARY KEY (app_id, reference, slot, currency, account)
);

-- The fold of a tenant's postings in one currency.
CREATE TABLE float_positions (
  app_id text NOT NULL,
  mode text NOT NULL,
  currency text NOT NULL,
  available_minor bigint NOT NULL DEFAULT 0 CHECK (available_minor >= 0),
  reserved_minor bigint NOT NULL DEFAULT 0 CHECK (reserved_minor >= 0),
  collected_minor bigint NOT NULL DEFAULT 0,
  paid_out_minor bigint NOT NULL DEFAULT 0,
  provider_fees_minor bigint NOT NULL DEFAULT 0,
  credited_minor bigint NOT NULL DEFAULT 0,
  debited_minor bigint NOT NULL DEFAULT 0,
  fx_in_minor bigint NOT NULL DEFAULT 0,
  fx_out_minor bigint NOT NULL DEFAULT 0,
  returned_minor bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (app_id, mode, currency),
  CONSTRAINT float_adds_up CHECK (available_minor + reserved_minor =
    collected_minor + credited_minor + fx_in_minor + returned_minor
    - fx_out_minor - paid_out_minor - debited_minor - provider_fees_minor)
);

-- An operator's credits and debits, known by their external id.
CREATE TABLE float_adjustments (
  app_id text NOT NULL,
  mode text NOT NULL,
  external_id text NOT NULL,
  reference text NOT NULL,
  direction text NOT NULL CHECK (direction IN ('credit', 'debit')),
  currency text NOT NULL,
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  note text NOT NULL,
  at timestamptz NOT NULL,
  position json NOT NULL,
  PRIMARY KEY (app_id, mode, external_id)
);

-- Events with their bytes frozen in the commit that caused them.
CREATE TABLE events (
  app_id text NOT NULL,
  id text NOT NULL,
  mode text NOT NULL,
  type text NOT NULL,
  reference text,
  body text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id)
);

CREATE TABLE webhook_endpoints (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  url text NOT NULL,
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  secret_sealed bytea NOT NULL,
  previous_secret_sealed bytea,
  previous_until timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, mode)
);

CREATE TABLE deliveries (
  app_id text NOT NULL,
  id text NOT NULL,
  mode text NOT NULL,
  event_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('due', 'delivered', 'parked')),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  lease_until timestamptz,
  created_at timestamptz NOT NULL,
  completed_at timestamptz,
  PRIMARY KEY (app_id, id),
  CHECK ((status = 'due') = (next_attempt_at IS NOT NULL))
);
CREATE INDEX deliveries_due ON deliveries (app_id, mode, next_attempt_at) WHERE status = 'due';

-- Stops a statement whose parts do not agree with each other, so that nothing of it is committed.
CREATE FUNCTION refuse_commit(reason text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'money step refused: %', reason;
END
$$;
`
