import type { LedgerRecord } from "./Exchange.ts"

/** What the history says of one piece of news. */
interface Line {
  readonly actor: string
  readonly fact: string
  readonly note: string
}

type Standing = "open" | "successful" | "failed" | "expired"

// Which news brings a record to a person, by what the record was when it came. A missing cell is news that needs nobody.
const reasons: { readonly [S in Standing]: { readonly [fact: string]: string } } = {
  open: {
    Succeeded: "the provider says that it succeeded, with another amount, currency or fee than this record has",
    Returned: "the provider says that it was sent back, and never said that it succeeded"
  },
  successful: {
    Refused: "it is booked as successful, and later the provider said that it failed",
    Returned: "it is booked as successful, and what the provider says came back does not fit it"
  },
  failed: { Succeeded: "it is closed as failed, and later the provider said that it succeeded" },
  expired: { Succeeded: "it expired, and later the provider said that it succeeded with another amount or currency" }
}

const unanswered = "it was asked for to the end of the schedule, and nobody could say what became of it"

/** Why a person has to look, in one line. A collection that was reversed is among what "does not fit". */
export const reasonOf = ({ kind, status }: LedgerRecord, history: ReadonlyArray<Line>): string => {
  const cells = reasons[status === "pending" || status === "requires_action" ? "open" : status]
  const news = history.findLast(({ actor, fact }) => actor !== "review" && cells[fact] !== undefined)
  if (news === undefined) return unanswered
  if (kind === "collection" && status === "successful" && news.fact === "Returned")
    return "it was credited, and later the provider said that it was reversed"
  return cells[news.fact] ?? unanswered
}

/** The last thing that anybody outside said; null while nobody said anything. */
export const lastAnswer = (history: ReadonlyArray<Line>): string | null =>
  history.findLast(({ actor, note }) => actor !== "review" && note !== "")?.note ?? null
