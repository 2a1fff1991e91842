import { LogLevel } from "effect"

/** One line of the log, whatever form it is printed in. */
export interface Line {
  readonly time: string
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, string | number | boolean | null>>
  readonly trace_id?: string
  readonly span_id?: string
  readonly error?: string
}

/** So many lines of one kind are written in a window; the others are counted. */
const LINES = 10
export const WINDOW = "10 seconds"
/** So many kinds are told apart in a window. Beyond them a sentence is one kind, whatever it is about. */
const KINDS = 1_000
/** Of few different values: they say what a line is about, and not which request it was. */
const TOLD_APART = ["provider", "worker", "step", "reason", "alarm", "app_id"]

interface Counted {
  readonly about: Line["annotations"]
  lines: number
  /** The last one that was not written. */
  withheld: Line | null
}

/**
 * What an outage says again for each request would fill the disk, and hide what else is said. Of the warnings and errors of one sentence the
 * first of a window are written as they come. The others are one line at its end, with their `count`.
 */
export const makeRepeatedLines = (write: (line: Line) => void) => {
  const kinds = new Map<string, Counted>()

  const countedAs = ({ annotations, level, message }: Line): Counted => {
    const sentence = `${level} ${message}`
    const about = Object.fromEntries(Object.entries(annotations).filter(([name]) => TOLD_APART.includes(name)))
    const told = sentence + JSON.stringify(about)
    const isTold = kinds.has(told) || kinds.size < KINDS
    const kind = isTold ? told : sentence
    const counted = kinds.get(kind) ?? { about: isTold ? about : {}, lines: 0, withheld: null }
    kinds.set(kind, counted)
    return counted
  }

  return {
    /** Writes the line, or counts it. */
    take: (logLevel: LogLevel.LogLevel, line: Line): void => {
      if (!LogLevel.isGreaterThanOrEqualTo(logLevel, "Warn")) return write(line)
      const counted = countedAs(line)
      counted.lines += 1
      if (counted.lines <= LINES) return write(line)
      counted.withheld = line
    },
    /** Writes how many were counted, and begins anew. */
    endWindow: (): void => {
      const all = [...kinds.values()]
      kinds.clear()
      for (const { about, lines, withheld } of all) {
        if (withheld === null) continue
        const { level, message, time } = withheld
        // It names no request and no trace: it stands for many.
        write({ time, level, message, annotations: { ...about, count: lines - LINES } })
      }
    }
  }
}
