import { steps as sealedProposals } from "./0022_sealed_proposals.ts"

export const name = "0026_revoked_keys"

/** So many keys one batch reads. */
const KEYS_A_BATCH = 500

const was = sealedProposals[0].sql
const changeAccess = was.slice(was.indexOf("CREATE OR REPLACE FUNCTION change_access"))

const opened = `INSERT INTO console_proposals (id, kind, subject, details, proposed_by, proposed_at, status, proposal_seal)
      VALUES (r.id, r.kind, r.subject, r.details, r.proposed_by, r.proposed_at, 'open', r.proposal_seal) ON CONFLICT DO NOTHING;
    changed := FOUND;`
const decided = `AND (r.status <> 'approved' OR EXISTS (SELECT FROM operators o WHERE o.name = r.decided_by AND o.created_at <= r.decided_at));`
const revoked = `UPDATE api_keys k SET revoked_at = r.revoked_at WHERE k.app_id = r.app_id AND k.key_id = r.key_id AND k.revoked_at IS NULL;
    changed := FOUND;`
const failed = `UPDATE console_proposals p SET status = 'failed', note = r.note WHERE p.id = r.id AND p.status = 'approved';`

/** The function as it was, with other statements in these places. Nodes of the release before call it, too. */
const replaced = changeAccess
  .replace(
    revoked,
    `UPDATE api_keys k SET revoked_at = r.revoked_at, signing_secret_sealed = ''
      WHERE k.app_id = r.app_id AND k.key_id = r.key_id AND k.revoked_at IS NULL;
    changed := FOUND;
    IF changed THEN
      INSERT INTO revoked_keys (app_id, key_id, revoked_at) VALUES (r.app_id, r.key_id, r.revoked_at) ON CONFLICT DO NOTHING;
    END IF;`
  )
  .replace(
    opened,
    `PERFORM FROM operators o WHERE o.name = r.proposed_by AND o.created_at <= r.proposed_at FOR SHARE;
    IF FOUND THEN
      ${opened.replace("    changed := FOUND;", "").trim()}
    END IF;
    changed := FOUND;`
  )
  .replace(
    "-- Who approves is an operator in this commit: a removal holds the head of the log, too.",
    "-- Who decides is an operator until this commit. A removal itself withdraws, and so does the end of the time."
  )
  .replace(
    "UPDATE console_proposals p SET status = r.status, decided_by",
    `PERFORM FROM operators o WHERE o.name = r.decided_by AND o.created_at <= r.decided_at FOR SHARE;
    UPDATE console_proposals p SET status = r.status, decided_by`
  )
  .replace(decided, "AND (FOUND OR r.status = 'withdrawn');")
  .replace(
    failed,
    `PERFORM FROM operators o WHERE 'console/' || o.name = p_actor FOR SHARE;
    ${failed.replace(";", "")} AND (FOUND OR p_actor NOT LIKE 'console/%');`
  )

/**
 * A key that was revoked keeps no secret, and stays revoked whoever can write its row: its name is in `revoked_keys` for good, which only the owner of the
 * tables can change. Who opens or decides a proposal is an operator until the commit.
 */
export const steps = [
  {
    form: "transaction",
    sql: `
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
    SELECT k.app_id || '/' || k.key_id AS place FROM api_keys k WHERE k.revoked_at IS NOT NULL AND k.app_id || '/' || k.key_id > after ORDER BY 1 LIMIT ${KEYS_A_BATCH}
  ) few;
  INSERT INTO revoked_keys (app_id, key_id, revoked_at) SELECT k.app_id, k.key_id, k.revoked_at FROM api_keys k
  WHERE k.revoked_at IS NOT NULL AND k.app_id || '/' || k.key_id > after AND k.app_id || '/' || k.key_id <= upto ON CONFLICT DO NOTHING;
  UPDATE api_keys k SET signing_secret_sealed = ''
  WHERE k.revoked_at IS NOT NULL AND k.app_id || '/' || k.key_id > after AND k.app_id || '/' || k.key_id <= upto;
  RETURN upto;
END
$$;

-- As in 0022, but for what is said above.
${replaced}`
  },
  { form: "batches", sql: "SELECT empty_revoked_keys($1) AS reached" },
  { form: "transaction", sql: "DROP FUNCTION empty_revoked_keys(text)" }
] as const
