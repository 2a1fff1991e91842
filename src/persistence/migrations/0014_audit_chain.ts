export const name = "0014_audit_chain"

/**
 * The audit chain is keyed: each row's hash, and the head, are HMACs that only a gateway computes. These functions lock the head and write
 * what they are given; they are the only way to write here for a role that does not own the tables. What tenants change has a stream of its own.
 */
export const sql = `
ALTER TABLE audit_head
  -- The first row whose hash is keyed; those before it were chained by SHA-256 by an older release. Null until a gateway has keyed the head.
  ADD COLUMN keyed_from bigint,
  -- Over sequence, hash and keyed_from.
  ADD COLUMN mac bytea,
  -- One more with each change of rows that nodes keep in memory.
  ADD COLUMN kept_version bigint NOT NULL DEFAULT 0;

-- The head, locked until the commit: whoever asks for it appends next. Being volatile, it sees what was committed while it waited.
CREATE FUNCTION audit_head_locked() RETURNS TABLE (sequence bigint, hash bytea, keyed_from bigint, mac bytea)
LANGUAGE sql VOLATILE SECURITY DEFINER AS $$
  SELECT h.sequence, h.hash, h.keyed_from, h.mac FROM audit_head h FOR UPDATE
$$;

-- Appends exactly the next row. changes_kept: the change is of rows that nodes keep in memory, which they then read anew.
CREATE FUNCTION append_audit_row(next bigint, at timestamptz, actor text, action text, subject text, details text, row_hash bytea,
  head_mac bytea, changes_kept boolean) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  UPDATE audit_head h SET sequence = next, hash = row_hash, mac = head_mac, kept_version = h.kept_version + changes_kept::int
    WHERE h.sequence = next - 1;
  IF NOT FOUND THEN RAISE EXCEPTION 'row % is not the next of the audit log', next; END IF;
  INSERT INTO audit_log VALUES (next, at, actor, action, subject, details, row_hash);
END
$$;

-- Keys the head, once, in the commit in which the key itself is kept.
CREATE FUNCTION key_audit_head(from_row bigint, head_mac bytea, key_purpose text, sealed_key bytea, replaced_purpose text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  UPDATE audit_head SET keyed_from = from_row, mac = head_mac WHERE mac IS NULL AND sequence = from_row - 1;
  IF NOT FOUND THEN RAISE EXCEPTION 'the head of the audit log is keyed already'; END IF;
  INSERT INTO vault_keys (purpose, sealed) VALUES (key_purpose, sealed_key);
  DELETE FROM vault_keys WHERE purpose = replaced_purpose;
END
$$;

-- A node of the release before would append rows without a key.
CREATE OR REPLACE FUNCTION append_audit(at timestamptz, actor text, action text, subject text, details text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a newer release of the gateway keys the audit log: this node cannot write it any more';
END
$$;

-- What tenants changed themselves. Its place is counted for each tenant and mode; only the newest rows stay.
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
CREATE INDEX tenant_changes_by_age ON tenant_changes (at);

-- Its lock is the tenant's own, and the last that is taken.
CREATE FUNCTION record_tenant_change(of_app text, of_mode text, at timestamptz, actor text, action text, details text, at_most bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tenant_changes'), hashtext(of_app || '/' || of_mode));
  SELECT coalesce(max(place), 0) INTO last FROM tenant_changes WHERE app_id = of_app AND mode = of_mode;
  INSERT INTO tenant_changes VALUES (of_app, of_mode, last + 1, at, actor, action, details);
  DELETE FROM tenant_changes WHERE app_id = of_app AND mode = of_mode AND place <= last + 1 - at_most;
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

-- Whoever calls them cannot put objects of its own in the place of those that they mean.
DO $fixed$
DECLARE
  what text;
BEGIN
  FOREACH what IN ARRAY ARRAY['audit_head_locked()',
    'append_audit_row(bigint, timestamptz, text, text, text, text, bytea, bytea, boolean)',
    'key_audit_head(bigint, bytea, text, bytea, text)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', what, current_schema());
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', what);
  END LOOP;
END
$fixed$;
`
