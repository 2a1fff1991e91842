import { Context, Effect, Layer } from "effect"
import * as App from "./App.ts"
import { Management, ManagementAddress } from "./observability/Management.ts"
import { telemetryWhereSet } from "./observability/TelemetryWhereSet.ts"
import { type Fleet, startFleet } from "./processes/Fleet.ts"
import { fleetStanding } from "./processes/FleetStanding.ts"
import { isWorkerProcess, joinFleet } from "./processes/WorkerProcess.ts"
import { processName, settingsOf, slotOf, tooSmall, type WorkerSlot } from "./processes/WorkerSlot.ts"
import type { Build } from "./services/Health.ts"

/** The place among a machine's workers that this process was given, where another has started it; else null. */
export const workerSlot = Effect.map(App.Environment, (variables) => (isWorkerProcess ? slotOf(variables) : null))

export type { WorkerSlot }
export { processName }

/** Settings that cannot be divided among so many workers. */
export const tooFewFor = (settings: App.Settings, workers: number): ReadonlyArray<string> =>
  tooSmall(settings, workers).map(([name, bound]) => `--workers ${workers} needs ${name} to be at least ${workers}, not ${bound}`)

/** One worker's part of a gateway of several processes. */
export const workerGateway = Effect.fnUntraced(function* (slot: WorkerSlot) {
  const { giveUp, tellServed, ...parts } = yield* joinFleet(slot)
  return {
    giveUp,
    tellServed,
    gateway: (settings: App.ReadySettings, build: Build) =>
      App.gateway(settingsOf(settings, slot), build, { ...parts, process: processName(slot) })
  }
})

/** The workers of a machine, and the listener that says for all of them how they stand. */
export const primary = Effect.fnUntraced(function* (settings: App.ReadySettings, build: Build, workers: number) {
  let fleet: Fleet | null = null
  const standing = yield* fleetStanding(() => fleet, build)
  const place = { host: settings.managementHost, port: settings.managementPort, keepAliveMs: settings.keepAliveMs }
  const own = Layer.merge(
    Management.listen(place, standing),
    telemetryWhereSet(settings, build.version, (to, options) => to.layer(options))
  )
  const management = Context.get(yield* Layer.build(own), ManagementAddress)
  fleet = yield* startFleet(workers, settings.policy.circuit)
  return { management, ...fleet }
})
