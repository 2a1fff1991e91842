import { existsSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { CONNECTIONS, perSecond, pushed } from "../http/Rig.ts"
import { openOurs, openStand, type Side, type Stand } from "../http/Sides.ts"
import { cpuSeconds } from "../Processes.ts"
import { type Effort, inTurn, type Measured, median, type Part, percentile } from "../Report.ts"
import { type Servers, withServers } from "./Servers.ts"

// What a cluster costs where it brings nothing: a coordinator and two workers share the cores of the one server beside them. Each has a
// gateway of its own; the tenants, the provider and the load are the same.

const TENANTS = 64
/** Batches are of one tenant on a cluster: with few tenants they are larger. */
const FEW_TENANTS = 4
const WARM_UP = { what: "payout", count: 1000, seconds: 30, ahead: 1000 } as const
const HALF = 0.5
/** Fewer than a gateway has places for: nobody is shed when it stands still for a moment. */
const AT_ONCE = 128
/** No fewer seconds a round than this: a cluster's rounds differ more. */
const LEAST_SECONDS = 4
const IDLE_MS = 5_000

type Name = "ours" | "theirs"

export const part: Part = {
  name: "citus",
  against: "one server of the same PostgreSQL without Citus, on the same machine",
  target: 0.2,
  run: async (_cluster, effort) => {
    const missing = missingCitus(process.env["PG_BIN"])
    if (missing !== null)
      return { ours: Number.NaN, theirs: undefined, unit: "payouts/s", ratio: undefined, note: missing, details: {} }
    return withServers((citus, alone) => measured(citus, alone, effort))
  }
}

/** Why it cannot be measured here, or null. */
const missingCitus = (folder: string | undefined): string | null => {
  if (folder === undefined) return "not measured: PG_BIN names no folder of PostgreSQL's programs with the extension citus"
  const places = ["lib", "lib/postgresql"].map((place) => join(folder, "..", place, "citus.so"))
  return places.some((place) => existsSync(place)) ? null : `not measured: there is no citus.so beside ${folder}`
}

const measured = async (citus: Servers, alone: Servers, effort: Effort): Promise<Measured> => {
  const stand = await openStand()
  const closing = [stand.close]
  try {
    const ours = await openOurs(citus, stand, { tenants: TENANTS })
    closing.unshift(ours.stop)
    const theirs = await openOurs(alone, stand, { tenants: TENANTS })
    closing.unshift(theirs.stop)
    const sides = { ours: { ...ours, servers: citus }, theirs: { ...theirs, servers: alone } }
    for (const side of [ours, theirs]) await pushed({ stand }, side, WARM_UP)
    const idle = { ours: await idleCores(citus), theirs: await idleCores(alone) }
    const most = await asFastAsTheyAnswer(stand, sides, effort, TENANTS)
    const few = await asFastAsTheyAnswer(stand, sides, effort, FEW_TENANTS)
    const rate = Math.floor(HALF * Math.min(most.ours, most.theirs))
    const times = await atRate(stand, sides, effort, rate)
    const { ours: own, ratio, theirs: other } = most
    return {
      ours: own,
      theirs: other,
      ratio,
      unit: "payouts/s",
      note: `at ${rate}/s: p50 ${times.ours.p50} ms and ${times.theirs.p50}, p99 ${times.ours.p99} and ${times.theirs.p99}`,
      details: { [`${TENANTS} tenants`]: most, servers_idle_cores: idle, [`${FEW_TENANTS} tenants`]: few, rate, times }
    }
  } finally {
    for (const close of closing) await close()
  }
}

type Sides = Readonly<Record<Name, Side & { readonly servers: Servers }>>

/** Payouts a second over 64 connections, and the processor time of each in the gateway and in all servers of its side. */
const asFastAsTheyAnswer = async (stand: Stand, sides: Sides, effort: Effort, tenants: number) => {
  const costs: Record<Name, Array<readonly [gateway: number, servers: number]>> = { ours: [], theirs: [] }
  const round = (name: Name) => async () => {
    const { keys, pid, port, servers } = sides[name]
    const used = () => [cpuSeconds(pid), servers.cpuSeconds()] as const
    const before = used()
    const task = { what: "payout", seconds: secondsOf(effort), connections: CONNECTIONS } as const
    const outcome = await pushed({ stand }, { port, keys: keys.slice(0, tenants) }, task)
    const after = used()
    costs[name].push([(1000 * (after[0] - before[0])) / outcome.answered, (1000 * (after[1] - before[1])) / outcome.answered])
    return perSecond(outcome)
  }
  const { rounds, ...figures } = await inTurn(effort, round("ours"), round("theirs"))
  const costOf = (name: Name) => ({
    gateway_cpu_ms: rounded(median(costs[name].map(([gateway]) => gateway))),
    servers_cpu_ms: rounded(median(costs[name].map(([, servers]) => servers)))
  })
  return {
    ours: figures.ours,
    theirs: figures.theirs ?? Number.NaN,
    ratio: figures.ratio,
    rounds,
    cost: { ours: costOf("ours"), theirs: costOf("theirs") }
  }
}

/** What the servers compute while nobody asks for anything: claims and sweeps, and what a cluster does by itself. */
const idleCores = async ({ cpuSeconds }: Servers): Promise<number> => {
  const before = cpuSeconds()
  await pause(IDLE_MS)
  return rounded((1000 * (cpuSeconds() - before)) / IDLE_MS)
}

/** The time of a payout, both at one rate. The first round warms up: batches are smaller than at the most. */
const atRate = async (stand: Stand, sides: Sides, effort: Effort, rate: number) => {
  const seen: Record<Name, Array<ReadonlyArray<number>>> = { ours: [], theirs: [] }
  for (let round = 0; round <= effort.rounds; round++)
    for (const name of round % 2 === 0 ? (["ours", "theirs"] as const) : (["theirs", "ours"] as const)) {
      const { latencies } = await pushed({ stand }, sides[name], {
        what: "payout",
        seconds: secondsOf(effort),
        rate,
        connections: AT_ONCE
      })
      if (round > 0) seen[name].push(latencies)
    }
  const at = (name: Name, share: number) => rounded(median(seen[name].map((latencies) => percentile(latencies, share))))
  const of = (name: Name) => ({ p50: at(name, 0.5), p99: at(name, 0.99) })
  return { ours: of("ours"), theirs: of("theirs") }
}

const secondsOf = ({ quick, secondsARound }: Effort): number => (quick ? secondsARound : Math.max(LEAST_SECONDS, secondsARound))

const rounded = (value: number): number => Number(value.toPrecision(3))
