import { performance } from "node:perf_hooks"
import { Connection } from "./Connection.ts"
import { type Key, payoutRequest, readRequest } from "./Requests.ts"

// A process of its own: the load. It signs ahead, because signing is not the services' cost, and only then begins to count.

/** What is asked of the generator. Without `rate` the loop is closed: each connection sends again as soon as it was answered. */
export interface Task {
  /** Connections are shared out among them; what is signed for one is taken by all, for they are one service. */
  readonly ports: ReadonlyArray<number>
  readonly what: "payout" | "read"
  readonly keys: ReadonlyArray<Key>
  readonly connections: number
  readonly seconds: number
  /** Requests a second, sent when they are due, whether or not earlier ones were answered. */
  readonly rate?: number
  /** How many payouts the keys have made, for reads: each key's own. */
  readonly references?: ReadonlyArray<ReadonlyArray<string>>
  /** How many requests to sign before the clock starts. */
  readonly ahead: number
  /** So many requests and not a time. */
  readonly count?: number
}

export interface Outcome {
  readonly answered: number
  readonly seconds: number
  /** Milliseconds from when each request was due (open loop) or sent (closed loop) to its answer. */
  readonly latencies: ReadonlyArray<number>
  /** What was not a success: its status and body, and how often. */
  readonly errors: Readonly<Record<string, number>>
  /** References by key, in the keys' order, of a part of the payouts made. */
  readonly references: ReadonlyArray<ReadonlyArray<string>>
}

const REFERENCES_KEPT = 64

const run = async (task: Task): Promise<Outcome> => {
  const { connections, keys, ports, what } = task
  const [port = 0] = ports
  let turn = 0
  const request = (): { readonly bytes: Buffer; readonly key: number } => {
    const key = turn++ % keys.length
    const known = task.references?.[key] ?? []
    const of = keys[key]
    if (of === undefined) throw new Error("a key is needed")
    const bytes =
      what === "payout"
        ? payoutRequest(of, port)
        : readRequest(of, port, known[Math.floor(turn / keys.length) % known.length] ?? "")
    return { bytes, key }
  }
  const signed = Array.from({ length: task.ahead }, request).toReversed()
  const references: ReadonlyArray<Array<string>> = keys.map(() => [])
  const latencies: Array<number> = []
  const errors: Record<string, number> = {}
  const open = await Promise.all(Array.from({ length: connections }, (_, at) => Connection.open(ports[at % ports.length] ?? 0)))

  const once: Once = async (connection, since) => {
    const { bytes, key } = signed.pop() ?? request()
    const from = since ?? performance.now()
    const answer = await connection.send(bytes)
    latencies.push(performance.now() - from)
    if (answer.status >= 300) {
      const what = `${answer.status} ${answer.body.toString("utf8").slice(0, 200)}`
      errors[what] = (errors[what] ?? 0) + 1
      return
    }
    const kept = references[key]
    if (what === "payout" && kept !== undefined && kept.length < REFERENCES_KEPT) {
      const reference = /"reference":"([^"]+)"/.exec(answer.body.toString("utf8"))?.[1]
      if (reference !== undefined) kept.push(reference)
    }
  }

  const startedAt = performance.now()
  await (task.rate === undefined ? closed(task, open, once) : paced(task, task.rate, open, once))
  const seconds = (performance.now() - startedAt) / 1000
  for (const connection of open) connection.close()
  return { answered: latencies.length, seconds, latencies, errors, references }
}

type Once = (connection: Connection, since?: number) => Promise<void>

const closed = async ({ count, seconds }: Task, open: ReadonlyArray<Connection>, once: Once): Promise<void> => {
  const until = performance.now() + seconds * 1000
  let left = count ?? Number.POSITIVE_INFINITY
  await Promise.all(
    open.map(async (connection) => {
      while (performance.now() < until && left-- > 0) await once(connection)
    })
  )
}

/** A request waits for a free connection like one that waits in a socket: its time runs from when it was due. */
const paced = async ({ seconds }: Task, rate: number, open: ReadonlyArray<Connection>, once: Once): Promise<void> => {
  const free = [...open]
  const waiting: Array<number> = []
  const going = new Set<Promise<void>>()
  const begin = (connection: Connection, due: number): void => {
    const one: Promise<void> = once(connection, due).then(() => {
      going.delete(one)
      const next = waiting.shift()
      if (next === undefined) free.push(connection)
      else begin(connection, next)
    })
    going.add(one)
  }
  const total = Math.floor(rate * seconds)
  const startedAt = performance.now()
  for (let sent = 0; sent < total; ) {
    const now = performance.now()
    for (; sent < total && startedAt + (sent * 1000) / rate <= now; sent++) {
      const due = startedAt + (sent * 1000) / rate
      // In turn, so that none is idle for so long that the service closes it.
      const connection = free.shift()
      if (connection === undefined) waiting.push(due)
      else begin(connection, due)
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  while (going.size > 0) await Promise.all(going)
}

process.on("message", (task: Task) => {
  run(task).then(
    (outcome) => process.send?.({ outcome }),
    (cause: unknown) => process.send?.({ failure: String(cause) })
  )
})
process.on("disconnect", () => process.exit())
process.send?.({ ready: true })
