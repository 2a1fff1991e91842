import { createServer } from "node:http"
import { setTimeout as pause } from "node:timers/promises"

/** One alert in a message of Alertmanager. */
export interface Told {
  readonly alert: string
  /** Where the message arrived: the receiver of the shipped configuration. */
  readonly receiver: string
  readonly status: "firing" | "resolved"
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly atMs: number
}

/** Stands in the place of the pager and of the queue of tickets. */
export interface Sink {
  readonly url: (receiver: string) => string
  /** Everything that was ever told, in its order. */
  readonly told: ReadonlyArray<Told>
  readonly isFiring: (alert: string) => boolean
  /** When an alert was told to fire, or to have ended altogether; undefined when that did not come in time. */
  readonly until: (alert: string, status: Told["status"], withinMs: number) => Promise<Told | undefined>
  readonly close: () => Promise<void>
}

interface Message {
  readonly alerts: ReadonlyArray<Pick<Told, "status" | "labels" | "annotations"> & { readonly fingerprint: string }>
}

const LOOK_EVERY_MS = 50

export const openSink = async (): Promise<Sink> => {
  const told: Array<Told> = []
  /** The last news of each series of each alert. */
  const newest = new Map<string, Told>()
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request.setEncoding("utf8")) body += chunk
    const { alerts }: Message = JSON.parse(body)
    for (const { annotations, fingerprint, labels, status } of alerts) {
      const receiver = request.url?.slice(1) ?? ""
      const one = { alert: labels["alertname"] ?? "", receiver, status, labels, annotations, atMs: performance.now() }
      told.push(one)
      newest.set(fingerprint, one)
    }
    response.writeHead(204).end()
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const isFiring = (alert: string) => [...newest.values()].some((one) => one.alert === alert && one.status === "firing")
  const until: Sink["until"] = async (alert, status, withinMs) => {
    const limit = performance.now() + withinMs
    while (isFiring(alert) !== (status === "firing")) {
      if (performance.now() > limit) return undefined
      await pause(LOOK_EVERY_MS)
    }
    return told.findLast((one) => one.alert === alert && one.status === status)
  }
  return {
    url: (receiver) => `http://127.0.0.1:${port}/${receiver}`,
    told,
    isFiring,
    until,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      })
  }
}
