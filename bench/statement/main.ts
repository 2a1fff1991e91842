import { parseArgs } from "node:util"
import { Effect, Stream } from "effect"
import { csvText } from "../../src/domain/CsvText.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { statementLines } from "../../src/services/FloatStatement.ts"
import { FloatEntries, type StatementRange } from "../../src/services/ports/FloatEntries.ts"
import { type Bench, withCluster } from "../Cluster.ts"
import { openPorts } from "../growth/AllPorts.ts"
import { givenMonths, givenPast } from "../growth/History.ts"
import { openLedger } from "../ledger/Ours.ts"
import { givenPayouts, givenTenants } from "../ledger/Payout.ts"
import { ownCpuSeconds, parentOf, serverCpuSeconds } from "../Processes.ts"
import { percentile } from "../Report.ts"

// A tenant's statement as CSV: the memory of the process that writes it, its rows a second, and what payouts of a hundred tenants beside it take in
// the same process. node bench/statement/main.ts [--quick] [--payouts N]

const { payouts: wanted, quick } = parseArgs({
  options: { quick: { type: "boolean", default: false }, payouts: { type: "string", default: "500000" } }
}).values
/** Each payout has two entries. */
const { part, payouts, beside } = quick
  ? { part: 10_000, payouts: 10_000, beside: 500 }
  : { part: 100_000, payouts: Number(wanted), beside: 4_000 }
const TENANTS = 100
const CALLERS = 4
const SAMPLE_MS = 100
const MIB = 1_048_576

const float = { appId: AppId.make("tenant-0"), mode: "live", currency: "UGX" } as const
const everything: StatementRange = { from: null, to: null, type: null, reference: null }

const resident = () => Math.round(process.memoryUsage.rss() / MIB)

type Ports = ReturnType<typeof openPorts>

/** Reads the interval to its end, as the handler writes it. */
const read = (ports: Ports, server: number, range: StatementRange) =>
  ports.runPromise(
    Effect.gen(function* () {
      const entries = yield* FloatEntries
      const [own, others] = [ownCpuSeconds(), serverCpuSeconds(server)]
      const before = resident()
      let [rows, bytes, most] = [-1, 0, before]
      const sampling = setInterval(() => {
        most = Math.max(most, resident())
      }, SAMPLE_MS)
      const began = performance.now()
      const lines = yield* statementLines((page) => entries.statement(float, range, page))
      yield* Stream.runForEach(
        Stream.encodeText(
          Stream.map(
            Stream.tap(lines, (some) => Effect.sync(() => (rows += some.length))),
            csvText
          )
        ),
        (chunk) => Effect.sync(() => (bytes += chunk.length))
      )
      const seconds = (performance.now() - began) / 1_000
      clearInterval(sampling)
      return {
        rows,
        seconds,
        rows_a_second: Math.round(rows / seconds),
        mb: Math.round(bytes / MIB),
        processor_us_a_row: {
          gateway: Math.round(((ownCpuSeconds() - own) * 1e6) / rows),
          database: Math.round(((serverCpuSeconds(server) - others) * 1e6) / rows)
        },
        resident_mib: { before, most, after: resident() }
      }
    })
  )

const momentAfter = async ({ query }: Bench, rows: number): Promise<number> => {
  const [row] = await query(
    "SELECT (extract(epoch FROM at) * 1000)::float8 AS at FROM journal WHERE app_id = $1 AND phase IS NOT NULL ORDER BY at OFFSET $2 LIMIT 1",
    [float.appId, rows]
  )
  return Math.floor(Number(row?.["at"]))
}

await withCluster(async (cluster) => {
  const bench = await cluster.fresh("statement")
  await givenMonths(bench)
  await givenTenants(bench, TENANTS)
  const filled = await givenPast(bench, { tenants: 1, from: 0, to: payouts })
  console.log(`${payouts} payouts of one tenant, filled in ${Math.round(filled)} s`)
  const ports = openPorts(bench)
  const ledger = openLedger(bench)
  const [backend] = await bench.query("SELECT pg_backend_pid() AS pid")
  const server = parentOf(Number(backend?.["pid"]))
  const paying = async () => {
    const took: Array<number> = []
    await ledger.commit(await givenPayouts(bench, beside, TENANTS), CALLERS, took)
    return { p50_ms: percentile(took, 0.5), p99_ms: percentile(took, 0.99), payouts: took.length }
  }
  await paying()
  await read(ports, server, { ...everything, to: await momentAfter(bench, 2_000) })
  console.log("a part", JSON.stringify(await read(ports, server, { ...everything, to: await momentAfter(bench, part) })))
  console.log("payouts alone", JSON.stringify(await paying()))
  const reading = read(ports, server, everything)
  console.log("payouts beside it", JSON.stringify(await paying()))
  console.log("everything", JSON.stringify(await reading))
  console.log("payouts alone again", JSON.stringify(await paying()))
  await Promise.all([ports.dispose(), ledger.close()])
  await bench.drop()
})
