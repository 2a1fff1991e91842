-- Stops a statement whose parts do not agree with each other, so that nothing of it is committed.
CREATE OR REPLACE FUNCTION refuse_commit(reason text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'money step refused: %', reason;
END
$$;
