export const name = "0002_operations"

/**
 * What the gateway needs around the money: keys, nonces, corridors, the audit log, deliveries and callbacks. No statement here takes a
 * lock of 0001 after one of these; the head of the audit log is always the last lock that is taken.
 */
export const sql = `
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

CREATE TABLE nonces (
  app_id text NOT NULL,
  key_id text NOT NULL,
  nonce text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, key_id, nonce)
);
CREATE INDEX nonces_expiring ON nonces (expires_at);

-- Keys of our own, sealed under the master key.
CREATE TABLE vault_keys (
  purpose text PRIMARY KEY,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE corridors (
  country text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
  currency text NOT NULL,
  direction text NOT NULL CHECK (direction IN ('collection', 'payout')),
  method text NOT NULL CHECK (method IN ('momo', 'bank', 'card', 'wallet')),
  active boolean NOT NULL,
  provider text NOT NULL,
  networks text[] NOT NULL,
  minimum_minor bigint CHECK (minimum_minor >= 0),
  maximum_minor bigint CHECK (maximum_minor >= minimum_minor),
  customer_action text NOT NULL CHECK (customer_action IN ('none', 'handset_pin', 'otp', 'redirect')),
  requires_redirect_url boolean NOT NULL,
  requires_msisdn boolean NOT NULL,
  destination_currencies text[] NOT NULL,
  availability text NOT NULL CHECK (availability IN ('operational', 'degraded', 'down')),
  inactive_reason text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (country, currency, direction, method)
);

INSERT INTO corridors (country, currency, direction, method, active, provider, networks, minimum_minor, maximum_minor, customer_action,
  requires_redirect_url, requires_msisdn, destination_currencies, availability, inactive_reason, updated_at)
SELECT c.country, c.currency, c.direction, c.method, c.active, 'eversend',
  CASE WHEN c.method = 'momo' THEN n.networks ELSE '{}' END,
  c.minimum_minor, NULL,
  CASE
    WHEN c.direction = 'payout' THEN 'none'
    WHEN c.method = 'card' OR c.country = 'GH' THEN 'redirect'
    ELSE 'handset_pin'
  END,
  c.direction = 'collection' AND (c.method = 'card' OR c.country = 'GH'), false,
  ARRAY[c.currency], 'operational', CASE WHEN c.active THEN NULL ELSE 'not enabled yet' END, now()
FROM (VALUES
  ('UG', 'UGX', 'collection', 'momo', true, NULL::bigint),
  ('UG', 'UGX', 'collection', 'card', false, NULL),
  ('UG', 'UGX', 'payout', 'momo', true, 500),
  ('UG', 'UGX', 'payout', 'bank', true, 10000),
  ('UG', 'UGX', 'payout', 'wallet', true, NULL),
  ('KE', 'KES', 'collection', 'momo', true, NULL),
  ('KE', 'KES', 'payout', 'momo', true, NULL),
  ('KE', 'KES', 'payout', 'bank', true, NULL),
  ('KE', 'KES', 'payout', 'wallet', true, NULL),
  ('RW', 'RWF', 'collection', 'momo', true, NULL),
  ('RW', 'RWF', 'payout', 'momo', true, NULL),
  ('RW', 'RWF', 'payout', 'wallet', true, NULL),
  ('GH', 'GHS', 'collection', 'momo', true, NULL),
  ('GH', 'GHS', 'payout', 'momo', true, NULL),
  ('GH', 'GHS', 'payout', 'bank', true, NULL),
  ('GH', 'GHS', 'payout', 'wallet', true, NULL),
  ('NG', 'NGN', 'payout', 'bank', true, NULL),
  ('NG', 'NGN', 'payout', 'wallet', true, NULL),
  ('ZM', 'ZMW', 'payout', 'momo', true, NULL),
  ('ZM', 'ZMW', 'collection', 'momo', false, NULL),
  ('TZ', 'TZS', 'payout', 'wallet', true, NULL),
  ('TZ', 'TZS', 'collection', 'momo', false, NULL),
  ('TZ', 'TZS', 'payout', 'momo', false, NULL),
  ('CM', 'XAF', 'collection', 'momo', false, NULL),
  ('CM', 'XAF', 'payout', 'momo', false, NULL),
  ('CI', 'XOF', 'collection', 'momo', false, NULL),
  ('CI', 'XOF', 'payout', 'momo', false, NULL),
  ('BF', 'XOF', 'collection', 'momo', false, NULL),
  ('BF', 'XOF', 'payout', 'momo', false, NULL)
) AS c(country, currency, direction, method, active, minimum_minor)
JOIN (VALUES
  ('UG', '{MTN,AIRTEL}'::text[]),
  ('KE', '{MPESA,AIRTEL}'),
  ('RW', '{MTN,AIRTEL}'),
  ('GH', '{MTN,TELECEL,AT}'),
  ('NG', '{}'),
  ('ZM', '{MTN,AIRTEL,ZAMTEL}'),
  ('TZ', '{MPESA,TIGO,AIRTEL,HALOTEL}'),
  ('CM', '{MTN,ORANGE}'),
  ('CI', '{MTN,ORANGE,MOOV,WAVE}'),
  ('BF', '{ORANGE,MOOV}')
) AS n(country, networks) ON n.country = c.country;

-- One row an operator's change. Each row's hash covers the hash before it, so that nothing can be changed or left out unseen.
CREATE TABLE audit_log (
  sequence bigint PRIMARY KEY,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  details text NOT NULL,
  hash bytea NOT NULL
);

-- The end of the chain: without it the newest rows could be removed unseen. Its one row is the lock of those who append.
CREATE TABLE audit_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sequence bigint NOT NULL,
  hash bytea NOT NULL
);
INSERT INTO audit_head (sequence, hash) VALUES (0, '');

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is only ever appended to';
END
$$;
CREATE TRIGGER audit_log_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- A field of the hashed text: its length in bytes comes first, so that no two rows have the same text.
CREATE FUNCTION audit_field(field text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT octet_length(convert_to(field, 'UTF8')) || ':' || field || ','
$$;

-- Appends one row in the caller's transaction and returns its sequence. Every statement that an operator's change consists of calls it
-- for the row that it changed, so that change and row are one commit, and no change leaves no row:
--   WITH changed AS (UPDATE ... RETURNING app_id) SELECT append_audit(at, actor, action, subject, details) FROM changed
-- It locks the head of the log until the commit: call it last. details is a JSON object of texts; never a secret, never a full number.
-- Being volatile, it sees what was committed while it waited for the lock.
CREATE FUNCTION append_audit(at timestamptz, actor text, action text, subject text, details text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  head audit_head%ROWTYPE;
  row_hash bytea;
BEGIN
  SELECT * INTO STRICT head FROM audit_head FOR UPDATE;
  head.sequence := head.sequence + 1;
  row_hash := sha256(head.hash || convert_to(
    audit_field(head.sequence::text) || audit_field((extract(epoch FROM at) * 1000000)::bigint::text)
      || audit_field(actor) || audit_field(action) || audit_field(subject) || audit_field(details), 'UTF8'));
  INSERT INTO audit_log VALUES (head.sequence, at, actor, action, subject, details, row_hash);
  UPDATE audit_head SET sequence = head.sequence, hash = row_hash;
  RETURN head.sequence;
END
$$;

-- In flight: what an endpoint's limit is counted by. Settling clears the lease, so this index holds little.
CREATE INDEX deliveries_leased ON deliveries (app_id, mode, lease_until) WHERE status = 'due' AND lease_until IS NOT NULL;

CREATE TABLE delivery_attempts (
  app_id text NOT NULL,
  delivery_id text NOT NULL,
  line bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  duration_ms int NOT NULL,
  -- Null when there was no answer.
  status int,
  excerpt text NOT NULL,
  PRIMARY KEY (app_id, delivery_id, line)
);

-- Callbacks, before anybody knows whose they are.
CREATE TABLE provider_inbox (
  id text PRIMARY KEY,
  provider text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  received_at timestamptz NOT NULL,
  reference text,
  provider_reference text,
  status text NOT NULL CHECK (status IN ('due', 'done', 'parked')),
  next_look_at timestamptz,
  matched_reference text,
  UNIQUE (provider, mode, digest),
  CHECK ((status = 'due') = (next_look_at IS NOT NULL))
);
CREATE INDEX provider_inbox_due ON provider_inbox (next_look_at) WHERE status = 'due';
`
