import { Effect, Option, Stdio, Stream } from "effect"
import { CommandRefusal } from "./CommandRefusal.ts"

/** Reading ends here if no line does. */
const CHUNKS_AT_MOST = 16
const LONGEST = 128

export const OR_TYPED =
  "`-`: the first line of standard input, so that neither the list of processes nor the shell's history has it"

/** A text of the command line as it is, or the first line of standard input where it is `-`. */
export const typedLine = Effect.fnUntraced(function* (given: string) {
  if (given !== "-") return given
  const { stdin } = yield* Stdio.Stdio
  const line = yield* stdin.pipe(
    Stream.take(CHUNKS_AT_MOST),
    Stream.decodeText,
    Stream.splitLines,
    Stream.runHead,
    Effect.catchTag("PlatformError", () => new CommandRefusal("standard input cannot be read"))
  )
  const text = Option.getOrElse(line, () => "").trim()
  if (text.length > LONGEST) return yield* new CommandRefusal(`the line has more than ${LONGEST} characters`)
  return text
})
