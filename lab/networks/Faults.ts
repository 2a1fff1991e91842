import { writeFile } from "node:fs/promises"
import { type Host, rule, slowed } from "./Hosts.ts"

// What happens to a network. Each begins, and answers what ends it.

export type Mended = () => Promise<void>

/** What a host gets from another is thrown away, before the host knows of it: all of it, or so large a share. */
const deaf = async (host: Host, to: Host, share = 1): Promise<Mended> => {
  const some = share === 1 ? [] : ["-m", "statistic", "--mode", "random", "--probability", String(share)]
  const words = ["PREROUTING", "-s", to.address, ...some, "-j", "DROP"]
  await rule(host, "raw", "-I", ...words)
  return () => rule(host, "raw", "-D", ...words)
}

/** A card so slow counts for everything that its host sends: one that is slow already stays as it is. */
const SLOW = "100kbit"
const slow = new Set<Host>()

const crawl = async (host: Host): Promise<Mended> => {
  if (slow.has(host)) return async () => undefined
  slow.add(host)
  const mend = await slowed(host, SLOW)
  return async () => {
    await mend()
    slow.delete(host)
  }
}

/** What a host sends to another is answered as by a machine that knows nothing of the connection. */
const refused = async (host: Host, to: Host): Promise<Mended> => {
  const words = ["OUTPUT", "-p", "tcp", "-d", to.address, "-j", "REJECT", "--reject-with", "tcp-reset"]
  await rule(host, "filter", "-I", ...words)
  return () => rule(host, "filter", "-D", ...words)
}

const all = async (faults: ReadonlyArray<Promise<Mended>>): Promise<Mended> => {
  const mends = await Promise.all(faults)
  return async () => {
    for (const mend of mends) await mend()
  }
}

const LOST = 0.3

/** Between two hosts. */
export const between = {
  cut: (one: Host, other: Host) => all([deaf(one, other), deaf(other, one)]),
  "one-way": (one: Host, other: Host) => deaf(one, other),
  lossy: (one: Host, other: Host) => all([deaf(one, other, LOST), deaf(other, one, LOST)]),
  slow: (one: Host) => crawl(one),
  reset: (one: Host, other: Host) => all([refused(one, other), refused(other, one)])
} as const satisfies Readonly<Record<string, (one: Host, other: Host) => Promise<Mended>>>

export type Kind = keyof typeof between

/** None of these is heard by any of those any more, and the other way round. */
export const apart = (some: ReadonlyArray<Host>, others: ReadonlyArray<Host>): Promise<Mended> =>
  all(some.flatMap((one) => others.map((other) => between.cut(one, other))))

/** The time of day of the processes that read this file is off by so many seconds. */
export const jumped = async (clock: string, seconds: number): Promise<Mended> => {
  await writeFile(clock, `${seconds < 0 ? "" : "+"}${seconds}s`)
  return () => writeFile(clock, "+0s")
}
