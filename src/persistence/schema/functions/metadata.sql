-- A stored text as SQL can take it apart. Until now a mask could be half a character, and JSON with one of those is refused as a whole.
CREATE OR REPLACE FUNCTION well_formed(stored json) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN position('\ud' IN stored::text) = 0 THEN stored
    ELSE regexp_replace(stored::text, '(?<!\\)((?:\\\\)*)(?:\\ud[89ab]..(?!\\ud[c-f]..)|(?<!\\ud[89ab]..)\\ud[c-f]..)', '\1\\ufffd', 'g')::json END
$$;

CREATE OR REPLACE FUNCTION metadata_member(name text, value text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT ('x' || encode(substr(sha256(convert_to(length(name) || ':' || name || value, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;

-- The members by which a record can be found, each once: those of its metadata, and of a refund the collection that it refunds, under no
-- name. A member of the metadata may have no name, too: who reads them holds the record itself against what is asked. What is looked for by
-- position is a member, and no part of a text: there a backslash stands before each quotation mark.
CREATE OR REPLACE FUNCTION metadata_members_of(record json) RETURNS SETOF bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT metadata_member(m.key, m.value #>> '{}') FROM (
    SELECT e.key, e.value FROM json_each((well_formed(record) ->> 'metadata')::json) WITH ORDINALITY AS e(key, value, place)
    WHERE position('"kind":"exchange"' IN record::text) = 0 AND json_typeof(e.value) IN ('string', 'number', 'boolean')
    ORDER BY e.place LIMIT 20
  ) m
  UNION
  SELECT metadata_member('', well_formed(record) ->> 'refundOf') WHERE position('"refundOf":"' IN record::text) > 0
$$;

CREATE OR REPLACE FUNCTION receipt_identity(receipt text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT upper(regexp_replace(receipt, '[^A-Za-z0-9]', '', 'g') COLLATE "C")
$$;

-- The member by which a record is found by the number of its receipt; null where it has none. Of what people type letters and digits count,
-- in capitals (`receiptIdentity`), so of a receipt they do, too.
CREATE OR REPLACE FUNCTION receipt_member(record json) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT metadata_member('', 'receipt ' || receipt_identity(well_formed(record) ->> 'providerReceipt'))
$$;

-- The hash of the recipient's account, as it comes with the recipient, which is kept without it. Most have none, and no pattern is compiled
-- for those.
CREATE OR REPLACE FUNCTION account_hash_in(beneficiary text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN position(',"accountHash":"' IN beneficiary) > 0
    THEN decode(substring(beneficiary FROM ',"accountHash":"([0-9a-f]{64})"'), 'hex') END
$$;
CREATE OR REPLACE FUNCTION without_account_hash(beneficiary text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN position(',"accountHash":"' IN beneficiary) = 0 THEN beneficiary
    ELSE regexp_replace(beneficiary, ',"accountHash":"[0-9a-f]{64}"', '') END
$$;
