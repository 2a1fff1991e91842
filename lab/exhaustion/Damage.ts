import { copyFile, open, rm, truncate } from "node:fs/promises"
import { join } from "node:path"
import { executionsOf } from "../chaos/Accounting.ts"
import { type Answer, send } from "../chaos/Client.ts"
import type { Operation } from "../chaos/Load.ts"
import { playLogEnd } from "./LogEnd.ts"
import type { Scene } from "./Scene.ts"

// Files of PostgreSQL that a crash left damaged where it promises to notice: a page that was written by half, a table that lost its end, a segment of
// the write-ahead log that is empty. Each is put back afterwards, as a restore would.

const PAGE = 8_192
const LOOKED_AT = 40
const BEGINS_WITHIN_MS = 20_000

interface Damage {
  readonly name: string
  /** Spoils a file of the server, which is down. */
  readonly spoil: (path: string) => Promise<void>
  /** Which one, below its folder; found while it runs. */
  readonly file: (sql: Sql) => Promise<string>
}

type Sql = Scene["server"]["sql"]

/** The table of transactions has partitions: the one with the most pages. */
const transactions = async (sql: Sql): Promise<string> => {
  const [row] = await sql(`SELECT pg_relation_filepath(inhrelid) AS path FROM pg_inherits
    WHERE inhparent = 'transactions'::regclass ORDER BY pg_relation_size(inhrelid) DESC LIMIT 1`)
  const [whole] = row === undefined ? await sql("SELECT pg_relation_filepath('transactions') AS path") : [row]
  return String(whole?.["path"])
}

const damages: ReadonlyArray<Damage> = [
  {
    name: "half a page",
    file: transactions,
    spoil: async (path) => {
      const file = await open(path, "r+")
      await file.write(Buffer.alloc(PAGE / 2), 0, PAGE / 2, PAGE / 2)
      await file.close()
    }
  },
  {
    name: "a table's end",
    file: transactions,
    spoil: async (path) => truncate(path, PAGE)
  },
  {
    name: "the log's segment",
    // Recovery begins in it.
    file: async (sql) => {
      const [row] = await sql("SELECT redo_wal_file AS name FROM pg_control_checkpoint()")
      return join("pg_wal", String(row?.["name"]))
    },
    spoil: (path) => truncate(path, 0)
  }
]

export interface Looked {
  readonly scene: Scene
  /** Of the load, or of it those that are looked at. */
  readonly operations: ReadonlyArray<Operation>
}

export const playDamages = async ({ operations, scene }: Looked) => {
  const figures: Record<string, unknown> = {}
  const faults: Array<string> = []
  const known = operations
    .filter(({ reference, settled }) => reference !== undefined && settled === "accepted")
    .slice(0, LOOKED_AT)
  const { server, stage } = scene
  const executions = async () => (await executionsOf(stage, () => false)).length
  const before = await executions()
  for (const { file, name, spoil } of damages) {
    console.error(`${new Date().toISOString()} ${name}`)
    await server.sql("CHECKPOINT")
    const path = join(server.folder(), await file(server.sql))
    const kept = join(stage.dataDir, "kept")
    await server.crash()
    await copyFile(path, kept)
    await spoil(path)
    server.begin()
    const isUp = await server.answers(BEGINS_WITHIN_MS)
    const said = await answersOf(scene, known)
    const { code, errors, json } = await stage.command("ledger", "verify")
    const words = server.said().match(/(invalid page in block|could not read blocks|PANIC: |unexpected data beyond EOF)[^\n]*/g)
    const verified = errors.trim().split("\n").at(0)
    figures[name] = {
      server_up: isUp,
      said: said.counts,
      ledger_verify: code,
      verify_said: verified,
      noticed: words?.at(-1) ?? "nothing"
    }
    console.error(`${name}: ${JSON.stringify(figures[name])} ${JSON.stringify(json)?.slice(0, 200)}`)
    faults.push(...said.faults.map((fault) => `${name}: ${fault}`))
    if (code === 0) faults.push(`${name}: ledger verify noticed nothing`)
    if (/^ {2,}at /m.test(errors)) faults.push(`${name}: ledger verify ended with a stack`)
    await server.crash()
    await copyFile(kept, path)
    await rm(kept)
    server.begin()
    await server.answers(BEGINS_WITHIN_MS)
    const again = await answersOf(scene, known)
    if (again.counts["200"] !== known.length) faults.push(`${name}: after it ${JSON.stringify(again.counts)}`)
  }
  const { code, errors } = await stage.command("ledger", "verify")
  if (code !== 0) faults.push(`ledger verify, once the files are whole again: ${errors}`)
  const moved = (await executions()) - before
  if (moved !== 0) faults.push(`${moved} were executed by repeats`)
  const ended = await playLogEnd({ scene, operations: known })
  return { figures: { ...figures, "the log's end": ended.figures }, faults: [...faults, ...ended.faults] }
}

/** The answers about records that there are, and to requests that are repeated with their keys: never that there is none, and never anything new. */
export const answersOf = async ({ stage }: Scene, operations: ReadonlyArray<Operation>) => {
  const counts: Record<string, number> = {}
  const faults: Array<string> = []
  const note = (of: string, answer: Answer | undefined) => {
    const error = answer?.body.error
    const words = answer === undefined ? "nothing" : `${answer.status}${error === undefined ? "" : ` ${error.code}`}`
    counts[words] = (counts[words] ?? 0) + 1
    if (error?.terminal === true && error.code === "not_found") faults.push(`${of}: ${answer?.status} ${error.code}`)
  }
  for (const { body, key, kind, reference, tenant } of operations) {
    const [gateway] = stage.gateways
    note(`${reference}`, await send(gateway, tenant, { method: "GET", target: `/v1/${kind}s/${reference}` }))
    const again = await send(gateway, tenant, { method: "POST", target: `/v1/${kind}s`, body, idempotencyKey: key })
    const named = again?.body.data?.["reference"]
    if (typeof named === "string" && named !== reference) faults.push(`${key}: was ${reference}, and is ${named}`)
  }
  return { counts, faults }
}
