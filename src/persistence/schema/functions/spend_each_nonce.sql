-- Of requests with one nonce the first spends it, and the answer says which did. It stays spent whatever becomes of the request.
CREATE OR REPLACE FUNCTION spend_each_nonce(app_ids text[], key_ids text[], nonce_values text[], nonces_expire timestamptz[])
RETURNS boolean[] LANGUAGE plpgsql AS $$
DECLARE
  r record;
  nonces_fresh boolean[];
BEGIN
  FOR r IN
    SELECT n.* FROM unnest(app_ids, key_ids, nonce_values, nonces_expire) WITH ORDINALITY AS n(app_id, key_id, nonce, expires_at, ord)
    ORDER BY n.app_id, n.key_id, n.nonce, n.ord
  LOOP
    INSERT INTO nonces (app_id, key_id, nonce, expires_at) VALUES (r.app_id, r.key_id, r.nonce, r.expires_at)
      ON CONFLICT (app_id, key_id, nonce) DO NOTHING;
    nonces_fresh[r.ord] := FOUND;
  END LOOP;
  RETURN nonces_fresh;
END $$;
