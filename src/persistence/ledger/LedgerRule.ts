/** One promise of the ledger: `counted` says how many rows it looks at, `broken` gives (subject, found) of each that breaks it. */
export interface LedgerRule {
  readonly rule: string
  readonly counted: string
  readonly broken: string
}

/**
 * Asks for at most so many rows that break it. OFFSET has the rule planned as a whole: a plan for its first rows looks up one after another, and
 * where there are none it looks up everything.
 */
export const breachesStatement = ({ broken }: LedgerRule, atMost: number): string =>
  `SELECT subject, found FROM (${broken} OFFSET 0) AS breaches ORDER BY 1 LIMIT ${atMost}`

/**
 * With what a rule is asked: whole tables are read from end to end and put together by hashing, never row by row, and in the order in which
 * the rule names them, so that a record is read once and not once for each of its postings.
 */
export const auditSettings = {
  enable_seqscan: "on",
  enable_nestloop: "off",
  join_collapse_limit: "1",
  from_collapse_limit: "1",
  work_mem: "64MB"
} as const

/** What the records of some transactions say that they hold and move, as numbers. */
export const amountsOf = (which: string) => `
  SELECT t.app_id, t.reference, t.mode, t.kind, t.status, r.currency, coalesce(r."observedAmount", r.amount) AS amount,
    coalesce(r.fees, 0) AS fees, r.principal,
    CASE t.kind WHEN 'payout' THEN r.principal + r."heldFee" WHEN 'exchange' THEN r.amount END AS held,
    r."destinationCurrency" AS destination_currency, r."destinationAmount" AS destination, (r.returned->>'amount')::bigint AS returned
  FROM transactions t CROSS JOIN LATERAL json_to_record(t.record) AS r(currency text, "observedAmount" bigint, amount bigint, fees bigint,
    principal bigint, "heldFee" bigint, "destinationCurrency" text, "destinationAmount" bigint, returned json)
  WHERE ${which}`

/** Since when the history is whole. Its first months may be archived: no rule expects lines of a record that began in them. */
export const historySince = "(SELECT min(from_at) FROM time_partitions WHERE parent = 'transaction_history')"
