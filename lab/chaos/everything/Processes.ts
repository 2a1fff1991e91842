import { type ChildProcess, spawn } from "node:child_process"
import { resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { freePorts } from "../../../test/support/FreePort.ts"
import { seeded } from "../../../test/support/Random.ts"
import type { Actor, Address, Stage } from "../Stage.ts"

// What dies besides gateways, the simulator and PostgreSQL: the proxy before them.

const PROXY = resolve(import.meta.dirname, "Proxy.ts")
const POLL_MS = 50
const UP_WITHIN_MS = 30_000
/** On average half a minute, so that there is a kill every five seconds: 1,000 of them are 200,000 operations at 40 a second. */
const SHORTEST_LIFE_MS = 2_000
const LONGEST_LIFE_MS = 58_000

export interface Proxy extends Actor, Address {}

/** Between the clients, the simulator's callbacks and the gateways. */
export const openProxy = async (stage: Stage): Promise<Proxy> => {
  const [port = 0] = await freePorts(1)
  const nodes = stage.gateways.map(({ url }) => new URL(url).port)
  const address = { host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` }
  let running: ChildProcess | undefined
  const life = { isOver: false }
  const start = async () => {
    const limit = performance.now() + UP_WITHIN_MS
    while (!life.isOver && performance.now() < limit) {
      if (running === undefined || running.exitCode !== null || running.signalCode !== null)
        running = spawn(process.execPath, [PROXY, String(port), ...nodes], { stdio: ["ignore", "ignore", "inherit"] })
      const isUp = await fetch(`${address.url}/health`, { signal: AbortSignal.timeout(1000) }).then(
        () => true,
        () => false
      )
      if (isUp) return
      await pause(POLL_MS)
    }
  }
  const kill = async () => {
    running?.kill("SIGKILL")
    running = undefined
  }
  stage.atEnd(async () => {
    life.isOver = true
    await kill()
  })
  await start()
  return { ...address, name: "proxy", kill, start, signal: (signal) => void running?.kill(signal) }
}

/** Each process has its own misfortune, so that some die alone and some together, also while another comes back. */
export const killEverything = async (
  actors: ReadonlyArray<Pick<Actor, "name" | "kill" | "start">>,
  seed: number,
  isOver: () => boolean
): Promise<Readonly<Record<string, number>>> => {
  const kills: Record<string, number> = {}
  const haunt = async ({ kill, name, start }: Pick<Actor, "name" | "kill" | "start">, index: number) => {
    const own = seeded(seed * 31 + index)
    while (!isOver()) {
      await pause(SHORTEST_LIFE_MS + own.below(LONGEST_LIFE_MS - SHORTEST_LIFE_MS))
      await kill()
      kills[name] = (kills[name] ?? 0) + 1
      await start()
    }
  }
  await Promise.all(actors.map(haunt))
  return kills
}
