import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import type { Bench } from "../Cluster.ts"

// An ordinary ledger's reservation, by pgbench where the machine has it and else by as many connections of node-postgres.

export const CONNECTIONS = 16
const THREADS = 2

const SCHEMA = `
CREATE TABLE balances (tenant int PRIMARY KEY, available bigint NOT NULL CHECK (available >= 0), reserved bigint NOT NULL);
CREATE TABLE payouts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int NOT NULL, amount bigint NOT NULL, status text NOT NULL,
  created_at timestamptz NOT NULL);
CREATE TABLE postings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int NOT NULL, account text NOT NULL, amount bigint NOT NULL)`

/** Between BEGIN and COMMIT. */
const statements = (tenant: string): ReadonlyArray<string> => [
  `UPDATE balances SET available = available - 11000, reserved = reserved + 11000 WHERE tenant = ${tenant} AND available >= 11000`,
  `INSERT INTO payouts (tenant, amount, status, created_at) VALUES (${tenant}, 10000, 'pending', now())`,
  `INSERT INTO postings (tenant, account, amount) VALUES (${tenant}, 'available', -11000), (${tenant}, 'reserved', 11000)`
]

export const givenOrdinary = async ({ query }: Bench, tenants: number): Promise<void> => {
  await query(SCHEMA)
  await query("INSERT INTO balances SELECT n, 1000000000000, 0 FROM generate_series(1, $1::int) n", [tenants])
}

/** How the baseline is driven on this machine. */
export const driver: Promise<"pgbench" | "node-postgres"> = promisify(execFile)("pgbench", ["--version"]).then(
  () => "pgbench",
  () => "node-postgres"
)

/** Transactions a second over that many seconds. */
export const ordinary = async (bench: Bench, tenants: number, seconds: number): Promise<number> => {
  const script = [`\\set tenant random(1, ${tenants})`, "BEGIN", ...statements(":tenant"), "COMMIT"]
  if ((await driver) === "pgbench") return pgbench(bench, script, seconds)
  return byConnections(bench, seconds, (client) => {
    const tenant = 1 + Math.floor(Math.random() * tenants)
    return inTransaction(
      client,
      statements("$1").map((text, index) => ({ name: `s${index}`, text, values: [tenant] }))
    )
  })
}

/** A pgbench script; its lines but `\\set` are statements. */
export const pgbench = async ({ url }: Bench, script: ReadonlyArray<string>, seconds: number): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-bench-script-"))
  try {
    const file = join(folder, "script.sql")
    writeFileSync(file, `${script.map((line) => (line.startsWith("\\") ? line : `${line};`)).join("\n")}\n`)
    const { hostname, password, pathname, port, username } = new URL(url)
    const asked = ["-n", "-M", "prepared", "-c", CONNECTIONS, "-j", THREADS, "-T", Math.max(1, Math.round(seconds)), "-f", file]
    const { stdout } = await promisify(execFile)(
      "pgbench",
      [...asked.map(String), "-h", hostname, "-p", port, "-U", username, pathname.slice(1)],
      { env: { ...process.env, PGPASSWORD: decodeURIComponent(password) } }
    )
    const failed = Number(/number of failed transactions: (\d+)/.exec(stdout)?.[1] ?? 0)
    const rate = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1])
    if (failed > 0 || !(rate > 0)) throw new Error(`pgbench did not do its work:\n${stdout}`)
    return rate
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One after the other on each of the connections, for that many seconds. */
export const byConnections = async (
  { url }: Bench,
  seconds: number,
  once: (client: Client) => Promise<void>
): Promise<number> => {
  const clients = Array.from({ length: CONNECTIONS }, () => new Client({ connectionString: url }))
  await Promise.all(clients.map((client) => client.connect()))
  try {
    const started = performance.now()
    const end = started + seconds * 1000
    let done = 0
    await Promise.all(
      clients.map(async (client) => {
        while (performance.now() < end) {
          await once(client)
          done++
        }
      })
    )
    return done / ((performance.now() - started) / 1000)
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

const inTransaction = async (
  client: Client,
  all: ReadonlyArray<{ readonly name: string; readonly text: string; readonly values: ReadonlyArray<unknown> }>
): Promise<void> => {
  await client.query("BEGIN")
  for (const statement of all) {
    const { rowCount } = await client.query(statement)
    if (rowCount === 0) throw new Error(`nothing was written by: ${statement.text}`)
  }
  await client.query("COMMIT")
}
