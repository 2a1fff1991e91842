import { Cause, Console, Effect, type Fiber, Layer, Logger, LogLevel, Redactable, References } from "effect"
import { visibleText } from "../domain/VisibleText.ts"
import { IsBounded } from "../runtime/BoundedLog.ts"
import { isListed } from "./Attributes.ts"

interface LogsOptions {
  readonly format: "pretty" | "json"
  readonly level: LogLevel.LogLevel
}

const layer = ({ format, level }: LogsOptions): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([bufferedLogger(format === "json" ? jsonText : prettyText)]),
    Layer.succeed(References.MinimumLogLevel, level)
  )

/**
 * Writes the lines of one turn of the event loop with one call: under load, each line would otherwise be a separate system
 * call. A process that ends, even by an uncaught error, first writes its buffered lines. Repeated lines are counted.
 */
const bufferedLogger = (textIn: (line: LogLine) => string) =>
  Effect.gen(function* () {
    const console = yield* Console.Console
    let waiting: Array<string> = []
    const write = () => {
      if (waiting.length === 0) return
      const text = waiting.join("\n")
      waiting = []
      console.error(text)
    }
    const put = (line: LogLine) => {
      if (waiting.push(textIn(line)) === 1) setImmediate(write)
    }
    const repeated = makeRepeatedLines(put)
    const end = () => {
      repeated.endWindow(true)
      write()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("exit", end)),
      () =>
        Effect.sync(() => {
          process.off("exit", end)
          end()
        })
    )
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.delay(
          Effect.sync(() => repeated.endWindow()),
          WINDOW
        )
      )
    )
    return Logger.make<unknown, void>((entry) => {
      if (entry.fiber.getRef(IsBounded)) return put(lineOf(entry))
      repeated.take(entry.logLevel, lineOf(entry))
    })
  })

/** The log goes to standard error, because standard output is for the results of commands. */
export const Logs = { layer }

const jsonText = (line: LogLine): string => visibleText(JSON.stringify(line))

const prettyText = ({ annotations, error, level, message, time, trace_id }: LogLine): string => {
  const named = Object.entries(annotations).map(([name, value]) => `${name}=${value}`)
  const head = [time.slice(11, 23), level.padEnd(5), message, ...named, ...(trace_id === undefined ? [] : [`trace=${trace_id}`])]
  const further = error === undefined ? [] : error.split("\n").map((line) => `  ${line}`)
  // No text of an annotation or an error can make one line look like two, or control a terminal.
  return [head.join(" "), ...further].map(visibleText).join("\n")
}

const lineOf = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): LogLine => {
  const parts = Array.isArray(message) ? message : [message]
  const causes = [...parts.filter(Cause.isCause), cause].filter(({ reasons }) => reasons.length > 0)
  return {
    time: date.toISOString(),
    level: logLevel.toLowerCase(),
    message: parts
      .filter((part) => !Cause.isCause(part))
      .map(textOf)
      .join(" "),
    annotations: listedAnnotations(fiber.getRef(References.CurrentLogAnnotations)),
    ...idsOf(fiber),
    ...(causes.length === 0 ? {} : { error: causes.map(errorText).join("\n") })
  }
}

const idsOf = (fiber: Fiber.Fiber<unknown, unknown>): Pick<LogLine, "trace_id" | "span_id"> => {
  const { span } = fiber.cache
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }
}

/** An annotation that is not listed keeps its name, so that its author notices, and loses its value. */
const listedAnnotations = (annotations: Readonly<Record<string, unknown>>): LogLine["annotations"] => {
  const listed: Record<string, LogLine["annotations"][string]> = {}
  for (const name in annotations) listed[name] = isListed(name) ? scalar(annotations[name]) : "<not listed>"
  return listed
}

const scalar = (value: unknown): string | number | boolean | null =>
  value === null || typeof value === "number" || typeof value === "boolean" ? value : textOf(value)

/** The message and stack of each error and of its causes; never other fields, which can contain requests with headers. */
const errorText = (cause: Cause.Cause<unknown>): string => Cause.pretty(cause)

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value
  if (typeof value === "bigint") return value.toString()
  if (value instanceof Error) return `${value.name}: ${value.message}`
  const shown = JSON.stringify(Redactable.redact(value), plain)
  return shown === undefined ? String(value) : shown
}

const plain = (_name: string, member: unknown): unknown => {
  if (typeof member === "bigint") return member.toString()
  return member instanceof Error ? `${member.name}: ${member.message}` : member
}

/** One line of the log, whatever form it is printed in. */
interface LogLine {
  readonly time: string
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, string | number | boolean | null>>
  readonly trace_id?: string
  readonly span_id?: string
  readonly error?: string
}

/** The number of lines of one kind that are written in a window; the others are counted. */
const LINES = 10
const WINDOW = "10 seconds"
/** A fault of a provider, or of our account there, is written once a minute, which is this many windows. */
const ALARM_LINES = 1
const ALARM_WINDOWS = 6
/** The number of kinds that are distinguished in a window. Beyond it, all lines with the same message are one kind. */
const KINDS = 1_000
/** Annotations with few different values: they describe what a line is about, not which request it was. */
const DISTINGUISHING = ["provider", "worker", "step", "reason", "alarm", "app_id"]

interface Counted {
  readonly about: LogLine["annotations"]
  /** The number of lines that are written. */
  readonly atMost: number
  /** The windows that remain, including this one. */
  windows: number
  lines: number
  /** The last line that was not written. */
  withheld: LogLine | null
}

/**
 * Limits repeated lines. In an outage, the same line for each request would fill the disk and hide other lines. Of the warnings
 * and errors with one message, the first of a window are written immediately. The others become one line at its end, with their
 * `count`.
 */
const makeRepeatedLines = (write: (line: LogLine) => void) => {
  const kinds = new Map<string, Counted>()

  const countedAs = ({ annotations, level, message }: LogLine): Counted => {
    const sentence = `${level} ${message}`
    const about = Object.fromEntries(Object.entries(annotations).filter(([name]) => DISTINGUISHING.includes(name)))
    const exact = sentence + JSON.stringify(about)
    const isExact = kinds.has(exact) || kinds.size < KINDS
    const kind = isExact ? exact : sentence
    const [atMost, windows] = "alarm" in annotations ? [ALARM_LINES, ALARM_WINDOWS] : [LINES, 1]
    const counted = kinds.get(kind) ?? { about: isExact ? about : {}, atMost, windows, lines: 0, withheld: null }
    kinds.set(kind, counted)
    return counted
  }

  return {
    /** Writes the line, or counts it. */
    take: (logLevel: LogLevel.LogLevel, line: LogLine): void => {
      if (!LogLevel.isGreaterThanOrEqualTo(logLevel, "Warn")) return write(line)
      const counted = countedAs(line)
      counted.lines += 1
      if (counted.lines <= counted.atMost) return write(line)
      counted.withheld = line
    },
    /** Writes the counts, and starts anew. `isLast`: also of kinds whose windows are not over. */
    endWindow: (isLast = false): void => {
      for (const [kind, counted] of kinds) {
        counted.windows -= 1
        if (counted.windows > 0 && !isLast) continue
        kinds.delete(kind)
        const { about, atMost, lines, withheld } = counted
        if (withheld === null) continue
        const { level, message, time } = withheld
        // It names no request and no trace, because it stands for many.
        write({ time, level, message, annotations: { ...about, count: lines - atMost } })
      }
    }
  }
}
