import { hasFailed, isPaidOrPending, isUnderWay, type Row } from "./RunJournal.ts"
import type { Payout } from "./Schema.ts"

/** 1 to 60 letters, digits, `_` and `.`: a `-` in it could make one key of two runs. */
export const isRunName = (name: string): boolean => NAME.test(name)

const LONGEST = 60
const NAME = new RegExp(`^[A-Za-z0-9_.]{1,${LONGEST}}$`)
const MOST_NAMES = 100

export const keyOf = (name: string, row: number, attempt = 1): string => `${name}-${row}${attempt === 1 ? "" : `-${attempt}`}`

/** The payout that a key has made, if any. */
export type MadeUnder = (key: string) => Promise<Pick<Payout, "reference" | "created_at"> | undefined>

/** A row whose key was used before this run sent it. */
export interface Taken {
  readonly row: number
  readonly key: string
}

/** Why a run whose name an earlier one had goes no further, and what came of the rows that it sent before that was noticed. */
export const takenMessage = async (
  name: string,
  { key, row }: Taken,
  rows: ReadonlyArray<Row>,
  madeUnder: MadeUnder
): Promise<string> => {
  const older = await madeUnder(key)
  const what =
    older === undefined
      ? `its key ${key} keeps a refusal`
      : `its key ${key} made ${older.reference} on ${older.created_at.slice(0, 10)}`
  const numbers = (is: (row: Row) => boolean): Numbers => rows.filter(is).map((one) => one.row)
  const unknown = numbers(isUnderWay)
  return [
    `the name ${name} was used by an earlier run: row ${row} was sent before, and ${what}`,
    ...outcomesOf(numbers(isPaidOrPending), numbers(hasFailed), unknown),
    // A name to pay the list under is not given while following it could pay a row twice.
    ...(unknown.length === 0
      ? [`a new payment of the list takes another name: ${await freeName(name, row, madeUnder)} is free`]
      : []),
    "if this is the earlier run and its journal is lost, another name pays its rows again: bring the journal back, or leave out what GET /v1/transactions?idempotency_key= finds"
  ].join("; ")
}

type Numbers = ReadonlyArray<number>

const outcomesOf = (paid: Numbers, failed: Numbers, unknown: Numbers): ReadonlyArray<string> => {
  const outcomes: Array<string> = []
  if (paid.length > 0) {
    const [are, them] = paid.length === 1 ? ["is", "it"] : ["are", "them"]
    outcomes.push(`${rowsText(paid)} ${are} paid or pending by this run: leave ${them} out of the next`)
  }
  if (failed.length > 0)
    outcomes.push(
      `${rowsText(failed)} failed or ${failed.length === 1 ? "was" : "were"} refused: nobody was paid by ${failed.length === 1 ? "it" : "them"}`
    )
  if (unknown.length > 0) {
    const [was, its] = unknown.length === 1 ? ["was", "its key"] : ["were", "their keys"]
    outcomes.push(`whether ${rowsText(unknown)} ${was} paid is unknown: ask again with ${its} first, with --resume`)
  }
  return paid.length + unknown.length === 0 ? ["nothing was paid by this run", ...outcomes] : outcomes
}

const rowsText = (rows: ReadonlyArray<number>): string => `${rows.length === 1 ? "row" : "rows"} ${rows.join(", ")}`

/** The next name under which that row has made nothing. */
const freeName = async (name: string, row: number, madeUnder: MadeUnder): Promise<string> => {
  const [, stem = name, number = "1"] = /^(.*)_r(\d+)$/.exec(name) ?? []
  for (let next = Number(number) + 1; ; next++) {
    const end = `_r${next}`
    const candidate = `${stem.slice(0, LONGEST - end.length)}${end}`
    if (next >= Number(number) + MOST_NAMES || (await madeUnder(keyOf(candidate, row))) === undefined) return candidate
  }
}
