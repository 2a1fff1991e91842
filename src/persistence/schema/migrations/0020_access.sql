-- Who may do what has a seal: an HMAC of the gateway's over a whole row, so that a row that somebody else wrote, copied or changed is none.
-- Rows that were there before are sealed once (AccessSealing).

ALTER TABLE api_keys ADD COLUMN access_seal bytea;
ALTER TABLE operators ADD COLUMN access_seal bytea;
