-- Who may do what is changed through functions of the owner alone, each change together with its audit row. The gateway computes the row,
-- for the database never has its key: so each function takes the row and appends it in the commit of the change, or does nothing. The role
-- that gateways run as has no right to write to these tables (RuntimeRole).
-- A seal is an HMAC of the gateway's over a whole row, so that a row that somebody else wrote, copied or changed is none. Rows that were
-- there before are sealed once (AccessSealing).

-- Makes one change and appends its audit row; false where the change found nothing to do, and then there is no row either. Whoever calls it
-- holds the audit log's head, and before that the lock of the tenant or of the proposal that it is about.
CREATE OR REPLACE FUNCTION change_access(
  p_change text, p_data json, p_next bigint, p_at timestamptz, p_actor text, p_action text, p_subject text, p_details text, p_row_hash bytea, p_head_mac bytea
) RETURNS boolean LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $change$
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
  WHEN 'tenant sender' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, sender_sealed bytea);
    UPDATE tenants t SET sender_sealed = r.sender_sealed WHERE t.app_id = r.app_id;
    changed := FOUND;
  WHEN 'key issue' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, key_id text, mode text, role text, api_key_hash bytea, signing_secret_sealed bytea,
      access_seal bytea, created_at timestamptz, label text, is_reader boolean, addresses text[]);
    changed := EXISTS (SELECT FROM tenants t WHERE t.app_id = r.app_id);
    IF changed THEN
      INSERT INTO api_keys (app_id, key_id, mode, role, api_key_hash, signing_secret_sealed, access_seal, created_at, label, is_reader, addresses)
      VALUES (r.app_id, r.key_id, r.mode, r.role, r.api_key_hash, r.signing_secret_sealed, r.access_seal, r.created_at,
        -- The release before says none of them.
        coalesce(r.label, ''), coalesce(r.is_reader, false), coalesce(r.addresses, '{}'));
    END IF;
  WHEN 'key revoke' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, key_id text, revoked_at timestamptz);
    UPDATE api_keys k SET revoked_at = r.revoked_at, signing_secret_sealed = ''
      WHERE k.app_id = r.app_id AND k.key_id = r.key_id AND k.revoked_at IS NULL;
    changed := FOUND;
    IF changed THEN
      INSERT INTO revoked_keys (app_id, key_id, revoked_at) VALUES (r.app_id, r.key_id, r.revoked_at) ON CONFLICT DO NOTHING;
    END IF;
  WHEN 'limit set' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, mode text, direction text, window_name text, count bigint);
    changed := EXISTS (SELECT FROM tenants t WHERE t.app_id = r.app_id);
    IF changed THEN
      INSERT INTO limits (app_id, mode, direction, window_name, count) VALUES (r.app_id, r.mode, r.direction, r.window_name, r.count)
      ON CONFLICT (app_id, mode, direction, window_name) DO UPDATE SET count = EXCLUDED.count;
    END IF;
  WHEN 'cap set' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, mode text, direction text, window_name text, currency text, amount_minor bigint);
    changed := EXISTS (SELECT FROM tenants t WHERE t.app_id = r.app_id);
    IF changed THEN
      INSERT INTO amount_caps (app_id, mode, direction, window_name, currency, amount_minor)
      VALUES (r.app_id, r.mode, r.direction, r.window_name, r.currency, r.amount_minor)
      ON CONFLICT (app_id, mode, direction, window_name, currency) DO UPDATE SET amount_minor = EXCLUDED.amount_minor;
    END IF;
  WHEN 'cap remove' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(app_id text, mode text, direction text, window_name text, currency text);
    DELETE FROM amount_caps c
      WHERE c.app_id = r.app_id AND c.mode = r.mode AND c.direction = r.direction AND c.window_name = r.window_name AND c.currency = r.currency;
    changed := FOUND;
  WHEN 'ceiling set' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(provider text, currency text, amount_minor bigint);
    INSERT INTO ceilings (provider, currency, amount_minor) VALUES (r.provider, r.currency, r.amount_minor)
      ON CONFLICT (provider, currency) DO UPDATE SET amount_minor = EXCLUDED.amount_minor;
    changed := true;
  WHEN 'denial add' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(kind text, hash bytea, party text, masked text, reason text, created_at timestamptz);
    INSERT INTO denials (kind, hash, party, masked, reason, created_at)
    VALUES (r.kind, r.hash, r.party, r.masked, r.reason, r.created_at) ON CONFLICT (kind, hash) DO NOTHING;
    changed := FOUND;
  WHEN 'corridor set' THEN
    -- The columns that the program knows, whichever the table has by then.
    SELECT string_agg(quote_ident(k), ', ') AS known, string_agg('EXCLUDED.' || quote_ident(k), ', ') AS given INTO r FROM json_object_keys(p_data) AS k;
    EXECUTE format('INSERT INTO corridors (%1$s) SELECT %1$s FROM json_populate_record(NULL::corridors, $1)
      ON CONFLICT (country, currency, direction, method) DO UPDATE SET (%1$s) = ROW(%2$s)', r.known, r.given) USING p_data;
    changed := true;
  WHEN 'provider switch' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(provider text, is_off boolean, reason text, changed_at timestamptz);
    INSERT INTO provider_switches (provider, is_off, reason, changed_at) VALUES (r.provider, r.is_off, r.reason, r.changed_at)
      ON CONFLICT (provider) DO UPDATE SET is_off = EXCLUDED.is_off, reason = EXCLUDED.reason, changed_at = EXCLUDED.changed_at;
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
    SELECT * INTO r FROM json_to_record(p_data) AS d(id text, kind text, subject text, details text, proposed_by text, proposed_at timestamptz,
      proposal_seal bytea);
    PERFORM FROM operators o WHERE o.name = r.proposed_by AND o.created_at <= r.proposed_at FOR SHARE;
    IF FOUND THEN
      INSERT INTO console_proposals (id, kind, subject, details, proposed_by, proposed_at, status, proposal_seal)
      VALUES (r.id, r.kind, r.subject, r.details, r.proposed_by, r.proposed_at, 'open', r.proposal_seal) ON CONFLICT DO NOTHING;
    END IF;
    changed := FOUND;
    is_kept := false;
  WHEN 'proposal decide' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(id text, status text, decided_by text, decided_at timestamptz, note text, approval_seal bytea);
    -- Who decides is an operator until this commit. A removal itself withdraws, and so does the end of the time.
    PERFORM FROM operators o WHERE o.name = r.decided_by AND o.created_at <= r.decided_at FOR SHARE;
    UPDATE console_proposals p SET status = r.status, decided_by = r.decided_by, decided_at = r.decided_at, note = r.note, approval_seal = r.approval_seal
      WHERE p.id = r.id AND p.status = 'open'
        AND (FOUND OR r.status = 'withdrawn');
    changed := FOUND;
    is_kept := false;
  WHEN 'proposal fail' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(id text, note text);
    PERFORM FROM operators o WHERE 'console/' || o.name = p_actor FOR SHARE;
    UPDATE console_proposals p SET status = 'failed', note = r.note WHERE p.id = r.id AND p.status = 'approved' AND (FOUND OR p_actor NOT LIKE 'console/%');
    changed := FOUND;
    is_kept := false;
  WHEN 'proposal finish' THEN
    SELECT * INTO r FROM json_to_record(p_data) AS d(id text, note text);
    PERFORM FROM operators o WHERE 'console/' || o.name = p_actor FOR SHARE;
    UPDATE console_proposals p SET status = 'done', note = r.note WHERE p.id = r.id AND p.status = 'approved' AND FOUND;
    changed := FOUND;
    is_kept := false;
  END CASE;
  IF changed THEN
    PERFORM append_audit_row(p_next, p_at, p_actor, p_action, p_subject, p_details, p_row_hash, p_head_mac, is_kept);
  END IF;
  RETURN changed;
END
$change$;

-- Locks a proposal, or all that wait and that this operator proposed or approved, before the audit log's head is locked.
CREATE OR REPLACE FUNCTION hold_proposals(p_id text, p_operator text) RETURNS TABLE (id text, status text) LANGUAGE sql VOLATILE SECURITY DEFINER AS $$
  SELECT p.id, p.status FROM console_proposals p
  WHERE p.id = p_id OR p.status IN ('open', 'approved') AND p_operator IN (p.proposed_by, p.decided_by)
  ORDER BY p.id FOR UPDATE
$$;

-- What was approved is done: the audit row of what was done names the proposal, and this is in its commit.
CREATE OR REPLACE FUNCTION end_proposal(p_id text) RETURNS void LANGUAGE sql VOLATILE SECURITY DEFINER AS $$
  UPDATE console_proposals p SET status = 'done' WHERE p.id = p_id AND p.status = 'approved'
$$;

-- Seals rows that were there before seals were, once: a second call fails, and a row that has a seal keeps it. p_seals: name and seal of
-- operators, app_id, key_id and seal of keys.
CREATE OR REPLACE FUNCTION seal_access(p_marker bytea, p_seals json) RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $seal$
DECLARE
  r record;
BEGIN
  INSERT INTO vault_keys (purpose, sealed) VALUES ('access_seals', p_marker);
  FOR r IN SELECT * FROM json_to_recordset(p_seals) AS d(name text, app_id text, key_id text, seal bytea) LOOP
    IF r.name IS NULL THEN
      UPDATE api_keys k SET access_seal = r.seal WHERE k.app_id = r.app_id AND k.key_id = r.key_id AND k.access_seal IS NULL;
    ELSE
      UPDATE operators o SET access_seal = r.seal WHERE o.name = r.name AND o.access_seal IS NULL;
    END IF;
  END LOOP;
END
$seal$;

-- Whoever calls them cannot put objects of its own in the place of those that they mean.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION change_access SET search_path = pg_catalog, %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION change_access FROM PUBLIC;
  EXECUTE format('ALTER FUNCTION hold_proposals SET search_path = pg_catalog, %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION hold_proposals FROM PUBLIC;
  EXECUTE format('ALTER FUNCTION end_proposal SET search_path = pg_catalog, %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION end_proposal FROM PUBLIC;
  EXECUTE format('ALTER FUNCTION seal_access SET search_path = pg_catalog, %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION seal_access FROM PUBLIC;
END $fixed$;
