import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { Context, Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { eversendSimulator } from "../../src/simulator/eversend/Simulator.ts"
import { type SimulatorServer, simulatorServer } from "../../src/simulator/SimulatorServer.ts"
import type { Bench, Cluster } from "../Cluster.ts"
import { Connection } from "../http/Connection.ts"
import { type Key, payoutRequest } from "../http/Requests.ts"
import { account, openOurs } from "../http/Sides.ts"
import type { Effort, Measured, Part } from "../Report.ts"

// Open payouts that nobody calls back about, at a provider that allows ten calls a second: how long until the gateway knows the outcome of
// each, and how many calls the provider turned away.

const PAYOUTS = 2_000
const PAYOUTS_IN_A_QUICK_LOOK = 100
const CALLS_PER_SECOND = 10
/** One call after the other, and a tenth less than is allowed: some are on the way for longer than others. */
const PACE = "9/s:1"
const LIMIT_SECONDS = 240
const TENANTS = 8
const CONNECTIONS = 8
const LOOK_EVERY_MS = 250
/** The simulator settles a payout after this. */
const DELAY_MS = 50
/** The last four digits choose an ending: these choose none. */
const FIRST_NUMBER = 256_771_000_100

class Simulator extends Context.Service<Simulator, SimulatorServer>()("bench/Simulator") {}

const openSimulator = async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "payment-gateway-bench-"))
  const providers = [
    eversendSimulator([
      {
        clientId: account.clientId,
        clientSecret: Redacted.make(account.clientSecret),
        webhookSecret: Redacted.make(account.webhookSecret)
      }
    ])
  ]
  const options = { host: "127.0.0.1", controlPort: 0, dataDir, delayMs: DELAY_MS, providers }
  const runtime = ManagedRuntime.make(Layer.effect(Simulator, simulatorServer(options)))
  const { baseUrls, controlUrl } = await runtime.runPromise(Effect.flatMap(Simulator, Effect.succeed))
  const rate = `${controlUrl}/__simulator/rate`
  return {
    providerUrl: baseUrls["eversend"] ?? "",
    allow: (calls_per_second: number) =>
      fetch(rate, { method: "POST", body: JSON.stringify({ provider: "eversend", calls_per_second }) }),
    turnedAway: async (): Promise<number> => {
      const said: unknown = await (await fetch(rate)).json()
      return Number(/"turned_away":(\d+)/.exec(JSON.stringify(said))?.[1] ?? Number.NaN)
    },
    close: async () => {
      await runtime.dispose()
      rmSync(dataDir, { recursive: true, force: true })
    }
  }
}

/** Payouts that the provider took. */
const openPayouts = async (count: number, keys: ReadonlyArray<Key>, port: number): Promise<void> => {
  let begun = 0
  const loop = async () => {
    const connection = await Connection.open(port)
    while (begun < count) {
      const turn = begun++
      const key = keys[turn % keys.length]
      if (key === undefined) throw new Error("a key is needed")
      const { body, status } = await connection.send(payoutRequest(key, port, String(FIRST_NUMBER + turn)))
      if (status >= 300) throw new Error(`not every answer was a success: ${status} ${body.toString("utf8")}`)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
}

const openIn = async (database: Bench): Promise<number> =>
  Number((await database.query("SELECT count(*) AS open FROM open_work WHERE is_open"))[0]?.["open"])

const run = async (cluster: Cluster, { quick }: Effort): Promise<Measured> => {
  const payouts = quick ? PAYOUTS_IN_A_QUICK_LOOK : PAYOUTS
  const simulator = await openSimulator()
  const ours = await openOurs(cluster, simulator, { tenants: TENANTS })
  try {
    await openPayouts(payouts, ours.keys, ours.port)
    // What asks is another process than what sent: only the second one has a pace.
    await ours.stopFirst()
    await ours.database.query("UPDATE open_work SET next_poll_at = now() WHERE is_open")
    const open = await openIn(ours.database)
    await simulator.allow(CALLS_PER_SECOND)
    await ours.another({ EVERSEND_LIVE_PACE: PACE })
    const startedAt = performance.now()
    const seconds = () => Math.round((performance.now() - startedAt) / 100) / 10
    while ((await openIn(ours.database)) > 0 && seconds() < 2 * LIMIT_SECONDS) await pause(LOOK_EVERY_MS)
    const taken = seconds()
    const [left, turnedAway] = [await openIn(ours.database), await simulator.turnedAway()]
    return {
      ours: taken,
      theirs: LIMIT_SECONDS,
      unit: "s",
      ratio: taken / LIMIT_SECONDS,
      ...(open === payouts && left === 0 && turnedAway === 0 ? {} : { reached: false }),
      note: `${open} open payouts at ${PACE}; ${left} left open, ${turnedAway} calls turned away`,
      details: { payouts, open, left, turned_away: turnedAway, calls_per_second: CALLS_PER_SECOND, pace: PACE }
    }
  } finally {
    await ours.stop()
    await simulator.close()
  }
}

export const part: Part = {
  name: "pace",
  against: `${LIMIT_SECONDS} s at a provider that allows ${CALLS_PER_SECOND} calls a second`,
  target: 1,
  atMost: true,
  run
}
