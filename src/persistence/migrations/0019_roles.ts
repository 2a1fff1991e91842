export const name = "0019_roles"

/**
 * What needs the owner of the tables while a gateway runs as a role that owns nothing: a month's partitions are made, and a month of events is
 * retired. Both take exactly what the gateway asks for; nothing else can be done through them.
 */
export const sql = `
CREATE FUNCTION make_month(of_table text, month timestamptz) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  key text := CASE WHEN of_table IN ('postings', 'transaction_history', 'delivery_attempts') THEN 'at'
    WHEN of_table IN ('events', 'deliveries') THEN 'created_at' END;
  start timestamp := month AT TIME ZONE 'UTC';
BEGIN
  IF key IS NULL OR start <> date_trunc('month', start) THEN
    RAISE EXCEPTION '% is not parted by months, or % does not begin one', of_table, month;
  END IF;
  RETURN make_partition(of_table, key, month, (start + interval '1 month') AT TIME ZONE 'UTC');
END
$$;

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
DECLARE
  what text;
BEGIN
  FOREACH what IN ARRAY ARRAY['make_month(text, timestamptz)', 'retire_month(timestamptz, int)'] LOOP
    -- pg_catalog comes before it by itself; the first that is named is where tables are made.
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', what, current_schema());
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', what);
  END LOOP;
END
$fixed$;
`
