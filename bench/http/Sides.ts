import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePorts } from "../../test/support/FreePort.ts"
import type { Bench, Cluster } from "../Cluster.ts"
import { type Child, gateway, program, type Readiness } from "./Child.ts"
import type { Outcome, Task } from "./Generator.ts"
import type { Key } from "./Requests.ts"
import { callbackPathOf, openTenants, type Wanted } from "./Tenants.ts"

/** Our account at the provider, and what it signs its callbacks with. */
export const account = { clientId: "bench", clientSecret: "bench-secret", webhookSecret: "bench-webhook-secret" }

/** A service under load. */
export interface Side {
  readonly port: number
  readonly pid: number
  readonly keys: ReadonlyArray<Key>
  readonly database: Bench
  readonly stop: () => Promise<void>
}

/** What both sides share: the provider and the load, each a process of its own. */
export interface Stand {
  readonly providerUrl: string
  readonly load: (task: Task) => Promise<Outcome>
  readonly close: () => Promise<void>
}

export const openStand = async (): Promise<Stand> => {
  const provider = await program("ProviderStub.ts")
  const generator = await program("Generator.ts")
  return {
    providerUrl: `http://127.0.0.1:${portOf(provider.first)}`,
    load: (task) =>
      new Promise((resolve, reject) => {
        generator.child.process.once("message", (heard: { readonly outcome?: Outcome; readonly failure?: string }) =>
          heard.outcome === undefined ? reject(new Error(heard.failure)) : resolve(heard.outcome)
        )
        generator.child.process.send(task)
      }),
    close: async () => {
      await generator.child.stop()
      await provider.child.stop()
    }
  }
}

export const portOf = (address: unknown): number =>
  typeof address === "object" && address !== null && "port" in address ? Number(address.port) : 0

type Started = Pick<Side, "port" | "pid"> & Readiness

export interface Ours extends Wanted {
  readonly node?: ReadonlyArray<string>
  readonly variables?: Readonly<Record<string, string>>
  /** What the database holds before the first tenant of the run. */
  readonly prepared?: (database: Bench) => Promise<void>
}

/**
 * The gateway as `serve` runs it, with production's settings but for limits that do not refuse. `another` stands on the same database, also
 * after `stopFirst`.
 */
export const openOurs = async (
  cluster: Cluster,
  stand: Pick<Stand, "providerUrl">,
  { node = [], prepared, variables = {}, ...wanted }: Ours
) => {
  const database = await cluster.fresh("ours")
  await prepared?.(database)
  const masterKey = randomBytes(32).toString("base64")
  const keys = await openTenants(database.url, masterKey, wanted)
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-bench-"))
  const started: Array<Child> = []
  const logOf = (gateway: number) => join(folder, `gateway-${gateway}.log`)
  const start = async (own: Ours["variables"] = {}): Promise<Started> => {
    const [port = 0, managementPort = 0] = await freePorts(2)
    const log = logOf(started.length)
    const environment = { ...settings(stand, database.url, masterKey), DATA_DIR: folder, ...variables, ...own }
    const child = await gateway(
      ["serve"],
      { ...environment, PORT: String(port), MANAGEMENT_PORT: String(managementPort) },
      { log, managementPort, node }
    )
    started.push(child)
    const { pid, readyCpuSeconds, readyMs } = child
    return { port, pid, readyCpuSeconds, readyMs }
  }
  const first = await start()
  const side: Side = {
    ...first,
    keys,
    database,
    stop: async () => {
      await Promise.all(started.map((child) => child.stop()))
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
  /** Where and how the provider calls back. */
  const callbacks = async () => ({ path: await callbackPathOf(database.url, masterKey), secret: account.webhookSecret })
  const stopFirst = async () => started[0]?.stop()
  return { ...side, another: start, stopFirst, callbacks, log: logOf(0) }
}

// The questions of the reconciler come after the run: a provider that answers at once has said it all, and the bare service never asks.
const settings = (
  { providerUrl }: Pick<Stand, "providerUrl">,
  url: string,
  masterKey: string
): Readonly<Record<string, string>> => ({
  DATABASE_URL: url,
  MASTER_KEY: masterKey,
  ALLOW_SIMULATOR: "true",
  EVERSEND_BASE_URL: providerUrl,
  EVERSEND_LIVE_CLIENT_ID: account.clientId,
  EVERSEND_LIVE_CLIENT_SECRET: account.clientSecret,
  EVERSEND_LIVE_WEBHOOK_SECRET: account.webhookSecret,
  RATE_LIMIT_READS: "100000/s:200000",
  RATE_LIMIT_MONEY: "100000/s:200000",
  RECONCILER_SCHEDULE: "1h",
  WEBHOOK_ALLOW_LOOPBACK: "true",
  LOG_FORMAT: "json"
})

/** The bare service with the same tenants and keys. */
export const openTheirs = async (cluster: Cluster, stand: Stand, keys: ReadonlyArray<Key>): Promise<Side> => {
  const database = await cluster.empty("bare")
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-bench-"))
  const variables = { DATABASE_URL: database.url, PROVIDER_URL: stand.providerUrl, TENANTS: JSON.stringify(keys) }
  const { child, first } = await program("../bare/Service.ts", variables, { log: join(folder, "bare.log") })
  return {
    port: portOf(first),
    pid: child.pid,
    keys,
    database,
    stop: async () => {
      await child.stop()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/** Any answer that is not a success ends the part, with its text. */
export const faultless = (outcome: Outcome): Outcome => {
  const faults = Object.entries(outcome.errors)
  if (faults.length > 0)
    throw new Error(`not every answer was a success: ${faults.map(([what, times]) => `${times} x ${what}`).join("; ")}`)
  return outcome
}
