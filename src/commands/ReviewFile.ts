import { isUtf8 } from "node:buffer"
import { readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import { Argument, Command } from "effect/cli"
import type { Posting } from "../domain/Ledger.ts"
import { maskedText } from "../domain/Masking.ts"
import { type FileRow, ROWS_AT_MOST } from "../domain/RulingFile.ts"
import { Review } from "../services/settlement/Review.ts"
import { type LeftRow, type RulableRow, RulingFiles } from "../services/settlement/RulingFiles.ts"
import { help, isGiven, words } from "./Arguments.ts"
import { CommandRefusal } from "./CommandRefusal.ts"
import { operatorPorts } from "./Installation.ts"
import { auditEntry } from "./Operator.ts"
import { printResult } from "./Output.ts"

const filePorts = RulingFiles.layer.pipe(Layer.provideMerge(Review.layer), Layer.provideMerge(operatorPorts))

export const rule = Command.make(
  "rule",
  {
    file: Argument.String("FILE").pipe(
      Argument.withDescription(
        `comma-separated values with the columns reference, outcome, fee_minor and, where they are needed, amount_minor and currency; ${ROWS_AT_MOST} rows at most`
      )
    ),
    evidence: words(
      "evidence",
      400,
      "how that is known, for the history and the audit log of each; the line and the file are added"
    ),
    dry: isGiven("dry-run", "shows what would be booked, and books nothing"),
    alone: isGiven("no-second-person", "states that nobody else is there to approve it; said in the audit log")
  },
  Effect.fn(function* ({ alone, dry, evidence, file }) {
    const files = yield* RulingFiles
    const text = yield* textOf(file)
    const judged = yield* files.judge(text)
    if (typeof judged === "string") return yield* new CommandRefusal(`${file}: ${judged}`)
    if (dry)
      return yield* printResult({
        file: judged.digest,
        would_rule: judged.ready.map(readyView),
        not_ruled: judged.left.map(leftView)
      })
    if (judged.ready.length > 0 && !alone) return yield* new CommandRefusal(TWO_PEOPLE)
    const { actor, at, details } = yield* auditEntry("review resolve", "", { second_person: "there is none" })
    const { left, ruled } = yield* files.rule(judged, maskedText(evidence), { at, actor, details })
    yield* printResult({ file: judged.digest, ruled: ruled.map(rowView), not_ruled: left.map(leftView) })
    // The remaining rows need a person: the exit code lets a script detect it.
    const open = left.filter(({ isDone }) => !isDone).length
    if (open > 0) return yield* new CommandRefusal(`${open} of the rows ${open === 1 ? "was" : "were"} not ruled`)
  }, Effect.provide(filePorts))
).pipe(
  help(
    "Rule on many cases by one file of evidence, each as review resolve does and with an audit row of its own; a row that cannot be ruled is left, and the reason printed with its line",
    ['gateway review rule rulings.csv --evidence "letter of the provider of 31 January" --dry-run', "See what a file would book"]
  )
)

const TWO_PEOPLE =
  "many rulings take two people: send the file in the console, where somebody else approves it, or state with --no-second-person that there is nobody else"

const textOf = Effect.fnUntraced(function* (file: string) {
  const bytes = yield* Effect.tryPromise({
    try: () => readFile(file),
    catch: () => new CommandRefusal(`${file} cannot be read`)
  })
  return isUtf8(bytes) ? bytes.toString("utf8") : yield* new CommandRefusal(`${file} is no text in UTF-8`)
})

const rowView = ({ amount, fee, line, outcome, reference }: FileRow) => ({
  line,
  reference,
  outcome,
  amount_minor: amount,
  fee_minor: fee
})

const postingView = ({ account, amount, currency }: Posting) => ({ account, currency, amount_minor: amount })

const readyView = (row: RulableRow) => ({ ...rowView(row), app_id: row.record.appId, posts: row.postings.map(postingView) })

const leftView = ({ isDone, line, reference, why }: LeftRow) => ({ line, reference, why, already_so: isDone })
