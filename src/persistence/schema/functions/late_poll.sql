-- When a closed payment is polled again of which a step says that it never is; null where that is so. The release before, which may work
-- beside this one, ends the polls that it does not know: of what failed, and may have been executed all the same, and of charges, which may
-- be taken back. The ages are those of src/domain/PollSchedule.ts, as far as no setting or provider changes them: this release says the
-- same itself.
CREATE OR REPLACE FUNCTION late_poll(p_status text, p_record text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT to_timestamp((r."completedAt" + (ARRAY[1, 24, 72])[coalesce(r.asked, 0) + 1] * 3600000) / 1000)
  FROM json_to_record(p_record::json) AS r(kind text, asked int, "completedAt" float8, "doubtedSince" float8)
  WHERE p_status = 'failed' AND (r.kind = 'collection' OR r."doubtedSince" IS NOT NULL)
    OR p_status = 'successful' AND r.kind = 'collection'
$$;
