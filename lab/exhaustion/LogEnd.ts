import { execFile } from "node:child_process"
import { rm, stat, truncate } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { executionsOf } from "../chaos/Accounting.ts"
import type { Answer } from "../chaos/Client.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { answersOf, type Looked } from "./Damage.ts"
import type { Scene } from "./Scene.ts"

// The write-ahead log loses its end, behind the last checkpoint. To PostgreSQL that is a log which ends there: it starts, and says where. The judge
// holds that point against what was committed before and after it; then the server is restored, as the runbook asks for.

const run = promisify(execFile)

/** So many payouts are made after the checkpoint, and the log ends behind about half of them. */
const PAYOUTS = 20
const TRIED_AT_MOST = 2 * PAYOUTS
const ORDINARY = "1000"
/** Counted down from the last number that the load's count reaches: a recipient who was never paid is under no hourly limit. */
const LAST_NUMBER = 99_999
const BEGINS_WITHIN_MS = 60_000
const BACK_WITHIN_MS = 60_000
const LOOKED_EVERY_MS = 250

/** A payout, and the end of the log right after its answer. */
interface Committed {
  readonly operation: Operation
  readonly end: bigint
}

export const playLogEnd = async ({ operations, scene }: Looked) => {
  const { server, stage } = scene
  console.error(`${new Date().toISOString()} the log's end`)
  await server.sql("CHECKPOINT")
  const executed = async () => (await executionsOf(stage, () => false)).length
  const before = await executed()
  const committed = await paid(scene, operations)
  if (committed.length < PAYOUTS)
    return { figures: {}, faults: [`the log's end: ${committed.length} of ${PAYOUTS} payouts were made`] }
  // As the runbook asks for: no gateway works on a server that may have forgotten something.
  for (const { pid } of scene.gateways) process.kill(pid(), "SIGSTOP")
  const kept = join(stage.dataDir, "kept-server")
  const { faults, figures } = await withoutEnd(scene, committed, kept)
  const shortened = await stage.command("ledger", "verify")
  await server.crash()
  await run("rm", ["-rf", server.folder()])
  await run("cp", ["-a", kept, server.folder()])
  await rm(kept, { recursive: true })
  server.begin()
  if (!(await server.answers(BEGINS_WITHIN_MS))) faults.push("the restored server does not start")
  for (const { pid } of scene.gateways) process.kill(pid(), "SIGCONT")
  await untilReady(scene)
  const again = await answersOf(
    scene,
    committed.map(({ operation }) => operation)
  )
  faults.push(...again.faults)
  if (again.counts["200"] !== committed.length) faults.push(`once restored: ${JSON.stringify(again.counts)}`)
  const whole = await stage.command("ledger", "verify")
  if (whole.code !== 0) faults.push(`ledger verify, once restored: ${whole.errors}`)
  // A provider may execute a payout a moment after its answer, so only those of the end are counted.
  const moved = (await executed()) - before - committed.length
  if (moved !== 0) faults.push(`${moved} more were executed than were made`)
  const all = { ...figures, ledger_verify: shortened.code }
  console.error(`the log's end: ${JSON.stringify(all)}`)
  return { figures: all, faults: faults.map((fault) => `the log's end: ${fault}`) }
}

/** The server crashes, keeps a copy, loses the log behind half of the payouts and starts: what it says, held against what it has. */
const withoutEnd = async ({ server }: Scene, committed: ReadonlyArray<Committed>, kept: string) => {
  const faults: Array<string> = []
  const middle = committed[Math.floor(committed.length / 2)]?.end ?? 0n
  const [place] = await server.sql(
    `SELECT file_name AS file, file_offset AS "offset" FROM pg_walfile_name_offset('${written(middle)}')`
  )
  await server.crash()
  await run("cp", ["-a", server.folder(), kept])
  await cut(join(server.folder(), "pg_wal"), String(place?.["file"]), Number(place?.["offset"]))
  const from = server.said().length
  server.begin()
  const isUp = await server.answers(BEGINS_WITHIN_MS)
  const said = server.said(from)
  const end = /redo done at ([0-9A-F]+\/[0-9A-F]+)/.exec(said)?.[1]
  const left = isUp ? await references(server) : new Set<string>()
  const forgotten = committed.filter(({ operation }) => !left.has(operation.reference ?? "")).length
  if (isUp && end === undefined) faults.push("PostgreSQL does not say to which point it recovered")
  if (isUp && end !== undefined) faults.push(...untrue(committed, left, placeOf(end)))
  if (forgotten === 0 || forgotten === committed.length) faults.push(`${forgotten} were forgotten: nothing was tried`)
  const figures = {
    server_up: isUp,
    payouts: committed.length,
    forgotten,
    known_end: written(committed.at(-1)?.end ?? 0n),
    stated_end: end ?? "none"
  }
  return { figures, faults }
}

/** Ordinary payouts as those of the load, with keys and recipients of their own, one after the other. */
const paid = async ({ server, stage }: Scene, operations: ReadonlyArray<Operation>): Promise<ReadonlyArray<Committed>> => {
  const like = operations.find(({ ending, kind }) => kind === "payout" && ending === ORDINARY)
  if (like === undefined) return []
  const committed: Array<Committed> = []
  for (let at = 0; committed.length < PAYOUTS && at < TRIED_AT_MOST; at++) {
    const destination = { type: "momo", msisdn: `256${LAST_NUMBER - at}${ORDINARY}`, network: "MTN", country: "UG" }
    const body = { ...like.body, destination }
    const operation: Operation = { ...like, body, key: `log-end-${at}`, attempts: 0, reference: undefined, settled: undefined }
    let last: Answer | undefined
    await perform(
      operation,
      () => stage.gateways[0],
      () => false,
      (_begun, answer) => void (last = answer)
    )
    // One that was refused before it was recorded has nothing to lose.
    if (operation.reference === undefined) {
      console.error(`${operation.key} was not made: ${last?.status} ${last?.text}`)
      continue
    }
    const [row] = await server.sql("SELECT pg_current_wal_insert_lsn() AS end")
    committed.push({ operation, end: placeOf(String(row?.["end"])) })
  }
  return committed
}

const references = async (server: Scene["server"]): Promise<ReadonlySet<string>> =>
  new Set((await server.sql("SELECT reference FROM transactions")).map(({ reference }) => String(reference)))

/** Ends the log there: the segment is cut, and those after it are gone. */
const cut = async (folder: string, file: string, offset: number): Promise<void> => {
  const { stdout } = await run("ls", [folder])
  const later = stdout.split("\n").filter((name) => /^[0-9A-F]{24}$/.test(name) && name > file)
  for (const name of later) await rm(join(folder, name))
  const { size } = await stat(join(folder, file))
  if (offset >= size) throw new Error(`${file} has no end to lose`)
  await truncate(join(folder, file), offset)
}

/** Whatever is there was written before the stated point, and whatever is not, after it. */
const untrue = (committed: ReadonlyArray<Committed>, left: ReadonlySet<string>, stated: bigint): ReadonlyArray<string> =>
  committed.flatMap(({ end, operation: { reference = "" } }, at) => {
    const begun = committed[at - 1]?.end ?? 0n
    if (left.has(reference) && begun > stated) return [`${reference} is there, and was written after ${written(stated)}`]
    if (!left.has(reference) && end <= stated) return [`${reference} is gone, and was written before ${written(stated)}`]
    return []
  })

/** A place in the log: as PostgreSQL writes it, and as a number. */
const written = (place: bigint): string => `${(place >> 32n).toString(16)}/${(place & 0xffff_ffffn).toString(16)}`.toUpperCase()
const placeOf = (text: string): bigint => {
  const [segment = "", offset = ""] = text.split("/")
  return (BigInt(`0x${segment}`) << 32n) + BigInt(`0x${offset}`)
}

const untilReady = async ({ stage }: Scene): Promise<void> => {
  const ready = (url: string) =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false
    )
  const limit = performance.now() + BACK_WITHIN_MS
  while (!(await Promise.all(stage.managements.map(({ url }) => ready(url)))).every(Boolean)) {
    if (performance.now() > limit) throw new Error("the gateways are not ready again")
    await pause(LOOKED_EVERY_MS)
  }
}
