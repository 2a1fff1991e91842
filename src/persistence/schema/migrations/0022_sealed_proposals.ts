export const name = "0022_sealed_proposals"

/**
 * A proposal has a seal of whoever proposed it, and one of whoever approved it: an HMAC of the gateway's, as keys and operators have (0020). Without both nothing is
 * carried out. The token of a removed operator is kept, so that nobody puts the old row back; only the owner of the tables can take it away.
 */
export const steps = [
  {
    form: "transaction",
    sql: `
ALTER TABLE console_proposals ADD COLUMN proposal_seal bytea, ADD COLUMN approval_seal bytea;

CREATE TABLE removed_operators (
  token_hash bytea PRIMARY KEY,
  name text NOT NULL,
  removed_at timestamptz NOT NULL
);

-- As in 0020, and: no token is added twice, and an operator who is gone approves nothing.
CREATE OR REPLACE FUNCTION change_access(p_change text, p_data json, p_next bigint, p_at timestamptz, p_actor text, p_action text, p_subject text, p_details text,
  p_row_hash bytea, p_head_mac bytea) RETURNS boolean LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $change$
DECLARE
  r record;
  changed boolean;
  is_kept boolean := true;
BEGIN
  CASE p_change
  WHEN 'tenant create' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, status text, capabilities text[], created_at timestamptz, bucket int);
    INSERT INTO tenants (app_id, status, capabilities, created_at) VALUES (r.app_id, r.status, r.capabilities, r.created_at) ON CONFLICT (app_id) DO NOTHING;
    changed := FOUND;
    IF changed THEN
      INSERT INTO tenant_directory (app_id, bucket) VALUES (r.app_id, r.bucket) ON CONFLICT (app_id) DO NOTHING;
    END IF;
  WHEN 'tenant change' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, status text, capabilities text[], pinned_provider text, repeat_sales boolean);
    UPDATE tenants t SET status = r.status, capabilities = r.capabilities, pinned_provider = r.pinned_provider, repeat_sales = r.repeat_sales
      WHERE t.app_id = r.app_id;
    changed := FOUND;
  WHEN 'key issue' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, key_id text, mode text, role text, api_key_hash bytea, signing_secret_sealed bytea,
      access_seal bytea, created_at timestamptz);
    changed := EXISTS (SELECT FROM tenants t WHERE t.app_id = r.app_id);
    IF changed THEN
      INSERT INTO api_keys (app_id, key_id, mode, role, api_key_hash, signing_secret_sealed, access_seal, created_at)
      VALUES (r.app_id, r.key_id, r.mode, r.role, r.api_key_hash, r.signing_secret_sealed, r.access_seal, r.created_at);
    END IF;
  WHEN 'key revoke' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, key_id text, revoked_at timestamptz);
    UPDATE api_keys k SET revoked_at = r.revoked_at WHERE k.app_id = r.app_id AND k.key_id = r.key_id AND k.revoked_at IS NULL;
    changed := FOUND;
  WHEN 'limit set' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, mode text, direction text, window_name text, count bigint);
    changed := EXISTS (SELECT FROM tenants t WHERE t.app_id = r.app_id);
    IF changed THEN
      INSERT INTO limits (app_id, mode, direction, window_name, count) VALUES (r.app_id, r.mode, r.direction, r.window_name, r.count)
      ON CONFLICT (app_id, mode, direction, window_name) DO UPDATE SET count = EXCLUDED.count;
    END IF;
  WHEN 'ceiling set' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(provider text, currency text, amount_minor bigint);
    INSERT INTO ceilings (provider, currency, amount_minor) VALUES (r.provider, r.currency, r.amount_minor)
      ON CONFLICT (provider, currency) DO UPDATE SET amount_minor = EXCLUDED.amount_minor;
    changed := true;
  WHEN 'denial add' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(kind text, hash bytea, masked text, reason text, created_at timestamptz);
    INSERT INTO denials (kind, hash, masked, reason, created_at) VALUES (r.kind, r.hash, r.masked, r.reason, r.created_at) ON CONFLICT (kind, hash) DO NOTHING;
    changed := FOUND;
  WHEN 'corridor set' THEN
    -- The columns that the program knows, whichever the table has by then.
    SELECT string_agg(quote_ident(k), ', ') AS known, string_agg('EXCLUDED.' || quote_ident(k), ', ') AS given INTO r FROM json_object_keys(p_data) AS k;
    EXECUTE format('INSERT INTO corridors (%1$s) SELECT %1$s FROM json_populate_record(NULL::corridors, $1)
      ON CONFLICT (country, currency, direction, method) DO UPDATE SET (%1$s) = ROW(%2$s)', r.known, r.given) USING p_data;
    changed := true;
  WHEN 'operator add' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(name text, role text, token_hash bytea, access_seal bytea, created_at timestamptz);
    -- A token is one person's, and of one account for good.
    IF EXISTS (SELECT FROM operators o WHERE o.token_hash = r.token_hash) OR EXISTS (SELECT FROM removed_operators o WHERE o.token_hash = r.token_hash) THEN
      RAISE EXCEPTION 'an operator has or had this token';
    END IF;
    INSERT INTO operators (name, role, token_hash, access_seal, created_at) VALUES (r.name, r.role, r.token_hash, r.access_seal, r.created_at)
      ON CONFLICT (name) DO NOTHING;
    changed := FOUND;
    is_kept := false;
  WHEN 'operator remove' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(name text);
    WITH gone AS (DELETE FROM operators o WHERE o.name = r.name RETURNING o.name, o.token_hash)
    INSERT INTO removed_operators (token_hash, name, removed_at) SELECT gone.token_hash, gone.name, p_at FROM gone ON CONFLICT DO NOTHING;
    changed := FOUND;
    is_kept := false;
    -- Nothing that waits outlives who proposed it or said yes to it.
    IF changed THEN
      UPDATE console_proposals p SET status = 'withdrawn', decided_by = p.proposed_by, decided_at = p_at, note = 'the operator was removed'
        WHERE p.status = 'open' AND p.proposed_by = r.name;
      UPDATE console_proposals p SET status = 'failed', note = 'the operator ' || r.name || ' was removed'
        WHERE p.status = 'approved' AND r.name IN (p.proposed_by, p.decided_by);
    END IF;
  WHEN 'proposal open' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(id text, kind text, subject text, details text, proposed_by text, proposed_at timestamptz, proposal_seal bytea);
    INSERT INTO console_proposals (id, kind, subject, details, proposed_by, proposed_at, status, proposal_seal)
      VALUES (r.id, r.kind, r.subject, r.details, r.proposed_by, r.proposed_at, 'open', r.proposal_seal) ON CONFLICT DO NOTHING;
    changed := FOUND;
    is_kept := false;
  WHEN 'proposal decide' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(id text, status text, decided_by text, decided_at timestamptz, note text, approval_seal bytea);
    -- Who approves is an operator in this commit: a removal holds the head of the log, too.
    UPDATE console_proposals p SET status = r.status, decided_by = r.decided_by, decided_at = r.decided_at, note = r.note, approval_seal = r.approval_seal
      WHERE p.id = r.id AND p.status = 'open'
        AND (r.status <> 'approved' OR EXISTS (SELECT FROM operators o WHERE o.name = r.decided_by AND o.created_at <= r.decided_at));
    changed := FOUND;
    is_kept := false;
  WHEN 'proposal fail' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(id text, note text);
    UPDATE console_proposals p SET status = 'failed', note = r.note WHERE p.id = r.id AND p.status = 'approved';
    changed := FOUND;
    is_kept := false;
  END CASE;
  IF changed THEN
    PERFORM append_audit_row(p_next, p_at, p_actor, p_action, p_subject, p_details, p_row_hash, p_head_mac, is_kept);
  END IF;
  RETURN changed;
END
$change$;

DO $fixed$
BEGIN
  EXECUTE format('ALTER FUNCTION change_access(text, json, bigint, timestamptz, text, text, text, text, bytea, bytea)
    SET search_path = pg_catalog, %I, pg_temp', current_schema());
END
$fixed$;
`
  }
] as const
