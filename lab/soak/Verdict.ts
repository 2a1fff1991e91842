import type { FittedLine } from "./Trend.ts"

// What each line through the samples of a part is allowed, and what is said of it.

/** What is judged of a part of the record; each slope is an hour, or per 1,000 operations where its name says so. */
export interface Judged {
  readonly minutes: number
  readonly trends: Readonly<Record<string, FittedLine>>
}

export interface Verdict {
  readonly series: string
  /** uncertain: the slope's interval has what is allowed within it, or the part was too short. */
  readonly verdict: "ok" | "grows" | "uncertain" | "not judged"
  readonly reason: string
}

interface Rule {
  /** As the page says it. */
  readonly name: string
  readonly series: RegExp
  /** Of the slope; without it the series is shown and not judged. */
  readonly atMost?: number
  /** Whatever the slope, growth that ends below this level is expected. */
  readonly fillsTo?: number
  /** Of a slope that is not an hour's, in a part of any length. */
  readonly inShortParts?: true
  readonly reason: string
}

/** The work is the same from minute 70 on, and a slope needs half an hour: before, heaps and what payouts are asked for still grow. */
export const SHORTEST_MINUTES = 100
/** src/persistence/postgres/PostgresServer.ts starts it with so much. */
const SHARED_BUFFERS = 512
/** A connection's own catalogue caches and plans, and those of the server's own processes. */
const OF_CONNECTIONS = 300

/** MiB per 1,000 operations, with what is only there for a time; docs/reliability/soak.md adds it up. */
export const PREDICTED_DISK = 14.5
/** Of indexes that were just split and of tables that autovacuum has not come to yet. */
const DISK_TOLERANCE = 0.1

/** The first that fits a name is its rule. */
export const rules: ReadonlyArray<Rule> = [
  {
    name: "Memory of a gateway, MiB an hour",
    series: /^gateway .*: memory, MiB$/,
    atMost: 10,
    reason:
      "at 10 MiB an hour a gateway of 300 MiB needs more than a day to double, and gateways are released more often than that"
  },
  {
    name: "JavaScript heap of a gateway, MiB an hour",
    series: /^gateway .*: JavaScript heap in use, MiB$/,
    atMost: 10,
    reason: "what the program itself keeps: nothing of an operation stays in memory once it is settled"
  },
  {
    name: "Parts of a gateway's memory, MiB an hour",
    series: /^gateway .*: (pages of its heap|pages of its heap in memory|memory beside them), MiB$/,
    reason:
      "of its memory, which is judged, they tell the part that grows: the heap's pages that are in memory, of those that it has, or the rest"
  },
  {
    name: "Open files and sockets of a process, an hour",
    series: /^(gateway .*|simulator): open files and sockets$/,
    atMost: 5,
    reason: "sockets come and go with the load; 5 an hour that stay open reach the system's usual limit of 1,024 after eight days"
  },
  {
    name: "PostgreSQL's connections, an hour",
    series: /^PostgreSQL: connections$/,
    atMost: 0.5,
    reason: "each gateway has a pool of a fixed size; a connection that is lost every other hour fills 100 after a week"
  },
  {
    name: "Open transactions, an hour",
    series: /^open transactions$/,
    atMost: 5,
    reason: "at a steady rate as many end as begin; what stays open is work that nobody finishes"
  },
  {
    name: "p50 of an operation, ms an hour",
    series: /^p50 of an operation, ms$/,
    atMost: 10,
    reason: "an operation must not take longer because there were others before it"
  },
  {
    name: "p99 of an operation, ms an hour",
    series: /^p99 of an operation, ms$/,
    reason: "a hundredth of what is asked within 15 s is three operations: it tells what else the machine did"
  },
  {
    name: "PostgreSQL's memory beside shared buffers, MiB an hour",
    series: /^PostgreSQL: memory beside shared buffers, MiB$/,
    atMost: 10,
    reason: "a connection's caches hold the catalogue and a fixed set of statements, whatever the number of rows"
  },
  {
    name: "PostgreSQL's memory, MiB an hour",
    series: /^PostgreSQL: memory, MiB$/,
    atMost: 10,
    fillsTo: SHARED_BUFFERS + OF_CONNECTIONS,
    reason: `a page of shared_buffers counts from its first use on: they fill to ${SHARED_BUFFERS} MiB, however little is wrong, and connections have their own`
  },
  {
    name: "Memory of the simulator and the harness, MiB an hour",
    series: /^(simulator|this harness): memory, MiB$/,
    reason: "it grows by design: each keeps the account of everything it has seen, against which the gateways are judged"
  },
  {
    name: "Disk, MiB per 1,000 operations",
    series: /^PostgreSQL: disk, MiB per 1,000 operations$/,
    atMost: Math.round(PREDICTED_DISK * (1 + DISK_TOLERANCE) * 10) / 10,
    inShortParts: true,
    reason: `what an operation of this mix leaves, table by table in docs/reliability/soak.md, ${PREDICTED_DISK} MiB, and a tenth more`
  },
  {
    name: "Disk, MiB an hour",
    series: /^PostgreSQL: disk, MiB$/,
    reason: "it grows by design: what was done is kept; it is judged by what an operation leaves"
  }
]

export const verdictsOf = ({ minutes, trends }: Judged): ReadonlyArray<Verdict> =>
  Object.entries(trends).map(([series, line]) => {
    const rule = rules.find((one) => one.series.test(series))
    if (rule === undefined) return { series, verdict: "not judged", reason: "it has no rule" }
    const isTooShort = minutes < SHORTEST_MINUTES && rule.inShortParts === undefined
    if (isTooShort && rule.atMost !== undefined && !isFilling(rule, line))
      return { series, verdict: "uncertain", reason: `a part of less than ${SHORTEST_MINUTES} minutes is mostly warm-up` }
    return { series, verdict: verdictOf(rule, line), reason: rule.reason }
  })

const verdictOf = (rule: Rule, line: FittedLine): Verdict["verdict"] => {
  if (rule.atMost === undefined) return "not judged"
  if (isFilling(rule, line) || line.slope + line.give_or_take <= rule.atMost) return "ok"
  return line.slope - line.give_or_take > rule.atMost ? "grows" : "uncertain"
}

const isFilling = ({ fillsTo }: Rule, { to }: FittedLine): boolean => fillsTo !== undefined && to <= fillsTo
