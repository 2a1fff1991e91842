import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { loadModule } from "libpg-query"
import { exceptionFor } from "./Exceptions.ts"
import { gatewaySchema } from "./GatewaySchema.ts"
import { isOfTheGateway } from "./StatementOrigin.ts"
import { offencesIn, type Statement } from "./StatementRules.ts"

// The last check of `npm test` and of `npm run test:long`: what their gateways sent, held against the rules of StatementRules.ts.

/** Of the schema and of roles: no gateway sends them while it works. */
const OF_THE_OWNER = /^\s*(CREATE|ALTER|DROP|GRANT|REVOKE|DO|EXPLAIN|COPY|VACUUM|ANALYZE|CHECKPOINT|REINDEX|TRUNCATE)\b/i

interface Sent extends Statement {
  readonly isForCitus: boolean
}

/** Each statement once, as the processes of the run wrote them down. */
const sent = (folder: string): ReadonlyArray<Sent> => {
  const lines = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), "utf8").trim().split("\n"))
  return [...new Set(lines)].filter((line) => line !== "").map((line) => ({ ...JSON.parse(line), inFunction: null }))
}

const isOurs = isOfTheGateway()

const main = async (folder: string) => {
  await loadModule()
  const { clientSchema } = gatewaySchema()
  const statements = sent(folder).filter(({ text }) => !OF_THE_OWNER.test(text) && isOurs(text))
  const faults = statements.flatMap((statement) => {
    const offences = offencesIn(statement, clientSchema).filter(
      ({ rule }) => !exceptionFor(statement.text, statement.isForCitus)?.rules.includes(rule)
    )
    const found = offences.map(({ rule, what }) => `  ${rule}: ${what}`)
    return found.length === 0 ? [] : [`${statement.text.trim()}\n${found.join("\n")}`]
  })
  for (const fault of new Set(faults)) console.error(`${fault}\n`)
  if (faults.length > 0)
    console.error("What each rule is for stands in lab/citus/StatementRules.ts, and in docs/testing.md what to do.")
  console.log(`${statements.length} statements, ${new Set(faults).size} of them break a rule`)
  process.exitCode = faults.length === 0 ? 0 : 1
}

await main(process.argv[2] ?? "")
