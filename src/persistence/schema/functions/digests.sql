-- Of the texts that a step writes. They stay where no gateway writes a second time.
CREATE OR REPLACE FUNCTION record_digest(record text) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(record, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION event_digest(id text, type text, body text) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(id || chr(10) || type || chr(10) || body, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION answer_digest(endpoint text, key text, status int, body bytea) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(endpoint || chr(10) || key || chr(10) || status || chr(10), 'UTF8') || body)
$$;
