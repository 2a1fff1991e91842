import { setTimeout as pause } from "node:timers/promises"
import type { Cluster } from "../Cluster.ts"
import { Connection } from "../http/Connection.ts"
import { callbackRequest, payoutRequest } from "../http/Requests.ts"
import { openStand } from "../http/Sides.ts"
import { cpuSeconds, databaseCpuSeconds } from "../Processes.ts"
import { type Effort, type Measured, type Part, shared, within } from "../Report.ts"
import { openOutgoing } from "../webhooks/Outgoing.ts"
import { eachOf, pick, prepareLog, sumOf, type TableWrites, written } from "./Log.ts"

// A payout's whole life: the request, the provider's callback, the question that follows it, and the webhook that is received. What is
// counted is what the server writes for it, and not time: for payouts that are alone, and for many at once.

const WARM_UP = 400
const ALONE = 40
const TOGETHER = 1_024
const TOGETHER_IN_A_QUICK_LOOK = 256
const CONNECTIONS = 64
/** Between two payouts that are alone: what the first one leaves to do is done by then. */
const APART_MS = 150
const IDLE_MS = 5_000

type Seen = Awaited<ReturnType<typeof measure>>

const measure = shared(async (cluster: Cluster, { quick }: Effort) => {
  const stand = await openStand()
  const outgoing = await openOutgoing(cluster, stand)
  const { database } = outgoing
  const log = await prepareLog(cluster, database)
  try {
    // Pages that are written first after this are logged whole, and that is done before anything counts.
    await database.query("CHECKPOINT")
    const lives = await openLives(outgoing)
    await lives.together(WARM_UP)
    await lives.alone(ALONE)
    const idle = await written(database, () => pause(IDLE_MS))
    const alone = await written(database, () => lives.alone(ALONE))
    const many = quick ? TOGETHER_IN_A_QUICK_LOOK : TOGETHER
    const spent = processorTime(outgoing)
    const together = await written(database, () => lives.together(many))
    return {
      idle,
      alone: figures(eachOf(ALONE, alone, idle)),
      together: { ...figures(eachOf(many, together, idle)), ...spent(many) },
      many
    }
  } finally {
    await log.restore()
    await outgoing.stop()
    await stand.close()
  }
})

/** Begins to count, and answers what each of so many lives has cost since then, in milliseconds. */
const processorTime = ({ database, pid }: Awaited<ReturnType<typeof openOutgoing>>) => {
  const now = () => [cpuSeconds(pid), databaseCpuSeconds(database.url)] as const
  const [gateway, server] = now()
  return (count: number) => {
    const [gatewayNow, serverNow] = now()
    return {
      gateway_cpu_ms: round(((gatewayNow - gateway) * 1000) / count),
      database_cpu_ms: round(((serverNow - server) * 1000) / count)
    }
  }
}

/** Rounded: the background that is taken off is not the same each second. */
const figures = ({ bytes, commits, imageBytes, tables }: ReturnType<typeof eachOf>) => {
  const byTable = Object.entries(tables)
    .map(([name, table]) => [name, rounded(table)] as const)
    .filter(([, table]) => Object.values(table).some((value) => value >= 0.1))
  return {
    ...rounded(sumOf(tables)),
    commits: round(commits),
    bytes: round(bytes),
    page_image_bytes: round(imageBytes),
    tables: Object.fromEntries(byTable)
  }
}

const rounded = (table: TableWrites): TableWrites => pick((what) => round(table[what]))

const round = (value: number): number => Math.round(value * 100) / 100

/** Who asks for payouts, and the provider that calls back. Connections are opened anew: one that idles is closed by the gateway. */
const openLives = async ({ callbacks, keys, port, received }: Awaited<ReturnType<typeof openOutgoing>>) => {
  const target = await callbacks()
  let turn = 0
  const send = async (connection: Connection, bytes: Buffer): Promise<string> => {
    const { body, status } = await connection.send(bytes)
    if (status >= 300) throw new Error(`not every answer was a success: ${status} ${body}`)
    return body.toString("utf8")
  }
  const payout = async (connection: Connection): Promise<void> => {
    const key = keys[turn++ % keys.length]
    if (key === undefined) throw new Error("a key is needed")
    const answer = await send(connection, payoutRequest(key, port))
    const reference = /"reference":"([^"]+)"/.exec(answer)?.[1] ?? ""
    await send(connection, callbackRequest(target, port, reference))
  }
  return {
    /** One after the other: each begins when the webhook of the one before was received. */
    alone: async (count: number) => {
      const connection = await Connection.open(port)
      for (let made = 0; made < count; made++) {
        await received(1, () => payout(connection))
        await pause(APART_MS)
      }
      connection.close()
    },
    together: (count: number) => {
      let left = count
      const loop = async () => {
        const connection = await Connection.open(port)
        while (left-- > 0) await payout(connection)
        connection.close()
      }
      return received(count, async () => void (await Promise.all(Array.from({ length: CONNECTIONS }, loop))))
    }
  }
}

interface Figure {
  readonly name: string
  readonly limit: number
  readonly unit: string
  readonly of: (each: Seen["alone"]) => number
}

const lifePart = ({ limit, name, of, unit }: Figure): Part => ({
  name,
  against: `${limit} ${unit}`,
  target: 1,
  atMost: true,
  run: async (cluster, effort): Promise<Measured> => {
    const { alone, idle, many, together } = await measure(cluster, effort)
    return {
      ...within(limit, of(alone)),
      unit,
      note: `alone; ${of(together)} in ${many} payouts over ${CONNECTIONS} connections`,
      details: { alone, together, idle: { seconds: idle.seconds, commits: idle.commits, bytes: idle.bytes } }
    }
  }
})

const BYTES_A_KB = 1_000

export const commits: Part = lifePart({ name: "life-commits", limit: 6, unit: "commits", of: (each) => each.commits })
export const entries: Part = lifePart({ name: "life-entries", limit: 28, unit: "index entries", of: (each) => each.entries })
export const log: Part = lifePart({ name: "life-log", limit: 12, unit: "kB", of: (each) => round(each.bytes / BYTES_A_KB) })
