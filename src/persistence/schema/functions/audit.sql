-- The head, locked until the commit: whoever asks for it appends next. Being volatile, it sees what was committed while it waited.
CREATE OR REPLACE FUNCTION audit_head_locked() RETURNS TABLE (sequence bigint, hash bytea, mac bytea)
LANGUAGE sql VOLATILE SECURITY DEFINER AS $$
  SELECT h.sequence, h.hash, h.mac FROM audit_head h FOR UPDATE
$$;

-- Appends exactly the next row. changes_kept: the change is of rows that nodes keep in memory, which they then read anew.
CREATE OR REPLACE FUNCTION append_audit_row(next bigint, at timestamptz, actor text, action text, subject text, details text, row_hash bytea,
  head_mac bytea, changes_kept boolean) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  UPDATE audit_head h SET sequence = next, hash = row_hash, mac = head_mac, cache_version = h.cache_version + changes_kept::int
    WHERE h.sequence = next - 1;
  IF NOT FOUND THEN RAISE EXCEPTION 'row % is not the next of the audit log', next; END IF;
  INSERT INTO audit_log VALUES (next, at, actor, action, subject, details, row_hash);
END
$$;

-- Keys the empty log, once, in the commit in which the key itself is kept.
CREATE OR REPLACE FUNCTION key_audit_head(head_mac bytea, key_purpose text, sealed_key bytea) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
  UPDATE audit_head SET mac = head_mac WHERE mac IS NULL AND sequence = 0;
  IF NOT FOUND THEN RAISE EXCEPTION 'the head of the audit log is keyed already'; END IF;
  INSERT INTO vault_keys (purpose, sealed) VALUES (key_purpose, sealed_key);
END
$$;

-- The details of an audit row; null where they are no JSON, so that a row that was spoilt stops no question about the others.
CREATE OR REPLACE FUNCTION audit_details(details text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN details::jsonb;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$$;

-- Whoever calls them cannot put objects of its own in the place of those that they mean.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION audit_head_locked SET search_path = pg_catalog, %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION audit_head_locked FROM PUBLIC;
  EXECUTE format('ALTER FUNCTION append_audit_row SET search_path = pg_catalog, %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION append_audit_row FROM PUBLIC;
  EXECUTE format('ALTER FUNCTION key_audit_head SET search_path = pg_catalog, %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION key_audit_head FROM PUBLIC;
END $fixed$;
