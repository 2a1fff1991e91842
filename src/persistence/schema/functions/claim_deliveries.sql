-- `claim_deliveries` leases deliveries that are due to the node that asks: p_limit at most, p_per_endpoint of a tenant's endpoints of one
-- mode at a time, until p_until. The leases stand in webhook_flights and named_flights, a row an endpoint, and no delivery is written, but
-- that what is due to an endpoint that was removed is parked. The due and the in-flight deliveries are of one moment, because an attempt
-- is recorded with a change of both in one commit.
-- An advisory lock lets one node claim at a time, so that the bound of each endpoint is counted over all nodes; what comes after it sees
-- every lease that was taken before. The settings: a plan is made once, whatever the tables hold then; everything is found by its key, and
-- what is due in the order of its index, so that a LIMIT ends the reading.
CREATE OR REPLACE FUNCTION claim_deliveries(p_lock int, p_now timestamptz, p_limit int, p_per_endpoint int, p_until timestamptz)
RETURNS TABLE (
  id text, "eventId" text, type text, body text, reference text, attempts int, "createdAt" timestamptz, traceparent text,
  "appId" text, mode text, endpoint text, url text, "secretSealed" bytea, "previousSealed" bytea
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off AS $claim$
#variable_conflict use_column
DECLARE
  chosen_apps text[];
  chosen_queues text[];
  chosen_ids text[];
  chosen_born timestamptz[];
  gone_apps text[];
  gone_ids text[];
BEGIN
  PERFORM pg_advisory_xact_lock(p_lock);
  -- A queue is what waits for one endpoint: the mode is that of `default`, mode and name that of another.
  WITH RECURSIVE owed AS (
    -- Endpoints with due deliveries, found by an index skip scan: endpoints without any cost nothing, however many there are.
    (SELECT d.app_id, d.mode FROM due_deliveries d ORDER BY d.app_id, d.mode LIMIT 1)
    UNION ALL
    SELECT next.app_id, next.mode FROM owed o CROSS JOIN LATERAL (
      SELECT d.app_id, d.mode FROM due_deliveries d WHERE (d.app_id, d.mode) > (o.app_id, o.mode) ORDER BY d.app_id, d.mode LIMIT 1
    ) next
  ),
  owed_named AS (
    (SELECT d.app_id, d.queue FROM named_due_deliveries d ORDER BY d.app_id, d.queue LIMIT 1)
    UNION ALL
    SELECT next.app_id, next.queue FROM owed_named o CROSS JOIN LATERAL (
      SELECT d.app_id, d.queue FROM named_due_deliveries d WHERE (d.app_id, d.queue) > (o.app_id, o.queue) ORDER BY d.app_id, d.queue LIMIT 1
    ) next
  ),
  gone AS (
    -- An event that was committed while its endpoint was removed was not parked with the others.
    SELECT q.app_id, q.id FROM (
      SELECT o.app_id, o.queue FROM owed_named o
      WHERE NOT EXISTS (SELECT FROM named_endpoints e WHERE e.app_id = o.app_id AND e.queue = o.queue) OFFSET 0
    ) o CROSS JOIN LATERAL (
      SELECT d.app_id, d.id FROM named_due_deliveries d WHERE d.app_id = o.app_id AND d.queue = o.queue ORDER BY d.next_attempt_at LIMIT p_limit
    ) q LIMIT p_limit
  ),
  turn AS (
    -- Each endpoint's oldest, as many as it may still have in flight; one row without a delivery where it may have none.
    SELECT e.app_id, e.mode, e.mode AS queue, e.enabled, cardinality(leased.ids) AS flying, beside.is_any AS is_one_of_several,
      e.enabled::int + beside.named AS sharing,
      waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
    FROM owed o
    JOIN webhook_endpoints e ON e.app_id = o.app_id AND e.mode = o.mode
    LEFT JOIN webhook_flights f ON f.app_id = o.app_id AND f.mode = o.mode
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(l.id), '{}') AS ids FROM unnest(f.ids, f.leased_until) AS l(id, until) WHERE l.until > p_now
    ) leased
    CROSS JOIN LATERAL (
      SELECT count(*) > 0 AS is_any, (count(*) FILTER (WHERE n.enabled))::int AS named
      FROM named_endpoints n WHERE n.app_id = e.app_id AND n.mode = e.mode
    ) beside
    LEFT JOIN LATERAL (
      SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS place
      FROM due_deliveries d
      WHERE e.enabled AND d.app_id = e.app_id AND d.mode = e.mode AND d.next_attempt_at <= p_now AND d.id <> ALL (leased.ids)
      ORDER BY d.next_attempt_at
      LIMIT greatest(0, p_per_endpoint - cardinality(leased.ids))
    ) waiting ON true
    UNION ALL
    SELECT e.app_id, e.mode, e.queue, e.enabled, cardinality(leased.ids), true, beside.named + beside.unnamed,
      waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
    FROM owed_named o
    JOIN named_endpoints e ON e.app_id = o.app_id AND e.queue = o.queue
    LEFT JOIN named_flights f ON f.app_id = o.app_id AND f.queue = o.queue
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(l.id), '{}') AS ids FROM unnest(f.ids, f.leased_until) AS l(id, until) WHERE l.until > p_now
    ) leased
    CROSS JOIN LATERAL (
      SELECT (SELECT count(*)::int FROM named_endpoints n WHERE n.app_id = e.app_id AND n.mode = e.mode AND n.enabled) AS named,
        (SELECT count(*)::int FROM webhook_endpoints w WHERE w.app_id = e.app_id AND w.mode = e.mode AND w.enabled) AS unnamed
    ) beside
    LEFT JOIN LATERAL (
      SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS place
      FROM named_due_deliveries d
      WHERE e.enabled AND d.app_id = e.app_id AND d.queue = e.queue AND d.next_attempt_at <= p_now AND d.id <> ALL (leased.ids)
      ORDER BY d.next_attempt_at
      LIMIT greatest(0, p_per_endpoint - cardinality(leased.ids))
    ) waiting ON true
  ),
  -- Of several endpoints half of each one's equal part is kept for it, one at least; the rest is for whichever comes first.
  shared AS (
    SELECT t.*, p_per_endpoint - t.kept * t.sharing AS free, t.flying + t.place <= t.kept AS is_kept,
      -- What is in flight beyond what is kept, and which of those that wait would be beyond it, too.
      sum(greatest(0, t.flying - CASE WHEN t.enabled THEN t.kept ELSE 0 END)) FILTER (WHERE coalesce(t.place, 1) = 1)
        OVER (PARTITION BY t.app_id, t.mode) AS beyond,
      count(*) FILTER (WHERE t.flying + t.place > t.kept)
        OVER (PARTITION BY t.app_id, t.mode ORDER BY t.place, t.next_attempt_at, t.queue, t.id) AS further
    FROM (SELECT t.*, greatest(1, p_per_endpoint / (2 * greatest(1, t.sharing))) AS kept FROM turn t WHERE t.is_one_of_several) t
  ),
  fitting AS (
    SELECT app_id, mode, queue, id, created_at, place, next_attempt_at FROM turn WHERE id IS NOT NULL AND NOT is_one_of_several
    UNION ALL
    SELECT app_id, mode, queue, id, created_at, place, next_attempt_at FROM shared WHERE id IS NOT NULL AND (is_kept OR beyond + further <= free)
  ),
  chosen AS (
    -- Every tenant's first comes before anybody's second, and so do the firsts of its endpoints before their seconds: a long queue delays
    -- nobody else, and several endpoints are no more turns.
    SELECT app_id, queue, id, created_at FROM (
      SELECT f.*, row_number() OVER (PARTITION BY app_id, mode ORDER BY place, next_attempt_at, queue, id) AS turn_of_tenant
      FROM fitting f) ranked
    ORDER BY turn_of_tenant, next_attempt_at, app_id, queue, id LIMIT p_limit
  )
  SELECT array_agg(app_id), array_agg(queue), array_agg(id), array_agg(created_at),
      (SELECT array_agg(g.app_id) FROM gone g), (SELECT array_agg(g.id) FROM gone g)
    INTO chosen_apps, chosen_queues, chosen_ids, chosen_born, gone_apps, gone_ids FROM chosen;

  IF gone_ids IS NOT NULL THEN
    -- Locked before the statements that write, so that what they read beside the row is as new as the row. One that is held is left to a
    -- later claim.
    SELECT array_agg(l.app_id), array_agg(l.id) INTO gone_apps, gone_ids FROM (
      SELECT d.app_id, d.id FROM unnest(gone_apps, gone_ids) AS g(app_id, id) JOIN named_deliveries d ON d.app_id = g.app_id AND d.id = g.id
      WHERE d.status = 'due' ORDER BY d.app_id, d.id FOR UPDATE OF d SKIP LOCKED
    ) l;
    DELETE FROM named_due_deliveries q USING unnest(gone_apps, gone_ids) AS g(app_id, id)
    JOIN named_deliveries d ON d.app_id = g.app_id AND d.id = g.id
    WHERE q.app_id = d.app_id AND q.queue = d.queue AND q.next_attempt_at = d.next_attempt_at AND q.id = d.id;
    UPDATE named_deliveries d SET status = 'parked', next_attempt_at = NULL, completed_at = p_now
    FROM unnest(gone_apps, gone_ids) AS g(app_id, id) WHERE d.app_id = g.app_id AND d.id = g.id;
  END IF;
  IF chosen_ids IS NULL THEN RETURN; END IF;

  -- An attempt that was recorded meanwhile is not in the row any more that this one adds to.
  INSERT INTO webhook_flights AS w (app_id, mode, ids, leased_until)
  SELECT c.app_id, c.queue, array_agg(c.id), array_agg(p_until) FROM unnest(chosen_apps, chosen_queues, chosen_ids) AS c(app_id, queue, id)
  WHERE c.queue IN ('live', 'test') GROUP BY c.app_id, c.queue ORDER BY c.app_id, c.queue
  ON CONFLICT (app_id, mode) DO UPDATE SET (ids, leased_until) = (
    SELECT array_agg(l.id), array_agg(l.until) FROM (
      SELECT k.id, k.until FROM unnest(w.ids, w.leased_until) AS k(id, until) WHERE k.until > p_now AND k.id <> ALL (EXCLUDED.ids)
      UNION ALL
      SELECT n.id, n.until FROM unnest(EXCLUDED.ids, EXCLUDED.leased_until) AS n(id, until)
    ) l);
  IF NOT chosen_queues <@ '{live,test}' THEN
    INSERT INTO named_flights AS w (app_id, queue, ids, leased_until)
    SELECT c.app_id, c.queue, array_agg(c.id), array_agg(p_until) FROM unnest(chosen_apps, chosen_queues, chosen_ids) AS c(app_id, queue, id)
    WHERE c.queue NOT IN ('live', 'test') GROUP BY c.app_id, c.queue ORDER BY c.app_id, c.queue
    ON CONFLICT (app_id, queue) DO UPDATE SET (ids, leased_until) = (
      SELECT array_agg(l.id), array_agg(l.until) FROM (
        SELECT k.id, k.until FROM unnest(w.ids, w.leased_until) AS k(id, until) WHERE k.until > p_now AND k.id <> ALL (EXCLUDED.ids)
        UNION ALL
        SELECT n.id, n.until FROM unnest(EXCLUDED.ids, EXCLUDED.leased_until) AS n(id, until)
      ) l);
  END IF;

  RETURN QUERY
  SELECT c.id, d.event_id, v.type, v.body, v.reference, d.attempts, c.created_at, t.traceparent, c.app_id, e.mode, e.name, e.url, e.secret_sealed,
    CASE WHEN e.previous_until > p_now THEN e.previous_secret_sealed END
  FROM unnest(chosen_apps, chosen_queues, chosen_ids, chosen_born) WITH ORDINALITY AS c(app_id, queue, id, created_at, ord)
  -- By their whole keys: joined, they might be looked for among all of the tenant's.
  CROSS JOIN LATERAL (
    SELECT w.mode, 'default' AS name, w.url, w.secret_sealed, w.previous_secret_sealed, w.previous_until FROM webhook_endpoints w
    WHERE w.app_id = c.app_id AND w.mode = c.queue
    UNION ALL
    SELECT w.mode, w.name, w.url, w.secret_sealed, w.previous_secret_sealed, w.previous_until FROM named_endpoints w
    WHERE w.app_id = c.app_id AND w.queue = c.queue OFFSET 0
  ) e
  CROSS JOIN LATERAL (
    SELECT d.event_id, d.attempts FROM deliveries d
    WHERE e.name = 'default' AND d.app_id = c.app_id AND d.id = c.id AND d.created_at = c.created_at
    UNION ALL
    SELECT d.event_id, d.attempts FROM named_deliveries d WHERE e.name <> 'default' AND d.app_id = c.app_id AND d.id = c.id OFFSET 0
  ) d
  CROSS JOIN LATERAL (
    -- No event is newer than what delivers it.
    SELECT v.app_id, v.type, v.body, v.reference FROM events v
    WHERE v.app_id = c.app_id AND v.id = d.event_id AND v.created_at <= c.created_at OFFSET 0
  ) v
  LEFT JOIN transactions t ON t.app_id = v.app_id AND t.reference = v.reference
  ORDER BY c.ord;
END
$claim$;

-- Whoever calls it, it means these tables.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION claim_deliveries SET search_path = %I, pg_temp', current_schema());
END $fixed$;
