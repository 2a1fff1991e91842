-- The arrival of arrive.sql on one server. The settings: a plan is made once, and finds each row by its key, whatever the planner thinks
-- of a young table.

-- One request.
CREATE OR REPLACE FUNCTION arrive_request(
  p_app_id text, p_key_id text, p_nonce text, p_nonce_expires timestamptz,
  p_mode text, p_endpoint text, p_key text, p_fingerprint bytea, p_at timestamptz, p_lease_until timestamptz, p_candidate text,
  p_window_names text[], p_window_subjects text[], p_windows_start timestamptz[]
) RETURNS TABLE (
  ord int, nonce_fresh boolean, fence bigint, same boolean, state text, leased boolean, reference text, answer_status int, answer_body text,
  used bigint[], tenant_status text, capabilities text[], taken boolean, booked boolean
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO nonces (app_id, key_id, nonce, expires_at) VALUES (p_app_id, p_key_id, p_nonce, p_nonce_expires)
    ON CONFLICT (app_id, key_id, nonce) DO NOTHING;
  ord := 1; nonce_fresh := FOUND;
  IF nonce_fresh THEN
    SELECT a.* INTO fence, same, state, leased, reference, answer_status, answer_body, used, tenant_status, capabilities, taken, booked
      FROM arrive_key(p_app_id, p_mode, p_endpoint, p_key, p_fingerprint, p_at, p_lease_until, p_candidate,
        p_window_names, p_window_subjects, p_windows_start) a;
  END IF;
  RETURN NEXT;
END $$;

-- Several, as if they had come one after the other. Each key is claimed for the first request that has it; what that leaves, a key that is
-- taken or a second request for one, comes to `arrive_key` by itself: every key is locked by then. The windows of all requests follow one
-- after the other; window_ends has the number of each request's last one.
CREATE OR REPLACE FUNCTION arrive_at_once(
  app_ids text[], key_ids text[], nonce_values text[], nonces_expire timestamptz[],
  modes text[], endpoints text[], request_keys text[], fingerprints bytea[], arrived timestamptz[], leases_until timestamptz[], candidates text[],
  window_ends int[], window_names text[], window_subjects text[], windows_start timestamptz[]
) RETURNS TABLE (
  ord int, nonce_fresh boolean, fence bigint, same boolean, state text, leased boolean, reference text, answer_status int, answer_body text,
  used bigint[], tenant_status text, capabilities text[], taken boolean, booked boolean
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  nonces_fresh boolean[] := spend_each_nonce(app_ids, key_ids, nonce_values, nonces_expire);
  -- By the number of the request: the fence that its claim has, and whether it claimed its key.
  fences bigint[] := ARRAY(SELECT nextval('fences') FROM generate_series(1, cardinality(app_ids)));
  claimed boolean[] := array_fill(false, ARRAY[cardinality(app_ids)]);
  own bigint;
  first_window int;
  last_window int;
BEGIN
  -- A key that nobody has; or one whose claimant died before it made a transaction, for the same request.
  FOR own IN
    INSERT INTO idempotency_keys AS k (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
      SELECT DISTINCT ON (r.app_id, r.mode, r.endpoint, r.key) r.app_id, r.mode, r.endpoint, r.key, r.fingerprint, r.fence, 'claimed', r.lease_until, r.at
      FROM unnest(app_ids, modes, endpoints, request_keys, fingerprints, fences, leases_until, arrived, nonces_fresh) WITH ORDINALITY
        AS r(app_id, mode, endpoint, key, fingerprint, fence, lease_until, at, nonce_fresh, ord)
      WHERE r.nonce_fresh ORDER BY r.app_id, r.mode, r.endpoint, r.key, r.ord
      ON CONFLICT (app_id, mode, endpoint, key) DO UPDATE SET fence = EXCLUDED.fence, lease_until = EXCLUDED.lease_until,
          -- Its ninety days begin with the request that may move money.
          created_at = EXCLUDED.created_at
        WHERE k.state = 'claimed' AND k.lease_until <= EXCLUDED.created_at AND k.fingerprint = EXCLUDED.fingerprint
      RETURNING k.fence
  LOOP
    claimed[array_position(fences, own)] := true;
  END LOOP;

  RETURN QUERY
    SELECT r.ord::int, true, fences[r.ord], NULL::boolean, NULL::text, NULL::boolean, NULL::text, NULL::int, NULL::text,
      w.used, t.status, t.capabilities, e.found IS NOT NULL, b.found IS NOT NULL
    FROM unnest(app_ids, modes, candidates) WITH ORDINALITY AS r(app_id, mode, candidate, ord)
    -- Each by its key, and not joined: a join might read the table from end to end.
    LEFT JOIN LATERAL (SELECT t.status, t.capabilities FROM tenants t WHERE t.app_id = r.app_id LIMIT 1) t ON true
    LEFT JOIN LATERAL (SELECT 1 AS found FROM transactions e WHERE e.app_id = r.app_id AND e.reference = r.candidate LIMIT 1) e ON true
    LEFT JOIN LATERAL (
      SELECT 1 AS found FROM float_adjustments b WHERE b.app_id = r.app_id AND b.mode = r.mode AND b.external_id = r.candidate LIMIT 1
    ) b ON true
    CROSS JOIN LATERAL (
      SELECT array_agg((
          SELECT c.used FROM counters c WHERE c.app_id = r.app_id AND c.mode = r.mode AND c.name = window_names[n] AND c.subject = window_subjects[n]
            AND c.starts_at = windows_start[n]
        ) ORDER BY n) AS used
      FROM generate_series(coalesce(window_ends[r.ord - 1], 0) + 1, window_ends[r.ord]) AS n
    ) w
    WHERE claimed[r.ord];

  FOR i IN 1 .. cardinality(app_ids) LOOP
    CONTINUE WHEN claimed[i];
    ord := i; nonce_fresh := nonces_fresh[i]; fence := NULL; used := NULL; tenant_status := NULL; capabilities := NULL;
    same := NULL; state := NULL; leased := NULL; reference := NULL; answer_status := NULL; answer_body := NULL; taken := NULL; booked := NULL;
    IF nonce_fresh THEN
      first_window := coalesce(window_ends[i - 1], 0) + 1;
      last_window := window_ends[i];
      SELECT a.* INTO fence, same, state, leased, reference, answer_status, answer_body, used, tenant_status, capabilities, taken, booked
        FROM arrive_key(app_ids[i], modes[i], endpoints[i], request_keys[i], fingerprints[i], arrived[i], leases_until[i], candidates[i],
          window_names[first_window:last_window], window_subjects[first_window:last_window], windows_start[first_window:last_window]) a;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Whoever calls them, they mean these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION arrive_request SET search_path = %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION arrive_at_once SET search_path = %I, pg_temp', current_schema());
END $fixed$;
