import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Sink, Told } from "./Sink.ts"
import { runbooks } from "./Watch.ts"

/** Something that goes wrong, and is mended. */
export interface Fault {
  /** What goes wrong, until what mends it. */
  readonly about: string
  /** All of these have to fire, and to end. */
  readonly alerts: readonly [string, ...ReadonlyArray<string>]
  /** `real`: as it happens. `set back`: it happens, and rows are made older than they are, so that nobody waits a day. */
  readonly how: "real" | "set back"
  readonly begin: () => Promise<void>
  readonly mend: () => Promise<void>
  /** When its alerts have ended: puts back what was set back. */
  readonly after?: () => Promise<void>
  /** A new installation has it: its alerts may have fired before it is played. */
  readonly isThereFromStart?: true
  /** Alerts that it raises beside, or may raise. */
  readonly beside?: ReadonlyArray<string>
  /** How long the alerts may take to fire. */
  readonly withinSeconds?: number
  /** How long they may take to end. */
  readonly endsWithinSeconds?: number
}

/** What came of one alert; null where it did not come in time. */
export interface Drilled {
  readonly alert: string
  readonly about: string
  readonly how: Fault["how"]
  readonly firedAfter: number | null
  readonly resolvedAfter: number | null
  readonly problems: ReadonlyArray<string>
}

const FIRES_WITHIN_SECONDS = 120
const ENDS_WITHIN_SECONDS = 180
const PAGES = resolve(import.meta.dirname, "../../docs/runbooks")

/** Begins a fault, waits until the sink was told of its alerts, mends it, and waits until the sink was told that they ended. */
export const drill = async (sink: Sink, fault: Fault): Promise<ReadonlyArray<Drilled>> => {
  const {
    about,
    after,
    alerts,
    begin,
    how,
    mend,
    endsWithinSeconds = ENDS_WITHIN_SECONDS,
    withinSeconds = FIRES_WITHIN_SECONDS
  } = fault
  const early = fault.isThereFromStart === true ? [] : alerts.filter(sink.isFiring)
  const failures: Array<string> = []
  const attempt = async (what: string, work: () => Promise<void>) => {
    await work().catch((error: unknown) => void failures.push(`${what}: ${error instanceof Error ? error.message : error}`))
    return performance.now()
  }
  const begun = performance.now()
  await attempt("it did not begin", begin)
  const patienceMs = failures.length === 0 ? withinSeconds * 1000 : 0
  const fired = await Promise.all(alerts.map((alert) => sink.until(alert, "firing", patienceMs)))
  const mending = performance.now()
  await attempt("it was not mended", mend)
  const ended = await Promise.all(alerts.map((alert) => sink.until(alert, "resolved", endsWithinSeconds * 1000)))
  if (after !== undefined) await attempt("it was not put back", after)
  return alerts.map((alert, at) => ({
    alert,
    about,
    how,
    firedAfter: secondsSince(begun, fired[at]),
    resolvedAfter: fired[at] === undefined ? null : secondsSince(mending, ended[at]),
    problems: [...(early.includes(alert) ? ["it fired before the fault"] : []), ...faultsOf(fired[at]), ...failures]
  }))
}

const secondsSince = (from: number, told: Told | undefined): number | null =>
  told === undefined ? null : Math.max(0, Math.round((told.atMs - from) / 100) / 10)

/** What is wrong with a message: everybody who is woken needs the page, and nobody is woken for a ticket. */
const faultsOf = (told: Told | undefined): ReadonlyArray<string> => {
  if (told === undefined) return []
  const { annotations, labels, receiver } = told
  const [base = "", page = ""] = (annotations["runbook_url"] ?? "").split(/\/(?=[^/]*$)/)
  return [
    ...(base === runbooks() && page !== "" && existsSync(join(PAGES, page)) ? [] : [`its runbook is ${base}/${page}`]),
    ...(receiver === `${labels["severity"]}s` ? [] : [`a ${labels["severity"]} went to ${receiver}`]),
    ...(/^$|\{\{|<no value>|error expanding/.test(annotations["summary"] ?? "")
      ? [`its summary is ${annotations["summary"]}`]
      : []),
    ...("runbooks" in labels ? ["it has the label runbooks"] : [])
  ]
}
