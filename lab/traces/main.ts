import { spawn } from "node:child_process"
import { once } from "node:events"
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import type { ReceivedSpan } from "../../test/support/OtlpReceiver.ts"
import { traceTree } from "./Tree.ts"

/**
 * A collector for a terminal: `npm run traces` takes spans by OTLP/HTTP, and prints each trace as a tree once nothing of it came for a while.
 * What comes later of a trace prints it again, whole. A gateway sends here with OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318.
 */

/** The port that collectors have. */
const PORT = "4318"
const EVERY_MS = 1_000
/** So often in a row a trace has to be as it was. */
const QUIET_LOOKS = 3

const usage = `usage: npm run traces -- [--port N] [--reference REFERENCE]

Takes spans by OTLP/HTTP at a port of 127.0.0.1 (${PORT} unless given), and prints each trace as a tree. Run the gateway with the address that it
prints first. --reference prints the traces of one transaction alone. Ctrl-C ends it.`

const values = ((): { readonly port: string; readonly reference?: string } => {
  try {
    const options = { port: { type: "string", default: PORT }, reference: { type: "string" }, help: { type: "boolean" } } as const
    const { help = false, ...given } = parseArgs({ options }).values
    if (!help) return given
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}\n`)
    process.exit(2)
  }
})()

const child = spawn(process.execPath, [resolve(import.meta.dirname, "../../test/support/OtlpReceiver.ts"), values.port], {
  stdio: ["ignore", "pipe", "inherit"]
})
const [line] = await once(child.stdout, "data")
const receiver = `http://127.0.0.1:${String(line).trim()}`
process.stderr.write(`OTEL_EXPORTER_OTLP_ENDPOINT=${receiver}\n`)

const seen = new Map<string, { count: number; looks: number }>()

const isWanted = (spans: ReadonlyArray<ReceivedSpan>): boolean =>
  values.reference === undefined || spans.some(({ attributes }) => attributes["gateway.reference"] === values.reference)

const look = async (): Promise<void> => {
  const { spans }: { readonly spans: ReadonlyArray<ReceivedSpan> } = await (await fetch(receiver)).json()
  for (const [traceId, own] of Map.groupBy(spans, ({ traceId }) => traceId)) {
    const before = seen.get(traceId) ?? { count: 0, looks: 0 }
    const now = own.length === before.count ? { ...before, looks: before.looks + 1 } : { count: own.length, looks: 0 }
    seen.set(traceId, now)
    if (now.looks === QUIET_LOOKS && isWanted(own)) process.stdout.write(`${traceTree(own)}\n\n`)
  }
}

const timer = setInterval(() => void look().catch(() => undefined), EVERY_MS)
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    clearInterval(timer)
    child.kill()
  })
