-- `open_step` opens one transaction: everything below is written in one commit, or nothing is, and the verdict says why. `open_steps` does
-- the same for a batch.
-- Locks are always taken in this order: console_proposals, nonces, charge_codes, transactions, open_work, idempotency_keys, tenants,
-- payer_locks, counters, float_positions; within a table by primary key, but windows by tenant, mode, name, subject and time, and
-- beneficiaries by recipient. The audit log's head is last.
-- Windows compare byte by byte. So no two calls deadlock, whichever functions they are of.
-- The settings: a plan is made once, and finds each row by its key, whatever the planner thinks of a young table.
-- `reservable` is what could be reserved where the verdict is ShortFloat, `failed_window` the place of the window that made it OverCap.

CREATE OR REPLACE FUNCTION open_step(
  -- The record, as it is written.
  p_app_id text, p_mode text, p_reference text, p_kind text, p_status text, p_needs_review boolean, p_provider text, p_provider_reference text,
  p_record text, p_next_poll_at timestamptz, p_sealed_destination bytea, p_beneficiary text, p_party_hash bytea, p_counted text, p_traceparent text,
  -- The line of its history, and the event that tells the tenant; null where there is none.
  p_at timestamptz, p_actor text, p_fact text, p_note text, p_event_id text, p_event_type text, p_event_body text,
  -- The claim of its request.
  p_endpoint text, p_key text, p_fence bigint,
  -- What it reserves, 0 where nothing; the position that its success will credit, null where none.
  p_currency text, p_held bigint, p_credited_currency text,
  -- Whether a payer's number is charged, and the charge that was found last for it.
  p_guarded boolean, p_last_charge_seen text,
  -- The windows that it is counted in, in the order of their keys: how much of each, of which no more than the bound may be used, and its
  -- place in the order of refusals.
  p_window_app_id text[], p_window_mode text[], p_window_name text[], p_window_subject text[], p_window_starts_at timestamptz[],
  p_window_amount bigint[], p_window_bound bigint[], p_window_place int[],
  OUT verdict text, OUT reservable bigint, OUT failed_window int
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $open$
DECLARE
  tenant_status text;
  in_use bigint;
  -- A variable, because Citus asks it where the row is.
  window_app_id text;
BEGIN
  reservable := 0;
  failed_window := 0;
  -- What is written in this block is undone where the step is refused.
  BEGIN
    -- Pins the key to the transaction: from here on the same request finds it, and no other request can take the key.
    -- ClaimLost: somebody else has the key by now, or it is pinned to a transaction.
    UPDATE idempotency_keys k SET state = 'pinned', reference = p_reference
    WHERE k.app_id = p_app_id AND k.mode = p_mode AND k.endpoint = p_endpoint AND k.key = p_key AND k.fence = p_fence AND k.state = 'claimed';
    IF NOT FOUND THEN verdict := 'ClaimLost'; RAISE SQLSTATE 'GW001'; END IF;

    -- A freeze, and an operator who books by hand, wait for this commit, or are seen here.
    SELECT t.status INTO tenant_status FROM tenants t WHERE t.app_id = p_app_id FOR SHARE;

    -- ClaimLost, too: an operator booked it meanwhile. Who claims the key again is told. It comes before Frozen, which would say that no
    -- money moved.
    IF EXISTS (SELECT FROM float_adjustments f WHERE f.app_id = p_app_id AND f.mode = p_mode AND f.external_id = p_reference) THEN
      verdict := 'ClaimLost'; RAISE SQLSTATE 'GW001';
    END IF;

    -- Frozen: the tenant was frozen meanwhile.
    IF tenant_status IS DISTINCT FROM 'active' THEN verdict := 'Frozen'; RAISE SQLSTATE 'GW001'; END IF;

    -- PayerBusy: another charge of the number was placed meanwhile. The payer's newest charge is this one now (contract GUARD-6).
    IF p_guarded THEN
      UPDATE payer_locks l SET reference = p_reference, at = p_at, recent = add_charge(l.recent, p_reference, p_at)
      WHERE l.app_id = p_app_id AND l.mode = p_mode AND l.party_hash = p_party_hash AND l.reference IS NOT DISTINCT FROM p_last_charge_seen;
      IF NOT FOUND THEN verdict := 'PayerBusy'; RAISE SQLSTATE 'GW001'; END IF;
    END IF;

    -- OverCap: a window has no room for it. Of several the first in the order of refusals counts.
    FOR w IN 1 .. cardinality(p_window_name) LOOP
      window_app_id := p_window_app_id[w];
      UPDATE counters c SET used = c.used + p_window_amount[w]
      WHERE c.app_id = window_app_id AND c.mode = p_window_mode[w] AND c.name = p_window_name[w] AND c.subject = p_window_subject[w]
        AND c.starts_at = p_window_starts_at[w]
      RETURNING c.used INTO in_use;
      IF NOT FOUND THEN
        INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
        VALUES (window_app_id, p_window_mode[w], p_window_name[w], p_window_subject[w], p_window_starts_at[w], p_window_amount[w])
        ON CONFLICT (app_id, mode, name, subject, starts_at) DO UPDATE SET used = c.used + EXCLUDED.used
        RETURNING c.used INTO in_use;
      END IF;
      IF (in_use <= p_window_bound[w]) IS NOT TRUE AND (failed_window = 0 OR p_window_place[w] < failed_window) THEN failed_window := p_window_place[w]; END IF;
    END LOOP;
    IF failed_window > 0 THEN verdict := 'OverCap'; RAISE SQLSTATE 'GW001'; END IF;

    -- ShortFloat: the float cannot hold it. What the tenant owes cannot be reserved. Else it moves from available to reserved.
    IF p_held > 0 THEN
      UPDATE float_positions p SET available_minor = p.available_minor - p_held, reserved_minor = p.reserved_minor + p_held
      WHERE p.app_id = p_app_id AND p.mode = p_mode AND p.currency = p_currency AND p_held <= p.available_minor - p.receivable_minor;
      IF NOT FOUND THEN
        SELECT greatest(p.available_minor - p.receivable_minor, 0) INTO reservable FROM float_positions p
        WHERE p.app_id = p_app_id AND p.mode = p_mode AND p.currency = p_currency FOR UPDATE;
        reservable := coalesce(reservable, 0);
        IF p_held > reservable THEN verdict := 'ShortFloat'; RAISE SQLSTATE 'GW001'; END IF;
        -- It was credited in between, and is locked now.
        UPDATE float_positions p SET available_minor = p.available_minor - p_held, reserved_minor = p.reserved_minor + p_held
        WHERE p.app_id = p_app_id AND p.mode = p_mode AND p.currency = p_currency;
      END IF;
    END IF;
    verdict := 'Opened';
  EXCEPTION WHEN SQLSTATE 'GW001' THEN
    RETURN;
  END;

  -- A collection and an exchange credit a position when they settle: its row has to be there by then.
  IF p_credited_currency IS NOT NULL THEN
    INSERT INTO float_positions (app_id, mode, currency) VALUES (p_app_id, p_mode, p_credited_currency) ON CONFLICT DO NOTHING;
  END IF;

  -- The record, at revision 1.
  INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, provider_reference, revision, record,
    party_hash, account_hash, counted, traceparent, slots, created_at)
  VALUES (p_app_id, p_reference, p_mode, p_kind, p_status, p_needs_review, p_provider, p_provider_reference, 1, p_record::json,
    p_party_hash, account_hash_in(p_beneficiary), p_counted::json, p_traceparent, CASE WHEN p_held > 0 THEN ARRAY['open'] ELSE '{}' END, p_at);

  -- What it is found by.
  INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
  SELECT p_app_id, p_mode, m.member, p_at, p_reference FROM metadata_members_of(p_record::json) AS m(member);

  -- What is to be done about it.
  INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review, sealed_destination, beneficiary)
  VALUES (p_app_id, p_reference, p_mode, p_at, p_status IN ('pending', 'requires_action'), p_next_poll_at, p_needs_review, p_sealed_destination,
    well_formed(without_account_hash(p_beneficiary)::json));
  IF p_provider_reference IS NOT NULL THEN
    INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference)
    VALUES (p_provider, p_mode, p_provider_reference, p_app_id, p_reference);
  END IF;

  -- The first line of the history, with the reservation where there is one, and the digests that ledger verify compares.
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts,
    record_digest, event_digest)
  VALUES (p_app_id, p_reference, 1, p_mode, p_at, p_actor, p_fact, p_note, p_status,
    CASE WHEN p_held > 0 THEN 'open' END, CASE WHEN p_held > 0 THEN 'reserve' END,
    CASE WHEN p_held > 0 THEN ARRAY[p_currency, p_currency] ELSE '{}' END,
    CASE WHEN p_held > 0 THEN ARRAY['available', 'reserved'] ELSE '{}' END,
    CASE WHEN p_held > 0 THEN ARRAY[-p_held, p_held] ELSE '{}' END,
    record_digest(p_record), event_digest(p_event_id, p_event_type, p_event_body));

  IF p_event_id IS NOT NULL THEN PERFORM write_event(p_app_id, p_mode, p_reference, p_at, p_event_id, p_event_type, p_event_body); END IF;
END
$open$;

-- Whoever calls it, it means these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION open_step SET search_path = %I, pg_temp', current_schema());
END $fixed$;
