-- Keys of people: a name, whether it only reads, and the networks that it may be used from. The release before knows none of this, and
-- refuses a key that only reads or is held to networks: the hash of its API key is of another purpose (apiKeyPurpose). The hour of a
-- key's last use is written at most once an hour.
ALTER TABLE api_keys ADD COLUMN label text NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN is_reader boolean NOT NULL DEFAULT false;
ALTER TABLE api_keys ADD COLUMN addresses text[] NOT NULL DEFAULT '{}';
ALTER TABLE api_keys ADD COLUMN last_used_at timestamptz;
