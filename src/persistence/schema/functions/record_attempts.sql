-- `record_attempts` records attempts at deliveries, of which no two are of one delivery, and what follows from each for its delivery and
-- for its endpoint, as if one had come after the other in the order of their moments. Element i of each array is attempt i; they come in
-- the order of their deliveries' ids. The answer is how many changed their delivery.
-- Locks are taken in this order: deliveries, due_deliveries, webhook_flights, webhook_endpoints; within a table as the attempts come, and
-- of endpoints by tenant and mode. The settings: a plan is made once, and finds each row by its key, whatever the planner thinks of a
-- young table.
CREATE OR REPLACE FUNCTION record_attempts(
  -- The endpoint and the address that was called; the delivery, with the milliseconds of the time that says in which partition it lies, and
  -- how many attempts it had before this one.
  p_app_id text[], p_mode text[], p_url text[], p_id text[], p_created_at timestamptz[], p_attempts int[],
  -- Whether it was taken, whether the endpoint wants nothing any more; the delivery's state after it.
  p_taken boolean[], p_gone boolean[], p_status text[], p_next_attempt_at timestamptz[], p_completed_at timestamptz[],
  -- The attempt, as it is kept.
  p_at timestamptz[], p_duration_ms int[], p_answered int[], p_excerpt text[],
  -- For so long an endpoint may do nothing but fail.
  p_failing_ms bigint
) RETURNS int LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $record$
DECLARE
  r record;
  failing interval := p_failing_ms * interval '1 millisecond';
  -- The attempts that change their delivery; its exact time, and when it was due.
  settled int[] := '{}';
  born timestamptz[] := '{}';
  due timestamptz[] := '{}';
  ended int;
  put_off int := 0;
BEGIN
  -- A claimant that slept past its lease still tells of a success, but it does not undo what the next one did.
  FOR r IN
    SELECT s.n::int AS n, d.created_at, d.next_attempt_at
    FROM unnest(p_app_id, p_id, p_created_at, p_attempts, p_taken) WITH ORDINALITY AS s(app_id, id, created_at, attempts, taken, n)
    JOIN deliveries d ON d.app_id = s.app_id AND d.id = s.id AND d.created_at >= s.created_at AND d.created_at < s.created_at + interval '1 millisecond'
    WHERE d.status NOT IN ('delivered', 'parked') AND (d.attempts = s.attempts OR s.taken)
    ORDER BY s.n FOR UPDATE OF d
  LOOP
    settled := settled || r.n;
    born := born || r.created_at;
    due := due || r.next_attempt_at;
  END LOOP;

  IF cardinality(settled) > 0 THEN
    UPDATE deliveries d SET status = p_status[l.n], attempts = d.attempts + 1, next_attempt_at = p_next_attempt_at[l.n], completed_at = p_completed_at[l.n]
    FROM unnest(settled, born) AS l(n, created_at) WHERE d.app_id = p_app_id[l.n] AND d.id = p_id[l.n] AND d.created_at = l.created_at;

    DELETE FROM due_deliveries q USING unnest(settled, due) AS l(n, due)
    WHERE q.app_id = p_app_id[l.n] AND q.mode = p_mode[l.n] AND q.next_attempt_at = l.due AND q.id = p_id[l.n] AND p_status[l.n] <> 'due';
    GET DIAGNOSTICS ended = ROW_COUNT;
    IF ended < cardinality(settled) THEN
      UPDATE due_deliveries q SET next_attempt_at = p_next_attempt_at[l.n] FROM unnest(settled, due) AS l(n, due)
      WHERE q.app_id = p_app_id[l.n] AND q.mode = p_mode[l.n] AND q.next_attempt_at = l.due AND q.id = p_id[l.n] AND p_status[l.n] = 'due';
      GET DIAGNOSTICS put_off = ROW_COUNT;
    END IF;
    IF ended + put_off <> cardinality(settled) THEN PERFORM refuse_commit('a delivery was due at another moment'); END IF;

    INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
    SELECT p_app_id[n], p_id[n], p_at[n], p_duration_ms[n], p_answered[n], p_excerpt[n] FROM unnest(settled) AS n;
  END IF;

  -- They are not on their way any more. After the deliveries, which may be held: nobody who claims waits for as long as that.
  UPDATE webhook_flights f SET (ids, leased_until) = (
    SELECT coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.until), '{}') FROM unnest(f.ids, f.leased_until) AS k(id, until)
    WHERE k.id <> ALL (o.ids))
  FROM (
    SELECT s.app_id, s.mode, array_agg(s.id) AS ids FROM unnest(p_app_id, p_mode, p_id) AS s(app_id, mode, id)
    GROUP BY s.app_id, s.mode ORDER BY s.app_id, s.mode
  ) o
  WHERE f.app_id = o.app_id AND f.mode = o.mode;

  -- Endpoints of which an attempt changes something: seldom one. What another address answered says nothing about the one that is set, nor
  -- anything from before it was set, or enabled again, against it.
  IF NOT EXISTS (
    SELECT FROM unnest(p_app_id, p_mode, p_url, p_taken, p_gone, p_at) AS s(app_id, mode, url, taken, gone, at)
    JOIN webhook_endpoints e ON e.app_id = s.app_id AND e.mode = s.mode AND e.url = s.url
    WHERE s.taken AND e.failing_since IS NOT NULL OR NOT s.taken AND s.at >= e.updated_at
  ) THEN RETURN cardinality(settled); END IF;
  WITH RECURSIVE step AS MATERIALIZED (
    SELECT s.* FROM unnest(p_app_id, p_mode, p_url, p_taken, p_gone, p_at) WITH ORDINALITY AS s(app_id, mode, url, taken, gone, at, ord)
  ),
  news AS MATERIALIZED (
    SELECT s.app_id, s.mode, s.url, bool_or(s.taken) AS taken, max(s.at) FILTER (WHERE NOT s.taken) AS failed_at, max(s.at) FILTER (WHERE s.gone) AS gone_at
    FROM step s GROUP BY s.app_id, s.mode, s.url ORDER BY s.app_id, s.mode
  ),
  judged AS MATERIALIZED (
    SELECT e.* FROM news n CROSS JOIN LATERAL (
      SELECT e.app_id, e.mode, e.url, e.enabled, e.failing_since, e.disabled_reason, e.updated_at FROM webhook_endpoints e
      WHERE e.app_id = n.app_id AND e.mode = n.mode AND e.url = n.url AND (
        n.taken AND e.failing_since IS NOT NULL
        OR n.gone_at >= e.updated_at
        OR n.failed_at >= e.updated_at AND (e.failing_since IS NULL OR n.failed_at >= e.failing_since + failing))
      FOR UPDATE
    ) e
  ),
  turn AS MATERIALIZED (
    SELECT s.app_id, s.mode, s.at, s.taken, s.gone, row_number() OVER (PARTITION BY s.app_id, s.mode ORDER BY s.at, s.ord) AS place
    FROM judged j JOIN step s ON s.app_id = j.app_id AND s.mode = j.mode AND s.url = j.url
  ),
  standing AS (
    SELECT j.app_id, j.mode, j.enabled, j.failing_since, j.disabled_reason, j.updated_at, 0::bigint AS place FROM judged j
    UNION ALL
    SELECT e.app_id, e.mode, e.enabled AND o.outcome IS NULL,
      CASE WHEN t.taken THEN NULL WHEN o.counts THEN coalesce(e.failing_since, t.at) ELSE e.failing_since END,
      CASE WHEN e.enabled AND o.outcome IS NOT NULL THEN o.outcome ELSE e.disabled_reason END,
      CASE WHEN e.enabled AND o.outcome IS NOT NULL THEN t.at ELSE e.updated_at END, t.place
    FROM standing e JOIN turn t ON t.app_id = e.app_id AND t.mode = e.mode AND t.place = e.place + 1
    CROSS JOIN LATERAL (
      SELECT NOT t.taken AND e.updated_at <= t.at AS counts, CASE
        WHEN t.taken OR e.updated_at > t.at THEN NULL
        WHEN t.gone THEN 'gone'
        WHEN e.failing_since + failing <= t.at THEN 'failing'
      END AS outcome
    ) o
  )
  UPDATE webhook_endpoints e SET enabled = s.enabled, failing_since = s.failing_since, disabled_reason = s.disabled_reason, updated_at = s.updated_at
  FROM (SELECT DISTINCT ON (z.app_id, z.mode) z.* FROM standing z ORDER BY z.app_id, z.mode, z.place DESC) s
  WHERE e.app_id = s.app_id AND e.mode = s.mode;
  RETURN cardinality(settled);
END
$record$;

-- Whoever calls it, it means these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION record_attempts SET search_path = %I, pg_temp', current_schema());
END $fixed$;
