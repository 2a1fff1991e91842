-- Makes one partition, beside its table and then attached: that takes no lock of the table that a write would wait for. Rows that came
-- too early for it lie in the default partition and move along, where they are few; where they are many, they and their month stay there.
-- The default is read from end to end while it is locked, and so it must not be large; what of other times lies in it does no harm.
CREATE OR REPLACE FUNCTION make_partition(parent text, key text, from_at timestamptz, to_at timestamptz) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '100ms' AS $make$
DECLARE
  child text := parent || to_char(from_at AT TIME ZONE 'UTC', '"_"YYYYMM');
  net text := parent || '_default';
  storage text;
  written text;
  early int;
BEGIN
  IF pg_relation_size(net::regclass) > 67108864 THEN RETURN 'crowded'; END IF;
  EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %I WHERE %I >= $1 AND %I < $2 LIMIT 100001) AS moving', net, key, key)
    INTO early USING from_at, to_at;
  IF early > 100000 THEN RETURN 'crowded'; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING IDENTITY)', child, parent);
  SELECT array_to_string(reloptions, ', ') INTO storage FROM pg_class WHERE oid = net::regclass;
  IF storage <> '' THEN EXECUTE format('ALTER TABLE %I SET (%s)', child, storage); END IF;
  EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE NOWAIT', net);
  -- A generated column is not written.
  SELECT string_agg(quote_ident(attname), ', ') INTO written FROM pg_attribute
    WHERE attrelid = net::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
  EXECUTE format('WITH early AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *) INSERT INTO %I (%s) SELECT %s FROM early',
    net, key, key, child, written, written) USING from_at, to_at;
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, from_at, to_at);
  RETURN 'made';
EXCEPTION WHEN lock_not_available OR duplicate_table OR invalid_object_definition THEN
  -- Somebody holds it, or another node was first.
  RETURN 'busy';
END
$make$;

-- Makes one month of a table, for a gateway that runs as a role that owns nothing.
CREATE OR REPLACE FUNCTION make_month(of_table text, month timestamptz) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  key text := CASE WHEN of_table IN ('journal', 'delivery_attempts') THEN 'at'
    WHEN of_table IN ('events', 'deliveries') THEN 'created_at' END;
  start timestamp := month AT TIME ZONE 'UTC';
BEGIN
  IF key IS NULL OR start <> date_trunc('month', start) THEN
    RAISE EXCEPTION '% is not parted by months, or % does not begin one', of_table, month;
  END IF;
  RETURN make_partition(of_table, key, month, (start + interval '1 month') AT TIME ZONE 'UTC');
END
$$;

-- Retires the oldest month that ended before and has something to go: of its events, and of the deliveries and attempts made in it, only
-- that stays which belongs to an event with a delivery that is due or parked. A month that holds nothing is dropped.
-- Whatever makes a delivery due reads its event in the same statement, so that it waits for this, or this gives way to it.
-- The months are those of month_partitions (0005_operators). A month of which too much would stay is left to the bounded deletes.
-- at_most null: on Citus, which moves no rows of one type between shards, every month is left to them, and the empty shell goes here.
CREATE OR REPLACE FUNCTION retire_events(before timestamptz, at_most int) RETURNS TABLE (month text, outcome text) LANGUAGE plpgsql
SET lock_timeout = '100ms' AS $retire$
DECLARE
  span record;
  filled boolean;
  apps text[];
  ids text[];
  of_apps text[];
  of_ids text[];
  kept_events events[];
  kept_deliveries deliveries[];
  kept_attempts delivery_attempts[];
BEGIN
  FOR span IN
    SELECT e.from_at, e.to_at, e.child AS events, d.child AS deliveries, a.child AS attempts FROM month_partitions e
    JOIN month_partitions d ON d.parent = 'deliveries' AND d.from_at = e.from_at AND d.to_at = e.to_at
    JOIN month_partitions a ON a.parent = 'delivery_attempts' AND a.from_at = e.from_at AND a.to_at = e.to_at
    WHERE e.parent = 'events' AND e.to_at <= before ORDER BY e.from_at
  LOOP
    month := span.events;
    EXECUTE format('LOCK TABLE ONLY %I, ONLY %I, ONLY %I IN ACCESS EXCLUSIVE MODE NOWAIT', span.events, span.deliveries, span.attempts);
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I) OR EXISTS (SELECT 1 FROM %I) OR EXISTS (SELECT 1 FROM %I)',
      span.events, span.deliveries, span.attempts) INTO filled;
    IF NOT filled THEN
      LOCK TABLE events, deliveries, delivery_attempts IN ACCESS EXCLUSIVE MODE NOWAIT;
      EXECUTE format('DROP TABLE %I, %I, %I', span.events, span.deliveries, span.attempts);
      outcome := 'dropped';
      RETURN NEXT;
      RETURN;
    END IF;
    CONTINUE WHEN at_most IS NULL;

    -- A recovery makes deliveries of events that are up to 30 days old.
    SELECT array_agg(u.app_id), array_agg(u.event_id) INTO apps, ids FROM (
      (SELECT d.app_id, d.event_id FROM due_deliveries q
        JOIN deliveries d ON d.app_id = q.app_id AND d.id = q.id AND d.created_at = q.created_at
        WHERE q.created_at < span.to_at + interval '31 days' LIMIT at_most + 1)
      UNION ALL
      (SELECT d.app_id, d.event_id FROM deliveries d
        WHERE d.parked AND d.created_at < span.to_at + interval '31 days' LIMIT at_most + 1)
      UNION ALL
      (SELECT d.app_id, d.event_id FROM named_due_deliveries q JOIN named_deliveries d ON d.app_id = q.app_id AND d.id = q.id
        WHERE q.created_at < span.to_at + interval '31 days' LIMIT at_most + 1)
      UNION ALL
      (SELECT d.app_id, d.event_id FROM named_deliveries d
        WHERE d.parked AND d.created_at < span.to_at + interval '31 days' LIMIT at_most + 1)
    ) u;
    IF cardinality(apps) > at_most THEN
      outcome := 'crowded';
      RETURN NEXT;
      CONTINUE;
    END IF;
    -- Each looked up by its key: whatever the statistics say, what goes is never read.
    SELECT array_agg(x.e) INTO kept_events FROM (SELECT DISTINCT u.a, u.i FROM unnest(apps, ids) AS u(a, i)) k CROSS JOIN LATERAL (
      SELECT e FROM events e WHERE e.app_id = k.a AND e.id = k.i AND e.created_at >= span.from_at AND e.created_at < span.to_at OFFSET 0) x;
    SELECT array_agg(x.d) FILTER (WHERE x.created_at >= span.from_at AND x.created_at < span.to_at), array_agg(x.app_id), array_agg(x.id)
      INTO kept_deliveries, of_apps, of_ids
      FROM (SELECT DISTINCT u.a, u.i FROM unnest(apps, ids) AS u(a, i)) k CROSS JOIN LATERAL (
        SELECT d, d.created_at, d.app_id, d.id FROM deliveries d WHERE d.app_id = k.a AND d.id = k.i AND d.event_id = k.i
        UNION ALL
        SELECT d, d.created_at, d.app_id, d.id FROM deliveries d WHERE d.app_id = k.a AND d.event_id = k.i AND d.id <> d.event_id OFFSET 0) x;
    -- Deliveries to endpoints that have a name are not in a month; their attempts are.
    SELECT of_apps || array_agg(x.app_id), of_ids || array_agg(x.id) INTO of_apps, of_ids
      FROM (SELECT DISTINCT u.a, u.i FROM unnest(apps, ids) AS u(a, i)) k CROSS JOIN LATERAL (
        SELECT d.app_id, d.id FROM named_deliveries d WHERE d.app_id = k.a AND d.event_id = k.i OFFSET 0) x;
    SELECT array_agg(x.t) INTO kept_attempts FROM (SELECT DISTINCT u.a, u.i FROM unnest(of_apps, of_ids) AS u(a, i)) k CROSS JOIN LATERAL (
      SELECT t FROM delivery_attempts t WHERE t.app_id = k.a AND t.delivery_id = k.i AND t.at >= span.from_at AND t.at < span.to_at OFFSET 0) x;
    -- One row more than what stays is enough to know that something goes.
    EXECUTE format('SELECT (SELECT count(*) FROM (SELECT FROM %I LIMIT $1 + 1) e) > $1 OR (SELECT count(*) FROM (SELECT FROM %I LIMIT $2 + 1) d) > $2
      OR (SELECT count(*) FROM (SELECT FROM %I LIMIT $3 + 1) t) > $3', span.events, span.deliveries, span.attempts)
      INTO filled
      USING coalesce(cardinality(kept_events), 0), coalesce(cardinality(kept_deliveries), 0), coalesce(cardinality(kept_attempts), 0);
    CONTINUE WHEN NOT filled;
    EXECUTE format('TRUNCATE %I, %I, %I', span.events, span.deliveries, span.attempts);
    INSERT INTO events SELECT k.* FROM unnest(kept_events) AS k;
    INSERT INTO deliveries (app_id, id, mode, event_id, status, attempts, next_attempt_at, created_at, completed_at)
      SELECT k.app_id, k.id, k.mode, k.event_id, k.status, k.attempts, k.next_attempt_at, k.created_at, k.completed_at FROM unnest(kept_deliveries) AS k;
    INSERT INTO delivery_attempts OVERRIDING SYSTEM VALUE SELECT k.* FROM unnest(kept_attempts) AS k;
    UPDATE events_kept SET since = span.to_at WHERE since < span.to_at;
    outcome := 'emptied';
    RETURN NEXT;
    RETURN;
  END LOOP;
EXCEPTION WHEN lock_not_available THEN
  outcome := 'busy';
  RETURN NEXT;
END
$retire$;

-- For a gateway that runs as a role that owns nothing: it takes exactly what the gateway asks for, and nothing else can be done through it.
-- Who does not own the tables cannot have events go before their 30 days are over.
CREATE OR REPLACE FUNCTION retire_month(before timestamptz, at_most int) RETURNS TABLE (month text, outcome text) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF before > now() - interval '30 days' AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
    RAISE EXCEPTION 'events of % are kept', before;
  END IF;
  RETURN QUERY SELECT r.month, r.outcome FROM retire_events(before, at_most) r;
END
$$;

-- pg_catalog comes before it by itself; the first that is named is where tables are made.
DO $fixed$ BEGIN
  EXECUTE format('ALTER FUNCTION make_month SET search_path = %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION retire_month SET search_path = %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION make_month FROM PUBLIC;
  REVOKE ALL ON FUNCTION retire_month FROM PUBLIC;
END $fixed$;
