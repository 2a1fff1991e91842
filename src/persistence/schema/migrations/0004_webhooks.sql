-- What tenants are told: where to, the events, and each attempt to deliver one. Events, deliveries and attempts lie in partitions by month,
-- each by the row's own time, and go month by month: a file is emptied, no row is read.
-- A default partition rules out DETACH … CONCURRENTLY. That is why a month is emptied by a lock on itself alone, and its empty shell
-- dropped when nobody at all holds the table: every lock here is taken at once or not at all, so that nobody queues behind it.

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
CREATE TABLE events_first PARTITION OF events
  FOR VALUES FROM (MINVALUE) TO ((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC');
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
CREATE TABLE deliveries_first PARTITION OF deliveries
  FOR VALUES FROM (MINVALUE) TO ((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC') WITH (fillfactor = 80);
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
CREATE TABLE delivery_attempts_first PARTITION OF delivery_attempts
  FOR VALUES FROM (MINVALUE) TO ((date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC');
CREATE TABLE delivery_attempts_default PARTITION OF delivery_attempts DEFAULT;

-- From when on the events are all there: ledger verify asks for no older one.
CREATE TABLE events_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  since timestamptz NOT NULL
);
INSERT INTO events_kept (since) VALUES ('-infinity');
