-- `apply_steps` applies a batch of facts, each to exactly the revision that it was decided against: what `apply_step` does. Element i of
-- each array is step i.
-- Locks are taken class by class, in the order of `open_step`. The settings are those of `open_steps`.
-- An answer is a row a step: whether it was applied, or stale. `refuse_commit` rolls the whole batch back where a slot would be posted
-- twice, or a position is not there.

CREATE OR REPLACE FUNCTION apply_steps( /*+ p_app text, */
  -- The revision that it was decided against, and the record that it makes of it.
  p_app_id text[], p_mode text[], p_reference text[], p_expected_revision bigint[], p_status text[], p_needs_review boolean[], p_provider text[],
  p_provider_reference text[], p_record text[], p_next_poll_at timestamptz[], p_raw_request text[], p_raw_response text[],
  -- The line of its history, and the event that tells the tenant; null where there is none.
  p_at timestamptz[], p_actor text[], p_fact text[], p_note text[], p_event_id text[], p_event_type text[], p_event_body text[],
  -- Its entry; null where no money moves. The postings are arrays of their own, as text: a place of an array holds no array.
  p_slot text[], p_phase text[], p_currencies text[], p_accounts text[], p_amounts text[],
  -- Gives its count back, makes the recipient a beneficiary, forgets the destination.
  p_give_back boolean[], p_accepted boolean[], p_wipe boolean[],
  -- The request that it answers, and the answer.
  p_endpoint text[], p_key text[], p_fence bigint[], p_answer_status int[], p_answer_body bytea[]
) RETURNS TABLE (ord int, applied boolean) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $apply$
DECLARE
  r record;
  previous int;
  -- The steps that apply, and of these the ones whose transaction gets another name at its provider, the ones with a receipt of it, and
  -- the ones that answer their request.
  current_steps int[] := '{}';
  renamed int[] := '{}';
  receipted int[] := '{}';
  answering int[] := '{}';
  -- The ones that leave something to do, and the ones that leave nothing.
  unfinished int[] := '{}';
  finished int[] := '{}';
  is_current boolean[] := array_fill(false, ARRAY[cardinality(p_app_id)]);
  moves position_move[];
  written int;
BEGIN
  /*+ IF (p_app = ALL (p_app_id)) IS NOT TRUE THEN PERFORM refuse_commit('a step of another tenant'); END IF; */
  -- Lock 1: the transactions. A step applies to the revision that stands there; of two steps on one transaction only the first does.
  FOR r IN
    SELECT s.n::int AS n, t.kind, p_slot[s.n] = ANY (t.slots) AS posted,
      (t.provider, t.provider_reference) IS DISTINCT FROM (p_provider[s.n], p_provider_reference[s.n]) AS renamed
    FROM unnest(p_app_id, p_mode, p_reference, p_expected_revision) WITH ORDINALITY AS s(app_id, mode, reference, expected_revision, n)
    JOIN transactions t ON t.reference = s.reference AND t.app_id = s.app_id AND t.mode = s.mode
    WHERE t.revision = s.expected_revision /*+ AND t.app_id = p_app */
    ORDER BY t.app_id, t.reference, s.n FOR UPDATE OF t
  LOOP
    CONTINUE WHEN p_reference[r.n] = p_reference[previous] AND p_app_id[r.n] = p_app_id[previous];
    IF r.posted THEN PERFORM refuse_commit('an entry was posted before'); END IF;
    current_steps := current_steps || r.n;
    is_current[r.n] := true;
    -- Of what ended well only a charge is polled again: no other record is read for it.
    IF p_next_poll_at[r.n] IS NULL AND (p_status[r.n] = 'failed' OR p_status[r.n] = 'successful' AND r.kind = 'collection')
      THEN p_next_poll_at[r.n] := late_poll(p_status[r.n], p_record[r.n]);
    END IF;
    IF p_status[r.n] IN ('pending', 'requires_action') OR p_next_poll_at[r.n] IS NOT NULL OR p_needs_review[r.n]
      THEN unfinished := unfinished || r.n;
      ELSE finished := finished || r.n;
    END IF;
    IF r.renamed AND p_provider_reference[r.n] IS NOT NULL THEN renamed := renamed || r.n; END IF;
    IF position('"providerReceipt":' IN p_record[r.n]) > 0 THEN receipted := receipted || r.n; END IF;
    previous := r.n;
  END LOOP;

  -- All others are stale: decided against a record that is not there any more.
  FOR i IN 1 .. cardinality(p_app_id) LOOP
    ord := i;
    applied := is_current[i];
    RETURN NEXT;
  END LOOP;
  IF cardinality(current_steps) = 0 THEN RETURN; END IF;

  -- Lock 2: the keys of the requests that are answered, where a request still holds its own.
  IF array_remove(p_key, NULL) <> '{}' THEN
    answering := ARRAY(
      SELECT n FROM unnest(current_steps) AS n
      JOIN idempotency_keys k ON k.app_id = p_app_id[n] AND k.mode = p_mode[n] AND k.endpoint = p_endpoint[n] AND k.key = p_key[n]
      WHERE k.fence = p_fence[n] AND k.state = 'pinned' /*+ AND k.app_id = p_app */
      ORDER BY k.app_id, k.mode, k.endpoint, k.key FOR UPDATE OF k);
  END IF;

  -- Lock 3: the windows of failed payouts, which get their count back. A window is never below zero.
  IF true = ANY (p_give_back) THEN
    FOR r IN
      SELECT g.app_id, g.mode, g.name, g.subject, g.starts_at, sum(g.amount) AS amount
      FROM unnest(current_steps) AS n JOIN transactions t ON t.reference = p_reference[n] AND t.app_id = p_app_id[n]
      CROSS JOIN LATERAL counted_windows(t.app_id, t.mode, t.party_hash, t.counted) AS g
      WHERE p_give_back[n] /*+ AND t.app_id = p_app */ GROUP BY 1, 2, 3, 4, 5
      ORDER BY g.app_id COLLATE "C", g.mode COLLATE "C", g.name COLLATE "C", g.subject COLLATE "C", g.starts_at
    LOOP
      UPDATE counters c SET used = greatest(c.used - r.amount, 0)
      WHERE c.app_id = r.app_id AND c.mode = r.mode AND c.name = r.name AND c.subject = r.subject AND c.starts_at = r.starts_at;
    END LOOP;
  END IF;

  -- Lock 4: the positions that the entries move, with by how much, in the order of position_move.
  IF array_remove(p_slot, NULL) <> '{}' THEN
    moves := ARRAY(
      SELECT ROW(p_app_id[n], p_mode[n], e.currency,
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'available'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'reserved'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'collected'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'paid_out'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'provider_fees'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'fx_in'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'fx_out'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'returned'), 0),
        coalesce(sum(e.amount) FILTER (WHERE e.account = 'receivable'), 0))::position_move
      FROM unnest(current_steps) AS n
      CROSS JOIN LATERAL signed_postings(p_currencies[n], p_accounts[n], p_amounts[n]) AS e
      WHERE p_slot[n] IS NOT NULL GROUP BY p_app_id[n], p_mode[n], e.currency);
    PERFORM 1 FROM unnest(moves) AS m JOIN float_positions p ON p.app_id = m.app_id AND p.mode = m.mode AND p.currency = m.currency /*+ AND p.app_id = p_app */
      ORDER BY p.app_id, p.mode, p.currency FOR UPDATE OF p;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> cardinality(moves) THEN PERFORM refuse_commit('a position was not moved'); END IF;
    UPDATE float_positions p SET
      available_minor = p.available_minor + m.available_minor,
      reserved_minor = p.reserved_minor + m.reserved_minor,
      collected_minor = p.collected_minor + m.collected_minor,
      paid_out_minor = p.paid_out_minor + m.paid_out_minor,
      provider_fees_minor = p.provider_fees_minor + m.provider_fees_minor,
      fx_in_minor = p.fx_in_minor + m.fx_in_minor,
      fx_out_minor = p.fx_out_minor + m.fx_out_minor,
      returned_minor = p.returned_minor + m.returned_minor,
      receivable_minor = p.receivable_minor + m.receivable_minor
    FROM unnest(moves) AS m WHERE p.app_id = m.app_id AND p.mode = m.mode AND p.currency = m.currency /*+ AND p.app_id = p_app */;
  END IF;

  -- The recipient of a payout that the provider accepted is a beneficiary from then on; one row a recipient and mode, with what the last
  -- payout says of how it is paid.
  IF true = ANY (p_accepted) THEN
    INSERT INTO beneficiaries AS known (app_id, id, mode, party_hash, type, country, currency, network, bank_code, branch_code, bank_name,
      account_name, masked_destination, created_at, last_used_at)
    SELECT DISTINCT ON (t.app_id, t.mode, t.party_hash) t.app_id, b.id, t.mode, t.party_hash, b.type, b.country, b.currency, b.network,
      b."bankCode", b."branchCode", b."bankName", b."accountName", b."maskedDestination", p_at[n], p_at[n]
    FROM unnest(current_steps) AS n
    JOIN transactions t ON t.reference = p_reference[n] AND t.app_id = p_app_id[n]
    JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference
    CROSS JOIN LATERAL json_to_record(w.beneficiary) AS b(id text, type text, country text, currency text, network text, "bankCode" text,
      "branchCode" text, "bankName" text, "accountName" text, "maskedDestination" text)
    WHERE p_accepted[n] AND w.beneficiary IS NOT NULL AND t.party_hash IS NOT NULL /*+ AND t.app_id = p_app */ /*+ AND w.app_id = p_app */
    ORDER BY t.app_id, t.mode, t.party_hash, n
    ON CONFLICT (app_id, mode, party_hash) DO UPDATE SET last_used_at = greatest(known.last_used_at, EXCLUDED.last_used_at),
      network = coalesce(EXCLUDED.network, known.network), branch_code = coalesce(EXCLUDED.branch_code, known.branch_code),
      account_name = coalesce(EXCLUDED.account_name, known.account_name);
  END IF;

  -- What is left to be done. The sealed destination goes once it is not needed any more, the beneficiary once it was saved or the payout
  -- ended.
  IF cardinality(unfinished) > 0 THEN
    UPDATE open_work w SET is_open = s.is_open, next_poll_at = s.next_poll_at, needs_review = s.needs_review, lease_until = NULL,
      sealed_destination = CASE WHEN s.wipe THEN NULL ELSE w.sealed_destination END,
      beneficiary = CASE WHEN s.accepted OR s.wipe THEN NULL ELSE w.beneficiary END
    FROM (
      SELECT p_app_id[n] AS app_id, p_reference[n] AS reference, p_status[n] IN ('pending', 'requires_action') AS is_open,
        p_next_poll_at[n] AS next_poll_at, p_needs_review[n] AS needs_review, p_wipe[n] AS wipe, p_accepted[n] AS accepted
      FROM unnest(unfinished) AS n
    ) s
    WHERE w.app_id = s.app_id AND w.reference = s.reference /*+ AND w.app_id = p_app */;
    GET DIAGNOSTICS written = ROW_COUNT;
    -- No row: the payment was closed and is reopened, without its destination.
    IF written < cardinality(unfinished) THEN
      INSERT INTO open_work (app_id, reference, mode, created_at, is_open, next_poll_at, needs_review)
      SELECT t.app_id, t.reference, t.mode, t.created_at, p_status[n] IN ('pending', 'requires_action'), p_next_poll_at[n], p_needs_review[n]
      FROM unnest(unfinished) AS n JOIN transactions t ON t.reference = p_reference[n] AND t.app_id = p_app_id[n] /*+ AND t.app_id = p_app */
      ON CONFLICT DO NOTHING;
    END IF;
  END IF;
  IF cardinality(finished) > 0 THEN
    DELETE FROM open_work w USING unnest(finished) AS n WHERE w.app_id = p_app_id[n] AND w.reference = p_reference[n] /*+ AND w.app_id = p_app */;
  END IF;

  -- The record at its next revision.
  UPDATE transactions t SET status = s.status, needs_review = s.needs_review, provider = s.provider, provider_reference = s.provider_reference,
    revision = t.revision + 1, record = s.record::json,
    raw_request = coalesce(s.raw_request, t.raw_request), raw_response = CASE WHEN s.raw_request IS NULL THEN t.raw_response ELSE s.raw_response END,
    slots = CASE WHEN s.slot IS NULL THEN t.slots ELSE t.slots || s.slot END
  FROM (
    SELECT p_app_id[n] AS app_id, p_reference[n] AS reference, p_status[n] AS status, p_needs_review[n] AS needs_review, p_provider[n] AS provider,
      p_provider_reference[n] AS provider_reference, p_record[n] AS record, p_raw_request[n] AS raw_request, p_raw_response[n] AS raw_response,
      p_slot[n] AS slot
    FROM unnest(current_steps) AS n
  ) s
  WHERE t.reference = s.reference AND t.app_id = s.app_id /*+ AND t.app_id = p_app */;

  -- Lets a callback with only the provider's reference find its transaction.
  IF cardinality(renamed) > 0 THEN
    INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference)
    SELECT p_provider[n], p_mode[n], p_provider_reference[n], t.app_id, p_reference[n]
    FROM unnest(renamed) AS n JOIN tenants t ON t.app_id = p_app_id[n] /*+ AND t.app_id = p_app */ ON CONFLICT DO NOTHING;
  END IF;

  -- What they are found by, once their providers told it.
  IF cardinality(receipted) > 0 THEN
    INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
    SELECT t.app_id, t.mode, receipt_member(p_record[n]::json), t.created_at, t.reference
    FROM unnest(receipted) AS n JOIN transactions t ON t.reference = p_reference[n] AND t.app_id = p_app_id[n] /*+ AND t.app_id = p_app */
    ORDER BY 1, 2, 3, 4, 5 ON CONFLICT DO NOTHING;
  END IF;

  -- The response under the key: the same request again gets the same bytes.
  IF cardinality(answering) > 0 THEN
    UPDATE idempotency_keys k SET state = 'done', answer_status = s.answer_status, answer_body = s.answer_body
    FROM (
      SELECT p_app_id[n] AS app_id, p_mode[n] AS mode, p_endpoint[n] AS endpoint, p_key[n] AS key, p_answer_status[n] AS answer_status,
        p_answer_body[n] AS answer_body
      FROM unnest(answering) AS n
    ) s
    WHERE k.app_id = s.app_id AND k.mode = s.mode AND k.endpoint = s.endpoint AND k.key = s.key /*+ AND k.app_id = p_app */;
  END IF;

  -- A line of the history, with its entry, and with the digests that ledger verify compares.
  INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, slot, phase, currencies, accounts, amounts,
    record_digest, event_digest, answer_digest)
  SELECT p_app_id[n], p_reference[n], p_expected_revision[n] + 1, p_mode[n], p_at[n], p_actor[n], p_fact[n], p_note[n], p_status[n], p_slot[n], p_phase[n],
    p_currencies[n]::text[], p_accounts[n]::text[], p_amounts[n]::bigint[], record_digest(p_record[n]),
    event_digest(p_event_id[n], p_event_type[n], p_event_body[n]),
    CASE WHEN n = ANY (answering) THEN answer_digest(p_endpoint[n], p_key[n], p_answer_status[n], p_answer_body[n]) END
  FROM unnest(current_steps) AS n;

  IF array_remove(p_event_id, NULL) <> '{}' THEN
    PERFORM write_events( /*+ p_app, */ current_steps, p_app_id, p_mode, p_reference, p_at, p_event_id, p_event_type, p_event_body);
  END IF;
END
$apply$;

-- Whoever calls it, it means these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION apply_steps SET search_path = %I, pg_temp', current_schema());
END $fixed$;
