import { appendFileSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { parseArgs } from "node:util"
import { commitPlayed, mustStillPlay } from "../runs/Commit.ts"
import { changesOf, readBooks } from "./Books.ts"
import { type What, whats } from "./Case.ts"
import { type Played, play } from "./Play.ts"
import { lineOf, playedBefore, type Run } from "./Runs.ts"
import { openStage, type Stage } from "./Stage.ts"

// Random requests at a gateway that runs as a user starts it, judged by what comes back, by its log and by its books. Exits 1 where
// anything is wrong.

const usage =
  "npm run fuzz -- [--seed N] [--requests N] [--what raw|json|signed|callbacks|all] [--minutes N] [--from N] [--record FILE]\n" +
  "--minutes ends it earlier. --from is the number of the first case. --record adds the run to a file, and goes on where the file's last run of the seed ended."

const MINUTE_MS = 60_000

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: "string", default: "1" },
        requests: { type: "string", default: "20000" },
        what: { type: "string", default: "all" },
        minutes: { type: "string", default: "1440" },
        from: { type: "string", default: "0" },
        record: { type: "string" }
      }
    })
    const number = (text: string) => {
      if (!/^\d{1,9}$/.test(text)) throw new Error(`${text} is not a whole number`)
      return Number(text)
    }
    const chosen = whats.filter((what) => what === values.what || values.what === "all")
    if (chosen.length === 0) throw new Error(`--what is one of ${whats.join(", ")} and all`)
    return {
      seed: number(values.seed),
      requests: number(values.requests),
      from: number(values.from),
      minutes: number(values.minutes),
      chosen,
      record: values.record
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const commit = commitPlayed(options.record !== undefined)

const main = async (): Promise<void> => {
  const began = performance.now()
  const stage = await openStage()
  try {
    const parts: Array<Played> = []
    const until = performance.now() + options.minutes * MINUTE_MS
    for (const [index, what] of options.chosen.entries()) {
      // Each kind has the same share of the time that is left.
      const left = until - performance.now()
      parts.push(await playedOn(stage, what, performance.now() + left / (options.chosen.length - index)))
    }
    const verified = await stage.verify()
    const broken = stage.brokenLines()
    const ended = stage.ended()
    const faults = [
      ...parts.flatMap(({ failures }) => failures),
      ...(ended === undefined ? [] : [`the gateway ended: ${ended}`]),
      ...(verified.ok ? [] : [`ledger verify: ${verified.text.slice(0, 2000)}`]),
      ...broken.slice(0, 10).map((line) => `in the log: ${line.slice(0, 1000)}`)
    ]
    for (const fault of faults) console.error(fault)
    const found =
      parts.reduce((sum, { counts }) => sum + counts.found, 0) +
      broken.length +
      (ended === undefined ? 0 : 1) +
      (verified.ok ? 0 : 1)
    const run: Run = {
      date: new Date().toISOString(),
      commit,
      command: `npm run fuzz -- ${process.argv.slice(2).join(" ")}`.trim(),
      seed: options.seed,
      seconds: Math.round((performance.now() - began) / 1000),
      parts: parts.map(({ counts }) => counts),
      ledger_ok: verified.ok,
      resident_megabytes: ended === undefined ? stage.residentMegabytes() : 0,
      found
    }
    console.log(lineOf(run))
    if (options.record !== undefined) {
      mustStillPlay(commit)
      mkdirSync(dirname(options.record), { recursive: true })
      appendFileSync(options.record, `${lineOf(run)}\n`)
    }
    process.exitCode = found === 0 ? 0 : 1
  } finally {
    await stage.close()
  }
}

/** A part, and what it moved though nobody had signed for it. */
const playedOn = async (stage: Stage, what: What, until: number): Promise<Played> => {
  const { chosen, record, seed } = options
  const from = record === undefined ? options.from : playedBefore(record, seed, what)
  const requests = Math.max(1, Math.floor(options.requests / chosen.length))
  const before = await readBooks(stage.databaseUrl)
  const isOver = () => stage.ended() !== undefined || performance.now() > until
  const played = await play(stage.target, { what, seed, from, requests }, isOver)
  if (what === "callbacks") await stage.rested()
  const changes = what === "json" ? [] : changesOf(before, await readBooks(stage.databaseUrl))
  const found = played.counts.found + changes.length
  console.error(`${what}: ${played.counts.requests} requests, ${found} found`)
  const failures = [...played.failures, ...changes.map((one) => `${what}: ${one}`)]
  return { counts: { ...played.counts, found }, failures }
}

await main()
