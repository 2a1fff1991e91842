export const name = "0012_partitions"

/**
 * What grows for ever lies in partitions by time, a month (UTC) each, so that the newest rows have small indexes of their own, and what is
 * past goes without reading it: a file is emptied, no row is.
 *
 * postings and transaction_history are evidence and kept; events, deliveries and delivery_attempts go month by month. Each key is the
 * row's own time, which the release before writes too. What makes a step unique stays whole: journal, transactions, idempotency_keys.
 * So does provider_inbox, where the same bytes are one row at whatever time they come: a unique key would have to contain the time.
 *
 * TABLE_first reaches from the beginning to a month from now at least; TABLE_default takes what no month was made for, so that a row of
 * any time lands. A default rules out DETACH … CONCURRENTLY. That is why a month is emptied by a lock on itself alone, and its empty
 * shell dropped when nobody at all holds the table: every lock here is taken at once or not at all, so that nobody queues behind it.
 */
export const sql = `
ALTER TABLE postings RENAME TO postings_before;
ALTER TABLE transaction_history RENAME TO transaction_history_before;
ALTER SEQUENCE transaction_history_line_seq RENAME TO transaction_history_before_line_seq;
ALTER TABLE events RENAME TO events_before;
ALTER TABLE deliveries RENAME TO deliveries_before;
ALTER TABLE delivery_attempts RENAME TO delivery_attempts_before;
ALTER SEQUENCE delivery_attempts_line_seq RENAME TO delivery_attempts_before_line_seq;

-- The default is for the release before, which does not know the column, while its nodes still run.
CREATE TABLE postings (LIKE postings_before INCLUDING ALL EXCLUDING INDEXES, at timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (at);
CREATE TABLE transaction_history (LIKE transaction_history_before INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (at);
CREATE TABLE events (LIKE events_before INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (created_at);
CREATE TABLE deliveries (LIKE deliveries_before INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (created_at);
CREATE TABLE delivery_attempts (LIKE delivery_attempts_before INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (at);

DO $first$
DECLARE
  parent text;
  until timestamptz := (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC';
BEGIN
  FOREACH parent IN ARRAY ARRAY['postings', 'transaction_history', 'events', 'deliveries', 'delivery_attempts'] LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (MINVALUE) TO (%L)', parent || '_first', parent, until);
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', parent || '_default', parent);
  END LOOP;
END
$first$;

-- A posting without its entry is a difference that ledger verify reports; it is not lost here.
INSERT INTO postings SELECT p.*, coalesce(j.at, '-infinity') FROM postings_before p
  LEFT JOIN journal j ON j.app_id = p.app_id AND j.reference = p.reference AND j.slot = p.slot;
INSERT INTO transaction_history OVERRIDING SYSTEM VALUE SELECT * FROM transaction_history_before;
INSERT INTO events SELECT * FROM events_before;
INSERT INTO deliveries SELECT * FROM deliveries_before;
INSERT INTO delivery_attempts OVERRIDING SYSTEM VALUE SELECT * FROM delivery_attempts_before;
SELECT setval(pg_get_serial_sequence('transaction_history', 'line'), coalesce(max(line), 0) + 1, false) FROM transaction_history;
SELECT setval(pg_get_serial_sequence('delivery_attempts', 'line'), coalesce(max(line), 0) + 1, false) FROM delivery_attempts;
DROP TABLE postings_before, transaction_history_before, events_before, deliveries_before, delivery_attempts_before;

ALTER TABLE postings ADD PRIMARY KEY (app_id, reference, slot, currency, account, at);
ALTER TABLE transaction_history ADD PRIMARY KEY (app_id, reference, line, at);
ALTER TABLE events ADD PRIMARY KEY (app_id, id, created_at);
CREATE INDEX events_of_tenant ON events (app_id, mode, created_at, id);
CREATE INDEX events_by_age ON events (created_at, id);
ALTER TABLE deliveries ADD PRIMARY KEY (app_id, id, created_at);
CREATE INDEX deliveries_due ON deliveries (app_id, mode, next_attempt_at) WHERE status = 'due';
CREATE INDEX deliveries_leased ON deliveries (app_id, mode, lease_until) WHERE status = 'due' AND lease_until IS NOT NULL;
CREATE INDEX deliveries_listed ON deliveries (app_id, mode, created_at, id);
CREATE INDEX deliveries_parked ON deliveries (app_id, mode, created_at, id) WHERE status = 'parked';
CREATE INDEX deliveries_of_event ON deliveries (app_id, event_id);
ALTER TABLE delivery_attempts ADD PRIMARY KEY (app_id, delivery_id, line, at);

-- From when on the events are all there: ledger verify asks for no older one.
CREATE TABLE events_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  since timestamptz NOT NULL
);
INSERT INTO events_kept (since) SELECT CASE WHEN count(*) = 0 THEN '-infinity' ELSE now() - interval '30 days' END FROM transactions
  WHERE created_at < now() - interval '30 days';

CREATE VIEW time_partitions AS
SELECT p.relname::text AS parent, c.relname::text AS child,
  coalesce((regexp_match(b.bounds, 'FROM [(]''([^'']+)''[)]'))[1], '-infinity')::timestamptz AS from_at,
  (regexp_match(b.bounds, 'TO [(]''([^'']+)''[)]'))[1]::timestamptz AS to_at
FROM pg_inherits i
JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace
JOIN pg_class c ON c.oid = i.inhrelid AND c.relkind = 'r'
CROSS JOIN LATERAL pg_get_expr(c.relpartbound, c.oid) AS b(bounds)
WHERE b.bounds <> 'DEFAULT';

-- Makes one partition, beside its table and then attached: that takes no lock of the table that a write would wait for. Rows that came
-- too early for it lie in the default partition and move along, where they are few; where they are many, they and their month stay there.
-- The default is read from end to end while it is locked, and so it must not be large; what of other times lies in it does no harm.
CREATE FUNCTION make_partition(parent text, key text, from_at timestamptz, to_at timestamptz) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '100ms' AS $make$
DECLARE
  child text := parent || to_char(from_at AT TIME ZONE 'UTC', '"_"YYYYMM');
  net text := parent || '_default';
  early int;
BEGIN
  IF pg_relation_size(net::regclass) > 67108864 THEN RETURN 'crowded'; END IF;
  EXECUTE format('SELECT count(*) FROM (SELECT FROM %I WHERE %I >= $1 AND %I < $2 LIMIT 100001) AS moving', net, key, key)
    INTO early USING from_at, to_at;
  IF early > 100000 THEN RETURN 'crowded'; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING IDENTITY)', child, parent);
  EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE NOWAIT', net);
  EXECUTE format('WITH early AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *) INSERT INTO %I SELECT * FROM early',
    net, key, key, child) USING from_at, to_at;
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, from_at, to_at);
  RETURN 'made';
EXCEPTION WHEN lock_not_available OR duplicate_table OR invalid_object_definition THEN
  -- Somebody holds it, or another node was first.
  RETURN 'busy';
END
$make$;

-- Retires the oldest month that ended before and has something to go: of its events, and of the deliveries and attempts made in it, only
-- that stays which belongs to an event with a delivery that is due or parked. A month that holds nothing is dropped.
-- Whatever makes a delivery due reads its event in the same statement, so that it waits for this, or this gives way to it.
-- A month of which too much would stay is left to the bounded deletes.
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
    SELECT e.from_at, e.to_at, e.child AS events, d.child AS deliveries, a.child AS attempts FROM time_partitions e
    JOIN time_partitions d ON d.parent = 'deliveries' AND d.from_at = e.from_at AND d.to_at = e.to_at
    JOIN time_partitions a ON a.parent = 'delivery_attempts' AND a.from_at = e.from_at AND a.to_at = e.to_at
    WHERE e.parent = 'events' AND e.to_at <= before ORDER BY e.from_at
  LOOP
    month := span.events;
    EXECUTE format('LOCK TABLE ONLY %I, ONLY %I, ONLY %I IN ACCESS EXCLUSIVE MODE NOWAIT', span.events, span.deliveries, span.attempts);
    EXECUTE format('SELECT EXISTS (SELECT FROM %I) OR EXISTS (SELECT FROM %I) OR EXISTS (SELECT FROM %I)',
      span.events, span.deliveries, span.attempts) INTO filled;
    IF NOT filled THEN
      LOCK TABLE events, deliveries, delivery_attempts IN ACCESS EXCLUSIVE MODE NOWAIT;
      EXECUTE format('DROP TABLE %I, %I, %I', span.events, span.deliveries, span.attempts);
      outcome := 'dropped';
      RETURN NEXT;
      RETURN;
    END IF;

    -- A recovery makes deliveries of events that are up to 30 days old.
    SELECT array_agg(u.app_id), array_agg(u.event_id) INTO apps, ids FROM (
      (SELECT d.app_id, d.event_id FROM deliveries d
        WHERE d.status = 'due' AND d.created_at < span.to_at + interval '31 days' LIMIT at_most + 1)
      UNION ALL
      (SELECT d.app_id, d.event_id FROM deliveries d
        WHERE d.status = 'parked' AND d.created_at < span.to_at + interval '31 days' LIMIT at_most + 1)
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
        SELECT d, d.created_at, d.app_id, d.id FROM deliveries d WHERE d.app_id = k.a AND d.event_id = k.i OFFSET 0) x;
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
    INSERT INTO deliveries SELECT k.* FROM unnest(kept_deliveries) AS k;
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

-- Callbacks that were looked into, by age; what is parked waits for a person.
CREATE INDEX provider_inbox_done ON provider_inbox (received_at) WHERE status = 'done';
`
