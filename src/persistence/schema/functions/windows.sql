-- The windows in which a record was counted. A member that is left out is the record's own: its tenant, its mode, no subject, one payment;
-- the subject # is its party's hash.
CREATE OR REPLACE FUNCTION counted_windows(of_app text, of_mode text, of_party bytea, counted json)
RETURNS TABLE (app_id text, mode text, name text, subject text, starts_at timestamptz, amount bigint) LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(c.app_id, of_app), coalesce(c.mode, of_mode), c.name,
    CASE c.subject WHEN '#' THEN encode(of_party, 'hex') ELSE coalesce(c.subject, '') END, c.starts_at, coalesce(c.amount, 1)
  FROM json_to_recordset(counted) AS c(app_id text, mode text, name text, subject text, starts_at timestamptz, amount bigint)
$$;

-- Counts the steps of a batch in their windows, makes the rows of windows that are unused yet, and answers what was used of each before.
-- INSERT returns its rows in the order in which it writes them: to pair them by their keys makes a batch of eight a tenth dearer.
CREATE OR REPLACE FUNCTION use_windows(
  p_app_id text[], p_mode text[], p_name text[], p_subject text[], p_starts_at timestamptz[], asked bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  used_before bigint[];
  used_after bigint;
  number int := 0;
BEGIN
  FOR used_after IN
    INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
    SELECT s.app_id, s.mode, s.name, s.subject, s.starts_at, s.asked
    FROM unnest(p_app_id, p_mode, p_name, p_subject, p_starts_at, asked) WITH ORDINALITY AS s(app_id, mode, name, subject, starts_at, asked, n)
    ORDER BY s.n
    ON CONFLICT (starts_at, app_id, mode, name, subject) DO UPDATE SET used = c.used + EXCLUDED.used
    RETURNING c.used
  LOOP
    number := number + 1;
    used_before[number] := used_after - asked[number];
  END LOOP;
  RETURN used_before;
END
$$;

-- The same on Citus, where that order is nowhere promised, and where a window that all tenants share lies on another server.
CREATE OR REPLACE FUNCTION use_windows_of_tenant(
  p_app_id text[], p_mode text[], p_name text[], p_subject text[], p_starts_at timestamptz[], asked bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  r record;
  used_before bigint[];
  used_after bigint;
BEGIN
  FOR r IN
    SELECT s.* FROM unnest(p_app_id, p_mode, p_name, p_subject, p_starts_at, asked)
      WITH ORDINALITY AS s(app_id, mode, name, subject, starts_at, asked, n) ORDER BY s.n
  LOOP
    INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
      VALUES (r.app_id, r.mode, r.name, r.subject, r.starts_at, r.asked)
      ON CONFLICT (starts_at, app_id, mode, name, subject) DO UPDATE SET used = c.used + EXCLUDED.used RETURNING c.used INTO used_after;
    used_before[r.n] := used_after - r.asked;
  END LOOP;
  RETURN used_before;
END
$$;
