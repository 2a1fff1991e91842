import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { breachesStatement } from "../../src/persistence/ledger/LedgerRule.ts"
import { ledgerRules } from "../../src/persistence/ledger/LedgerVerificationPg.ts"
import { type LedgerDifference, LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import type { Ready } from "./Testbed.ts"

const SHOWN_AT_MOST = 20

/** All rules of `ledger verify` in one statement: one after another they take longer than a short story. */
const everyRule = ledgerRules
  .map((one) => `SELECT '${one.rule}' AS rule, * FROM (${breachesStatement(one, SHOWN_AT_MOST)}) AS breaches`)
  .join(" UNION ALL ")

/** What does not add up. Where the statement itself fails, `ledger verify` says at which row. */
export const ledgerDifferences = (ports: Ready): Effect.Effect<ReadonlyArray<LedgerDifference>> =>
  Context.get(ports, SqlClient.SqlClient)
    .unsafe<LedgerDifference>(everyRule)
    .pipe(
      Effect.catch((failure) =>
        Effect.map(Context.get(ports, LedgerVerification).verify, ({ differences }) =>
          differences.length > 0 ? differences : [{ rule: "every rule", subject: "", found: failure.message }]
        )
      )
    )
