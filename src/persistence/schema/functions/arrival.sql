-- The arrival of requests that claim an idempotency key: what a request has to commit before its work begins, in one statement. Each spends
-- its nonce, and where the nonce was its own it claims its key; where the key is taken, the row says what for. It also reads what is used
-- of the windows that the request would be counted in, and how the tenant stands: that only refuses early, because open looks again under
-- locks. The windows of all requests follow one after the other; window_ends has the number of each request's last one. Every class of rows
-- is locked in one order over the whole call, and the classes in the order of open_step.sql: nonces, keys.
CREATE OR REPLACE FUNCTION arrive_requests( /*+ p_app text, */
  app_ids text[], key_ids text[], nonce_values text[], nonces_expire timestamptz[],
  modes text[], endpoints text[], request_keys text[], fingerprints bytea[], arrived timestamptz[], leases_until timestamptz[],
  window_ends int[], window_names text[], window_subjects text[], windows_start timestamptz[]
) RETURNS TABLE (
  ord int, nonce_fresh boolean, fence bigint, same boolean, state text, leased boolean, reference text, answer_status int, answer_body text,
  used bigint[], tenant_status text, capabilities text[]
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
    SELECT k.* FROM unnest(app_ids, modes, endpoints, request_keys, fingerprints, arrived, leases_until) WITH ORDINALITY
      AS k(app_id, mode, endpoint, key, fingerprint, at, lease_until, ord)
    ORDER BY k.app_id, k.mode, k.endpoint, k.key, k.ord
  LOOP
    ord := r.ord; nonce_fresh := nonces_fresh[r.ord]; fence := NULL; used := NULL; tenant_status := NULL; capabilities := NULL;
    same := NULL; state := NULL; leased := NULL; reference := NULL; answer_status := NULL; answer_body := NULL;
    IF nonce_fresh THEN
      -- A key that nobody has; or one whose claimant died before it made a transaction, for the same request.
      INSERT INTO idempotency_keys AS k (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
        VALUES (r.app_id, r.mode, r.endpoint, r.key, r.fingerprint, nextval('fences'), 'claimed', r.lease_until, r.at)
        ON CONFLICT (app_id, mode, endpoint, key) DO UPDATE SET fence = EXCLUDED.fence, lease_until = EXCLUDED.lease_until,
            -- Its ninety days begin with the request that may move money.
            created_at = EXCLUDED.created_at
          WHERE k.state = 'claimed' AND k.lease_until <= EXCLUDED.created_at AND k.fingerprint = EXCLUDED.fingerprint
        RETURNING k.fence INTO fence;
      -- A key that is taken is locked by the attempt, so that it is still there.
      IF fence IS NULL THEN
        SELECT k.fingerprint = r.fingerprint, k.state, k.lease_until > r.at, k.reference, k.answer_status, convert_from(k.answer_body, 'UTF8')
          INTO same, state, leased, reference, answer_status, answer_body
          FROM idempotency_keys k WHERE k.app_id = r.app_id AND k.mode = r.mode AND k.endpoint = r.endpoint AND k.key = r.key;
      ELSE
        SELECT t.status, t.capabilities INTO tenant_status, capabilities FROM tenants t WHERE t.app_id = r.app_id;
        first_window := coalesce(window_ends[r.ord - 1], 0) + 1;
        last_window := window_ends[r.ord];
        IF last_window >= first_window THEN
          SELECT array_agg((
              SELECT c.used FROM counters c WHERE c.app_id = r.app_id AND c.mode = r.mode AND c.name = w.name AND c.subject = w.subject
                AND c.starts_at = w.starts_at
            ) ORDER BY w.n) INTO used
            FROM unnest(
              window_names[first_window:last_window], window_subjects[first_window:last_window], windows_start[first_window:last_window]
            ) WITH ORDINALITY AS w(name, subject, starts_at, n);
        END IF;
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Spends the nonces of requests that claim no key; says of each whether it was its own.
CREATE OR REPLACE FUNCTION spend_nonces( /*+ p_app text, */ app_ids text[], key_ids text[], nonce_values text[], nonces_expire timestamptz[])
RETURNS boolean[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN spend_each_nonce(app_ids, key_ids, nonce_values, nonces_expire);
END $$;

-- Whoever calls them, they mean these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION spend_nonces SET search_path = %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION arrive_requests SET search_path = %I, pg_temp', current_schema());
END $fixed$;
