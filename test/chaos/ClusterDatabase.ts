import { join } from "node:path"
import { openCluster } from "../citus/Cluster.ts"
import { freePorts, type StageDatabase } from "./Stage.ts"

/** A Citus cluster of the programs in PG_BIN: a coordinator and two workers, each a process that is killed by itself. */
export const clusterDatabase: StageDatabase = async (dataDir, life) => {
  const cluster = await openCluster({ folder: join(dataDir, "citus"), ports: await freePorts(3), isDurable: true })
  life.ends.push(cluster.close)
  const [coordinator, ...others] = cluster.nodes
  if (coordinator === undefined) throw new Error("a cluster has a coordinator")
  return { ...coordinator, url: cluster.url, others, preparedBy: ["migrate", "distribute"] }
}
