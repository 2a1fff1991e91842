-- `open_steps` opens a batch of transactions: what `open_step` does, as if the steps came one after another in the order in which they are
-- given.
-- Element i of each step array is step i. Each row to lock is listed once; steps refer to it by its index. Windows are listed in lock
-- order.
-- First everything is locked (windows are counted with it), class by class as in `open_step`, then it is decided in variables, then that is
-- written. The settings: a plan serves any number of steps, and finds each row by its key. Only bitmap scans are left on, because they
-- cannot run without an index condition: a table that was empty when it was analysed would else be read from end to end, each of its rows
-- compared with each step.

CREATE OR REPLACE FUNCTION open_steps( /*+ p_app text, */
  -- The record, as it is written.
  p_app_id text[], p_mode text[], p_reference text[], p_kind text[], p_status text[], p_needs_review boolean[], p_provider text[],
  p_provider_reference text[], p_record text[], p_next_poll_at timestamptz[], p_sealed_destination bytea[], p_beneficiary text[],
  p_party_hash bytea[], p_counted text[], p_traceparent text[],
  -- The line of its history, and the event that tells the tenant; null where there is none.
  p_at timestamptz[], p_actor text[], p_fact text[], p_note text[], p_event_id text[], p_event_type text[], p_event_body text[],
  -- The claim of its request.
  p_endpoint text[], p_key text[], p_fence bigint[],
  -- What it reserves, of which position; 0 where nothing. The position that its success will credit, null where none.
  p_held bigint[], p_position int[], p_credited_currency text[],
  -- Its tenant; the payer whose number it charges, null where none, and the charge that was found last for it; how many windows it needs.
  p_tenant int[], p_payer int[], p_last_charge_seen text[], p_windows int[],
  -- The rows to lock, each once.
  p_tenant_app_id text[],
  p_payer_app_id text[], p_payer_mode text[], p_payer_hash bytea[],
  p_window_app_id text[], p_window_mode text[], p_window_name text[], p_window_subject text[], p_window_starts_at timestamptz[],
  p_position_app_id text[], p_position_mode text[], p_position_currency text[],
  -- How much of which window, of which no more than the bound may be used, in the order of the steps and, of one step, of the refusals.
  p_need_window int[], p_need_amount bigint[], p_need_bound bigint[]
) RETURNS TABLE (ord int, verdict text, reservable bigint, failed_window int) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $open$
DECLARE
  r record;
  -- By the number of the step: the first step that has the same claim, and of that one whether the claim is still unused.
  claim_owner int[] := array_fill(NULL::int, ARRAY[cardinality(p_app_id)]);
  claim_unused boolean[] := array_fill(false, ARRAY[cardinality(p_app_id)]);
  opened int[] := '{}';
  -- By the number of the tenant, the payer, the window, the position.
  active boolean[] := array_fill(false, ARRAY[cardinality(p_tenant_app_id)]);
  payer_available boolean[] := array_fill(false, ARRAY[cardinality(p_payer_hash)]);
  last_charge text[] := array_fill(NULL::text, ARRAY[cardinality(p_payer_hash)]);
  asked bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_window_name)]);
  used_so_far bigint[];
  left_over bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_position_currency)]);
  reserved bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_position_currency)]);
  first int;
  last int := 0;
  written int;
BEGIN
  /*+ IF (p_app = ALL (p_app_id)) IS NOT TRUE THEN PERFORM refuse_commit('a step of another tenant'); END IF; */
  -- Lock 1: the keys. A claim holds where its fence is the key's and the key is not pinned yet.
  FOR r IN
    SELECT l.n, min(l.n) OVER (PARTITION BY l.fence) AS first FROM (
      SELECT s.n, k.fence FROM unnest(p_app_id, p_mode, p_endpoint, p_key, p_fence) WITH ORDINALITY AS s(app_id, mode, endpoint, key, fence, n)
      JOIN idempotency_keys k ON k.app_id = s.app_id AND k.mode = s.mode AND k.endpoint = s.endpoint AND k.key = s.key
      WHERE k.fence = s.fence AND k.state = 'claimed' /*+ AND k.app_id = p_app */
      ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k
    ) l
  LOOP
    claim_owner[r.n] := r.first;
    claim_unused[r.first] := true;
  END LOOP;

  -- Lock 2: the tenants, shared. A freeze waits for this commit, or is seen here.
  FOR r IN
    SELECT s.n, t.status FROM unnest(p_tenant_app_id) WITH ORDINALITY AS s(app_id, n) JOIN tenants t ON t.app_id = s.app_id /*+ AND t.app_id = p_app */
    ORDER BY t.app_id FOR SHARE OF t
  LOOP
    active[r.n] := r.status = 'active';
  END LOOP;

  -- An operator booked it meanwhile: its claim is lost. Who claims the key again is told.
  FOR r IN
    SELECT s.n FROM unnest(p_app_id, p_mode, p_reference) WITH ORDINALITY AS s(app_id, mode, reference, n)
    JOIN float_adjustments f ON f.app_id = s.app_id AND f.mode = s.mode AND f.external_id = s.reference /*+ AND f.app_id = p_app */
  LOOP
    claim_owner[r.n] := NULL;
  END LOOP;

  -- Lock 3: the payers whose numbers are charged, with the charge that each had last: the guard's last word (contract GUARD-6).
  IF cardinality(p_payer_hash) > 0 THEN
    FOR r IN
      SELECT s.n, l.reference FROM unnest(p_payer_app_id, p_payer_mode, p_payer_hash) WITH ORDINALITY AS s(app_id, mode, party_hash, n)
      JOIN payer_locks l ON l.app_id = s.app_id AND l.mode = s.mode AND l.party_hash = s.party_hash /*+ AND l.app_id = p_app */
      ORDER BY l.app_id, l.mode, l.party_hash FOR UPDATE OF l
    LOOP
      payer_available[r.n] := true;
      last_charge[r.n] := r.reference;
    END LOOP;
  END IF;

  -- Lock 4: the windows. All steps are counted at once, and refused ones give back below. The row of a window that is unused yet is made.
  IF cardinality(p_window_name) > 0 THEN
    FOR w IN 1 .. cardinality(p_need_window) LOOP asked[p_need_window[w]] := asked[p_need_window[w]] + p_need_amount[w]; END LOOP;
    used_so_far := use_windows(p_window_app_id, p_window_mode, p_window_name, p_window_subject, p_window_starts_at, asked);
  END IF;

  -- Lock 5: the positions. What a tenant owes cannot be reserved.
  IF cardinality(p_position_currency) > 0 THEN
    FOR r IN
      SELECT s.n, greatest(p.available_minor - p.receivable_minor, 0) AS reservable
      FROM unnest(p_position_app_id, p_position_mode, p_position_currency) WITH ORDINALITY AS s(app_id, mode, currency, n)
      JOIN float_positions p ON p.app_id = s.app_id AND p.mode = s.mode AND p.currency = s.currency /*+ AND p.app_id = p_app */
      ORDER BY p.app_id, p.mode, p.currency FOR UPDATE OF p
    LOOP
      left_over[r.n] := r.reservable;
    END LOOP;
  END IF;

  -- Decides step by step, first refusal first. A step takes all that it needs, or nothing: a refused one leaves room for the next.
  <<step>>
  FOR i IN 1 .. cardinality(p_app_id) LOOP
    first := last + 1;
    last := last + p_windows[i];
    ord := i; reservable := 0; failed_window := 0;
    -- Somebody else has the key by now, or it is pinned to a transaction, maybe that of a step before this one.
    IF claim_unused[claim_owner[i]] IS NOT TRUE THEN verdict := 'ClaimLost'; RETURN NEXT; CONTINUE; END IF;
    -- The tenant was frozen meanwhile.
    IF active[p_tenant[i]] IS NOT TRUE THEN verdict := 'Frozen'; RETURN NEXT; CONTINUE; END IF;
    -- Another charge of the number was placed meanwhile, or by a step before this one.
    IF p_payer[i] IS NOT NULL AND (payer_available[p_payer[i]] IS NOT TRUE OR last_charge[p_payer[i]] IS DISTINCT FROM p_last_charge_seen[i])
      THEN verdict := 'PayerBusy'; RETURN NEXT; CONTINUE; END IF;
    -- A window has no room for it.
    FOR w IN first .. last LOOP
      IF (used_so_far[p_need_window[w]] + p_need_amount[w] <= p_need_bound[w]) IS NOT TRUE THEN
        verdict := 'OverCap'; failed_window := w - first + 1; RETURN NEXT; CONTINUE step;
      END IF;
    END LOOP;
    -- The float cannot hold it.
    IF p_held[i] > 0 THEN
      reservable := left_over[p_position[i]];
      IF p_held[i] > reservable THEN verdict := 'ShortFloat'; RETURN NEXT; CONTINUE; END IF;
      left_over[p_position[i]] := reservable - p_held[i];
      reserved[p_position[i]] := reserved[p_position[i]] + p_held[i];
    END IF;
    FOR w IN first .. last LOOP
      used_so_far[p_need_window[w]] := used_so_far[p_need_window[w]] + p_need_amount[w];
    END LOOP;
    IF p_payer[i] IS NOT NULL THEN payer_available[p_payer[i]] := false; END IF;
    claim_unused[claim_owner[i]] := false;
    opened := opened || i;
    verdict := 'Opened';
    RETURN NEXT;
  END LOOP;

  -- What refused steps took of their windows is given back.
  IF cardinality(opened) < cardinality(p_app_id) AND cardinality(p_window_name) > 0 THEN
    FOR r IN
      SELECT s.* FROM unnest(p_window_app_id, p_window_mode, p_window_name, p_window_subject, p_window_starts_at, used_so_far)
        WITH ORDINALITY AS s(app_id, mode, name, subject, starts_at, used, n) ORDER BY s.n
    LOOP
      UPDATE counters c SET used = r.used
      WHERE c.app_id = r.app_id AND c.mode = r.mode AND c.name = r.name AND c.subject = r.subject AND c.starts_at = r.starts_at AND c.used <> r.used;
    END LOOP;
  END IF;
  IF cardinality(opened) = 0 THEN RETURN; END IF;

  -- Pins each key to its transaction: from here on the same request finds it, and no other request can take the key.
  UPDATE idempotency_keys k SET state = 'pinned', reference = s.reference
  FROM (
    SELECT p_app_id[n] AS app_id, p_mode[n] AS mode, p_endpoint[n] AS endpoint, p_key[n] AS key, p_fence[n] AS fence, p_reference[n] AS reference
    FROM unnest(opened) AS n
  ) s
  WHERE k.app_id = s.app_id AND k.mode = s.mode AND k.endpoint = s.endpoint AND k.key = s.key AND k.fence = s.fence
    AND k.state = 'claimed' /*+ AND k.app_id = p_app */;
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written <> cardinality(opened) THEN PERFORM refuse_commit('a key was not pinned'); END IF;

  -- The payer's newest charge is this one.
  IF cardinality(p_payer_hash) > 0 THEN
    UPDATE payer_locks l SET reference = s.reference, at = s.at, recent = add_charge(l.recent, s.reference, s.at)
    FROM (
      SELECT p_payer_app_id[p_payer[n]] AS app_id, p_payer_mode[p_payer[n]] AS mode, p_payer_hash[p_payer[n]] AS party_hash,
        p_reference[n] AS reference, p_at[n] AS at
      FROM unnest(opened) AS n WHERE p_payer[n] IS NOT NULL
    ) s
    WHERE l.app_id = s.app_id AND l.mode = s.mode AND l.party_hash = s.party_hash /*+ AND l.app_id = p_app */;
  END IF;

  -- Moves what they reserve from available to reserved.
  IF cardinality(p_position_currency) > 0 THEN
    UPDATE float_positions p SET available_minor = p.available_minor - s.reserved, reserved_minor = p.reserved_minor + s.reserved
    FROM unnest(p_position_app_id, p_position_mode, p_position_currency, reserved) AS s(app_id, mode, currency, reserved)
    WHERE p.app_id = s.app_id AND p.mode = s.mode AND p.currency = s.currency AND s.reserved > 0 /*+ AND p.app_id = p_app */;
  END IF;

  -- A collection and an exchange credit a position when they settle: its row has to be there by then.
  IF array_remove(p_credited_currency, NULL) <> '{}' THEN
    INSERT INTO float_positions (app_id, mode, currency)
    SELECT DISTINCT t.app_id, p_mode[n], p_credited_currency[n] FROM unnest(opened) AS n JOIN tenants t ON t.app_id = p_app_id[n]
    WHERE p_credited_currency[n] IS NOT NULL /*+ AND t.app_id = p_app */ ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING;
  END IF;

  -- The record, at revision 1.
  INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record,
    party_hash, account_hash, counted, traceparent, slots, created_at)
  SELECT p_app_id[n], p_reference[n], p_mode[n], p_kind[n], p_status[n], p_needs_review[n], p_provider[n], p_provider_reference[n], 1, p_record[n]::json,
    p_party_hash[n], account_hash_in(p_beneficiary[n]), p_counted[n]::json, p_traceparent[n], CASE WHEN p_held[n] > 0 THEN ARRAY['open'] ELSE '{}' END, p_at[n]
  FROM unnest(opened) AS n;

  -- What they are found by.
  INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
  SELECT p_app_id[n], p_mode[n], m.member, p_at[n], p_reference[n]
  FROM unnest(opened) AS n CROSS JOIN LATERAL metadata_members_of(p_record[n]::json) AS m(member);

  -- What is to be done about it.
  INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review, sealed_destination, beneficiary)
  SELECT p_app_id[n], p_reference[n], p_mode[n], p_at[n], p_status[n] IN ('pending', 'requires_action'), p_next_poll_at[n], p_needs_review[n],
    p_sealed_destination[n], well_formed(without_account_hash(p_beneficiary[n])::json)
  FROM unnest(opened) AS n;

  IF array_remove(p_provider_reference, NULL) <> '{}' THEN
    INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference)
    SELECT p_provider[n], p_mode[n], p_provider_reference[n], p_app_id[n], p_reference[n] FROM unnest(opened) AS n WHERE p_provider_reference[n] IS NOT NULL;
  END IF;

  -- The first line of the history, with the reservation where there is one, and the digests that ledger verify compares.
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts,
    record_digest, event_digest)
  SELECT p_app_id[n], p_reference[n], 1, p_mode[n], p_at[n], p_actor[n], p_fact[n], p_note[n], p_status[n],
    CASE WHEN p_held[n] > 0 THEN 'open' END, CASE WHEN p_held[n] > 0 THEN 'reserve' END,
    CASE WHEN p_held[n] > 0 THEN ARRAY[p_position_currency[p_position[n]], p_position_currency[p_position[n]]] ELSE '{}' END,
    CASE WHEN p_held[n] > 0 THEN ARRAY['available', 'reserved'] ELSE '{}' END,
    CASE WHEN p_held[n] > 0 THEN ARRAY[-p_held[n], p_held[n]] ELSE '{}' END,
    record_digest(p_record[n]), event_digest(p_event_id[n], p_event_type[n], p_event_body[n])
  FROM unnest(opened) AS n;

  IF array_remove(p_event_id, NULL) <> '{}' THEN
    PERFORM write_events( /*+ p_app, */ opened, p_app_id, p_mode, p_reference, p_at, p_event_id, p_event_type, p_event_body);
  END IF;
END
$open$;

-- Whoever calls it, it means these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION open_steps SET search_path = %I, pg_temp', current_schema());
END $fixed$;
