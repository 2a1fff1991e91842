import type { LedgerRule } from "../LedgerRule.ts"

/** From when on the history is there: the first months may be archived, and what began in them is held against nothing. */
export const historySince = "(SELECT min(from_at) FROM time_partitions WHERE parent = 'transaction_history')"

/** Each step of a record leaves one line, and the last one says how the record is. */
export const historyRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "history_is_whole",
    counted: "SELECT count(*) FROM transaction_history",
    broken: `
      SELECT coalesce(t.app_id, h.app_id) || '/' || coalesce(t.reference, h.reference) AS subject,
        CASE
          WHEN min(t.revision) IS NULL THEN count(*) || ' lines of a record that is not there'
          WHEN count(h.line) <> min(t.revision) THEN count(h.line) || ' lines of ' || min(t.revision) || ' steps'
          WHEN count(*) FILTER (WHERE h.fact = 'Opened') <> 1 THEN 'its first line is not that it was opened'
          ELSE 'its last line does not say that it is ' || min(t.status)
        END AS found
      FROM transactions t FULL JOIN transaction_history h ON h.app_id = t.app_id AND h.reference = t.reference
      GROUP BY 1, coalesce(t.app_id, h.app_id), coalesce(t.reference, h.reference)
      HAVING min(t.revision) IS NULL OR min(t.created_at) >= ${historySince} AND (count(h.line) <> min(t.revision) OR count(*) FILTER (WHERE h.fact = 'Opened') <> 1
        OR max(h.line) IS DISTINCT FROM max(h.line) FILTER (WHERE h.status = t.status))`
  },
  {
    rule: "records_are_as_written",
    counted: "SELECT count(*) FROM transactions",
    // A line of the release before has no digest: what it wrote is held by nothing but the rules that compare.
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject, 'the record is not the one that its last line was written with' AS found
      FROM (SELECT app_id, reference, record_digest(record::text) AS digest FROM transactions) t
      JOIN transaction_history h ON h.app_id = t.app_id AND h.reference = t.reference
      GROUP BY t.app_id, t.reference
      HAVING max(h.line) <> coalesce(max(h.line) FILTER (WHERE h.record_digest IS NULL OR h.record_digest = t.digest), 0)`
  }
]
