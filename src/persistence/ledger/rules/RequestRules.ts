import { completeSince, type RetainedRows, retention } from "../../vault/Retention.ts"
import type { LedgerRule } from "../LedgerRule.ts"

/** The endpoint that creates each kind of record. */
const endpoints =
  "(VALUES ('payout', 'POST /v1/payouts'), ('collection', 'POST /v1/collections'), ('exchange', 'POST /v1/fx/exchange'))"

/** A request's key leads to its record, and its stored response is the one that was sent. */
export const requestRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "keys_are_linked",
    counted: "SELECT count(*) FROM idempotency_keys WHERE reference IS NOT NULL",
    broken: `
      SELECT k.app_id || '/' || k.reference AS subject,
        CASE WHEN min(t.reference) IS NULL THEN 'a key of a transaction that is not there' ELSE 'more than one key' END AS found
      FROM idempotency_keys k
      LEFT JOIN transactions t ON t.app_id = k.app_id AND t.reference = k.reference AND t.mode = k.mode
      WHERE k.reference IS NOT NULL
      GROUP BY k.app_id, k.reference HAVING min(t.reference) IS NULL
        OR count(*) FILTER (WHERE k.endpoint NOT LIKE '%/authorize') > 1`
  },
  {
    rule: "records_have_their_key",
    counted: `SELECT count(*) FROM transactions WHERE created_at >= ${completeSince("keys")}`,
    // The key of a closed record is removed after its time, even if a person has to look at the record again later. A key is
    // created shortly before its record; the day allows for clock differences, and for what was removed before removals were
    // recorded.
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject,
        'its idempotency key is gone: the same request again would have made another ' || t.kind AS found
      FROM transactions t JOIN ${endpoints} AS e(kind, endpoint) ON e.kind = t.kind
      LEFT JOIN idempotency_keys k ON k.app_id = t.app_id AND k.reference = t.reference AND k.mode = t.mode AND k.endpoint = e.endpoint
      WHERE k.app_id IS NULL AND (t.status IN ('pending', 'requires_action')
        OR t.created_at >= ${completeSince("keys")} + interval '1 day')`
  },
  {
    rule: "answers_are_as_written",
    counted: "SELECT count(*) FROM idempotency_keys WHERE state = 'done'",
    // The digest of a response is in the history of its record or, without a record, beside the response.
    broken: `
      WITH answers AS (
        SELECT app_id, reference, array_agg(answer_digest) AS digests FROM transaction_history WHERE answer_digest IS NOT NULL
        GROUP BY app_id, reference
      )
      SELECT c.subject, c.found FROM (
        SELECT k.app_id || '/' || k.mode || '/' || k.endpoint || '/' || k.key AS subject, CASE
        WHEN k.reference IS NULL AND k.answer_status < 300 AND k.endpoint NOT LIKE '%/authorize' THEN 'a success of no transaction'
        WHEN (answer_digest(k.endpoint, k.key, k.answer_status, k.answer_body)
            = ANY (CASE WHEN k.reference IS NULL THEN ARRAY[k.answer_digest] ELSE answers.digests END)) IS NOT TRUE
          THEN 'its stored answer is not the one that was given'
      END AS found
        FROM idempotency_keys k LEFT JOIN answers ON answers.app_id = k.app_id AND answers.reference = k.reference
        WHERE k.state = 'done'
      ) AS c
      WHERE c.found IS NOT NULL`
  }
]

/** How much the clocks of nodes and of the database may differ. */
const CLOCKS = "1 hour"

/** Checks that the retention that `kept_since` claims was observed: a forged row there cannot disable a rule. */
const keptLongEnough = (what: RetainedRows): LedgerRule => ({
  rule: `${what}_are_kept_long_enough`,
  counted: `SELECT count(*) FROM kept_since WHERE what = '${what}'`,
  broken: `
    SELECT w.what AS subject, coalesce('they are all there since ' || k.since || ' only, and are to be kept for ${retention[what]}',
      'nothing says since when they are all there') AS found
    FROM (VALUES ('${what}')) AS w(what) LEFT JOIN kept_since k ON k.what = w.what
    WHERE k.since IS NULL OR k.since > now() - interval '${retention[what]}' + interval '${CLOCKS}'`
})

/** Since when all keys and windows are present. */
export const keptRules: ReadonlyArray<LedgerRule> = [keptLongEnough("keys"), keptLongEnough("windows")]

/** The amount of a window equals the sum for which its transactions were counted. */
export const windowRules: ReadonlyArray<LedgerRule> = [
  {
    rule: "windows_are_counted",
    counted: `SELECT count(*) FROM counters WHERE starts_at >= ${completeSince("windows")}`,
    // A failed payout's count was given back, and counts again when it was paid after all and its row says so. The hour allows
    // for windows that were removed before removals were recorded. Only as much of a number's keyed hash is shown as is needed
    // to find the row.
    broken: `
      WITH kept AS (SELECT ${completeSince("windows")} + interval '1 hour' AS since),
      counted AS (
        SELECT n.app_id, n.mode, n.name, n.subject, n.starts_at, sum(n.amount) AS amount
        FROM transactions t
        -- What was given back was so after it was counted: no older entries are read.
        LEFT JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference AND j.phase = 'release' AND j.at >= (SELECT since - interval '2 days' FROM kept)
        CROSS JOIN LATERAL counted_windows(t.app_id, t.mode, t.party_hash, t.counted) AS n
        WHERE t.created_at >= (SELECT since - interval '1 day' FROM kept) AND (t.kind <> 'payout' OR j.app_id IS NULL
            OR t.counted->0->>'again' = 'true')
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
