-- The arrival of requests that claim an idempotency key: what a request has to commit before its work begins, in one statement. Each
-- spends its nonce, and where the nonce was its own it claims its key; where the key is taken, the row says what for. For a key that was
-- claimed it also reads
--   whether the reference that the transaction would have is taken (by an earlier one of the key, which was pruned) or booked by hand,
--   what is used of the windows that the request would be counted in, and how the tenant stands: that only refuses early, because open
--   looks again under locks.
-- Every class of rows is locked in one order over the whole call, and the classes in the order of open_step.sql: nonces, keys.

-- Claims one key. Only for a request whose nonce was its own.
CREATE OR REPLACE FUNCTION arrive_key(
  p_app_id text, p_mode text, p_endpoint text, p_key text, p_fingerprint bytea, p_at timestamptz, p_lease_until timestamptz, p_candidate text,
  p_window_names text[], p_window_subjects text[], p_windows_start timestamptz[],
  OUT fence bigint, OUT same boolean, OUT state text, OUT leased boolean, OUT reference text, OUT answer_status int, OUT answer_body text,
  OUT used bigint[], OUT tenant_status text, OUT capabilities text[], OUT taken boolean, OUT booked boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  -- A key that nobody has; or one whose claimant died before it made a transaction, for the same request.
  INSERT INTO idempotency_keys AS k (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
    VALUES (p_app_id, p_mode, p_endpoint, p_key, p_fingerprint, nextval('fences'), 'claimed', p_lease_until, p_at)
    ON CONFLICT (app_id, mode, endpoint, key) DO UPDATE SET fence = EXCLUDED.fence, lease_until = EXCLUDED.lease_until,
        -- Its ninety days begin with the request that may move money.
        created_at = EXCLUDED.created_at
      WHERE k.state = 'claimed' AND k.lease_until <= EXCLUDED.created_at AND k.fingerprint = EXCLUDED.fingerprint
    RETURNING k.fence INTO fence;
  -- A key that is taken is locked by the attempt, so that it is still there.
  IF fence IS NULL THEN
    SELECT k.fingerprint = p_fingerprint, k.state, k.lease_until > p_at, k.reference, k.answer_status, convert_from(k.answer_body, 'UTF8')
      INTO same, state, leased, reference, answer_status, answer_body
      FROM idempotency_keys k WHERE k.app_id = p_app_id AND k.mode = p_mode AND k.endpoint = p_endpoint AND k.key = p_key;
    RETURN;
  END IF;
  SELECT t.status, t.capabilities INTO tenant_status, capabilities FROM tenants t WHERE t.app_id = p_app_id;
  SELECT true INTO taken FROM transactions t WHERE t.app_id = p_app_id AND t.reference = p_candidate;
  taken := coalesce(taken, false);
  SELECT true INTO booked FROM float_adjustments f WHERE f.app_id = p_app_id AND f.mode = p_mode AND f.external_id = p_candidate LIMIT 1;
  booked := coalesce(booked, false);
  IF cardinality(p_window_names) > 0 THEN
    SELECT array_agg((
        SELECT c.used FROM counters c WHERE c.app_id = p_app_id AND c.mode = p_mode AND c.name = w.name AND c.subject = w.subject
          AND c.starts_at = w.starts_at
      ) ORDER BY w.n) INTO used
      FROM unnest(p_window_names, p_window_subjects, p_windows_start) WITH ORDINALITY AS w(name, subject, starts_at, n);
  END IF;
END $$;

-- Several, one after the other: on Citus, and for the release before; arrive_at_once.sql has what one server does. The windows of all
-- requests follow one after the other; window_ends has the number of each request's last one.
CREATE OR REPLACE FUNCTION arrive_together( /*+ p_app text, */
  app_ids text[], key_ids text[], nonce_values text[], nonces_expire timestamptz[],
  modes text[], endpoints text[], request_keys text[], fingerprints bytea[], arrived timestamptz[], leases_until timestamptz[], candidates text[],
  window_ends int[], window_names text[], window_subjects text[], windows_start timestamptz[]
) RETURNS TABLE (
  ord int, nonce_fresh boolean, fence bigint, same boolean, state text, leased boolean, reference text, answer_status int, answer_body text,
  used bigint[], tenant_status text, capabilities text[], taken boolean, booked boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  r record;
  first_window int;
  last_window int;
  nonces_fresh boolean[];
BEGIN
  nonces_fresh := spend_each_nonce(app_ids, key_ids, nonce_values, nonces_expire);
  FOR r IN
    SELECT k.* FROM unnest(app_ids, modes, endpoints, request_keys, fingerprints, arrived, leases_until, candidates) WITH ORDINALITY
      AS k(app_id, mode, endpoint, key, fingerprint, at, lease_until, candidate, ord)
    ORDER BY k.app_id, k.mode, k.endpoint, k.key, k.ord
  LOOP
    ord := r.ord; nonce_fresh := nonces_fresh[r.ord]; fence := NULL; used := NULL; tenant_status := NULL; capabilities := NULL;
    same := NULL; state := NULL; leased := NULL; reference := NULL; answer_status := NULL; answer_body := NULL; taken := NULL; booked := NULL;
    IF nonce_fresh THEN
      first_window := coalesce(window_ends[r.ord - 1], 0) + 1;
      last_window := window_ends[r.ord];
      SELECT a.* INTO fence, same, state, leased, reference, answer_status, answer_body, used, tenant_status, capabilities, taken, booked
        FROM arrive_key(r.app_id, r.mode, r.endpoint, r.key, r.fingerprint, r.at, r.lease_until, r.candidate,
          window_names[first_window:last_window], window_subjects[first_window:last_window], windows_start[first_window:last_window]) a;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Whoever calls them, they mean these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION arrive_key SET search_path = %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION arrive_together SET search_path = %I, pg_temp', current_schema());
END $fixed$;
