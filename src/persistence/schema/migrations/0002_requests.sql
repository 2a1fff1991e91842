-- Who asks, and what admits or refuses a request before money moves: tenants and their keys, nonces, idempotency keys, limits and what is
-- used of them, numbers that are refused, codes, and quotes.

CREATE TABLE tenants (
  app_id text PRIMARY KEY,
  status text NOT NULL CHECK (status IN ('active', 'frozen')),
  capabilities text[] NOT NULL,
  created_at timestamptz NOT NULL,
  -- Served by this provider wherever it can.
  pinned_provider text,
  -- Whether a further charge of a number may follow one that succeeded a moment ago: it is another sale then.
  repeat_sales boolean NOT NULL DEFAULT false
);

-- Who there is, written with the tenant's own row. On Citus this table stays on the coordinator, and so tells which tenants there are, and
-- whose a reference may be, whatever server does not answer.
CREATE TABLE tenant_directory (
  app_id text PRIMARY KEY,
  -- Hidden in the first characters of the tenant's references (src/domain/ReferenceBucket.ts).
  bucket int NOT NULL CHECK (bucket BETWEEN 0 AND 1048575)
);
CREATE INDEX tenant_directory_by_bucket ON tenant_directory (bucket);

CREATE TABLE api_keys (
  app_id text NOT NULL REFERENCES tenants,
  key_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  role text NOT NULL CHECK (role IN ('tenant', 'admin')),
  api_key_hash bytea NOT NULL CHECK (octet_length(api_key_hash) = 32),
  signing_secret_sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz,
  PRIMARY KEY (app_id, key_id)
);

-- A nonce is spent once by a key, for as long as its signature would be accepted.
CREATE TABLE nonces (
  app_id text NOT NULL,
  key_id text NOT NULL,
  nonce text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, key_id, nonce)
);
-- Finds those that can go.
CREATE INDEX nonces_expiring ON nonces (expires_at);

-- Fences never repeat, not even for a key that was released and claimed anew. It is the default of its column, so that Citus gives each
-- server numbers of its own.
CREATE SEQUENCE fences;

-- claimed: somebody works on it; pinned: a transaction exists, its answer is not final; done: the answer is kept.
CREATE DOMAIN key_state_word AS text CHECK (VALUE IN ('claimed', 'pinned', 'done'));
-- One function and not a constraint a rule, and domains: for the reason that 0001_ledger gives.
CREATE FUNCTION is_key_state(state text, reference text, answer_status int, answer_body bytea) RETURNS boolean LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN (state = 'done') = (answer_status IS NOT NULL AND answer_body IS NOT NULL)
    AND (state <> 'pinned' OR reference IS NOT NULL) AND (state <> 'claimed' OR reference IS NULL);
END
$$;

CREATE TABLE idempotency_keys (
  app_id text NOT NULL,
  mode text NOT NULL,
  endpoint text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  fence bigint NOT NULL DEFAULT nextval('fences'),
  state key_state_word NOT NULL,
  lease_until timestamptz NOT NULL,
  reference text,
  answer_status int,
  answer_body bytea,
  created_at timestamptz NOT NULL,
  -- Of an answer that belongs to no transaction.
  answer_digest bytea,
  PRIMARY KEY (app_id, mode, endpoint, key),
  CONSTRAINT key_state_holds CHECK (is_key_state(state, reference, answer_status, answer_body))
-- A key is claimed in 250 bytes and takes 1,000 with its answer: so few share a page that each finds room for it there.
) WITH (fillfactor = 20);
-- Finds the keys that have had their 90 days.
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- A tenant's own limits; where there is none the defaults of the program hold.
CREATE TABLE limits (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  direction text NOT NULL CHECK (direction IN ('payout', 'collection', 'code')),
  window_name text NOT NULL CHECK (window_name IN ('hour', 'day', 'destination', 'destination_day')),
  count bigint NOT NULL CHECK (count >= 0),
  PRIMARY KEY (app_id, mode, direction, window_name)
);

-- One row a window: how much of it is used. app_id is '' for what all tenants share (a provider account's ceiling).
CREATE TABLE counters (
  app_id text NOT NULL,
  mode text NOT NULL,
  name text NOT NULL,
  -- The keyed HMAC of a number, in hex; '' where the window is the tenant's own.
  subject text NOT NULL,
  starts_at timestamptz NOT NULL,
  used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
  -- By time first: it finds the windows that are over, and those that are counted in now lie together.
  PRIMARY KEY (starts_at, app_id, mode, name, subject)
) WITH (fillfactor = 50);

-- Numbers and names that are refused, as keyed HMACs; what was typed is nowhere.
CREATE TABLE denials (
  kind text NOT NULL CHECK (kind IN ('destination', 'screened_number', 'screened_name')),
  hash bytea NOT NULL,
  masked text NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (kind, hash)
);

-- The newest charge that was placed for a number. The row is there before a charge is opened, so that there is something to lock.
CREATE TABLE payer_locks (
  app_id text NOT NULL,
  mode text NOT NULL,
  party_hash bytea NOT NULL,
  reference text,
  at timestamptz NOT NULL,
  -- The recent charges of the number by their references, each with the millisecond at which it was placed. An earlier one that had failed
  -- when a later one was placed may still turn out to have succeeded.
  recent jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (app_id, mode, party_hash)
);
-- Finds the hashes of numbers that have had their 90 days.
CREATE INDEX payer_locks_by_age ON payer_locks (at);

-- What was tried on a charge that waits for a code; never the code itself.
CREATE TABLE charge_codes (
  app_id text NOT NULL,
  reference text NOT NULL,
  -- Keyed hashes of the codes that were wrong.
  wrong bytea[] NOT NULL DEFAULT '{}',
  -- A code went to the provider and was not answered wrong: a charge may have been placed.
  sent boolean NOT NULL DEFAULT false,
  -- The window passed with no code on its way: none can be sent any more.
  closed boolean NOT NULL DEFAULT false,
  lease_until timestamptz,
  PRIMARY KEY (app_id, reference)
);

-- When codes were sent by hand to a number, inside the window that they are counted in.
CREATE TABLE code_requests (
  app_id text NOT NULL,
  mode text NOT NULL,
  party_hash bytea NOT NULL,
  sent timestamptz[] NOT NULL,
  PRIMARY KEY (app_id, mode, party_hash)
);

-- A code is good for the tenant, the mode and the number that it was sent for, and for nobody else; the code itself is never stored.
CREATE TABLE sent_codes (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  -- The provider's handle of it.
  pin_id text NOT NULL,
  party_hash bytea NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (app_id, mode, pin_id)
);
-- Finds the hashes of numbers that have had their 90 days.
CREATE INDEX sent_codes_by_age ON sent_codes (at);

-- What a tenant was offered for an exchange.
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
-- Finds a tenant's quotes that nobody can take any more.
CREATE INDEX fx_quotes_expiring ON fx_quotes (app_id, mode, expires_at);
