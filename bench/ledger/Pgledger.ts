import { readFileSync } from "node:fs"
import type { Bench } from "../Cluster.ts"
import type { Part } from "../Report.ts"
import { moneySteps } from "./MoneySteps.ts"
import { byConnections, CONNECTIONS, driver, pgbench } from "./Ordinary.ts"

// pgledger is not part of this repository: PGLEDGER_SQL names its file, one that makes `pgledger_create_account` and
// `pgledger_create_transfer`.

const file = process.env["PGLEDGER_SQL"]

const account = async ({ query }: Bench, name: string): Promise<string> => {
  const [row] = await query("SELECT id FROM pgledger_create_account($1, 'UGX')", [name])
  return String(row?.["id"])
}

/** Every transfer between the same two accounts. */
const transfers = () => {
  let statement = ""
  return {
    given: async (bench: Bench, path: string) => {
      await bench.query(readFileSync(path, "utf8"))
      const [from, to] = [await account(bench, "float"), await account(bench, "paid out")]
      statement = `SELECT pgledger_create_transfer('${from}', '${to}', 1)`
    },
    once: async (bench: Bench, seconds: number): Promise<number> =>
      (await driver) === "pgbench"
        ? pgbench(bench, [statement], seconds)
        : byConnections(bench, seconds, async (client) => void (await client.query(statement)))
  }
}

export const part: Part = {
  name: "ledger-pgledger",
  against: `pgledger_create_transfer on ${CONNECTIONS} connections, one pair of accounts`,
  target: 15,
  run: async (cluster, effort) => {
    if (file === undefined || file === "") {
      const note = "not measured: PGLEDGER_SQL names no file"
      return { ours: Number.NaN, theirs: undefined, unit: "1/s", ratio: undefined, note, details: {} }
    }
    const { given, once } = transfers()
    return moneySteps(cluster, effort, 1, { given: (bench) => given(bench, file), once })
  }
}
