import { allThereSince } from "../../KeptSince.ts"
import type { LedgerRule } from "../LedgerRule.ts"

/** Where each kind of record is asked for. */
const endpoints =
  "(VALUES ('payout', 'POST /v1/payouts'), ('collection', 'POST /v1/collections'), ('exchange', 'POST /v1/fx/exchange'))"

/** What was asked for, by its key, and what was answered. */
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
    counted: `SELECT count(*) FROM transactions WHERE created_at >= ${allThereSince("keys")}`,
    // The key of what is closed goes with its time, also where a person has to look at it again later.
    // A key is made shortly before its record; a day is for clocks that differ, and for what was removed before that was written down.
    broken: `
      SELECT t.app_id || '/' || t.reference AS subject,
        'its idempotency key is gone: the same request again would have made another ' || t.kind AS found
      FROM transactions t JOIN ${endpoints} AS e(kind, endpoint) ON e.kind = t.kind
      LEFT JOIN idempotency_keys k ON k.app_id = t.app_id AND k.reference = t.reference AND k.mode = t.mode AND k.endpoint = e.endpoint
      WHERE k.app_id IS NULL AND (t.status IN ('pending', 'requires_action')
        OR t.created_at >= ${allThereSince("keys")} + interval '1 day')`
  },
  {
    rule: "answers_are_as_written",
    counted: "SELECT count(*) FROM idempotency_keys WHERE state = 'done'",
    // What a request was answered by the release before has no digest, and that of an archived month is not here: nothing tells those answers
    // from one that was altered, so all of such a record are left out.
    broken: `
      WITH told AS (
        SELECT app_id, reference, array_agg(answer_digest) FILTER (WHERE answer_digest IS NOT NULL) AS digests FROM transaction_history
        GROUP BY app_id, reference HAVING bool_or(fact = 'Opened') AND NOT bool_or(actor = 'request' AND record_digest IS NULL)
      )
      SELECT k.app_id || '/' || k.mode || '/' || k.endpoint || '/' || k.key AS subject, c.found
      FROM idempotency_keys k LEFT JOIN told ON told.app_id = k.app_id AND told.reference = k.reference
      CROSS JOIN LATERAL (SELECT CASE
        WHEN answer_digest(k.endpoint, k.key, k.answer_status, k.answer_body) <> ALL (coalesce(told.digests, ARRAY[k.answer_digest]))
          THEN 'its stored answer is not the one that was given'
        WHEN k.reference IS NULL AND k.answer_status < 300 AND k.endpoint NOT LIKE '%/authorize' THEN 'a success of no transaction'
      END AS found) AS c
      WHERE k.state = 'done' AND c.found IS NOT NULL`
  }
]
