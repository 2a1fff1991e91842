export const name = "0005_operators"

/**
 * What operators did and look at, what the gateway keeps for itself, and the making of months. The audit chain is keyed: each row's hash,
 * and the head, are HMACs that only a gateway computes. A gateway may run as a role that owns no table: the functions that are SECURITY DEFINER
 * are all that it can do of what needs the owner.
 */
export const sql = `
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

-- The head, locked until the commit: whoever asks for it appends next. Being volatile, it sees what was committed while it waited.
CREATE FUNCTION audit_head_locked() RETURNS TABLE (sequence bigint, hash bytea, mac bytea)
LANGUAGE sql VOLATILE SECURITY DEFINER AS $$
  SELECT h.sequence, h.hash, h.mac FROM audit_head h FOR UPDATE
$$;

-- Appends exactly the next row. changes_kept: the change is of rows that nodes keep in memory, which they then read anew.
CREATE FUNCTION append_audit_row(next bigint, at timestamptz, actor text, action text, subject text, details text, row_hash bytea,
  head_mac bytea, changes_kept boolean) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  UPDATE audit_head h SET sequence = next, hash = row_hash, mac = head_mac, cache_version = h.cache_version + changes_kept::int
    WHERE h.sequence = next - 1;
  IF NOT FOUND THEN RAISE EXCEPTION 'row % is not the next of the audit log', next; END IF;
  INSERT INTO audit_log VALUES (next, at, actor, action, subject, details, row_hash);
END
$$;

-- Keys the empty log, once, in the commit in which the key itself is kept.
CREATE FUNCTION key_audit_head(head_mac bytea, key_purpose text, sealed_key bytea) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  UPDATE audit_head SET mac = head_mac WHERE mac IS NULL AND sequence = 0;
  IF NOT FOUND THEN RAISE EXCEPTION 'the head of the audit log is keyed already'; END IF;
  INSERT INTO vault_keys (purpose, sealed) VALUES (key_purpose, sealed_key);
END
$$;

-- The details of an audit row; null where they are no JSON, so that a row that was spoilt stops no question about the others.
CREATE FUNCTION audit_details(details text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN details::jsonb;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$$;

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

-- at_most: so many of this action are kept; null: all of them, until they have had their time. Its lock is the tenant's own, and the last that is taken.
CREATE FUNCTION record_tenant_change(of_app text, of_mode text, at timestamptz, actor text, action text, details text, at_most bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tenant_changes'), hashtext(of_app || '/' || of_mode));
  SELECT coalesce(max(place), 0) INTO last FROM tenant_changes WHERE app_id = of_app AND mode = of_mode;
  INSERT INTO tenant_changes VALUES (of_app, of_mode, last + 1, at, actor, action, details);
  IF at_most IS NOT NULL THEN
    DELETE FROM tenant_changes c WHERE c.app_id = of_app AND c.mode = of_mode AND c.action = record_tenant_change.action AND c.place <= (
      SELECT o.place FROM tenant_changes o WHERE o.app_id = of_app AND o.mode = of_mode AND o.action = record_tenant_change.action
      ORDER BY o.place DESC OFFSET at_most LIMIT 1);
  END IF;
END
$$;

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

-- Makes one partition, beside its table and then attached: that takes no lock of the table that a write would wait for. Rows that came
-- too early for it lie in the default partition and move along, where they are few; where they are many, they and their month stay there.
-- The default is read from end to end while it is locked, and so it must not be large; what of other times lies in it does no harm.
CREATE FUNCTION make_partition(parent text, key text, from_at timestamptz, to_at timestamptz) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '100ms' AS $make$
DECLARE
  child text := parent || to_char(from_at AT TIME ZONE 'UTC', '"_"YYYYMM');
  net text := parent || '_default';
  storage text;
  written text;
  early int;
BEGIN
  IF pg_relation_size(net::regclass) > 67108864 THEN RETURN 'crowded'; END IF;
  EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %I WHERE %I >= $1 AND %I < $2 LIMIT 100001) AS moving', net, key, key)
    INTO early USING from_at, to_at;
  IF early > 100000 THEN RETURN 'crowded'; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING IDENTITY)', child, parent);
  SELECT array_to_string(reloptions, ', ') INTO storage FROM pg_class WHERE oid = net::regclass;
  IF storage <> '' THEN EXECUTE format('ALTER TABLE %I SET (%s)', child, storage); END IF;
  EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE NOWAIT', net);
  -- A generated column is not written.
  SELECT string_agg(quote_ident(attname), ', ') INTO written FROM pg_attribute
    WHERE attrelid = net::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
  EXECUTE format('WITH early AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *) INSERT INTO %I (%s) SELECT %s FROM early',
    net, key, key, child, written, written) USING from_at, to_at;
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, from_at, to_at);
  RETURN 'made';
EXCEPTION WHEN lock_not_available OR duplicate_table OR invalid_object_definition THEN
  -- Somebody holds it, or another node was first.
  RETURN 'busy';
END
$make$;

-- Makes one month of a table, for a gateway that runs as a role that owns nothing.
CREATE FUNCTION make_month(of_table text, month timestamptz) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  key text := CASE WHEN of_table IN ('journal', 'delivery_attempts') THEN 'at'
    WHEN of_table IN ('events', 'deliveries') THEN 'created_at' END;
  start timestamp := month AT TIME ZONE 'UTC';
BEGIN
  IF key IS NULL OR start <> date_trunc('month', start) THEN
    RAISE EXCEPTION '% is not parted by months, or % does not begin one', of_table, month;
  END IF;
  RETURN make_partition(of_table, key, month, (start + interval '1 month') AT TIME ZONE 'UTC');
END
$$;

-- Whoever calls them cannot put objects of its own in the place of those that they mean.
DO $fixed$
DECLARE
  what text;
BEGIN
  FOREACH what IN ARRAY ARRAY['audit_head_locked()',
    'append_audit_row(bigint, timestamptz, text, text, text, text, bytea, bytea, boolean)',
    'key_audit_head(bytea, text, bytea)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', what, current_schema());
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', what);
  END LOOP;
  -- pg_catalog comes before it by itself; the first that is named is where tables are made.
  EXECUTE format('ALTER FUNCTION make_month(text, timestamptz) SET search_path = %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION make_month(text, timestamptz) FROM PUBLIC;
END
$fixed$;
`
