import type { LedgerRule } from "../LedgerRule.ts"

/** A text with its length in front, or a mark for an absent one, as each step writes it. */
const field = (text: string) => `coalesce(octet_length(${text}) || ':' || (${text}), '-')`
const hashOf = (fields: ReadonlyArray<string>) => `sha256(convert_to(${fields.map(field).join(" || ',' || ")}, 'UTF8'))`
const bits = (bytes: string) => `('x' || encode(${bytes}, 'hex'))::bit(256)`

const line = hashOf([
  "app_id",
  "reference",
  "revision::text",
  "mode",
  "((extract(epoch FROM at) * 1000)::bigint)::text",
  "actor",
  "fact",
  "note",
  "status",
  "slot",
  "phase",
  "array_to_string(currencies, ' ')",
  "array_to_string(accounts, ' ')",
  "array_to_string(amounts, ' ')",
  "encode(event_digest, 'hex')"
])
const lines = `SELECT app_id, reference, revision, ${line} AS hash FROM journal WHERE status IS NOT NULL`

/**
 * The digest that a record has of its history. Records of the previous release have none, and a step of that release leaves an
 * earlier one behind: `upto` is then less than the revision.
 */
const digests = `
  SELECT t.*, (t.lines->>'to')::bigint AS upto, t.lines->>'sum' AS sum, t.lines->'gaps' AS gaps, t.lines->>'call' AS call, t.lines->'names' AS names
  FROM (SELECT app_id, reference, revision, raw_request, raw_response, record->'lines' AS lines FROM transactions) t
  WHERE t.lines IS NOT NULL`

const counted = "SELECT count(*) FROM transactions WHERE record->'lines' IS NOT NULL"

/** A record's digest covers all its lines, its last call, and the references that providers gave it. */
export const digestRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "history_is_as_written",
    counted,
    broken: `
      SELECT app_id || '/' || reference AS subject, 'its lines up to ' || upto || ' are not those that its digest was made of' AS found
      FROM (
        SELECT d.app_id, d.reference, d.upto, d.sum AS stated, bit_xor(${bits("l.hash")}) AS found
        FROM (${digests}) d JOIN (${lines}) l ON l.app_id = d.app_id AND l.reference = d.reference AND l.revision <= d.upto
        WHERE d.gaps IS NULL
          OR NOT EXISTS (SELECT 1 FROM json_array_elements(d.gaps) g WHERE l.revision BETWEEN (g->>0)::bigint AND (g->>1)::bigint)
        GROUP BY 1, 2, 3, 4
      ) x WHERE found IS DISTINCT FROM ${bits("decode(stated, 'base64')")}`
  },
  {
    rule: "calls_are_as_written",
    counted,
    // A later step by the previous release is not covered.
    broken: `
      SELECT app_id || '/' || reference AS subject, 'what is kept of its last call is not what a step wrote' AS found
      FROM (${digests}) d WHERE upto = revision AND (call IS NOT NULL OR gaps IS NULL)
        AND call IS DISTINCT FROM CASE WHEN raw_request IS NOT NULL OR raw_response IS NOT NULL
          THEN encode(${hashOf(["raw_request", "raw_response"])}, 'base64') END`
  },
  {
    rule: "provider_references_were_written",
    counted: "SELECT count(*) FROM provider_references",
    broken: `
      SELECT p.app_id || '/' || p.reference AS subject, CASE
          WHEN t.app_id IS NULL THEN p.provider || '''s ' || p.provider_reference || ' leads to a record that is not there'
          WHEN t.mode <> p.mode THEN p.provider || '''s ' || p.provider_reference || ' leads to it in ' || p.mode || ' mode'
          ELSE 'no step wrote that ' || p.provider || ' calls it ' || p.provider_reference
        END AS found
      FROM provider_references p
      LEFT JOIN (SELECT app_id, reference, mode, record->>'provider' AS provider, record->>'providerReference' AS provider_reference FROM transactions) t
        ON t.app_id = p.app_id AND t.reference = p.reference
      LEFT JOIN (${digests}) d ON d.app_id = p.app_id AND d.reference = p.reference
      WHERE t.app_id IS NULL OR t.mode <> p.mode
        OR d.upto = d.revision AND d.gaps IS NULL AND (p.provider, p.provider_reference) IS DISTINCT FROM (t.provider, t.provider_reference)
          AND NOT EXISTS (SELECT 1 FROM json_array_elements(d.names) n WHERE n->>0 = p.provider AND n->>1 = p.provider_reference)`
  }
]
