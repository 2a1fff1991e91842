import type { Entry } from "../../src/domain/Ledger.ts"

/** The lines of an entry in their order, as "UGX available -100". */
export const linesOf = ({ postings }: Pick<Entry, "postings">): ReadonlyArray<string> =>
  postings.map(({ account, amount, currency }) => `${currency} ${account} ${amount}`)

/** Its phase and its lines; null where nothing is posted. */
export const textOf = (entry: Entry | null): ReadonlyArray<string> | null =>
  entry === null ? null : [entry.phase, ...linesOf(entry)]
