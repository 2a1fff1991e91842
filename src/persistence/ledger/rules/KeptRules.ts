import { type Kept, keptFor } from "../../KeptSince.ts"
import type { LedgerRule } from "../LedgerRule.ts"

/** Clocks of nodes and of the database may differ by so much. */
const CLOCKS = "1 hour"

/** What is said to have had its time did have it: nobody switches a rule off by saying that everything was removed. */
const keptLongEnough = (what: Kept): LedgerRule => ({
  rule: `${what}_are_kept_long_enough`,
  counted: `SELECT count(*) FROM kept_since WHERE what = '${what}'`,
  broken: `
    SELECT w.what AS subject, coalesce('they are all there since ' || k.since || ' only, and are to be kept for ${keptFor[what]}',
      'nothing says since when they are all there') AS found
    FROM (VALUES ('${what}')) AS w(what) LEFT JOIN kept_since k ON k.what = w.what
    WHERE k.since IS NULL OR k.since > now() - interval '${keptFor[what]}' + interval '${CLOCKS}'`
})

/** Since when keys and windows are all there. */
export const keptRules: ReadonlyArray<LedgerRule> = [keptLongEnough("keys"), keptLongEnough("windows")]
