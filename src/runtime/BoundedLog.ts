import { Context, Effect } from "effect"

/** So many lines of a window are written; the others are counted. */
const LINES = 100
const WINDOW = "10 seconds"

/** True of a line that is written after `boundedLog` let it: nothing else counts it. */
export const IsBounded = Context.Reference<boolean>("gateway/runtime/IsBounded", { defaultValue: () => false })

/**
 * Bounds what strangers can make a log write. Answers whether a line is written, or was only counted by its kind; `more` writes each count
 * when the window ends, and when the scope closes.
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
      // The end of the window is forked before its first line: an interruption in between leaves an end too many, and never none.
      if (lines === 0) yield* Effect.forkIn(Effect.delay(endWindow, WINDOW), scope)
      lines += 1
      if (lines <= LINES) return true
      counted.set(kind, (counted.get(kind) ?? 0) + 1)
      return false
    })
})
