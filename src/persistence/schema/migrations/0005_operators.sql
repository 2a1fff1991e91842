-- What operators did and look at, what the gateway keeps for itself, and the making of months. The audit chain is keyed: each row's hash,
-- and the head, are HMACs that only a gateway computes. A gateway may run as a role that owns no table: the functions that are SECURITY
-- DEFINER are all that it can do of what needs the owner.

-- One row an operator's change. Each row's hash covers the hash before it, so that nothing can be changed or left out unseen.
CREATE TABLE audit_log (
  sequence bigint PRIMARY KEY,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  -- A JSON object of texts; never a secret, never a full number.
  details text NOT NULL,
  hash bytea NOT NULL
);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is only ever appended to';
END
$$;
CREATE TRIGGER audit_log_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- The end of the chain: without it the newest rows could be removed unseen. Its one row is the lock of those who append.
CREATE TABLE audit_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sequence bigint NOT NULL,
  hash bytea NOT NULL,
  -- Over sequence and hash. Null until a gateway has made the key.
  mac bytea,
  -- One more with each change of rows that nodes keep in memory.
  cache_version bigint NOT NULL DEFAULT 0
);
INSERT INTO audit_head (sequence, hash) VALUES (0, '');

-- Keys of our own, sealed under the master key.
CREATE TABLE vault_keys (
  purpose text PRIMARY KEY,
  sealed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- What tenants changed themselves. Its place is counted for each tenant and mode; what a tenant changed makes room for newer changes of
-- the same action alone.
CREATE TABLE tenant_changes (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  place bigint NOT NULL,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  details text NOT NULL,
  PRIMARY KEY (app_id, mode, place)
);
-- Finds those that have had their time.
CREATE INDEX tenant_changes_by_age ON tenant_changes (at);
-- Finds the oldest of an action.
CREATE INDEX tenant_changes_by_action ON tenant_changes (app_id, mode, action, place);

-- The last ledger verify, and the last reconcile of each provider.
CREATE TABLE integrity_checks (
  name text NOT NULL CHECK (name IN ('ledger verify', 'reconcile')),
  -- The provider that was compared; empty for the ledger.
  subject text NOT NULL,
  at timestamptz NOT NULL,
  differences int NOT NULL CHECK (differences >= 0),
  PRIMARY KEY (name, subject)
);

-- From when on the keys, the windows and the hashes of numbers are all there: what was removed is older.
CREATE TABLE kept_since (
  what text PRIMARY KEY CHECK (what IN ('keys', 'windows', 'numbers')),
  since timestamptz NOT NULL
);
INSERT INTO kept_since (what, since) VALUES ('keys', '-infinity'), ('windows', '-infinity'), ('numbers', '-infinity');

-- The parts of every table that is divided by time, without the defaults.
CREATE VIEW month_partitions AS
SELECT p.relname::text AS parent, c.relname::text AS child,
  coalesce((regexp_match(b.bounds, 'FROM [(]''([^'']+)''[)]'))[1], '-infinity')::timestamptz AS from_at,
  (regexp_match(b.bounds, 'TO [(]''([^'']+)''[)]'))[1]::timestamptz AS to_at
FROM pg_inherits i
JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace
JOIN pg_class c ON c.oid = i.inhrelid AND c.relkind = 'r'
CROSS JOIN LATERAL pg_get_expr(c.relpartbound, c.oid) AS b(bounds)
WHERE b.bounds <> 'DEFAULT';
