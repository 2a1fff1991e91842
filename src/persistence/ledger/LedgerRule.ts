/**
 * One rule of `ledger verify`. `counted` returns how many rows it checks, `broken` returns (subject, found) of each row that
 * violates it.
 */
export interface LedgerRule {
  readonly rule: string
  readonly counted: string
  readonly broken: string
}

/**
 * Whether a rule compares rows of tenants with rows of the coordinator, where a database is distributed: with the audit log, or
 * with the windows that all tenants share.
 */
export const joinsServers = ({ broken }: LedgerRule): boolean => /\b(audit_log|counters)\b/.test(broken)

/**
 * Selects at most this many rows that violate a rule. OFFSET makes PostgreSQL plan the rule as a whole: a plan for the first
 * rows would look up one row after another, and all of them when no row violates the rule.
 */
export const breachesStatement = ({ broken }: LedgerRule, atMost: number): string =>
  `SELECT coalesce(subject, '') AS subject, coalesce(found, 'a value is missing') AS found
    FROM (${broken} OFFSET 0) AS breaches ORDER BY 1 LIMIT ${atMost}`

/**
 * The planner's settings for a rule. Whole tables are scanned sequentially and joined by hashing, never row by row, and in the
 * order in which the rule names them. So a record is read once, not once for each of its postings.
 */
export const auditSettings = {
  enable_seqscan: "on",
  enable_nestloop: "off",
  join_collapse_limit: "1",
  from_collapse_limit: "1",
  work_mem: "64MB"
} as const

/** The amounts that the records of some transactions hold and move, as numbers. */
export const amountsOf = (which: string) => `
  SELECT t.app_id, t.reference, t.mode, t.kind, t.status, r.currency, CASE WHEN r.reversed IS NULL THEN coalesce(r."observedAmount", r.amount) ELSE 0 END AS amount,
    -- What a reversal took beyond what the collection had brought is the fee that the provider kept.
    CASE WHEN r.reversed IS NULL THEN coalesce(r.fees, 0)
      ELSE (r.reversed->>'amount')::bigint - coalesce(r."observedAmount", r.amount) + coalesce(r.fees, 0) END AS fees, r.principal,
    CASE t.kind WHEN 'payout' THEN r.principal + r."heldFee" WHEN 'exchange' THEN r.amount END AS held,
    r."destinationCurrency" AS destination_currency, r."destinationAmount" AS destination, (r.returned->>'amount')::bigint AS returned
  FROM transactions t CROSS JOIN LATERAL json_to_record(t.record) AS r(currency text, "observedAmount" bigint, amount bigint, fees bigint,
    principal bigint, "heldFee" bigint, "destinationCurrency" text, "destinationAmount" bigint, returned json, reversed json)
  WHERE ${which}`
