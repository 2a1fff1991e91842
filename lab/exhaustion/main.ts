import { spawn } from "node:child_process"
import { parseArgs } from "node:util"
import { runRecorder } from "../runs/Runs.ts"
import { playAll } from "./Judged.ts"
import { openScene } from "./Scene.ts"
import { troubles } from "./Troubles.ts"

// What a machine has runs out under load: disks, memory, file handles, connections; and then there is enough again. The judge of chaos looks at what
// came of it. Exits 1 on the first cent that differs, and on what does not come back.

const DAMAGES = "damages"
const names = [...Object.keys(troubles), DAMAGES]
const usage = `npm run exhaustion -- [--only ${names.join(",")}] [--seed N] [--clients N] [--record]`

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", default: names.join(",") },
        seed: { type: "string", default: "1" },
        clients: { type: "string", default: "6" },
        record: { type: "boolean", default: false }
      }
    })
    const number = (text: string) => {
      if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${text} is not a whole number above 0`)
      return Number(text)
    }
    const only = values.only.split(",")
    const strange = only.find((name) => !names.includes(name))
    if (strange !== undefined) throw new Error(`${strange} is none of ${names.join(", ")}`)
    const chosen = Object.entries(troubles).flatMap(([name, trouble]) => (only.includes(name) ? [trouble] : []))
    return {
      chosen,
      damages: only.includes(DAMAGES),
      seed: number(values.seed),
      clients: number(values.clients),
      record: values.record
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

/** Set where this process has mounts of its own, which end with the last process that sees them. */
const INSIDE = "PAYMENT_GATEWAY_EXHAUSTION"

const inside = async (): Promise<void> => {
  const again = [process.execPath, ...process.execArgv, import.meta.filename, ...process.argv.slice(2)]
  const child = spawn("unshare", ["--mount", ...again], { stdio: "inherit", env: { ...process.env, [INSIDE]: "1" } })
  // It ends what it has begun, and then itself.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void child.kill(signal))
  process.exitCode = await new Promise<number>((ended) => {
    child.once("error", (error) => {
      console.error(`mounts of its own need Linux, root and unshare: ${error.message}`)
      ended(1)
    })
    child.once("exit", (code) => ended(code ?? 1))
  })
}

const main = async () => {
  const putOnRecord = runRecorder("exhaustion", options.record)
  const scene = await openScene()
  try {
    const { faults, ran } = await playAll(scene, options.chosen, options)
    for (const [name, value] of Object.entries(ran)) console.log(`${name.padEnd(16)} ${JSON.stringify(value)}`)
    for (const fault of faults.slice(0, 50)) console.error(fault)
    putOnRecord(faults.length === 0, { ...ran, faults: faults.length })
    process.exitCode = faults.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error)
    process.exitCode = 1
  } finally {
    await scene.stage.close()
  }
  console.error(`what each process said is in ${scene.stage.dataDir}`)
}

if (process.getuid?.() !== 0) console.error(`needs root: ${options.chosen.length} troubles skipped`)
else if (process.env[INSIDE] === undefined) await inside()
else await main()
