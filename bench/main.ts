import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { type Cluster, withCluster } from "./Cluster.ts"
import { stopAll } from "./http/Child.ts"
import { parts } from "./Parts.ts"
import { type Effort, failedWith, machineOf, type Part, type Row, rowOf, summaryOf, tableOf } from "./Report.ts"

// The benchmark: every part, or those that are named, on one PostgreSQL that commits durably. Exits 1 when a target is missed or a part fails.

const usage = "npm run bench -- [--part NAME ...] [--runs N] [--json FILE] [--quick] [--list]"

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        part: { type: "string", multiple: true, default: [] },
        runs: { type: "string", default: "1" },
        json: { type: "string" },
        quick: { type: "boolean", default: false },
        list: { type: "boolean", default: false }
      }
    })
    const unknown = values.part.filter((name) => !parts.some((part) => part.name === name))
    if (unknown.length > 0) throw new Error(`no part is named ${unknown.join(", ")}; see --list`)
    const runs = Number(values.runs)
    if (!Number.isSafeInteger(runs) || runs < 1) throw new Error("--runs: not a whole number above 0")
    return { ...values, runs }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const effort: Effort = options.quick
  ? { rounds: 1, secondsARound: 1, quick: true }
  : { rounds: 3, secondsARound: 2, quick: false }

const say = (line: string) => console.error(line)

const chosen = options.part.length === 0 ? parts : parts.filter(({ name }) => options.part.includes(name))

const measure = async (cluster: Cluster, part: Part): Promise<Row> => {
  const started = performance.now()
  const measured = await part.run(cluster, effort).catch(async (cause: unknown) => {
    console.error(cause)
    await stopAll()
    return failedWith(cause)
  })
  const row = rowOf(part, measured, Math.round((performance.now() - started) / 1000))
  say(tableOf([row]).split("\n").at(-1) ?? "")
  return row
}

const run = () =>
  withCluster(async (cluster) => {
    const machine = await machineOf(cluster)
    const rows: Array<Row> = []
    for (const part of chosen) {
      say(`${part.name} …`)
      rows.push(await measure(cluster, part))
    }
    return { machine, at: new Date().toISOString(), quick: options.quick, rows }
  })

const main = async () => {
  const runs: Array<Awaited<ReturnType<typeof run>>> = []
  for (let number = 0; number < options.runs; number++) {
    const done = await run()
    runs.push(done)
    console.log(
      Object.entries(done.machine)
        .map(([name, value]) => `${name} ${value}`)
        .join(", ")
    )
    console.log(`${tableOf(done.rows)}\n`)
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(runs, null, 1)}\n`)
  }
  if (runs.length > 1) console.log(`${runs.length} runs, medians\n${summaryOf(runs.map(({ rows }) => rows))}\n`)
  process.exitCode = runs.every(({ rows }) => rows.every(({ reached }) => reached !== false)) ? 0 : 1
}

if (options.list) for (const { against, name } of parts) console.log(`${name.padEnd(24)} against ${against}`)
else await main()
