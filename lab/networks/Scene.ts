import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { freePorts } from "../../test/support/FreePort.ts"
import { jumpingClock } from "../../test/support/WrongTime.ts"
import { withAccounts } from "../chaos/everything/Accounts.ts"
import { pairOfServers, type Way } from "../chaos/Failovers.ts"
import { openStage, type Stage, type Variables } from "../chaos/Stage.ts"
import { type Host, type Network, openNetwork } from "./Hosts.ts"
import type { Pair } from "./Nemesis.ts"

// Three gateways, a primary and its synchronous standby, HAProxy, Redis, the provider, and the tenants with their endpoint: each on a host.

const names = ["one", "two", "three", "server-a", "server-b", "haproxy", "redis", "provider"] as const

/** By what the stage calls its processes. */
const hostOf: Readonly<Record<string, (typeof names)[number]>> = {
  "gateway one": "one",
  "gateway two": "two",
  "gateway three": "three",
  simulator: "provider"
}

export interface Scene {
  readonly stage: Stage
  readonly network: Network
  /** Whether gateways know HAProxy and not the servers. */
  readonly isBehindProxy: boolean
  /** The tenants' own, and the operators'. */
  readonly tenants: Host
  readonly gateways: readonly [Host, Host, Host]
  readonly servers: readonly [Host, Host]
  readonly members: NonNullable<ReturnType<ReturnType<typeof pairOfServers>["members"]>>
  /** Hosts that speak with each other, but for operators with servers. */
  readonly pairs: readonly [Pair, ...ReadonlyArray<Pair>]
  /** The file that says how wrong the second gateway's time of day is. */
  readonly clock: string
}

export const openScene = async (
  way: Extract<Way, "direct" | "haproxy">,
  settings: (accounts: Variables) => Variables
): Promise<Scene> => {
  const network = await openNetwork("tenants", names)
  try {
    const [one, two, three, a, b, haproxy, redis, provider] = names.map(network.host) as unknown as Nine
    const pair = pairOfServers(way, 0, { a: { host: a }, b: { host: b }, haproxy: { host: haproxy } })
    const { database, variables } = await withAccounts(pair.database)
    for (const [name, value] of Object.entries(variables))
      if (name.endsWith("_BASE_URL")) await provider.serve(Number(new URL(value).port))
    const redisServer = await openRedis(redis)
    const clock = join("/tmp", `payment-gateway-clock-${process.pid}`)
    const machines = {
      command: (name: string, program: string, args: ReadonlyArray<string>) =>
        network.host(hostOf[name] ?? "").command(program, args),
      serve: async (name: string, ports: ReadonlyArray<number>) => {
        for (const port of ports) await network.host(hostOf[name] ?? "").serve(port)
      }
    }
    const more = { ...variables, ...settings(variables), REDIS_URL: redisServer.url }
    const own = [{}, { variables: await jumpingClock(clock) }, {}] as const
    const stage = await openStage(more, database, own, machines)
    stage.atEnd(network.close)
    stage.atEnd(redisServer.close)
    const members = pair.members()
    if (members === undefined) throw new Error("the stage has no pair of servers")
    const gateways = [one, two, three] as const
    const tenants = network.host("tenants")
    const toServers = (from: Host): ReadonlyArray<Pair> => [
      [from, a],
      [from, b]
    ]
    const pairs: Scene["pairs"] = [
      [a, b],
      ...gateways.flatMap(
        (gateway): ReadonlyArray<Pair> => [
          ...(way === "haproxy" ? [[gateway, haproxy] as const] : toServers(gateway)),
          [gateway, redis],
          [gateway, provider],
          [gateway, tenants]
        ]
      ),
      ...(way === "haproxy" ? toServers(haproxy) : [])
    ]
    return { stage, network, isBehindProxy: way === "haproxy", tenants, gateways, servers: [a, b], members, pairs, clock }
  } catch (error) {
    await network.close()
    throw error
  }
}

type Nine = readonly [Host, Host, Host, Host, Host, Host, Host, Host]

const openRedis = async (host: Host): Promise<{ readonly url: string; readonly close: () => Promise<void> }> => {
  const [port = 0] = await freePorts(1)
  await host.serve(port)
  const [program, args] = host.command("redis-server", ["--port", String(port), "--save", "", "--appendonly", "no"])
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"], detached: true })
  return { url: `redis://127.0.0.1:${port}`, close: () => ended(child) }
}

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const over = new Promise((exited) => child.once("exit", exited))
  child.kill("SIGKILL")
  await over
}
