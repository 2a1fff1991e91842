-- A tenant's further webhook endpoints, each with a name. The one that every release knows, `default`, stays in the tables of
-- 0004_webhooks; the others, their deliveries and what is under way to them lie in tables beside those, so that a node of the release
-- before neither takes a delivery of theirs nor signs one with another endpoint's secret. Each table is as its twin is; `queue` stands
-- for the mode there, and is the mode and the name, such as live/erp. Functions name these tables before this migration, wherefore
-- each may be there already.

CREATE TABLE IF NOT EXISTS named_endpoints (
  app_id text NOT NULL,
  queue text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  name text NOT NULL CHECK (name ~ '^[a-z0-9_-]{1,32}$' AND name <> 'default'),
  url text NOT NULL,
  -- All that it wants, newer event types among them: no node of the release before reads it.
  events text[] NOT NULL,
  enabled boolean NOT NULL,
  secret_sealed bytea NOT NULL,
  previous_secret_sealed bytea,
  previous_until timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  failing_since timestamptz,
  disabled_reason text CHECK (disabled_reason IN ('gone', 'failing')),
  PRIMARY KEY (app_id, queue),
  CHECK (queue = mode || '/' || name)
);
CREATE INDEX IF NOT EXISTS named_endpoints_failing ON named_endpoints (failing_since) WHERE enabled AND failing_since IS NOT NULL;

-- Not in partitions: what arrived goes row by row when it is old (retention), what is due or parked stays.
CREATE TABLE IF NOT EXISTS named_deliveries (
  app_id text NOT NULL,
  id text NOT NULL,
  queue text NOT NULL,
  mode text NOT NULL,
  endpoint text NOT NULL,
  event_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('due', 'delivered', 'parked')),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  created_at timestamptz NOT NULL,
  completed_at timestamptz,
  parked boolean GENERATED ALWAYS AS (status = 'parked') STORED,
  PRIMARY KEY (app_id, id),
  CHECK ((status = 'due') = (next_attempt_at IS NOT NULL)),
  CHECK (queue = mode || '/' || endpoint)
) WITH (fillfactor = 80);
-- The lists of all of a tenant's endpoints and of one.
CREATE INDEX IF NOT EXISTS named_deliveries_of_tenant ON named_deliveries (app_id, mode, created_at, id);
CREATE INDEX IF NOT EXISTS named_deliveries_listed ON named_deliveries (app_id, queue, created_at, id);
CREATE INDEX IF NOT EXISTS named_deliveries_parked ON named_deliveries (app_id, mode, created_at, id) WHERE parked;
CREATE INDEX IF NOT EXISTS named_deliveries_of_event ON named_deliveries (app_id, event_id);
CREATE INDEX IF NOT EXISTS named_deliveries_by_age ON named_deliveries USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);

CREATE TABLE IF NOT EXISTS named_due_deliveries (
  app_id text NOT NULL,
  queue text NOT NULL,
  next_attempt_at timestamptz NOT NULL,
  id text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, queue, next_attempt_at, id)
);

CREATE TABLE IF NOT EXISTS named_flights (
  app_id text NOT NULL,
  queue text NOT NULL,
  ids text[] NOT NULL,
  leased_until timestamptz[] NOT NULL CHECK (cardinality(leased_until) = cardinality(ids)),
  PRIMARY KEY (app_id, queue)
) WITH (fillfactor = 50);

-- Who may write to their twins may write to them: a node that runs as a role of its own goes on while the migrations are applied.
DO $rights$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT DISTINCT a.grantee::regrole::text AS role FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
    WHERE c.oid = 'due_deliveries'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> 0 AND a.grantee <> c.relowner
  LOOP
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON named_endpoints, named_deliveries, named_due_deliveries, named_flights TO ' || r.role;
  END LOOP;
END
$rights$;
