import { Context, Effect } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { isReference, type Reference } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { minor } from "../../domain/Money.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import { type FileRow, readRulingFile } from "../../domain/RulingFile.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { AuditBy } from "../ports/AuditLog.ts"
import { Proposals } from "../ports/Proposals.ts"
import { digestOf, type JudgedFile, type RuledFile, RulingFiles } from "../settlement/RulingFiles.ts"
import { type Acting, makeProposing, NotDecided } from "./Deciding.ts"

/** A file of evidence in the console: what it says, and how whoever sends it knows that. */
export interface EvidenceFile {
  readonly text: string
  /** The revision of each record that could be ruled when the file was looked through. */
  readonly seen: ReadonlyMap<string, bigint>
  readonly evidence: string
}

/**
 * Rulings of the console by one file of evidence. A file always takes two people, whatever its amounts: one proposes it as it was judged, and
 * what another approves is that, row for row.
 */
export class ReviewFiles extends Context.Service<
  ReviewFiles,
  {
    /**
     * Opens a proposal of the rows that can be ruled as they were looked at; its id. Another row stays in it to be shown, and is left.
     * Refused where none can be ruled any more, or where the same file waits already.
     */
    readonly propose: (file: EvidenceFile, acting: Acting) => Effect.Effect<Reference, NotDecided>
    /** The proposed rows as their records are now. */
    readonly standing: (proposal: Proposal) => Effect.Effect<Pick<JudgedFile, "ready" | "left">>
    /** Rules what was proposed, each row under the lock of the proposal and while it is approved; twice is once. */
    readonly carryOut: (proposal: Proposal, by: AuditBy) => Effect.Effect<RuledFile>
  }
>()("gateway/services/approvals/ReviewFiles") {
  static readonly layer = layerOf(ReviewFiles)(function* () {
    const files = yield* RulingFiles
    const proposals = yield* Proposals
    const open = yield* makeProposing

    const propose = Effect.fn("ReviewFiles.propose")(function* ({ evidence, seen, text }: EvidenceFile, acting: Acting) {
      const file = readRulingFile(text)
      if (typeof file === "string") return yield* new NotDecided(file)
      const rows = file.rows.flatMap((row) => {
        const revision = seen.get(row.reference)
        return revision === undefined ? [] : [{ ...row, seen: revision }]
      })
      const { ready } = yield* files.judgeRows(rows)
      if (ready.length === 0) return yield* new NotDecided("No row of it can be ruled as it was looked at.")
      const digest = digestOf(text)
      const notRuled = file.rows.length + file.bad.length - ready.length
      const details = summaryOf({ digest, ready, notRuled }, evidence)
      return yield* open(
        {
          kind: "review resolve",
          subject: `file-${digest}`,
          details: { ...details, rulings: rowsText(proposedOf(rows, ready)) },
          audit: { action: "review propose", details },
          waitsAlready: "This file waits already for a second person."
        },
        acting
      )
    })

    const standing = Effect.fn("ReviewFiles.standing")((proposal: Proposal) => files.judgeRows(rowsIn(proposal)))

    const carryOut = Effect.fn("ReviewFiles.carryOut")(function* (proposal: Proposal, by: AuditBy) {
      const { file: digest = "", evidence = "" } = proposal.details
      const judged = yield* standing(proposal)
      return yield* files.rule({ digest, ...judged }, evidence, by, (ruling) => proposals.whileApproved(proposal.id, ruling))
    })

    return { propose, standing, carryOut }
  })
}

/** Whether a proposal is one of many rulings, by a file. */
export const isOfFile = ({ details, kind }: Pick<Proposal, "details" | "kind">): boolean =>
  kind === "review resolve" && "rulings" in details

/** So many of the rows that were left are named in a proposal's note. */
const NAMED = 5

/** The end of the rows, for the proposal's note and its audit row. Those that were ruled before the process died count. */
export const endOf = ({ left, ruled }: RuledFile) => {
  const rest = left.filter(({ isDone }) => !isDone)
  const count = ruled.length + left.length - rest.length
  const why = rest.slice(0, NAMED).map((row) => `line ${row.line}: ${row.why}`)
  const more = rest.length > NAMED ? `; and ${rest.length - NAMED} more` : ""
  const note = `${rowsRuled(count)}, ${rest.length} left${why.length === 0 ? "" : `: ${why.join("; ")}${more}`}`
  return { count, note, details: { ruled: String(count), left: String(rest.length) } }
}

export const rowsRuled = (count: number): string => `${count} ${count === 1 ? "row" : "rows"} ruled`

interface LookedAt extends Pick<JudgedFile, "digest" | "ready"> {
  readonly notRuled: number
}

const summaryOf = ({ digest, notRuled, ready }: LookedAt, evidence: string): Readonly<Record<string, string>> => ({
  evidence: maskedText(evidence),
  file: digest,
  successful: String(ready.filter(({ outcome }) => outcome === "successful").length),
  failed: String(ready.filter(({ outcome }) => outcome === "failed").length),
  not_ruled: String(notRuled)
})

type SeenRow = FileRow & { readonly seen: bigint }

/** No record has it. */
const NO_REVISION = 0n

/** A row that is not counted as ready is never ruled, whatever its record becomes: a form may name a revision that is still to come. */
const proposedOf = (rows: ReadonlyArray<SeenRow>, ready: ReadonlyArray<SeenRow>): ReadonlyArray<SeenRow> => {
  const lines = new Set(ready.map(({ line }) => line))
  return rows.map((row) => (lines.has(row.line) ? row : { ...row, seen: NO_REVISION }))
}

const rowsText = (rows: ReadonlyArray<SeenRow>): string =>
  rows
    .map(({ amount, currency, fee, line, outcome, reference, seen }) =>
      [line, reference, outcome, fee ?? "", amount ?? "", currency ?? "", seen].join(",")
    )
    .join("\n")

/** As `rowsText` wrote them. */
const rowsIn = ({ details }: Proposal): ReadonlyArray<SeenRow> =>
  (details["rulings"] ?? "").split("\n").flatMap((text) => {
    const [line, reference, outcome, fee = "", amount = "", currency = "", seen = "0"] = text.split(",")
    if (!isReference(reference) || (outcome !== "successful" && outcome !== "failed")) return []
    const figure = (digits: string) => (digits === "" ? null : minor(BigInt(digits)))
    return [
      {
        line: Number(line),
        reference,
        outcome,
        fee: figure(fee),
        amount: figure(amount),
        currency: isCurrency(currency) ? currency : null,
        seen: BigInt(seen)
      }
    ]
  })
