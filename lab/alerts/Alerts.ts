import { join } from "node:path"
import { parseArgs } from "node:util"
import { readRules } from "../../test/support/AlertRules.ts"
import { tellCallbacks } from "../chaos/Callbacks.ts"
import { singleServer } from "../chaos/SingleServer.ts"
import { openStage } from "../chaos/Stage.ts"
import { runRecorder } from "../runs/Runs.ts"
import { bookFaults, unchecked } from "./BookFaults.ts"
import {
  archiveFailing,
  clockInDoubt,
  commitsNotDurable,
  connectionsLow,
  DISK,
  databaseDown,
  diskFilling,
  gatewayDown,
  inFlight,
  partitionsMissing,
  standbyFaults
} from "./DatabaseFaults.ts"
import { type Drilled, drill, type Fault } from "./Fault.ts"
import { type NodeParts, nodeFaults, openNodeParts } from "./NodeFaults.ts"
import {
  accountUnset,
  callbacksLate,
  callbacksParked,
  outcomeUnknown,
  pollsLate,
  providerFaults,
  refusedPayouts
} from "./ProviderFaults.ts"
import { eventually, openScene, type Scene } from "./Scene.ts"
import { FACTOR } from "./Shortened.ts"
import { openSink, type Sink } from "./Sink.ts"
import { openStandby, type Standby } from "./Standby.ts"
import { tenantFaults, webhooksLate, webhooksParked } from "./TenantFaults.ts"
import { installed, openWatch, type Watch } from "./Watch.ts"

// Every alert once: a fault in a real installation, seen by a real Prometheus with the shipped rules, told by a real Alertmanager to a sink,
// and told to be over when it is mended. Prints a line for each; exits 1 where one did not fire, did not end, or came without its runbook.

const usage = "npm run alerts -- [--only ALERT,…] [--json] [--record]"
/**
 * So that counters and gauges have a past before the first fault, as an installation's have: Prometheus finds its targets only seconds after it is ready,
 * and what a counter had at its first scrape is no increase.
 */
const FIRST_SCRAPES = 2
/** A message may come so long after the fault that it is about. */
const AFTERWARDS_MS = 30_000

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", default: "" },
        json: { type: "boolean", default: false },
        record: { type: "boolean", default: false }
      }
    })
    return { only: values.only.split(",").filter((name) => name !== ""), json: values.json, record: values.record }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()
const putOnRecord = runRecorder("alerts", options.record)

const main = async () => {
  const programs = installed()
  if ("missing" in programs) {
    console.log(`skipped: ${programs.missing.join(" and ")} is not installed on this machine`)
    return
  }
  const sink = await openSink()
  const parts = await openNodeParts(programs.redis)
  const variables = {
    ...parts.variables,
    CIRCUIT_FAILURES: "5",
    WEBHOOK_SCHEDULE: "0s,1s",
    SIMULATOR_DELAY_MS: "400",
    DATABASE_DISK: DISK,
    EVERSEND_LIVE_PACE: "off"
  }
  const stage = await openStage(variables, singleServer, parts.own)
  stage.atEnd(parts.redis.stop)
  try {
    await tellCallbacks(stage)
    const scene = openScene(stage)
    const standby = await openStandby(stage, scene.sql)
    stage.atEnd(standby.close)
    await standby.start()
    const targets = stage.managements.map(({ host }) => host)
    const watch = await openWatch({ programs, folder: stage.dataDir, targets, receiver: sink.url })
    stage.atEnd(watch.close)
    await eventually(
      () => watch.value(`count(count_over_time(up[1h]) >= ${FIRST_SCRAPES})`),
      (seen) => seen === targets.length
    )
    const played = await play(scene, { standby, parts }, { sink, watch })
    const ledger = await scene.command("ledger", "verify")
    if (ledger.code !== 0) console.error(JSON.stringify(ledger.json))
    report(played, ledger.code === 0)
  } finally {
    await stage.close()
    await sink.close()
  }
}

interface Played {
  readonly drilled: ReadonlyArray<Drilled>
  /** Alerts that fired while no fault that raises them was there. */
  readonly uncalled: ReadonlyArray<string>
}

/** What the faults are made with, beside the scene. */
interface Props {
  readonly standby: Standby
  readonly parts: NodeParts
}

interface Seen {
  readonly sink: Sink
  readonly watch: Watch
}

/** One fault after another, but for those that take minutes: others are played beside them. */
const play = async (scene: Scene, { parts, standby }: Props, { sink, watch }: Seen): Promise<Played> => {
  const drilled: Array<Drilled> = []
  const spans: Array<{ readonly names: ReadonlyArray<string>; readonly from: number; to: number }> = []
  const now = async (...faults: ReadonlyArray<Fault>) => {
    for (const fault of faults) {
      if (options.only.length > 0 && !fault.alerts.some((alert) => options.only.includes(alert))) continue
      const names = [...fault.alerts, ...(fault.beside ?? [])]
      const from = fault.isThereFromStart === true ? 0 : performance.now()
      const span = { names, from, to: Number.POSITIVE_INFINITY }
      spans.push(span)
      const all = await drill(sink, fault)
      span.to = performance.now() + AFTERWARDS_MS
      drilled.push(...all)
      for (const one of all) console.error(lineOf(one))
    }
  }
  await now(unchecked(scene), partitionsMissing(scene), clockInDoubt(scene))
  const tenMinutes = Promise.all([now(outcomeUnknown(scene)), now(accountUnset(scene))])
  const minutes = [now(webhooksLate(scene)), now(refusedPayouts(scene))]
  await now(...bookFaults(scene), pollsLate(scene))
  minutes.push(now(callbacksLate(scene)))
  await now(...providerFaults(scene), ...tenantFaults(scene), connectionsLow(scene))
  await Promise.all(minutes)
  await now(webhooksParked(scene), callbacksParked(scene), diskFilling(scene))
  await now(...nodeFaults(scene, parts))
  await now(...standbyFaults(scene, standby, watch), gatewayDown(scene))
  await tenMinutes
  await now(archiveFailing(scene), commitsNotDurable(scene), databaseDown(scene))
  const isCalled = ({ alert, atMs }: Sink["told"][number]) =>
    spans.some(({ from, names, to }) => names.includes(alert) && from <= atMs && atMs <= to)
  const uncalled = sink.told.filter((one) => one.status === "firing" && !isCalled(one)).map(({ alert }) => alert)
  return { drilled, uncalled: [...new Set(uncalled)].filter((alert) => options.only.length === 0 || !fromStart.includes(alert)) }
}

/** They fire in a new installation until somebody makes the checks. */
const fromStart = ["LedgerUnverified", "ReconcileOverdue"]

const lineOf = ({ alert, firedAfter, how, problems, resolvedAfter }: Drilled): string => {
  const seconds = (value: number | null) => (value === null ? "never" : `${value.toFixed(1)} s`)
  const times = `fired after ${seconds(firedAfter).padStart(7)}  ended after ${seconds(resolvedAfter).padStart(7)}`
  return [alert.padEnd(24), times, how.padEnd(8), ...problems].join("  ")
}

/** Whatever was provoked, the books have to be right in the end. */
const report = ({ drilled, uncalled }: Played, isLedgerOk: boolean) => {
  const wanted = readRules(join(import.meta.dirname, "../../deploy/prometheus/alerts.yml")).map(({ alert }) => alert)
  const left = options.only.length > 0 ? [] : wanted.filter((alert) => !drilled.some((one) => one.alert === alert))
  const good = drilled.filter(
    ({ firedAfter, problems, resolvedAfter }) => firedAfter !== null && resolvedAfter !== null && problems.length === 0
  )
  const figures = {
    alerts: wanted.length,
    fired_and_ended: good.length,
    not_played: left,
    fired_without_a_fault: uncalled,
    ledger_ok: isLedgerOk,
    durations_divided_by: FACTOR,
    requests_in_flight_when_the_standby_died: inFlight
  }
  if (options.json) console.log(JSON.stringify({ ...figures, drilled }))
  else {
    for (const one of drilled) console.log(lineOf(one))
    for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(40)} ${JSON.stringify(value)}`)
  }
  const tenth = (value: number | null) => (value === null ? "never" : Number(value.toFixed(1)))
  const seconds = Object.fromEntries(drilled.map((one) => [one.alert, [tenth(one.firedAfter), tenth(one.resolvedAfter)]]))
  const isRight = good.length === drilled.length && left.length === 0 && isLedgerOk
  putOnRecord(isRight, { ...figures, seconds_until_fired_and_ended: seconds })
  process.exitCode = isRight ? 0 : 1
}

await main()
