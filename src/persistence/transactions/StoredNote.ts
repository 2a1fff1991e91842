import { Schema, SchemaTransformation } from "effect"
import { noteAndCalls, noteWithCalls } from "../../domain/CallTimes.ts"
import type { HistoryLine } from "../../services/ports/FloatLedger.ts"
import { storable } from "../connection/Columns.ts"

/** The note of a line as it is stored, and as digests have it: the calls that were made for the line stand at its end. */
export const storedNote = ({ calls = [], note }: Pick<HistoryLine, "note" | "calls">): string =>
  noteWithCalls(storable(note), calls)

/** The line as it was, of one that was stored. */
export const lineOf = <Line extends { readonly note: string }>(stored: Line) => {
  const { calls, note } = noteAndCalls(stored.note)
  return { ...stored, note, ...(calls.length === 0 ? {} : { calls }) }
}

/** The note of a stored line without its calls. */
export const NoteAlone = Schema.String.pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transform({ decode: (stored: string) => noteAndCalls(stored).note, encode: (note: string) => note })
  )
)
