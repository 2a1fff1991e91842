import { readFile } from "node:fs/promises"
import { dirname } from "node:path"
import process from "node:process"
import { createInterface } from "node:readline/promises"
import {
  RunError,
  type RunItem,
  type RunOptions,
  type RunPlan,
  type RunReport,
  type Schema
} from "../../typescript/src/Gateway.ts"
import { command, text, toggle } from "./CommandLine.ts"
import { type PayoutList, type Remark, readPayouts, template } from "./PayoutList.ts"
import { Refusal, Unfinished, WrongUsage } from "./Refusal.ts"
import { RunFolder } from "./RunFolder.ts"
import { money, type Screen } from "./Screen.ts"
import { openSession, profileOption, type Session } from "./Session.ts"

export const payoutRun = command({
  name: "payout run",
  description:
    "Pay the list in FILE, a CSV with a row for each payout, every row once however often the run is killed and gone on with. All rows are checked and priced before the first is sent, and nothing is sent without your yes. What the run did is kept beside the file, and so is its report",
  argument: { name: "FILE", description: "a CSV as --template shows it", isOptional: true },
  options: {
    run: text(
      "the run's own name: 1 to 60 letters, digits, _ and .; a row's idempotency key is the name and its row, such as salaries_2026_11-17",
      /^[A-Za-z0-9_.]{1,60}$/
    ),
    yes: toggle("send without asking, where no row has an issue or a doubt"),
    "despite-doubts": toggle("with --yes: send also where rows pay one recipient the same twice, or may have lost a zero"),
    resume: toggle("go on with a run that was begun"),
    folder: text("where the run's journal and report are kept; beside FILE if left out"),
    "at-once": text("how many are sent at once, 1 to 64; 8 if left out", /^([1-9]|[1-5]\d|6[0-4])$/),
    "wait-seconds": text("how long the outcomes are waited for once all are sent; 600 if left out", /^\d{1,6}$/),
    template: toggle("print a file to begin with instead, and on standard error what its columns are"),
    profile: profileOption
  },
  examples: [
    "gateway payout run --template > salaries.csv",
    "gateway payout run salaries.csv --run salaries_2026_11",
    "gateway payout run salaries.csv --run salaries_2026_11 --resume --yes"
  ],
  run: async (given, screen, file) => {
    if (given.template) return showTemplate(screen)
    if (file === "") throw new WrongUsage("give FILE: a CSV as --template shows it; see gateway payout run --help")
    if (given.run === undefined) throw new WrongUsage("give --run, the run's own name; see gateway payout run --help")
    const session = await openSession(screen, given.profile)
    const bytes = await readFile(file).catch(() => {
      throw new Refusal(`cannot read ${file}`)
    })
    const list = readPayouts(bytes)
    if (list.separator !== ",") screen.note(`${file} has ${list.separator === ";" ? "semicolons" : "tabs"} between its cells`)
    const folder = await RunFolder.open(given.folder ?? dirname(file), given.run)
    try {
      await pay({ screen, session, folder, list, name: given.run, given })
    } finally {
      await folder.close()
    }
  }
})

interface Given {
  readonly yes: boolean
  readonly resume: boolean
  readonly "despite-doubts": boolean
  readonly "at-once"?: string | undefined
  readonly "wait-seconds"?: string | undefined
}

interface Paying {
  readonly screen: Screen
  readonly session: Session
  readonly folder: RunFolder
  readonly list: PayoutList
  readonly name: string
  readonly given: Given
}

const showTemplate = (screen: Screen): void => {
  const { about, file } = template()
  for (const line of about) screen.note(line)
  for (const line of file.split("\n")) screen.line(line)
}

const pay = async (paying: Paying): Promise<void> => {
  const { folder, given, list, name, screen, session } = paying
  if (folder.isNew === given.resume)
    throw new Refusal(
      given.resume ? `there is no run ${name} to go on with here` : `the run ${name} was begun: go on with it by --resume`
    )
  if (list.issues.length > 0 && !folder.isNew) throw new Refusal(changed(list.issues[0]?.row))
  // Rows that are no payouts are shown together with those that the gateway would refuse, and none is sent.
  const isChecked = list.issues.length > 0
  const run: RunOptions = {
    name,
    items: list.items,
    store: isChecked ? { entries: async () => [], keep: async () => undefined } : folder,
    confirm: (plan) => (isChecked ? false : confirmed(paying, plan)),
    signal: screen.terminal.signal,
    onProgress: ({ ended, rows, sent }) => screen.progress(rows, [`${sent} sent`, `${ended} ended`], ended),
    ...(given["at-once"] === undefined ? {} : { atOnce: Number(given["at-once"]) }),
    ...(given["wait-seconds"] === undefined ? {} : { waitMs: Number(given["wait-seconds"]) * 1000 })
  }
  const report = await session
    .call((gateway) => gateway.payouts.run(run), { patience: "long" })
    .catch((error: unknown) => {
      if (error instanceof RunError) throw new Refusal(error.row === null ? error.message : changed(error.row))
      throw error
    })
    .finally(() => screen.progressEnds())
  if (isChecked || report.state === "refused") return refuse(paying, report.plan)
  if (report.state === "declined") throw new Refusal(nothingSent(folder))
  await end(paying, report)
}

const changed = (row: number | undefined): string =>
  `row ${row} is not what the run began with: put it back, or pay the other list under another --run`

/** A run that is gone on with may have paid rows before. */
const nothingSent = ({ isNew }: RunFolder): string => (isNew ? "nothing was sent" : "nothing more was sent")

/** `plan` is null where no row could be priced. */
const refuse = ({ folder, list, screen }: Paying, plan: RunPlan | null): void => {
  const { issues, totals } = plan ?? { issues: [], totals: [] }
  const found = [...list.issues, ...issues.map(({ error, row }) => ({ row, message: issueOf(error) }))].sort(
    (a, b) => a.row - b.row
  )
  const lacking = totals.filter(({ shortfall_minor }) => shortfall_minor > 0n)
  if (screen.asJson) screen.json({ state: "refused", issues: found, totals })
  else for (const { message, row } of found) screen.line(`row ${row}: ${message}`)
  if (found.length > 0)
    throw new Refusal(`${nothingSent(folder)}: ${found.length} ${found.length === 1 ? "row has" : "rows have"} an issue`)
  throw new Unfinished(`${nothingSent(folder)}: ${lacking.map(shortfallOf).join(", ")}; top it up and run it again`)
}

const shortfallOf = ({ available_minor, currency, shortfall_minor, total_amount_minor }: Schema.PayoutQuotesTotal): string =>
  `the float has ${money(available_minor, currency)}, and ${money(total_amount_minor, currency)} is needed: ${money(shortfall_minor, currency)} is missing`

/** The code, and the columns that it is about. */
const issueOf = (error: Schema.Error): string => {
  if (error.code === "validation_failed")
    return error.details.issues.map(({ message, path }) => `${path.replace(/^destination\./, "")} ${message}`.trim()).join("; ")
  const more = Object.entries(error.details).map(([name, value]) => `${name} ${String(value)}`)
  return `${error.code}: ${error.message}${more.length === 0 ? "" : ` (${more.join(", ")})`}`
}

/** Shows what would be sent. Without a terminal only --yes sends it, and doubts only together with their own word. */
const confirmed = async ({ folder, given, list, screen }: Paying, plan: RunPlan): Promise<boolean> => {
  const doubts: ReadonlyArray<Remark> = [
    ...list.doubts,
    ...plan.duplicates
      .filter(({ same_amount }) => same_amount)
      .map(({ of, row }) => ({ row, message: `pays the same recipient the same amount as row ${of}` }))
  ].sort((a, b) => a.row - b.row)
  for (const { of, row, same_amount } of plan.duplicates)
    if (!same_amount) screen.note(`row ${row}: the recipient of row ${of} again`)
  for (const { message, row } of doubts) screen.note(`row ${row}: ${message}`)
  for (const { available_minor, currency, fees_minor, items, principal_minor, total_amount_minor } of plan.totals)
    screen.note(
      `${items} payouts: ${money(principal_minor, currency)} and fees of ${money(fees_minor, currency)}, ${money(total_amount_minor, currency)} in all, of ${money(available_minor, currency)}`
    )
  if (given.yes && doubts.length > 0 && !given["despite-doubts"])
    throw new Refusal(
      `${nothingSent(folder)}: ${doubts.length} ${doubts.length === 1 ? "row is" : "rows are"} in doubt; --despite-doubts sends them`
    )
  if (given.yes) return true
  if (process.stdin.isTTY !== true || !screen.terminal.isTerminal)
    throw new Refusal(`${nothingSent(folder)}: there is no terminal to ask at, and --yes was not given`)
  return ask(screen, `Send ${plan.rows} payouts? Type ${plan.rows} to send them: `, String(plan.rows))
}

/** The count, typed: a key that was pressed too often sends nothing. */
const ask = async ({ terminal: { signal } }: Screen, question: string, wanted: string): Promise<boolean> => {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true })
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"))
  try {
    return (await lines.question(question, { signal })).trim() === wanted
  } catch {
    return false
  } finally {
    lines.close()
  }
}

const end = async ({ folder, list, name, screen }: Paying, report: RunReport): Promise<void> => {
  const files = await folder.report(report)
  const counts = new Map<string, number>()
  for (const { status } of report.rows) counts.set(status, (counts.get(status) ?? 0) + 1)
  if (screen.asJson) screen.json({ name, state: report.state, rows: report.rows, files })
  else {
    for (const { failure, reference, row, status } of report.rows)
      if (status === "failed" || status === "refused") screen.line(`row ${row}: ${status} ${reference ?? ""} ${failure ?? ""}`)
    screen.line([...counts].map(([status, count]) => `${count} ${status}`).join(", "))
    screen.line(`The report is in ${files.join(" and ")}`)
  }
  const again = `run it again with --resume`
  if (report.state === "stopped") throw new Unfinished(`${stopOf(report, list.items)}: ${again}`)
  if (report.state === "pending") throw new Unfinished(`some payouts are still pending: ${again}, later`)
  const failed = report.rows.filter(({ status }) => status !== "successful").length
  if (failed > 0) throw new Refusal(`${failed} of ${report.rows.length} payouts were not made: the report says why`)
}

const stopOf = ({ stoppedBy, rows }: RunReport, items: ReadonlyArray<RunItem>): string => {
  const sent = rows.filter(({ reference }) => reference !== null).length
  const made = `${sent} of ${items.length} payouts are made`
  if (stoppedBy === null) return `stopped; ${made}`
  const { code, details } = stoppedBy
  if (code === "insufficient_tenant_float" && "shortfall_minor" in details)
    return `the float lacks ${String(details.shortfall_minor)} minor units for the next payout; ${made}; top it up`
  return `${stoppedBy.message}; ${made}`
}
