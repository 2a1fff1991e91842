import { execFile } from "node:child_process"
import { promisify } from "node:util"

// Several hosts on one machine: network namespaces, joined by a bridge. A program listens on its own loopback, as everywhere in these tests;
// what it serves is reached at the same port of every other host's loopback, over the network between them. So programs need not know of it,
// and what is cut there is cut between whole TCP implementations: nothing stands between them.

const run = promisify(execFile)

/** What runs a program on a host, from this one. */
export type Command = (program: string, args: ReadonlyArray<string>) => readonly [string, ReadonlyArray<string>]

export interface Host {
  readonly name: string
  readonly address: string
  readonly command: Command
  /** Runs it there to its end. */
  readonly run: (program: string, ...args: ReadonlyArray<string>) => Promise<string>
  /** What listens there on loopback is reached from everywhere. */
  readonly serve: (port: number) => Promise<void>
}

export interface Network {
  /** By name. */
  readonly host: (name: string) => Host
  readonly close: () => Promise<void>
}

const NETWORK = "10.77.0"
const BRIDGE = "between"
/** The longest that an interface's name may be. */
const NAME_LENGTH = 15

/**
 * This process is the first host; it must have a namespace of its own already, in which nothing else runs. It becomes the bridge, too, which
 * passes on what others send to each other whatever its own rules say.
 */
export const openNetwork = async (own: string, others: ReadonlyArray<string>): Promise<Network> => {
  const hosts = new Map<string, Host>()
  const all = () => [...hosts.values()]
  const serve = async (owner: Host, port: number) => {
    const to = ["-p", "tcp", "--dport", String(port), "-j", "DNAT", "--to-destination"]
    await rule(owner, "nat", "-A", "PREROUTING", "-d", owner.address, ...to, `127.0.0.1:${port}`)
    // Who asks seems to be on the same machine: servers trust or log in by address.
    const arrived = ["INPUT", "-p", "tcp", "-d", "127.0.0.1", "--dport", String(port)]
    await rule(owner, "nat", "-A", ...arrived, "-j", "SNAT", "--to-source", "127.0.0.1")
    for (const host of all().filter((one) => one !== owner))
      await rule(host, "nat", "-A", "OUTPUT", "-d", "127.0.0.1", ...to, `${owner.address}:${port}`)
  }
  const add = (name: string, index: number, command: Command): Host => {
    const host: Host = {
      name,
      address: `${NETWORK}.${index + 1}`,
      command,
      run: async (program, ...args) => {
        const [first, rest] = command(program, args)
        return (await run(first, rest)).stdout
      },
      serve: (port) => serve(host, port)
    }
    hosts.set(name, host)
    return host
  }
  const close = async () => {
    for (const name of others) await run("ip", ["netns", "delete", space(name)]).catch(() => undefined)
  }
  try {
    const first = add(own, 0, (program, args) => [program, args])
    await first.run("ip", "link", "add", BRIDGE, "type", "bridge")
    await joined(first, BRIDGE)
    for (const [index, name] of others.entries()) {
      await first.run("ip", "netns", "add", space(name))
      const host = add(name, index + 1, (program, args) => ["ip", ["netns", "exec", space(name), program, ...args]])
      const plug = name.slice(0, NAME_LENGTH)
      await first.run("ip", "link", "add", plug, "type", "veth", "peer", "name", CARD, "netns", space(name))
      await first.run("ip", "link", "set", plug, "master", BRIDGE, "up")
      await joined(host, CARD)
    }
    return { host: (name) => known(hosts.get(name), name), close }
  } catch (error) {
    await close()
    throw error
  }
}

const CARD = "card"
const space = (name: string): string => `payment-gateway-${process.pid}-${name}`

const known = (host: Host | undefined, name: string): Host => {
  if (host === undefined) throw new Error(`no host is named ${name}`)
  return host
}

/** Its card has its address; what is sent to another host's loopback goes out under that address. */
const joined = async (host: Host, card: string): Promise<void> => {
  await host.run("ip", "address", "add", `${host.address}/24`, "dev", card)
  await host.run("ip", "link", "set", card, "up")
  await host.run("ip", "link", "set", "lo", "up")
  await host.run("sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
  await rule(host, "nat", "-A", "POSTROUTING", "-s", "127.0.0.0/8", "-o", card, "-j", "SNAT", "--to-source", host.address)
}

export const rule = async (host: Host, table: string, ...words: ReadonlyArray<string>): Promise<void> => {
  await host.run("iptables", "-w", "-t", table, ...words)
}

/** Makes a host's card as slow as a bad line, until what it answers is called. */
export const slowed = async (host: Host, rate: string): Promise<() => Promise<void>> => {
  const at = ["dev", host.address === `${NETWORK}.1` ? BRIDGE : CARD, "root"]
  await host.run("tc", "qdisc", "replace", ...at, "tbf", "rate", rate, "burst", "16kb", "latency", "400ms")
  return async () => void (await host.run("tc", "qdisc", "delete", ...at))
}
