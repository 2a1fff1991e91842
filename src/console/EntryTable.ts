import type { ComponentChild } from "preact"
import { maskedText } from "../domain/Masking.ts"
import type { FloatEntry, FloatName } from "../services/ports/FloatEntries.ts"
import { code, money, said, table, time, transactionLink } from "./Elements.ts"

const columns = ["When", "Entry", "Of", "Available changed by", "Reserved changed by", "Available after", "Reserved after"]

export const entriesPath = ({ appId, currency, mode }: FloatName): string => `/floats/${appId}/${mode}/${currency}`

/** The change of a float by each entry, and the balance after it. */
export const entryTable = (
  { currency }: FloatName,
  entries: ReadonlyArray<FloatEntry>,
  none = "There are none."
): ComponentChild =>
  table(
    "The newest first; available is less what is owed",
    columns,
    entries.map((entry) => [
      time(entry.at),
      entry.phase === "correct" ? "correction" : entry.phase,
      ofEntry(entry),
      entry.change.available === 0n ? null : money(entry.change.available, currency),
      entry.change.reserved === 0n ? null : money(entry.change.reserved, currency),
      money(entry.after.available, currency),
      money(entry.after.reserved, currency)
    ]),
    none
  )

const ofEntry = ({ externalId, note, phase, reference }: FloatEntry): ComponentChild => {
  const isByHand = phase === "credit" || phase === "debit"
  return [
    isByHand ? code(externalId ?? reference) : transactionLink(reference),
    (isByHand || phase === "correct") && note !== "" ? [" ", said(maskedText(note))] : null
  ]
}
