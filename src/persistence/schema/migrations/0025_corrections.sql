-- Each case of a record may have its correction: the first stands in the slot `correction`, the next ones in `correction-2`, `correction-3`
-- and so on. A collection that an earlier release reversed says so as this one does: `reversed` is what left the float, and what was booked
-- stays. That release made both amounts zero and set a failure; the journal has the amounts. A record is changed once, in the commit that
-- writes the line of its history.

-- As in 0001, with the slots of further corrections. No entry that was whole is not any more.
CREATE OR REPLACE FUNCTION is_entry(slot text, phase text, currencies text[], accounts text[], amounts bigint[]) RETURNS boolean LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE AS $$
DECLARE amount bigint; total bigint := 0;
BEGIN
  IF slot IS NULL OR cardinality(amounts) = 0 THEN
    RETURN slot IS NULL AND phase IS NULL AND cardinality(currencies) + cardinality(accounts) + cardinality(amounts) = 0;
  END IF;
  -- One currency, as in all entries but those of exchanges.
  IF currencies[1] = ALL (currencies) THEN
    FOREACH amount IN ARRAY amounts LOOP total := total + amount; END LOOP;
  ELSIF EXISTS (SELECT FROM unnest(currencies, amounts) AS p(currency, amount) GROUP BY p.currency HAVING sum(p.amount) <> 0 OR p.currency IS NULL) THEN
    RETURN false;
  END IF;
  -- A NULL among them is neither true nor whole.
  RETURN (total = 0 AND 0 <> ALL (amounts)
    AND (slot IN ('open', 'close', 'return', 'correction') OR phase = 'correct' AND slot ~ '^correction-([2-9]|[1-9][0-9]+)$')
    AND phase IN ('credit', 'debit', 'reserve', 'collect', 'settle', 'release', 'exchange', 'return', 'correct')
    AND cardinality(currencies) = cardinality(amounts) AND cardinality(accounts) = cardinality(amounts)
    AND accounts <@ '{available,reserved,collected,paid_out,provider_fees,credited,debited,fx_in,fx_out,returned,receivable,drift,pool}'::text[]) IS TRUE;
END
$$;

-- Mends those of the next records that were reversed, and answers how far it came. Each statement that writes names its tenant. It goes
-- with this migration.
CREATE FUNCTION mend_reversed(after text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  upto text;
  r record;
  was record;
  collected bigint;
  fee bigint;
  mended text;
BEGIN
  SELECT max(few.reference) INTO upto FROM (SELECT t.reference FROM transactions t WHERE t.reference > after ORDER BY t.reference LIMIT 1000) few;
  FOR r IN
    SELECT t.app_id, t.reference, j.at, j.accounts, j.amounts
    FROM transactions t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference AND j.slot = 'correction' AND j.phase = 'correct'
    WHERE t.reference > after AND t.reference <= upto AND t.kind = 'collection' AND t.status = 'successful' AND 'correction' = ANY (t.slots)
    ORDER BY t.reference
  LOOP
    SELECT s.mode, s.revision, s.status, well_formed(s.record)::jsonb AS record INTO was FROM transactions s
    WHERE s.app_id = r.app_id AND s.reference = r.reference AND s.record->>'reversed' IS NULL
      AND s.record->'failure'->>'message' = 'It was reversed after it had succeeded.' FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    -- A correction of a reversal posts what had been collected and charged the other way round.
    SELECT coalesce(sum(p.amount) FILTER (WHERE p.account = 'collected'), 0), -coalesce(sum(p.amount) FILTER (WHERE p.account = 'provider_fees'), 0)
      INTO collected, fee FROM unnest(r.accounts, r.amounts) AS p(account, amount);
    mended := (was.record - 'failure' || jsonb_build_object('observedAmount', collected::text, 'observedCurrency', was.record->'currency', 'fees', fee::text,
      'reversed', jsonb_build_object('amount', (collected - fee)::text, 'at', floor(extract(epoch FROM r.at) * 1000)::bigint,
        'reason', 'It was reversed after it had succeeded.')))::text;
    UPDATE transactions s SET record = mended::json, revision = s.revision + 1 WHERE s.app_id = r.app_id AND s.reference = r.reference;
    INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, record_digest)
    VALUES (r.app_id, r.reference, was.revision + 1, was.mode, date_trunc('milliseconds', clock_timestamp()), 'operator', 'Migrated',
      'a reversal of an earlier release: ' || collected || ' had been collected, ' || fee || ' charged', was.status, record_digest(mended));
  END LOOP;
  RETURN upto;
END
$$;
