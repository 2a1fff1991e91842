import { text as openStep } from "./0007_open_step.ts"
import { ofTenant, text as openSteps } from "./0008_open_steps.ts"
import { inBothForms } from "./TenantForm.ts"

export const name = "0019_metadata_members"

/** So many members of a record's metadata can be found, the first of those whose value is a text, a number or a boolean (contract TXN-11). */
export const MEMBERS_A_RECORD = 20
/** So many records one batch reads. */
const RECORDS_A_BATCH = 200
/** No call of a gateway lasts longer; below the timeout of this statement. */
const EARLIER_SECONDS = 12

const table = `
-- What finds the records of a tenant by a member of their metadata, the newest first. It only ever narrows: whoever reads it holds the record itself against
-- what is asked. Narrow, because a row is written for each member of each record: member is a hash of name and value.
CREATE TABLE metadata_members (
  app_id text NOT NULL,
  mode text NOT NULL,
  member bigint NOT NULL,
  created_at timestamptz NOT NULL,
  reference text NOT NULL,
  PRIMARY KEY (app_id, mode, member, created_at, reference)
);

-- A stored text as SQL can take it apart. Until now a mask could be half a character, and JSON with one of those is refused as a whole.
CREATE FUNCTION well_formed(stored json) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN position('\\ud' IN stored::text) = 0 THEN stored
    ELSE regexp_replace(stored::text, '(?<!\\\\)((?:\\\\\\\\)*)(?:\\\\ud[89ab]..(?!\\\\ud[c-f]..)|(?<!\\\\ud[89ab]..)\\\\ud[c-f]..)', '\\1\\\\ufffd', 'g')::json END
$$;

CREATE FUNCTION metadata_member(name text, value text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT ('x' || encode(substr(sha256(convert_to(length(name) || ':' || name || value, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;

-- The members by which a record can be found, each once.
CREATE FUNCTION metadata_members_of(record json) RETURNS SETOF bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT DISTINCT metadata_member(m.key, m.value #>> '{}') FROM (
    SELECT e.key, e.value FROM well_formed(record) AS r, json_each((r ->> 'metadata')::json) WITH ORDINALITY AS e(key, value, place)
    WHERE r ->> 'kind' <> 'exchange' AND json_typeof(e.value) IN ('string', 'number', 'boolean') ORDER BY e.place LIMIT ${MEMBERS_A_RECORD}
  ) m
$$;

-- Writes those of the next records that were there before, and answers how far it came. What waits to become a beneficiary is mended on the way. It goes
-- with this migration.
CREATE FUNCTION fill_metadata_members(after text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE upto text;
BEGIN
  -- A call that had begun has the function as it was, and what it writes is found below once it has ended.
  WHILE after = '' AND EXISTS (SELECT FROM idempotency_keys) AND pg_snapshot_xmin(pg_current_snapshot()) < pg_current_xact_id() LOOP
    IF clock_timestamp() > now() + interval '${EARLIER_SECONDS} seconds' THEN
      RAISE EXCEPTION 'a transaction that began before this migration has not ended: see pg_stat_activity, and migrate again' USING ERRCODE = 'lock_not_available';
    END IF;
    PERFORM pg_sleep(0.02);
  END LOOP;
  SELECT max(few.reference) INTO upto FROM (SELECT t.reference FROM transactions t WHERE t.reference > after ORDER BY t.reference LIMIT ${RECORDS_A_BATCH}) few;
  INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
  SELECT t.app_id, t.mode, m.member, t.created_at, t.reference FROM transactions t CROSS JOIN LATERAL metadata_members_of(t.record) AS m(member)
  WHERE t.reference > after AND t.reference <= upto ON CONFLICT DO NOTHING;
  UPDATE open_work w SET beneficiary = well_formed(w.beneficiary)
  WHERE w.reference > after AND w.reference <= upto AND position('\\ud' IN w.beneficiary::text) > 0;
  RETURN upto;
END
$$;
`

const BEFORE = "\n  -- What is to be done about it.\n"

const written = {
  alone: `
  -- What it is found by.
  INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
  SELECT p_app_id, p_mode, m.member, p_at, p_reference FROM metadata_members_of(p_record::json) AS m(member);
`,
  together: `
  -- What they are found by.
  INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
  SELECT p_app_id[n], p_mode[n], m.member, p_at[n], p_reference[n]
  FROM unnest(opened) AS n CROSS JOIN LATERAL metadata_members_of(p_record[n]::json) AS m(member);
`
}

/** The function as it was, with one statement more, in the place of the one before. Nodes of the release before call it, too. */
const replaced = (text: string, statement: string): string =>
  text
    .replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    .replace(/p_beneficiary(\[n\])?::json/, (given) => `well_formed(${given})`)
    .replace(BEFORE, () => `${statement}${BEFORE}`)

/** The functions as they are from here on. */
export const text = { alone: replaced(openStep, written.alone), together: replaced(openSteps, written.together) }

export const steps = [
  {
    form: "transaction",
    sql: [
      table,
      inBothForms(["open_step"], text.alone),
      inBothForms(["open_steps"], text.together, ofTenant(text.together))
    ].join("\n")
  },
  { form: "batches", sql: "SELECT fill_metadata_members($1) AS reached" },
  { form: "transaction", sql: "DROP FUNCTION fill_metadata_members(text)" }
] as const
