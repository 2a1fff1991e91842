import { Schema, SchemaTransformation } from "effect"
import { noteAndCalls, noteWithCalls } from "../../domain/CallTimes.ts"
import type { HistoryLine } from "../../services/ports/FloatLedger.ts"
import { storable } from "../connection/Columns.ts"

/** The note of a line as it is stored and digested: with the line's calls at its end. */
export const storedNote = ({ calls = [], note }: Pick<HistoryLine, "note" | "calls">): string =>
  noteWithCalls(storable(note), calls)

/** Splits a stored line's note into the note and its calls. */
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
