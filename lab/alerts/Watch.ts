import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { openSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { freePorts } from "../../test/support/FreePort.ts"
import { shortened } from "./Shortened.ts"

// A real Prometheus and a real Alertmanager with the configuration of deploy/prometheus.

const SHIPPED = resolve(import.meta.dirname, "../../deploy/prometheus")
const READY_WITHIN_MS = 30_000
const LOOK_EVERY_MS = 100

/** Alertmanager has another name in Debian's package. */
const names = {
  prometheus: ["prometheus"],
  alertmanager: ["alertmanager", "prometheus-alertmanager"],
  redis: ["redis-server"]
} as const

export interface Programs {
  readonly prometheus: string
  readonly alertmanager: string
  readonly redis: string
}

/** What is not on this machine is named. */
export const installed = (): Programs | { readonly missing: ReadonlyArray<string> } => {
  const found = (program: keyof typeof names) =>
    names[program].find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0)
  const [prometheus, alertmanager, redis] = [found("prometheus"), found("alertmanager"), found("redis")]
  if (prometheus !== undefined && alertmanager !== undefined && redis !== undefined) return { prometheus, alertmanager, redis }
  const all = { prometheus, alertmanager, "redis-server": redis }
  return { missing: Object.entries(all).flatMap(([name, program]) => (program === undefined ? [name] : [])) }
}

/** Where runbooks are read, as the shipped prometheus.yml has it. */
export const runbooks = (): string => /^ +runbooks: (\S+)$/m.exec(shipped("prometheus.yml"))?.[1] ?? ""

const shipped = (file: string) => readFileSync(join(SHIPPED, file), "utf8")

interface Wish {
  readonly programs: Programs
  /** Where its files and logs are put. */
  readonly folder: string
  /** Hosts with ports of the gateways' management listeners. */
  readonly targets: ReadonlyArray<string>
  /** Where a receiver's messages go. */
  readonly receiver: (name: string) => string
}

export interface Watch {
  /** What Prometheus has seen: the only value of an expression by now; undefined where it has none. */
  readonly value: (expression: string) => Promise<number | undefined>
  readonly close: () => Promise<void>
}

/** Both, until they are closed. Only addresses and durations differ from what is shipped. */
export const openWatch = async ({ folder, programs, receiver, targets }: Wish): Promise<Watch> => {
  const [prometheusPort, alertmanagerPort] = await freePorts(2)
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const replaced = (text: string, part: string | RegExp, by: string) => {
    const changed = text.replace(part, by)
    if (changed === text) throw new Error(`the shipped configuration has no ${part}`)
    return changed
  }
  write("alerts.yml", shortened(shipped("alerts.yml")))
  const scraping = replaced(shipped("prometheus.yml"), '["gateway-1:8081", "gateway-2:8081"]', JSON.stringify(targets))
  const own = replaced(scraping, '"alertmanager:9093"', `"127.0.0.1:${alertmanagerPort}"`)
  const sending = ["pages", "tickets"].reduce(
    (text, name) => replaced(text, new RegExp(`(- name: ${name}\\n +webhook_configs:\\n +- url: )\\S+`), `$1${receiver(name)}`),
    shipped("alertmanager.yml")
  )
  const started: Array<ChildProcess> = []
  const start = async (program: string, port: number | undefined, args: ReadonlyArray<string>) => {
    const log = openSync(join(folder, `${program}.log`), "a")
    const address = `127.0.0.1:${port}`
    const child = spawn(program, [...args, `--web.listen-address=${address}`], { stdio: ["ignore", log, log] })
    started.push(child)
    const limit = performance.now() + READY_WITHIN_MS
    while (!(await isReady(`http://${address}/-/ready`))) {
      if (performance.now() > limit || child.exitCode !== null) throw new Error(`${program} does not start: see ${folder}`)
      await pause(LOOK_EVERY_MS)
    }
  }
  const close = async () => {
    for (const child of started) await ended(child)
  }
  try {
    await start(programs.alertmanager, alertmanagerPort, [
      `--config.file=${write("alertmanager.yml", shortened(sending))}`,
      `--storage.path=${join(folder, "alertmanager")}`,
      "--cluster.listen-address="
    ])
    await start(programs.prometheus, prometheusPort, [
      `--config.file=${write("prometheus.yml", shortened(own))}`,
      `--storage.tsdb.path=${join(folder, "prometheus")}`
    ])
  } catch (error) {
    await close()
    throw error
  }
  return { value: (expression) => valueOf(`http://127.0.0.1:${prometheusPort}`, expression), close }
}

interface Answer {
  readonly data: { readonly result: ReadonlyArray<{ readonly value: readonly [at: number, value: string] }> }
}

const valueOf = async (prometheus: string, expression: string): Promise<number | undefined> => {
  const answer = await fetch(`${prometheus}/api/v1/query?${new URLSearchParams({ query: expression })}`)
  const { data }: Answer = JSON.parse(await answer.text())
  const [only] = data.result
  return only === undefined ? undefined : Number(only.value[1])
}

const isReady = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    ({ ok }) => ok,
    () => false
  )

const ended = async (child: ChildProcess) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((exit) => child.once("exit", exit))
  child.kill("SIGTERM")
  await gone
}
