import { type Clock, Effect } from "effect"

/** How often the log looks at what it counted. */
const WINDOW_MS = 10_000
/** After so many without a line it has nothing left to count: days pass as a minute does. */
const WINDOWS_AT_MOST = 7

/** The clock of the log in a story of days: its windows end as they would, without each of thousands that are empty. */
export class LogWindows {
  readonly #waiting: Array<() => void> = []

  on(clock: Clock.Clock): Clock.Clock {
    return { ...clock, sleep: () => Effect.promise(() => new Promise<void>((resolve) => this.#waiting.push(resolve))) }
  }

  pass(before: number, now: number): Effect.Effect<void> {
    const ended = Math.floor(now / WINDOW_MS) - Math.floor(before / WINDOW_MS)
    return Effect.promise(async () => {
      for (let window = 0; window < Math.min(ended, WINDOWS_AT_MOST); window++) {
        for (const end of this.#waiting.splice(0)) end()
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
    })
  }
}
