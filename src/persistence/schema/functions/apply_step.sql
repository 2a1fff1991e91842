-- `apply_step` applies one fact to exactly the revision that it was decided against; false where the record has moved on, and nothing is
-- written then. A payment that is open already is applied under a freeze, too, so no tenant is locked. `apply_steps` does the same for a
-- batch. Locks are taken in the order of open_step.sql. What is to be done about a transaction (open_work) is only changed under its lock.
-- `refuse_commit` rolls everything back where a slot would be posted twice, or a position is not there.

CREATE OR REPLACE FUNCTION apply_step(
  -- The revision that it was decided against, and the record that it makes of it.
  p_app_id text, p_mode text, p_reference text, p_expected_revision bigint, p_status text, p_needs_review boolean, p_provider text,
  p_provider_reference text, p_record text, p_next_poll_at timestamptz, p_raw_request text, p_raw_response text,
  -- The line of its history, and the event that tells the tenant; null where there is none.
  p_at timestamptz, p_actor text, p_fact text, p_note text, p_event_id text, p_event_type text, p_event_body text,
  -- Its entry; null and empty where no money moves. The postings are arrays, written as text.
  p_slot text, p_phase text, p_currencies text, p_accounts text, p_amounts text,
  -- Gives its count back, makes the recipient a beneficiary, forgets the destination.
  p_give_back boolean, p_accepted boolean, p_wipe boolean,
  -- The request that it answers, and the answer; null where none.
  p_endpoint text, p_key text, p_fence bigint, p_answer_status int, p_answer_body bytea,
  OUT applied boolean
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $apply$
DECLARE
  answered boolean := false;
  still_open boolean := p_status IN ('pending', 'requires_action');
  -- The record, as it is now.
  t record;
  r record;
BEGIN
  -- The record at its next revision, where it is still the one that the step was decided against. A slot names one entry of a
  -- transaction and may occur once.
  UPDATE transactions SET status = p_status, needs_review = p_needs_review, provider = p_provider, provider_reference = p_provider_reference,
    revision = revision + 1, record = p_record::json, raw_request = coalesce(p_raw_request, raw_request),
    raw_response = CASE WHEN p_raw_request IS NULL THEN raw_response ELSE p_raw_response END,
    slots = CASE WHEN p_slot IS NULL THEN slots ELSE slots || p_slot END
  WHERE reference = p_reference AND app_id = p_app_id AND mode = p_mode AND revision = p_expected_revision
  RETURNING kind, created_at, party_hash, counted, cardinality(array_positions(slots, p_slot)) > 1 AS posted_before INTO t;
  applied := FOUND;
  IF NOT applied THEN RETURN; END IF;
  IF t.posted_before THEN PERFORM refuse_commit('an entry was posted before'); END IF;

  -- The response under the key, where the request still holds it: the same request again gets the same bytes.
  IF p_key IS NOT NULL THEN
    UPDATE idempotency_keys k SET state = 'done', answer_status = p_answer_status, answer_body = p_answer_body
    WHERE k.app_id = p_app_id AND k.mode = p_mode AND k.endpoint = p_endpoint AND k.key = p_key AND k.fence = p_fence AND k.state = 'pinned';
    answered := FOUND;
  END IF;

  -- A failed payout gives its count back to the windows that it was counted in. A window is never below zero.
  IF p_give_back THEN
    FOR r IN
      SELECT g.app_id, g.mode, g.name, g.subject, g.starts_at, sum(g.amount) AS amount
      FROM counted_windows(p_app_id, p_mode, t.party_hash, t.counted) AS g
      GROUP BY 1, 2, 3, 4, 5 ORDER BY g.app_id COLLATE "C", g.mode COLLATE "C", g.name COLLATE "C", g.subject COLLATE "C", g.starts_at
    LOOP
      UPDATE counters c SET used = greatest(c.used - r.amount, 0)
      WHERE c.app_id = r.app_id AND c.mode = r.mode AND c.name = r.name AND c.subject = r.subject AND c.starts_at = r.starts_at;
    END LOOP;
  END IF;

  -- The positions move by what the entry says.
  IF p_slot IS NOT NULL THEN
    FOR r IN
      SELECT e.currency,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'available'), 0) AS available,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'reserved'), 0) AS reserved,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'collected'), 0) AS collected,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'paid_out'), 0) AS paid_out,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'provider_fees'), 0) AS provider_fees,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'fx_in'), 0) AS fx_in,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'fx_out'), 0) AS fx_out,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'returned'), 0) AS returned,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'receivable'), 0) AS receivable
      FROM signed_postings(p_currencies, p_accounts, p_amounts) AS e
      GROUP BY 1 ORDER BY 1
    LOOP
      UPDATE float_positions p SET
        available_minor = p.available_minor + r.available,
        reserved_minor = p.reserved_minor + r.reserved,
        collected_minor = p.collected_minor + r.collected,
        paid_out_minor = p.paid_out_minor + r.paid_out,
        provider_fees_minor = p.provider_fees_minor + r.provider_fees,
        fx_in_minor = p.fx_in_minor + r.fx_in,
        fx_out_minor = p.fx_out_minor + r.fx_out,
        returned_minor = p.returned_minor + r.returned,
        receivable_minor = p.receivable_minor + r.receivable
      WHERE p.app_id = p_app_id AND p.mode = p_mode AND p.currency = r.currency;
      IF NOT FOUND THEN PERFORM refuse_commit('a position was not moved'); END IF;
    END LOOP;
  END IF;

  -- The recipient of a payout that the provider accepted is a beneficiary from then on; one row a recipient and mode, with what the last
  -- payout says of how it is paid.
  IF p_accepted AND t.party_hash IS NOT NULL THEN
    INSERT INTO beneficiaries AS known (app_id, id, mode, party_hash, type, country, currency, network, bank_code, branch_code, bank_name,
      account_name, masked_destination, created_at, last_used_at)
    SELECT w.app_id, b.id, w.mode, t.party_hash, b.type, b.country, b.currency, b.network, b."bankCode", b."branchCode", b."bankName",
      b."accountName", b."maskedDestination", p_at, p_at
    FROM open_work w CROSS JOIN LATERAL json_to_record(w.beneficiary) AS b(id text, type text, country text, currency text, network text,
      "bankCode" text, "branchCode" text, "bankName" text, "accountName" text, "maskedDestination" text)
    WHERE w.app_id = p_app_id AND w.reference = p_reference AND w.beneficiary IS NOT NULL
    ON CONFLICT (app_id, mode, party_hash) DO UPDATE SET last_used_at = greatest(known.last_used_at, EXCLUDED.last_used_at),
      network = coalesce(EXCLUDED.network, known.network), branch_code = coalesce(EXCLUDED.branch_code, known.branch_code),
      account_name = coalesce(EXCLUDED.account_name, known.account_name);
  END IF;

  -- Of what ended well only a charge is polled again: no other record is read for it.
  IF p_next_poll_at IS NULL AND (p_status = 'failed' OR p_status = 'successful' AND t.kind = 'collection')
    THEN p_next_poll_at := late_poll(p_status, p_record);
  END IF;
  -- What is left to be done. The sealed destination goes once it is not needed any more, the beneficiary once it was saved or the payout
  -- ended.
  IF still_open OR p_next_poll_at IS NOT NULL OR p_needs_review THEN
    UPDATE open_work w SET is_open = still_open, next_poll_at = p_next_poll_at, needs_review = p_needs_review, lease_until = NULL,
      sealed_destination = CASE WHEN p_wipe THEN NULL ELSE w.sealed_destination END,
      beneficiary = CASE WHEN p_accepted OR p_wipe THEN NULL ELSE w.beneficiary END
    WHERE w.app_id = p_app_id AND w.reference = p_reference;
    -- No row: the payment was closed and is reopened, without its destination.
    IF NOT FOUND THEN
      INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review)
      VALUES (p_app_id, p_reference, p_mode, t.created_at, still_open, p_next_poll_at, p_needs_review);
    END IF;
  ELSE
    DELETE FROM open_work w WHERE w.app_id = p_app_id AND w.reference = p_reference;
  END IF;

  -- Lets a callback with only the provider's reference find its transaction.
  IF p_provider_reference IS NOT NULL THEN
    INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference)
    VALUES (p_provider, p_mode, p_provider_reference, p_app_id, p_reference) ON CONFLICT DO NOTHING;
  END IF;

  -- What it is found by, once its provider told it.
  IF position('"providerReceipt":' IN p_record) > 0 THEN
    INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
    VALUES (p_app_id, p_mode, receipt_member(p_record::json), t.created_at, p_reference) ON CONFLICT DO NOTHING;
  END IF;

  -- A line of the history, with its entry, and with the digests that ledger verify compares.
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts,
    record_digest, event_digest, answer_digest)
  VALUES (p_app_id, p_reference, p_expected_revision + 1, p_mode, p_at, p_actor, p_fact, p_note, p_status, p_slot, p_phase,
    p_currencies::text[], p_accounts::text[], p_amounts::bigint[], record_digest(p_record),
    event_digest(p_event_id, p_event_type, p_event_body),
    CASE WHEN answered THEN answer_digest(p_endpoint, p_key, p_answer_status, p_answer_body) END);

  IF p_event_id IS NOT NULL THEN PERFORM write_event(p_app_id, p_mode, p_reference, p_at, p_event_id, p_event_type, p_event_body); END IF;
END
$apply$;

-- Whoever calls it, it means these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION apply_step SET search_path = %I, pg_temp', current_schema());
END $fixed$;
