import { allThereSince } from "../../KeptSince.ts"
import type { LedgerRule } from "../LedgerRule.ts"

/** How much was moved in a window of time is what its transactions were counted for. */
export const windowRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "windows_are_counted",
    counted: `SELECT count(*) FROM counters WHERE starts_at >= ${allThereSince("windows")}`,
    // A payout that failed was given back. An hour is for windows that were removed before that was written down. Of the keyed hash of a
    // number no more is shown than finds the row.
    broken: `
      WITH kept AS (SELECT ${allThereSince("windows")} + interval '1 hour' AS since),
      counted AS (
        SELECT n.app_id, n.mode, n.name, n.subject, n.starts_at, sum(n.amount) AS amount
        FROM transactions t
        LEFT JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference AND j.phase = 'release'
        CROSS JOIN LATERAL json_to_recordset(t.counted) AS n(app_id text, mode text, name text, subject text, starts_at timestamptz, amount bigint)
        WHERE t.created_at >= (SELECT since - interval '1 day' FROM kept) AND (t.kind <> 'payout' OR j.app_id IS NULL)
          AND n.starts_at >= (SELECT since FROM kept)
        GROUP BY n.app_id, n.mode, n.name, n.subject, n.starts_at
      ),
      window_rows AS (
        SELECT * FROM counters WHERE starts_at >= (SELECT since FROM kept)
          AND (name LIKE 'payout:%' OR name LIKE 'collection:%' OR name LIKE 'ceiling:%')
      )
      SELECT concat_ws('/', nullif(coalesce(c.app_id, w.app_id), ''), coalesce(c.mode, w.mode), coalesce(c.name, w.name),
          nullif(left(coalesce(c.subject, w.subject), 8), ''), coalesce(c.starts_at, w.starts_at)) AS subject,
        'the window says ' || coalesce(c.used, 0) || ', its transactions were counted for ' || coalesce(w.amount, 0) AS found
      FROM window_rows c FULL JOIN counted w ON w.app_id = c.app_id AND w.mode = c.mode AND w.name = c.name AND w.subject = c.subject
        AND w.starts_at = c.starts_at
      WHERE coalesce(c.used, 0) <> coalesce(w.amount, 0)`
  }
]
