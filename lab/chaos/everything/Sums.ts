import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

// What docs/reliability/chaos.md says of docs/reliability/kills.jsonl.

const root = join(import.meta.dirname, "..", "..", "..")
export const RECORD = join(root, "docs", "reliability", "kills.jsonl")

/** One part, as it ended. */
export interface Part {
  readonly seed: number
  readonly operations: Readonly<Record<string, number>>
  readonly kills: Readonly<Record<string, number>>
  readonly sent: number
  readonly executed: number
  readonly webhooks: number
  readonly rulings: number
  readonly keys_revoked: number
  readonly revoked_refused: number
  readonly freezes: number
  readonly settings_changed: number
  readonly lost: number
  readonly doubled: number
  readonly invented: number
  readonly wrong_floats: number
  readonly missed_webhooks: number
  readonly passed_gates: number
  readonly open: number
  readonly ledger_ok: boolean
  readonly audit_ok: boolean
  readonly unexplained: number
}

export const parts = (): ReadonlyArray<Part> =>
  (existsSync(RECORD) ? readFileSync(RECORD, "utf8") : "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** The first that no part of the record has had. */
export const nextSeed = (): number => Math.max(0, ...parts().map(({ seed }) => seed)) + 1

const number = (value: number): string => value.toLocaleString("en-US")

/** The rows of the page's table. */
export const sums = (all: ReadonlyArray<Part>): ReadonlyArray<string> => {
  const sum = (of: (part: Part) => number) => number(all.reduce((total, part) => total + of(part), 0))
  const killed = (names: ReadonlyArray<string>) =>
    sum(({ kills }) => names.reduce((total, name) => total + (kills[name] ?? 0), 0))
  const rows: ReadonlyArray<readonly [what: string, how: string]> = [
    ["Parts", number(all.length)],
    ["Money operations", sum(({ operations }) => operations["total"] ?? 0)],
    ["of them payouts", sum(({ operations }) => operations["payouts"] ?? 0)],
    ["of them collections", sum(({ operations }) => operations["collections"] ?? 0)],
    ["of them exchanges", sum(({ operations }) => operations["exchanges"] ?? 0)],
    ["Requests that they took", sum(({ sent }) => sent)],
    ["`kill -9`", sum(({ kills }) => kills["total"] ?? 0)],
    ["of a gateway", killed(["gateway one", "gateway two"])],
    ["of a worker", killed(["worker"])],
    ["of PostgreSQL", killed(["postgres"])],
    ["of the simulator", killed(["simulator"])],
    ["of the proxy", killed(["proxy"])],
    ["Movements at the providers", sum(({ executed }) => executed)],
    ["Webhooks received", sum(({ webhooks }) => webhooks)],
    ["Rulings by a person", sum(({ rulings }) => rulings)],
    ["Keys revoked", sum(({ keys_revoked }) => keys_revoked)],
    ["Tries with a revoked key that were 401", sum(({ revoked_refused }) => revoked_refused)],
    ["Tenants frozen for a while", sum(({ freezes }) => freezes)],
    ["Settings changed for a while", sum(({ settings_changed }) => settings_changed)],
    ["Lost", sum(({ lost }) => lost)],
    ["Doubled", sum(({ doubled }) => doubled)],
    ["Invented", sum(({ invented }) => invented)],
    ["Wrong floats", sum(({ wrong_floats }) => wrong_floats)],
    ["Events not delivered", sum(({ missed_webhooks }) => missed_webhooks)],
    ["Made with a revoked key, while frozen or closed", sum(({ passed_gates }) => passed_gates)],
    ["Differences of `reconcile` without an explanation", sum(({ unexplained }) => unexplained)],
    ["`ledger verify` not ok", sum(({ ledger_ok }) => (ledger_ok ? 0 : 1))],
    ["`audit verify` not ok", sum(({ audit_ok }) => (audit_ok ? 0 : 1))],
    ["Open at the end", sum(({ open }) => open)]
  ]
  return rows.map(([what, how]) => `| ${what} | ${how} |`)
}

// As a command it prints them.
if (process.argv[1] === import.meta.filename) for (const row of sums(parts())) console.log(row)
