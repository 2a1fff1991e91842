import { type LookupAddress, Resolver } from "node:dns"
import { readFile } from "node:fs/promises"
import type { Timer } from "../../runtime/Timer.ts"

interface NameOptions {
  readonly timer: Timer
  /** For one name, whatever its servers do. */
  readonly withinMs: number
  /** `address` or `address:port`; empty: the machine's own. */
  readonly servers: ReadonlyArray<string>
  /** In development a name may be this machine's own: `localhost`, or an entry in its hosts file. */
  readonly allowLoopback: boolean
}

/** The addresses of a name, or why there are none. */
type DnsLookup = ReadonlyArray<LookupAddress> | Error

/** Resolves names. Concurrent lookups of one name share one answer. */
export interface EndpointNames {
  readonly resolve: (name: string, answer: (resolved: DnsLookup) => void) => void
  /** Answers every pending lookup at once, and closes its sockets. */
  readonly close: () => void
}

/** A query without a response is repeated after this time. */
const RESEND_MS = 1_000
const TRIES = 3
const HOSTS_FILE = process.platform === "win32" ? "C:/Windows/System32/drivers/etc/hosts" : "/etc/hosts"

/**
 * Resolves names that tenants chose, over its own sockets. `dns.lookup` would block one of the process's few threads for as
 * long as a name's server does not respond, and the names of providers are resolved on the same threads. Every name has its own
 * resolver, so that none waits for another. A tenant has no more lookups in progress than deliveries.
 */
export const endpointNames = (options: NameOptions): EndpointNames => {
  const underWay = new Map<string, { readonly answers: Array<(resolved: DnsLookup) => void>; readonly stop: () => void }>()
  const resolve: EndpointNames["resolve"] = (name, answer) => {
    const known = underWay.get(name)
    if (known !== undefined) return void known.answers.push(answer)
    const resolver = new Resolver({ timeout: RESEND_MS, maxTimeout: RESEND_MS, tries: TRIES })
    if (options.servers.length > 0) resolver.setServers(options.servers)
    const stop = () => resolver.cancel()
    const answers = [answer]
    underWay.set(name, { answers, stop })
    const cancelTimeout = options.timer(options.withinMs, stop)
    const end = (resolved: DnsLookup) => {
      cancelTimeout()
      underWay.delete(name)
      for (const one of answers) one(resolved)
    }
    addressesOf(resolver, name, options).then(end, (cause) => end(new Error(`${name} was not resolved: ${String(cause)}`)))
  }
  return {
    resolve,
    close: () => {
      for (const { stop } of underWay.values()) stop()
    }
  }
}

const addressesOf = async (resolver: Resolver, name: string, { allowLoopback, withinMs }: NameOptions): Promise<DnsLookup> => {
  const own = allowLoopback ? await ownAddresses(name) : []
  if (own.length > 0) return own
  const answers = await Promise.all([
    new Promise<DnsAnswer>((resolve) => resolver.resolve4(name, (error, found) => resolve(error ?? addressed(found, 4)))),
    new Promise<DnsAnswer>((resolve) => resolver.resolve6(name, (error, found) => resolve(error ?? addressed(found, 6))))
  ])
  const found = answers.flatMap((one) => (one instanceof Error ? [] : one))
  if (found.length > 0) return found
  const codes = answers.map((one) => (one instanceof Error && "code" in one ? String(one.code) : ""))
  // These codes also mean a timeout.
  if (codes.some((code) => code === "ECANCELLED" || code === "ETIMEOUT"))
    return new Error(`${name} was not resolved within ${withinMs} ms`)
  const [other] = codes.filter((code) => code !== "ENODATA" && code !== "ENOTFOUND" && code !== "")
  return new Error(other === undefined ? `${name} has no address` : `${name} was not resolved: ${other}`)
}

type DnsAnswer = ReadonlyArray<LookupAddress> | NodeJS.ErrnoException

const addressed = (addresses: ReadonlyArray<string>, family: 4 | 6): ReadonlyArray<LookupAddress> =>
  addresses.map((address) => ({ address, family }))

const ownAddresses = async (name: string): Promise<ReadonlyArray<LookupAddress>> => {
  const text = await readFile(HOSTS_FILE, "utf8").catch(() => "")
  const lines = text.split("\n").map((line) => line.replace(/#.*/, "").trim().split(/\s+/))
  const wanted = name.toLowerCase().replace(/\.$/, "")
  const listed = lines
    .filter(([, ...names]) => names.some((one) => one.toLowerCase() === wanted))
    .map(([address = ""]) => address)
  const found = listed.length === 0 && /(^|\.)localhost$/.test(wanted) ? ["127.0.0.1", "::1"] : listed
  return found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
}
