import { Client } from "pg"
import { auditSettings, breachesStatement } from "../../src/persistence/ledger/LedgerRule.ts"
import { ledgerRules } from "../../src/persistence/ledger/LedgerVerificationPg.ts"
import type { Bench } from "../Cluster.ts"

const RULE_TIMEOUT_MS = 30_000
/** What PostgreSQL says of a statement that `statement_timeout` ended. */
const CANCELLED = "57014"

/** What `gateway ledger verify` asks, of all of it: how many seconds each rule took, and which did not end in time. What they find is an error. */
export const verified = async ({ url }: Bench) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const seconds: Record<string, number> = {}
  const unfinished: Array<string> = []
  try {
    for (const [name, value] of Object.entries({ ...auditSettings, jit: "off", statement_timeout: `${RULE_TIMEOUT_MS}ms` }))
      await client.query("SELECT set_config($1, $2, false)", [name, value])
    for (const one of ledgerRules) {
      const { rule } = one
      const started = performance.now()
      const found = await client.query(breachesStatement(one, 3)).catch((cause: unknown) => {
        if (cause instanceof Error && "code" in cause && cause.code === CANCELLED) return undefined
        throw cause
      })
      if (found === undefined) unfinished.push(rule)
      else if (found.rows.length > 0) throw new Error(`${rule} is broken: ${JSON.stringify(found.rows)}`)
      else seconds[rule] = Math.round((performance.now() - started) / 100) / 10
    }
    return { seconds, unfinished }
  } finally {
    await client.end()
  }
}
