import type { LedgerRule } from "../LedgerRule.ts"

/** A record is one thing, wherever it is written. */
export const recordRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "columns_match_the_record",
    counted: "SELECT count(*) FROM transactions",
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, 'its columns say ' || t.status || ', its record ' || r.status AS found
      FROM transactions t
      CROSS JOIN LATERAL json_to_record(t.record) AS r(status text, kind text, mode text, reference text, "appId" text)
      WHERE (t.status, t.kind, t.mode, t.reference, t.app_id) IS DISTINCT FROM (r.status, r.kind, r.mode, r.reference, r."appId")`
  }
]
