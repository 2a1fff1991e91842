import { existsSync } from "node:fs"
import { join } from "node:path"
import { openCluster } from "../citus/Cluster.ts"
import { freePorts, type StageDatabase } from "./Stage.ts"

/** Where Debian has it; LIBFAKETIME names it elsewhere. */
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"

/**
 * A Citus cluster of the programs in PG_BIN: a coordinator and two workers, each a process that is killed by itself. The first worker's clock is ahead by
 * so many seconds, the second one's is behind by as many.
 */
export const clusterDatabase =
  (skewSeconds = 0): StageDatabase =>
  async (dataDir, life) => {
    const cluster = await openCluster({
      folder: join(dataDir, "citus"),
      ports: await freePorts(3),
      isDurable: true,
      variables: (name) => (skewSeconds === 0 ? {} : clockOf(name, skewSeconds))
    })
    life.ends.push(cluster.close)
    const [coordinator, ...others] = cluster.nodes
    if (coordinator === undefined) throw new Error("a cluster has a coordinator")
    return { ...coordinator, url: cluster.url, others, preparedBy: ["migrate", "distribute"] }
  }

/** Only the time of day: what waits is measured by the other clock. */
const clockOf = (name: string, seconds: number): Readonly<Record<string, string>> => {
  const library = process.env["LIBFAKETIME"] ?? FAKETIME
  if (!existsSync(library)) throw new Error(`a clock is set by libfaketime, and there is no ${library}: name it in LIBFAKETIME`)
  const sign = { "worker 1": "+", "worker 2": "-" }[name]
  return sign === undefined
    ? {}
    : { LD_PRELOAD: library, FAKETIME: `${sign}${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: "1", DONT_FAKE_MONOTONIC: "1" }
}
