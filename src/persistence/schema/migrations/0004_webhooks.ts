export const name = "0004_webhooks"

/** Where the first part of a table that is divided by months ends: a month from now at least, on the first of a month (UTC). */
const firstMonths = "(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC'"

/**
 * What tenants are told: where to, the events, and each attempt to deliver one. Events, deliveries and attempts lie in partitions by
 * month, each by the row's own time, and go month by month: a file is emptied, no row is read.
 *
 * A default partition rules out DETACH … CONCURRENTLY. That is why a month is emptied by a lock on itself alone, and its empty shell dropped
 * when nobody at all holds the table: every lock here is taken at once or not at all, so that nobody queues behind it.
 */
export const sql = `
CREATE TABLE webhook_endpoints (
  app_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  url text NOT NULL,
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  secret_sealed bytea NOT NULL,
  previous_secret_sealed bytea,
  previous_until timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- Since when nothing but failures came back; a success empties it.
  failing_since timestamptz,
  -- Null while it is enabled, and where its owner disabled it.
  disabled_reason text CHECK (disabled_reason IN ('gone', 'failing')),
  PRIMARY KEY (app_id, mode)
);
-- Those that fail, for the alert: the first failure and the next success write it, no attempt between them does.
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since) WHERE enabled AND failing_since IS NOT NULL;

-- Events with their bytes frozen in the commit that caused them.
CREATE TABLE events (
  app_id text NOT NULL,
  id text NOT NULL,
  mode text NOT NULL,
  type text NOT NULL,
  reference text,
  body text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, id, created_at)
) PARTITION BY RANGE (created_at);
CREATE TABLE events_first PARTITION OF events FOR VALUES FROM (MINVALUE) TO (${firstMonths});
CREATE TABLE events_default PARTITION OF events DEFAULT;
-- A tenant's events in their order, for recovery.
CREATE INDEX events_of_tenant ON events (app_id, mode, created_at, id);
-- Everybody's by age, for removal.
CREATE INDEX events_by_age ON events USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);

-- One row an event that an endpoint is to be told; an event's own delivery has its id, one that a recovery made has another. Whatever
-- changes is in no index, so that every update is in place, in room that each page keeps.
CREATE TABLE deliveries (
  app_id text NOT NULL,
  id text NOT NULL,
  mode text NOT NULL,
  event_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('due', 'delivered', 'parked')),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  created_at timestamptz NOT NULL,
  completed_at timestamptz,
  -- For an index of the parked ones: with the status itself in it, no update of the status would be in place.
  parked boolean GENERATED ALWAYS AS (status = 'parked') STORED,
  PRIMARY KEY (app_id, id, created_at),
  CHECK ((status = 'due') = (next_attempt_at IS NOT NULL))
) PARTITION BY RANGE (created_at);
CREATE TABLE deliveries_first PARTITION OF deliveries FOR VALUES FROM (MINVALUE) TO (${firstMonths}) WITH (fillfactor = 80);
CREATE TABLE deliveries_default PARTITION OF deliveries DEFAULT WITH (fillfactor = 80);
-- The tenant's list.
CREATE INDEX deliveries_listed ON deliveries (app_id, mode, created_at, id);
-- What failed for good and can be sent again.
CREATE INDEX deliveries_parked ON deliveries (app_id, mode, created_at, id) WHERE parked;
-- An event's deliveries besides its own, which is found by the event's id.
CREATE INDEX deliveries_recovered ON deliveries (app_id, event_id) WHERE id <> event_id;

-- What an endpoint is to be told next: a row as long as a delivery is due. It comes, moves and goes with deliveries.next_attempt_at.
CREATE TABLE due_deliveries (
  app_id text NOT NULL,
  mode text NOT NULL,
  next_attempt_at timestamptz NOT NULL,
  id text NOT NULL,
  -- The delivery's own, which says in which month it lies.
  created_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, mode, next_attempt_at, id)
);

-- What is on its way to an endpoint, from whichever node, and until when it is leased to that node. An endpoint's limit is counted by it.
-- A row an endpoint, made by its first claim; a claim that died leaves only leases that run out.
CREATE TABLE webhook_flights (
  app_id text NOT NULL,
  mode text NOT NULL,
  ids text[] NOT NULL,
  leased_until timestamptz[] NOT NULL CHECK (cardinality(leased_until) = cardinality(ids)),
  PRIMARY KEY (app_id, mode)
) WITH (fillfactor = 50);

CREATE TABLE delivery_attempts (
  app_id text NOT NULL,
  delivery_id text NOT NULL,
  line bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  duration_ms int NOT NULL,
  -- Null when there was no answer.
  status int,
  excerpt text NOT NULL,
  PRIMARY KEY (app_id, delivery_id, line, at)
) PARTITION BY RANGE (at);
CREATE TABLE delivery_attempts_first PARTITION OF delivery_attempts FOR VALUES FROM (MINVALUE) TO (${firstMonths});
CREATE TABLE delivery_attempts_default PARTITION OF delivery_attempts DEFAULT;

-- From when on the events are all there: ledger verify asks for no older one.
CREATE TABLE events_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  since timestamptz NOT NULL
);
INSERT INTO events_kept (since) VALUES ('-infinity');

-- Retires the oldest month that ended before and has something to go: of its events, and of the deliveries and attempts made in it, only
-- that stays which belongs to an event with a delivery that is due or parked. A month that holds nothing is dropped.
-- Whatever makes a delivery due reads its event in the same statement, so that it waits for this, or this gives way to it.
-- The months are those of month_partitions (0005_operators). A month of which too much would stay is left to the bounded deletes.
-- at_most null: on Citus, which moves no rows of one type between shards, every month is left to them, and the empty shell goes here.
CREATE FUNCTION retire_events(before timestamptz, at_most int) RETURNS TABLE (month text, outcome text) LANGUAGE plpgsql
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
CREATE FUNCTION retire_month(before timestamptz, at_most int) RETURNS TABLE (month text, outcome text) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF before > now() - interval '30 days' AND NOT pg_has_role(session_user, current_user, 'MEMBER') THEN
    RAISE EXCEPTION 'events of % are kept', before;
  END IF;
  RETURN QUERY SELECT r.month, r.outcome FROM retire_events(before, at_most) r;
END
$$;

DO $fixed$
BEGIN
  -- pg_catalog comes before it by itself; the first that is named is where tables are made.
  EXECUTE format('ALTER FUNCTION retire_month(timestamptz, int) SET search_path = %I, pg_temp', current_schema());
  REVOKE ALL ON FUNCTION retire_month(timestamptz, int) FROM PUBLIC;
END
$fixed$;
`
