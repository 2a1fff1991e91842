-- A stored text as SQL can take it apart. Until now a mask could be half a character, and JSON with one of those is refused as a whole.
CREATE OR REPLACE FUNCTION well_formed(stored json) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN position('\ud' IN stored::text) = 0 THEN stored
    ELSE regexp_replace(stored::text, '(?<!\\)((?:\\\\)*)(?:\\ud[89ab]..(?!\\ud[c-f]..)|(?<!\\ud[89ab]..)\\ud[c-f]..)', '\1\\ufffd', 'g')::json END
$$;

CREATE OR REPLACE FUNCTION metadata_member(name text, value text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT ('x' || encode(substr(sha256(convert_to(length(name) || ':' || name || value, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;

-- The members by which a record can be found, each once: those of its metadata, and of a refund the collection that it refunds, under no
-- name. A member of the metadata may have no name, too: who reads them holds the record itself against what is asked.
CREATE OR REPLACE FUNCTION metadata_members_of(record json) RETURNS SETOF bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT DISTINCT metadata_member(m.key, m.value #>> '{}') FROM (
    SELECT e.key, e.value FROM well_formed(record) AS r, json_each((r ->> 'metadata')::json) WITH ORDINALITY AS e(key, value, place)
    WHERE r ->> 'kind' <> 'exchange' AND json_typeof(e.value) IN ('string', 'number', 'boolean') ORDER BY e.place LIMIT 20
  ) m
  UNION
  SELECT metadata_member('', r ->> 'refundOf') FROM well_formed(record) AS r WHERE r ->> 'refundOf' IS NOT NULL
$$;
