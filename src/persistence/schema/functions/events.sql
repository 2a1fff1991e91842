-- The event that tells the tenant, in the same commit as what it tells, and a delivery of it where the tenant's endpoint wants events of
-- this type.
CREATE OR REPLACE FUNCTION write_event(
  p_app_id text, p_mode text, p_reference text, p_at timestamptz, p_event_id text, p_event_type text, p_event_body text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  VALUES (p_app_id, p_event_id, p_mode, p_event_type, p_reference, p_event_body, p_at);
  INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
  SELECT w.app_id, p_event_id, w.mode, p_event_id, 'due', p_at, p_at FROM webhook_endpoints w
  WHERE w.app_id = p_app_id AND w.mode = p_mode AND w.enabled AND p_event_type = ANY (w.events);
  IF FOUND THEN
    INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) VALUES (p_app_id, p_mode, p_at, p_event_id, p_at);
  END IF;
END
$$;

-- The same for these steps of a batch, those of them that have an event.
CREATE OR REPLACE FUNCTION write_events( /*+ p_app text, */
  steps int[], p_app_id text[], p_mode text[], p_reference text[], p_at timestamptz[], p_event_id text[], p_event_type text[], p_event_body text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  -- Those whose event is to be delivered.
  wanted int[];
BEGIN
  INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
  SELECT p_app_id[n], p_event_id[n], p_mode[n], p_event_type[n], p_reference[n], p_event_body[n], p_at[n]
  FROM unnest(steps) AS n WHERE p_event_id[n] IS NOT NULL;
  wanted := ARRAY(
    SELECT n FROM unnest(steps) AS n
    JOIN webhook_endpoints w ON w.app_id = p_app_id[n] AND w.mode = p_mode[n] AND w.enabled AND p_event_type[n] = ANY (w.events)
    WHERE p_event_id[n] IS NOT NULL /*+ AND w.app_id = p_app */);
  IF cardinality(wanted) > 0 THEN
    INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
    SELECT p_app_id[n], p_event_id[n], p_mode[n], p_event_id[n], 'due', p_at[n], p_at[n] FROM unnest(wanted) AS n;
    INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
    SELECT p_app_id[n], p_mode[n], p_at[n], p_event_id[n], p_at[n] FROM unnest(wanted) AS n;
  END IF;
END
$$;
