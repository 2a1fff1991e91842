-- What finds the records of a tenant by a member of their metadata, the newest first. It only ever narrows: whoever reads it holds the
-- record itself against what is asked. Narrow, because a row is written for each member of each record: member is a hash of name and value.
CREATE TABLE metadata_members (
  app_id text NOT NULL,
  mode text NOT NULL,
  member bigint NOT NULL,
  created_at timestamptz NOT NULL,
  reference text NOT NULL,
  PRIMARY KEY (app_id, mode, member, created_at, reference)
);

-- Writes those of the next records that were there before, and answers how far it came. What waits to become a beneficiary is mended on the
-- way. It goes with this migration.
CREATE FUNCTION fill_metadata_members(after text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE upto text;
BEGIN
  -- A call that had begun has the function as it was, and what it writes is found below once it has ended.
  WHILE after = '' AND EXISTS (SELECT FROM idempotency_keys) AND pg_snapshot_xmin(pg_current_snapshot()) < pg_current_xact_id() LOOP
    IF clock_timestamp() > now() + interval '12 seconds' THEN
      RAISE EXCEPTION 'a transaction that began before this migration has not ended: see pg_stat_activity, and migrate again'
        USING ERRCODE = 'lock_not_available';
    END IF;
    PERFORM pg_sleep(0.02);
  END LOOP;
  SELECT max(few.reference) INTO upto FROM (SELECT t.reference FROM transactions t WHERE t.reference > after ORDER BY t.reference LIMIT 200) few;
  INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
  SELECT t.app_id, t.mode, m.member, t.created_at, t.reference FROM transactions t CROSS JOIN LATERAL metadata_members_of(t.record) AS m(member)
  WHERE t.reference > after AND t.reference <= upto ON CONFLICT DO NOTHING;
  UPDATE open_work w SET beneficiary = well_formed(w.beneficiary)
  WHERE w.reference > after AND w.reference <= upto AND position('\ud' IN w.beneficiary::text) > 0;
  RETURN upto;
END
$$;
