import { join } from "node:path"
import { freePorts } from "../../test/support/FreePort.ts"
import { wrongTime } from "../../test/support/WrongTime.ts"
import { openCluster } from "../citus/Cluster.ts"
import type { StageDatabase } from "./Stage.ts"

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

const clockOf = (name: string, seconds: number): Readonly<Record<string, string>> =>
  name === "worker 1" ? wrongTime(seconds) : name === "worker 2" ? wrongTime(-seconds) : {}
