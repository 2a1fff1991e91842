-- The id of an event's delivery to an endpoint that has a name. The one to `default` has the event's own id.
CREATE OR REPLACE FUNCTION delivery_id(p_event_id text, p_endpoint text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (get_byte(d.digest, n) & 31) + 1, 1), '' ORDER BY n)
  FROM (SELECT sha256(convert_to(p_event_id || '/' || p_endpoint, 'UTF8')) AS digest) d CROSS JOIN generate_series(0, 25) AS n
$$;

-- The event that tells the tenant, in the same commit as what it tells, and a delivery of it for each of the tenant's endpoints that wants
-- events of this type. The word webhook.test stands for newer types, which are delivered beside this (NewerEventTypes).
CREATE OR REPLACE FUNCTION write_event(
  p_app_id text, p_mode text, p_reference text, p_at timestamptz, p_event_id text, p_event_type text, p_event_body text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  -- Null for `default`.
  endpoint text;
BEGIN
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  VALUES (p_app_id, p_event_id, p_mode, p_event_type, p_reference, p_event_body, p_at);
  FOR endpoint IN
    SELECT NULL FROM webhook_endpoints w WHERE w.app_id = p_app_id AND w.mode = p_mode AND w.enabled AND p_event_type = ANY (w.events)
    UNION ALL
    SELECT n.name FROM named_endpoints n
    WHERE n.app_id = p_app_id AND n.mode = p_mode AND n.enabled AND p_event_type = ANY (n.events) AND p_event_type <> 'webhook.test'
  LOOP
    IF endpoint IS NULL THEN
      INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      VALUES (p_app_id, p_event_id, p_mode, p_event_id, 'due', p_at, p_at);
      INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) VALUES (p_app_id, p_mode, p_at, p_event_id, p_at);
    ELSE
      INSERT INTO named_deliveries (app_id, id, queue, mode, endpoint, event_id, status, next_attempt_at, created_at)
      VALUES (p_app_id, delivery_id(p_event_id, endpoint), p_mode || '/' || endpoint, p_mode, endpoint, p_event_id, 'due', p_at, p_at);
      INSERT INTO named_due_deliveries (app_id, queue, next_attempt_at, id, created_at)
      VALUES (p_app_id, p_mode || '/' || endpoint, p_at, delivery_id(p_event_id, endpoint), p_at);
    END IF;
  END LOOP;
END
$$;

-- The same for these steps of a batch, those of them that have an event.
CREATE OR REPLACE FUNCTION write_events( /*+ p_app text, */
  steps int[], p_app_id text[], p_mode text[], p_reference text[], p_at timestamptz[], p_event_id text[], p_event_type text[], p_event_body text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  -- The steps whose event is to be delivered to `default`; those whose event is to be delivered to one that has a name, and that name.
  wanted int[];
  named int[];
  names text[];
BEGIN
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT p_app_id[n], p_event_id[n], p_mode[n], p_event_type[n], p_reference[n], p_event_body[n], p_at[n]
  FROM unnest(steps) AS n WHERE p_event_id[n] IS NOT NULL;
  SELECT array_agg(c.n) FILTER (WHERE c.name IS NULL), array_agg(c.n) FILTER (WHERE c.name IS NOT NULL), array_agg(c.name) FILTER (WHERE c.name IS NOT NULL)
    INTO wanted, named, names
  FROM (
    SELECT n, NULL AS name FROM unnest(steps) AS n
    JOIN webhook_endpoints w ON w.app_id = p_app_id[n] AND w.mode = p_mode[n] AND w.enabled AND p_event_type[n] = ANY (w.events)
    WHERE p_event_id[n] IS NOT NULL /*+ AND w.app_id = p_app */
    UNION ALL
    SELECT n, e.name FROM unnest(steps) AS n
    JOIN named_endpoints e ON e.app_id = p_app_id[n] AND e.mode = p_mode[n] AND e.enabled AND p_event_type[n] = ANY (e.events)
    WHERE p_event_id[n] IS NOT NULL AND p_event_type[n] <> 'webhook.test' /*+ AND e.app_id = p_app */
  ) c;
  IF wanted IS NOT NULL THEN
    INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
    SELECT p_app_id[n], p_event_id[n], p_mode[n], p_event_id[n], 'due', p_at[n], p_at[n] FROM unnest(wanted) AS n;
    INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
    SELECT p_app_id[n], p_mode[n], p_at[n], p_event_id[n], p_at[n] FROM unnest(wanted) AS n;
  END IF;
  IF named IS NOT NULL THEN
    INSERT INTO named_deliveries (app_id, id, queue, mode, endpoint, event_id, status, next_attempt_at, created_at)
    SELECT p_app_id[n], delivery_id(p_event_id[n], e), p_mode[n] || '/' || e, p_mode[n], e, p_event_id[n], 'due', p_at[n], p_at[n]
    FROM unnest(named, names) AS x(n, e);
    INSERT INTO named_due_deliveries (app_id, queue, next_attempt_at, id, created_at)
    SELECT p_app_id[n], p_mode[n] || '/' || e, p_at[n], delivery_id(p_event_id[n], e), p_at[n] FROM unnest(named, names) AS x(n, e);
  END IF;
END
$$;
