import { readFileSync } from "node:fs"
import { type Exposition, type Sample, samplesOf } from "./Exposition.ts"

export interface AlertRule {
  readonly alert: string
  readonly expr: string
  /** For how long the expression has to hold before the alert fires. */
  readonly forSeconds: number
  /** The page in docs/runbooks. */
  readonly runbook: string
}

/** Two scrapes of one target, and when the later one was. */
export interface Scrapes {
  readonly before: Exposition
  readonly after: Exposition
  readonly atSeconds: number
}

type Series = Pick<Sample, "labels" | "value">
type Value = number | ReadonlyArray<Series>

/** The rules of a Prometheus rules file that keeps to one line a member. */
export const readRules = (file: string): ReadonlyArray<AlertRule> => {
  const text = readFileSync(file, "utf8")
  const recorded = blocksOf(text, "record").map((block) => [nameIn(block), `(${member(block, "expr")})`] as const)
  return blocksOf(text, "alert").map((block) => ({
    alert: nameIn(block),
    // What a recording rule names stands for its expression.
    expr: recorded.reduce((expr, [name, whole]) => expr.replaceAll(name, () => whole), member(block, "expr")),
    forSeconds: secondsOf(member(block, "for")),
    runbook: `docs/runbooks/${/\/([a-z-]+\.md)"$/.exec(member(block, "runbook_url"))?.[1] ?? ""}`
  }))
}

const blocksOf = (text: string, kind: "alert" | "record"): ReadonlyArray<string> =>
  text.split(new RegExp(`^ {6}- ${kind}: `, "m")).slice(1)

const nameIn = (block: string): string => block.split("\n", 1)[0] ?? ""

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

/**
 * The series for which a rule holds. What the rules do not use of the language is refused, so that none is misread. Windows are the time
 * between the two scrapes, whatever the rule says; `promtool test rules` evaluates them in full.
 */
export const firing = ({ expr }: AlertRule, scrapes: Scrapes): ReadonlyArray<Series> => {
  const tokens = expr.match(TOKEN) ?? []
  if (tokens.join("") !== expr.replaceAll(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, "")) throw new Error(`not understood: ${expr}`)
  const reader = new Reader(tokens, scrapes)
  return seriesOf(reader.whole())
}

const TOKEN = /[a-z_][a-z0-9_]*|"[^"]*"|\d+(?:\.\d+)?[a-z]*|!~|=~|!=|>=|<=|[-+*/(){}[\],=<>]/gi

const seriesOf = (value: Value): ReadonlyArray<Series> => {
  if (typeof value === "number") throw new Error("a number where series are meant")
  return value
}

const comparisons: Readonly<Record<string, (one: number, other: number) => boolean>> = {
  ">": (one, other) => one > other,
  "<": (one, other) => one < other,
  ">=": (one, other) => one >= other,
  "<=": (one, other) => one <= other
}
const calculations: Readonly<Record<string, (one: number, other: number) => number>> = {
  "+": (one, other) => one + other,
  "-": (one, other) => one - other,
  "*": (one, other) => one * other,
  "/": (one, other) => one / other
}

/** Reads an expression from left to right, weakest operators first, and computes it on the way. */
class Reader {
  readonly #tokens: ReadonlyArray<string>
  readonly #scrapes: Scrapes
  #at = 0

  constructor(tokens: ReadonlyArray<string>, scrapes: Scrapes) {
    this.#tokens = tokens
    this.#scrapes = scrapes
  }

  whole(): Value {
    const value = this.#union()
    if (this.#at < this.#tokens.length) throw new Error(`not understood: ${this.#tokens.slice(this.#at).join(" ")}`)
    return value
  }

  #union(): Value {
    let left = this.#intersection()
    while (this.#takes("or")) {
      const [one, other] = [seriesOf(left), seriesOf(this.#intersection())]
      left = [...one, ...other.filter((series) => matching(one, series) === undefined)]
    }
    return left
  }

  #intersection(): Value {
    let left = this.#comparison()
    for (;;) {
      const word = this.#takes("and") ? "and" : this.#takes("unless") ? "unless" : ""
      if (word === "") return left
      const on = this.#takes("on") ? this.#labels() : undefined
      const [one, other] = [seriesOf(left), seriesOf(this.#comparison())]
      left = one.filter((series) => (matching(other, series, on) !== undefined) === (word === "and"))
    }
  }

  #comparison(): Value {
    const left = this.#sum()
    const holds = comparisons[this.#peek()]
    if (holds === undefined) return left
    this.#at++
    const right = this.#sum()
    return seriesOf(left).filter((series) => {
      const bound = typeof right === "number" ? right : matching(right, series)?.value
      return bound !== undefined && holds(series.value, bound)
    })
  }

  #sum(): Value {
    return this.#calculation(["+", "-"], () => this.#calculation(["*", "/"], () => this.#operand()))
  }

  #calculation(operators: ReadonlyArray<string>, operand: () => Value): Value {
    let left = operand()
    while (operators.includes(this.#peek())) {
      const compute = calculations[this.#next()] ?? (() => Number.NaN)
      left = combined(left, operand(), compute)
    }
    return left
  }

  #operand(): Value {
    const token = this.#next()
    if (token === "(") return this.#closed(this.#union())
    if (/^\d/.test(token)) return Number(token)
    if (token === "time") {
      this.#expect("(")
      return this.#closed(this.#scrapes.atSeconds)
    }
    if (token === "sum" || token === "max" || token === "min") return this.#aggregated(token)
    if (token === "abs") {
      this.#expect("(")
      return this.#closed(seriesOf(this.#union()).map((one) => ({ ...one, value: Math.abs(one.value) })))
    }
    if (token === "absent") {
      this.#expect("(")
      return seriesOf(this.#closed(this.#union())).length === 0 ? [{ labels: {}, value: 1 }] : []
    }
    const window = windows[token]
    if (window !== undefined) {
      this.#expect("(")
      const selector = this.#selector(this.#next())
      this.#expect("[")
      this.#next()
      this.#expect("]")
      const { after, before } = this.#scrapes
      if (!this.#takes("offset")) return this.#closed(window(selector(before), selector(after)))
      this.#next()
      // What was counted before the first scrape, from the start of its process on.
      return this.#closed(selector(before))
    }
    return this.#selector(token)(this.#scrapes.after)
  }

  #aggregated(how: "sum" | "max" | "min"): Value {
    const by = this.#takes("by") ? this.#labels() : []
    this.#expect("(")
    return grouped(seriesOf(this.#closed(this.#union())), by, how)
  }

  #labels(): ReadonlyArray<string> {
    const labels: Array<string> = []
    this.#expect("(")
    while (!this.#takes(")")) {
      labels.push(this.#next())
      this.#takes(",")
    }
    return labels
  }

  #selector(name: string): (page: Exposition) => ReadonlyArray<Series> {
    if (!/^[a-z_]/.test(name)) throw new Error(`not understood: ${name}`)
    const wanted: Array<(labels: Sample["labels"]) => boolean> = []
    while (this.#takes("{") || (wanted.length > 0 && this.#takes(","))) {
      const [label, how, text] = [this.#next(), this.#next(), this.#next().slice(1, -1)]
      const pattern = new RegExp(`^(?:${text})$`)
      const holds = (value: string) => (how.endsWith("~") ? pattern.test(value) : value === text)
      wanted.push((labels) => holds(labels[label] ?? "") !== how.startsWith("!"))
      this.#takes("}")
    }
    return (page) => samplesOf(page, name).filter(({ labels }) => wanted.every((holds) => holds(labels)))
  }

  #closed(value: Value): Value {
    this.#expect(")")
    return value
  }
  #peek(): string {
    return this.#tokens[this.#at] ?? ""
  }
  #next(): string {
    return this.#tokens[this.#at++] ?? ""
  }
  #takes(token: string): boolean {
    if (this.#peek() !== token) return false
    this.#at++
    return true
  }
  #expect(token: string): void {
    if (!this.#takes(token)) throw new Error(`not understood: ${this.#peek()} where ${token} is meant`)
  }
}

const nameOf = (labels: Sample["labels"]): string => JSON.stringify(Object.entries(labels).sort())

/** The one with the same labels, or with the same of those that are named. */
const matching = (series: ReadonlyArray<Series>, one: Series, on?: ReadonlyArray<string>): Series | undefined => {
  const of = ({ labels }: Series) =>
    nameOf(on === undefined ? labels : Object.fromEntries(on.map((label) => [label, labels[label] ?? ""])))
  return series.find((other) => of(other) === of(one))
}

const combined = (left: Value, right: Value, compute: (one: number, other: number) => number): Value => {
  if (typeof left === "number" && typeof right === "number") return compute(left, right)
  if (typeof left === "number") return seriesOf(right).map((one) => ({ ...one, value: compute(left, one.value) }))
  return left.flatMap((one) => {
    const other = typeof right === "number" ? right : matching(right, one)?.value
    return other === undefined ? [] : [{ ...one, value: compute(one.value, other) }]
  })
}

const grouped = (series: ReadonlyArray<Series>, by: ReadonlyArray<string>, how: "sum" | "max" | "min"): ReadonlyArray<Series> => {
  const groups = new Map<string, Series>()
  const joined = { sum: (one: number, other: number) => one + other, max: Math.max, min: Math.min }[how]
  for (const { labels, value } of series) {
    const kept = Object.fromEntries(by.map((label) => [label, labels[label] ?? ""]))
    const before = groups.get(nameOf(kept))?.value
    groups.set(nameOf(kept), { labels: kept, value: before === undefined ? value : joined(before, value) })
  }
  return [...groups.values()]
}

type Window = (before: ReadonlyArray<Series>, after: ReadonlyArray<Series>) => ReadonlyArray<Series>

/** What is counted, or seen, between two scrapes. */
const windows: Readonly<Record<string, Window>> = {
  increase: (before, after) => grown(before, after),
  changes: (before, after) =>
    after.map((one) => ({ ...one, value: [undefined, one.value].includes(matching(before, one)?.value) ? 0 : 1 })),
  max_over_time: (_, after) => after,
  min_over_time: (_, after) => after,
  last_over_time: (before, after) => [...after, ...before.filter((one) => matching(after, one) === undefined)]
}

/** As between two scrapes a window apart; a counter that was not there before does not count, as in Prometheus. */
const grown = (before: ReadonlyArray<Series>, after: ReadonlyArray<Series>): ReadonlyArray<Series> =>
  after.flatMap((series) => {
    const earlier = matching(before, series)
    return earlier === undefined ? [] : [{ ...series, value: series.value - earlier.value }]
  })
