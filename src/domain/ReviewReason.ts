import { noteWithoutCandidates } from "./Candidates.ts"
import type { Transaction } from "./Transaction.ts"

/** The history's line on one report, and the status after it. */
interface HistoryLine {
  readonly actor: string
  readonly fact: string
  readonly note: string
  readonly status: string
}

type Outcome = "open" | "successful" | "failed" | "expired"

type Reasons = { readonly [S in Outcome]: { readonly [fact: string]: string } }

// The reports that cause a review, by the record's status at the time. A missing cell is a report that needs no person.
const reasons: Reasons = {
  open: {
    Mismatched:
      "the provider has this reference for another number: its key was used before, for a request that a restore forgot",
    Succeeded:
      "the provider says that it succeeded, with another amount, currency or fee than this record has, or with a fee that nobody knows",
    Returned: "the provider says that it was sent back, and never said that it succeeded"
  },
  successful: {
    Refused: "it is booked as successful, and later the provider said that it failed",
    Returned: "it is booked as successful, and what the provider says came back does not fit it",
    Clawback: "it was credited, and the provider lists a",
    FeeStated: "it is booked, and the provider's statement names another fee:"
  },
  failed: { Succeeded: "it is closed as failed, and later the provider said that it succeeded" },
  expired: {
    Succeeded:
      "it expired, and later the provider said that it succeeded, with another amount or currency, or with a fee that nobody knows"
  }
}

/** Facts whose reason is followed by the note. */
const isSaidByNote: ReadonlyArray<string> = ["Clawback", "FeeStated"]

const underWay = "it is closed as failed, which no provider said for certain, and later one said that it has it under way"

// Reports of these kinds may also repeat what is booked. They are the reason only where there is no other.
const weakerReasons: Reasons = {
  open: {},
  successful: {
    Succeeded: "the provider said again that it succeeded, with other figures, or after a person ruled that it did not"
  },
  failed: { Accepted: underWay, StillPending: underWay, NeedsRedirect: underWay },
  expired: {}
}

const unanswered = "it was asked for to the end of the schedule, and nobody could say what became of it"

/** Why a person has to look, in one line. A collection has its own text for `Returned`: a person decides about its reversal. */
export const reviewReason = ({ kind, status }: Transaction, history: ReadonlyArray<HistoryLine>): string => {
  const outcome = outcomeOf(status)
  // The report that closed the record, and those before it, are not new.
  const closing = history.findLastIndex(
    (line, at) => at > 0 && outcomeOf(history[at - 1]?.status ?? "") !== outcomeOf(line.status)
  )
  // Neither are those that the ruling knew: the report that opened the case came after it.
  const ruled = history.findLastIndex(({ actor }) => actor === "review")
  const since = history.slice(Math.max(closing, ruled) + 1)
  const last = (cells: Reasons[Outcome]) => since.findLast(({ fact }) => cells[fact] !== undefined)
  const news = last(reasons[outcome]) ?? last(weakerReasons[outcome])
  if (news === undefined) return unanswered
  if (kind === "collection" && status === "successful" && news.fact === "Returned")
    return "it was credited, and later the provider said that it was reversed"
  const reason = reasons[outcome][news.fact] ?? weakerReasons[outcome][news.fact] ?? unanswered
  return isSaidByNote.includes(news.fact) ? `${reason} ${news.note}` : reason
}

const outcomeOf = (status: string): Outcome =>
  status === "successful" || status === "failed" || status === "expired" ? status : "open"

/** The last report from outside the gateway; null while there is none. */
export const lastReport = (history: ReadonlyArray<HistoryLine>): string | null =>
  history.map(({ actor, note }) => (actor === "review" ? "" : noteWithoutCandidates(note))).findLast((note) => note !== "") ??
  null
