import { Context, Effect } from "effect"

/** The number of lines of one window that are written; further lines are only counted. */
const LINES = 100
const WINDOW = "10 seconds"

/** True for a line that `boundedLog` let through: no other limit counts it. */
export const IsBounded = Context.Reference<boolean>("gateway/runtime/IsBounded", { defaultValue: () => false })

/**
 * Limits how much strangers can make the log write. Returns whether a line is written, or was only counted by its kind. `more`
 * writes each count when the window ends, and when the scope closes.
 */
export const boundedLog = Effect.fnUntraced(function* <Kind>(more: (kind: Kind, count: number) => Effect.Effect<void>) {
  const scope = yield* Effect.scope
  const counted = new Map<Kind, number>()
  let lines = 0

  const endWindow = Effect.suspend(() => {
    lines = 0
    const counts = [...counted]
    counted.clear()
    return Effect.forEach(counts, ([kind, count]) => more(kind, count), { discard: true })
  })
  yield* Effect.addFinalizer(() => endWindow)

  return (kind: Kind): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      // The window's end is forked before its first line: an interruption in between leaves one end too many, never none.
      if (lines === 0) yield* Effect.forkIn(Effect.delay(endWindow, WINDOW), scope)
      lines += 1
      if (lines <= LINES) return true
      counted.set(kind, (counted.get(kind) ?? 0) + 1)
      return false
    })
})
