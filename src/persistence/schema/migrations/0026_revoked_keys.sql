-- A key that was revoked keeps no secret, and stays revoked whoever can write its row: its name is in `revoked_keys` for good, which only
-- the owner of the tables can change.

CREATE TABLE revoked_keys (
  app_id text NOT NULL,
  key_id text NOT NULL,
  revoked_at timestamptz NOT NULL,
  PRIMARY KEY (app_id, key_id)
);

-- Empties the secrets of the next keys that were revoked before, and answers how far it came. It goes with this migration.
CREATE FUNCTION empty_revoked_keys(after text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE upto text;
BEGIN
  -- Whoever revokes has the head of the audit log: a call that had begun, and has the function as it was, has ended.
  PERFORM FROM audit_head_locked();
  SELECT max(few.place) INTO upto FROM (
    SELECT k.app_id || '/' || k.key_id AS place FROM api_keys k WHERE k.revoked_at IS NOT NULL AND k.app_id || '/' || k.key_id > after ORDER BY 1 LIMIT 500
  ) few;
  INSERT INTO revoked_keys (app_id, key_id, revoked_at) SELECT k.app_id, k.key_id, k.revoked_at FROM api_keys k
  WHERE k.revoked_at IS NOT NULL AND k.app_id || '/' || k.key_id > after AND k.app_id || '/' || k.key_id <= upto ON CONFLICT DO NOTHING;
  UPDATE api_keys k SET signing_secret_sealed = ''
  WHERE k.revoked_at IS NOT NULL AND k.app_id || '/' || k.key_id > after AND k.app_id || '/' || k.key_id <= upto;
  RETURN upto;
END
$$;
