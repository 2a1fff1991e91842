export const name = "0022_evidence"

/** What `ledger verify` holds frozen bytes against, and from when on things are all there. */
export const sql = `
-- Written with each line, of the texts that its step wrote: they stay where no gateway writes a second time. A line of the release before has none.
CREATE FUNCTION record_digest(record text) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(record, 'UTF8'))
$$;
CREATE FUNCTION event_digest(id text, type text, body text) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(id || chr(10) || type || chr(10) || body, 'UTF8'))
$$;
CREATE FUNCTION answer_digest(endpoint text, key text, status int, body bytea) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(endpoint || chr(10) || key || chr(10) || status || chr(10), 'UTF8') || body)
$$;

ALTER TABLE transaction_history ADD COLUMN record_digest bytea, ADD COLUMN event_digest bytea, ADD COLUMN answer_digest bytea;

-- Of an answer that belongs to no transaction.
ALTER TABLE idempotency_keys ADD COLUMN answer_digest bytea;

-- From when on the keys and the windows are all there: what was removed is older.
CREATE TABLE kept_since (
  what text PRIMARY KEY CHECK (what IN ('keys', 'windows')),
  since timestamptz NOT NULL
);
INSERT INTO kept_since (what, since) SELECT what, CASE WHEN EXISTS (SELECT FROM transactions) THEN now() - kept ELSE '-infinity' END
FROM (VALUES ('keys', interval '90 days'), ('windows', interval '7 days')) AS k(what, kept);
`
