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

/** A file of evidence in the console: its text, and how the operator knows that it is true. */
interface EvidenceFile {
  readonly text: string
  /** The revision of each record on which a ruling was possible when the file was checked. */
  readonly seen: ReadonlyMap<string, bigint>
  readonly evidence: string
}

/**
 * Rulings in the console from a file of evidence. A file always needs two people, whatever its amounts: one proposes it as it
 * was checked, and the other approves exactly that, row for row.
 */
export class ReviewFiles extends Context.Service<
  ReviewFiles,
  {
    /**
     * Proposes the rows on which a ruling is possible, as they were checked, and returns the proposal's id. The other rows stay
     * in it for display. Refused when no ruling is possible any more, or when a proposal with the same file is open.
     */
    readonly propose: (file: EvidenceFile, acting: Acting) => Effect.Effect<Reference, NotDecided>
    /** The proposed rows with their present records. */
    readonly standing: (proposal: Proposal) => Effect.Effect<Pick<JudgedFile, "ready" | "left">>
    /** Makes the proposed rulings, each under the proposal's lock and while it is approved. Repeating it changes nothing. */
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

/** Whether a proposal consists of many rulings from a file. */
export const isOfFile = ({ details, kind }: Pick<Proposal, "details" | "kind">): boolean =>
  kind === "review resolve" && "rulings" in details

/** How many of the rows that were left are named in a proposal's note. */
const NAMED = 5

/** The result, for the proposal's note and its audit row. Rulings that were made before the process died count. */
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

/** No record has this revision. */
const NO_REVISION = 0n

/** A row that was not ready is never ruled on, whatever becomes of its record: a form may name a future revision. */
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

/** Parses what `rowsText` wrote. */
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
