import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { freePorts } from "../../test/support/FreePort.ts"
import type { Fault } from "./Fault.ts"
import { payoutOf } from "./Requests.ts"
import type { Scene } from "./Scene.ts"

/** What the nodes of a drill are given so that faults can be made of them. */
export interface NodeParts {
  /** The settings of all processes, and of each of the two gateways. */
  readonly variables: Readonly<Record<string, string>>
  readonly own: readonly [OfGateway, OfGateway]
  /** How far the clock of each gateway's machine is off from now on. */
  readonly setClocks: (...ms: ReadonlyArray<number>) => Promise<void>
  /** A Redis that the gateways share. */
  readonly redis: { readonly start: () => Promise<void>; readonly stop: () => Promise<void> }
}

interface OfGateway {
  readonly variables: Readonly<Record<string, string>>
}

const SET_CLOCK = resolve(import.meta.dirname, "SetClock.ts")

export const openNodeParts = async (redisProgram: string): Promise<NodeParts> => {
  const folder = mkdtempSync(join(tmpdir(), "alerts-"))
  const files = [join(folder, "clock-one"), join(folder, "clock-two")] as const
  const [port] = await freePorts(1)
  let running: ChildProcess | undefined
  const start = async () => {
    running = spawn(redisProgram, ["--port", String(port), "--save", "", "--dir", folder], { stdio: "ignore" })
  }
  const stop = async () => {
    const own = running
    if (own === undefined || own.exitCode !== null || own.signalCode !== null) return
    const gone = new Promise((ended) => own.once("exit", ended))
    own.kill("SIGKILL")
    await gone
  }
  await start()
  const of = (file: string): OfGateway => ({ variables: { NODE_OPTIONS: `--import ${SET_CLOCK}`, CLOCK_OFF_FILE: file } })
  return {
    variables: { REDIS_URL: `redis://127.0.0.1:${port}`, CONNECTIONS_AN_ADDRESS: String(CONNECTIONS_AN_ADDRESS) },
    own: [of(files[0]), of(files[1])],
    setClocks: async (...ms) => {
      for (const [at, file] of files.entries()) writeFileSync(file, String(ms[at] ?? 0))
    },
    redis: { start, stop }
  }
}

/** Faults of nodes, and of what they stand on. */
export const nodeFaults = (scene: Scene, parts: NodeParts): ReadonlyArray<Fault> => [
  clockOff(parts),
  notReady(parts),
  redisGone(parts),
  databaseSlow(scene),
  floodAtCap(scene),
  endpointSlow(scene),
  gatewayRestarting(scene)
]

const clockOff = ({ setClocks }: NodeParts): Fault => ({
  about: "the clock of one machine is set three seconds ahead, until it is set right",
  alerts: ["ClockOff"],
  how: "real",
  begin: () => setClocks(3_000),
  mend: () => setClocks()
})

/** Nobody is served then. The database's clock is in doubt for a while as well: nobody can tell which of them is wrong. */
const notReady = ({ setClocks }: NodeParts): Fault => ({
  about: "the clocks of all machines are set forty seconds ahead, until they are set right",
  alerts: ["NotReady"],
  how: "real",
  beside: ["ClockOff", "ClockInDoubt"],
  begin: () => setClocks(40_000, 40_000),
  mend: () => setClocks()
})

const redisGone = ({ redis }: NodeParts): Fault => ({
  about: "Redis is killed, until it is started again",
  alerts: ["RedisGone"],
  how: "real",
  begin: redis.stop,
  mend: redis.start
})

const databaseSlow = ({ sql, tenant }: Scene): Fault => {
  const over = new AbortController()
  let paying: Promise<void> = Promise.resolve()
  return {
    about: "each commit of a payment takes two seconds, until it does not",
    alerts: ["DatabaseSlow"],
    how: "real",
    beside: ["InternalErrors"],
    begin: async () => {
      const payer = await tenant("slowly", 1_000_000)
      await sql("CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END'")
      await sql(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT OR UPDATE ON transactions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION take_long()`)
      paying = (async () => {
        for (let sent = 0; !over.signal.aborted; sent++) await payer.post("/v1/payouts", payoutOf("1000", 1_000 + sent))
      })()
    },
    mend: async () => {
      over.abort()
      await paying
      await sql("DROP TRIGGER slow ON transactions")
    }
  }
}

const CONNECTIONS_AN_ADDRESS = 256

const floodAtCap = ({ stage }: Scene): Fault => ({
  about: "more connections from one address than a node holds, until no more come",
  alerts: ["FloodAtCap"],
  how: "real",
  begin: async () => {
    const port = Number(new URL(stage.gateways[0].url).port)
    const sockets = Array.from({ length: CONNECTIONS_AN_ADDRESS + 8 }, () =>
      connect(port, "127.0.0.1").on("error", () => undefined)
    )
    await Promise.race(sockets.map((socket) => new Promise((closed) => socket.once("close", closed))))
    for (const socket of sockets) socket.destroy()
  },
  mend: async () => undefined
})

const endpointSlow = ({ sql }: Scene): Fault => ({
  about: "an endpoint that is attempted while a webhook has waited for six minutes, until it has none",
  alerts: ["WebhookEndpointSlow"],
  how: "set back",
  begin: async () => {
    await sql(`INSERT INTO webhook_endpoints (app_id, mode, url, events, enabled, secret_sealed, created_at, updated_at)
      VALUES ('slow', 'live', 'https://slow.example', '{}', true, '', now(), now())`)
    await sql(
      "INSERT INTO webhook_flights (app_id, mode, ids, leased_until) VALUES ('slow', 'live', '{D1}', ARRAY[now() + interval '10 minutes'])"
    )
    await sql(`INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at)
      VALUES ('slow', 'live', now() - interval '6 minutes', 'D1', now())`)
  },
  mend: async () => {
    for (const table of ["due_deliveries", "webhook_flights", "webhook_endpoints"])
      await sql(`DELETE FROM ${table} WHERE app_id = 'slow'`)
  }
})

const RESTARTS = 3

const gatewayRestarting = ({ stage }: Scene): Fault => ({
  about: "a gateway dies and is started again three times, until it stays",
  alerts: ["GatewayRestarting"],
  how: "real",
  beside: ["GatewayDown"],
  begin: async () => {
    const [, node] = stage.actors
    for (let again = 0; again < RESTARTS; again++) {
      await node.kill()
      await node.start()
      // A scrape has to see each of them.
      await new Promise((seen) => setTimeout(seen, SCRAPED_WITHIN_MS))
    }
  },
  mend: async () => undefined
})

const SCRAPED_WITHIN_MS = 2_500
