import { readFileSync } from "node:fs"
import { type Exposition, type Sample, samplesOf } from "./Exposition.ts"

export interface AlertRule {
  readonly alert: string
  readonly expr: string
  /** For how long the expression has to hold before the alert fires. */
  readonly forSeconds: number
  readonly runbook: string
}

/** Two scrapes of one target, and when the later one was. */
export interface Scrapes {
  readonly before: Exposition
  readonly after: Exposition
  readonly atSeconds: number
}

type Series = Pick<Sample, "labels" | "value">

/** The rules of a Prometheus rules file that keeps to one line a member. */
export const readRules = (file: string): ReadonlyArray<AlertRule> =>
  readFileSync(file, "utf8")
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((block) => ({
      alert: block.split("\n", 1)[0] ?? "",
      expr: member(block, "expr"),
      forSeconds: secondsOf(member(block, "for")),
      runbook: member(block, "runbook")
    }))

const member = (block: string, name: string): string => new RegExp(`^ +${name}: (.+)$`, "m").exec(block)?.[1] ?? ""

const secondsOf = (duration: string): number => {
  if (duration === "") return 0
  const [, count = "", unit = ""] = /^(\d+)([sm])$/.exec(duration) ?? []
  if (count === "") throw new Error(`not understood: for ${duration}`)
  return Number(count) * (unit === "m" ? 60 : 1)
}

/** How many evaluations in a row have to find the expression true, at the interval of deploy/prometheus/prometheus.yml. */
export const evaluations = ({ forSeconds }: AlertRule, everySeconds: number): number => Math.ceil(forSeconds / everySeconds) + 1

export const metricsIn = (text: string): ReadonlyArray<string> => [
  ...new Set(text.match(/\b(gateway_[a-z0-9_]+|up)(?=[{[)\s,]|$)/g) ?? [])
]

/** The series for which a rule holds. What the rules do not use of the language is refused, so that none is misread. */
export const firing = ({ expr }: AlertRule, scrapes: Scrapes): ReadonlyArray<Series> => {
  const [, left = "", comparison = "", bound = ""] = /^(.+) ([<>]) (\d+(?:\.\d+)?)$/.exec(expr) ?? []
  if (left === "") throw new Error(`not understood: ${expr}`)
  return valuesOf(left, scrapes).filter(({ value }) => (comparison === ">" ? value > Number(bound) : value < Number(bound)))
}

const valuesOf = (expr: string, scrapes: Scrapes): ReadonlyArray<Series> => {
  const age = /^time\(\) - (.+)$/.exec(expr)
  if (age !== null) return valuesOf(age[1] ?? "", scrapes).map((one) => ({ ...one, value: scrapes.atSeconds - one.value }))
  const aggregated = /^(sum|max)(?: by \(([a-z, ]+)\) )?\((.+)\)$/.exec(expr)
  if (aggregated !== null) {
    const [, how = "", by = "", inside = ""] = aggregated
    return grouped(valuesOf(inside, scrapes), by === "" ? [] : by.split(", "), how === "sum")
  }
  // Two scrapes are all that is looked at.
  const highest = /^max_over_time\((.+)\[5m\]\)$/.exec(expr)
  if (highest !== null) return selected(highest[1] ?? "", scrapes.after)
  const increased = /^increase\((.+)\[5m\]\)$/.exec(expr)
  if (increased !== null) return grown(selected(increased[1] ?? "", scrapes.before), selected(increased[1] ?? "", scrapes.after))
  return selected(expr, scrapes.after)
}

const selected = (selector: string, page: Exposition): ReadonlyArray<Series> => {
  const [, name = "", labels = ""] = /^([a-z_]+)(?:\{([a-z_]+="[^"]*")\})?$/.exec(selector) ?? []
  if (name === "") throw new Error(`not understood: ${selector}`)
  const [label = "", wanted = ""] = labels === "" ? [] : labels.replaceAll('"', "").split("=")
  return samplesOf(page, name).filter((sample) => label === "" || sample.labels[label] === wanted)
}

const grouped = (series: ReadonlyArray<Series>, by: ReadonlyArray<string>, isSum: boolean): ReadonlyArray<Series> => {
  const groups = new Map<string, Series>()
  for (const { labels, value } of series) {
    const kept = Object.fromEntries(by.map((label) => [label, labels[label] ?? ""]))
    const name = JSON.stringify(kept)
    const before = groups.get(name)?.value
    groups.set(name, { labels: kept, value: before === undefined ? value : isSum ? before + value : Math.max(before, value) })
  }
  return [...groups.values()]
}

/** As between two scrapes five minutes apart; a counter that was not there before does not count, as in Prometheus. */
const grown = (before: ReadonlyArray<Series>, after: ReadonlyArray<Series>): ReadonlyArray<Series> =>
  after.flatMap(({ labels, value }) => {
    const earlier = before.find((one) => JSON.stringify(one.labels) === JSON.stringify(labels))
    return earlier === undefined ? [] : [{ labels, value: value - earlier.value }]
  })
