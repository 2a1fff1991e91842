import { randomBytes } from "node:crypto"
import { type FileHandle, mkdir, open, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { RunEntry, RunReport, RunStore } from "../../typescript/src/Gateway.ts"
import { parse, stringify } from "../../typescript/src/Json.ts"
import { csvLine } from "./Csv.ts"
import { Refusal } from "./Refusal.ts"
import { freeLock, takeLock } from "./RunLock.ts"

/** Recipients and amounts are in the files: they are for their owner only. */
const OWN = 0o600

/**
 * The journal of one run, a line an entry, and its reports, in a folder. Each entry is on the disk before the next step; a line that a crash
 * cut off is as if it had never been. One process of a machine at a time has it.
 */
export class RunFolder implements RunStore {
  readonly #entries: ReadonlyArray<RunEntry>
  readonly #base: string
  readonly #file: FileHandle
  #waiting: Array<string> = []
  #turn: Promise<void> = Promise.resolve()

  private constructor(base: string, file: FileHandle, entries: ReadonlyArray<RunEntry>) {
    this.#base = base
    this.#file = file
    this.#entries = entries
  }

  static async open(folder: string, name: string): Promise<RunFolder> {
    const base = join(folder, `${name}.run`)
    await mkdir(folder, { recursive: true })
    await takeLock(`${base}.lock`)
    try {
      const file = await open(`${base}.jsonl`, "a+", OWN)
      const text = await file.readFile("utf8")
      const whole = text.slice(0, text.lastIndexOf("\n") + 1)
      if (whole !== text) await file.truncate(Buffer.byteLength(whole))
      await sync(folder)
      return new RunFolder(base, file, entriesIn(whole))
    } catch (error) {
      await freeLock(`${base}.lock`)
      throw error instanceof Refusal ? error : new Refusal(`cannot keep the run in ${folder}: ${String(error)}`)
    }
  }

  get isNew(): boolean {
    return this.#entries.length === 0
  }

  async entries(): Promise<ReadonlyArray<RunEntry>> {
    return this.#entries
  }

  /** Entries that wait for the disk together are one write. */
  keep(entry: RunEntry): Promise<void> {
    this.#waiting.push(`${stringify(entry)}\n`)
    this.#turn = this.#turn.then(async () => {
      const lines = this.#waiting
      if (lines.length === 0) return
      this.#waiting = []
      await this.#file.appendFile(lines.join(""))
      await this.#file.datasync()
    })
    return this.#turn
  }

  /** Replaces the reports, and answers their files. */
  async report(report: RunReport): Promise<ReadonlyArray<string>> {
    const rows = report.rows.map(({ failure, fees_minor, key, reference, row, status }) =>
      csvLine([String(row), key, reference ?? "", status, fees_minor === null ? "" : String(fees_minor), failure ?? ""])
    )
    const csv = [csvLine(["row", "key", "reference", "status", "fees_minor", "failure"]), ...rows].join("")
    const files = [`${this.#base}.report.csv`, `${this.#base}.report.json`] as const
    await replace(files[0], csv)
    await replace(files[1], `${stringify({ name: report.name, state: report.state, rows: report.rows })}\n`)
    return files
  }

  /** A journal without an entry is left behind by nobody. */
  async close(): Promise<void> {
    const { size } = await this.#file.stat()
    await this.#file.close()
    if (size === 0) await rm(`${this.#base}.jsonl`, { force: true })
    await freeLock(`${this.#base}.lock`)
  }
}

const entriesIn = (text: string): ReadonlyArray<RunEntry> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => entryOf(parse(line)))

/** The lines are this program's own. */
const entryOf = (value: unknown): RunEntry => {
  if (isEntry(value)) return value
  throw new Refusal("the run's journal has a line that is none: was it changed?")
}
const isEntry = (value: unknown): value is RunEntry => typeof value === "object" && value !== null && "type" in value

const replace = async (file: string, text: string): Promise<void> => {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  await writeFile(draft, text, { mode: OWN, flag: "wx" })
  await rename(draft, file)
}

/** So that a new file's name outlives a crash, too. Some systems open no folders; there it cannot be done. */
const sync = async (folder: string): Promise<void> => {
  const opened = await open(folder, "r").catch(() => undefined)
  await opened?.sync().catch(() => undefined)
  await opened?.close()
}
