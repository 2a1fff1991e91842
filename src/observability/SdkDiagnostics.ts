import { type DiagLogFunction, DiagLogLevel, diag } from "@opentelemetry/api"
import { Effect, Layer } from "effect"

export type SdkLogLevel = "none" | "error" | "warn" | "info" | "debug" | "verbose"

const levels: Readonly<Record<SdkLogLevel, DiagLogLevel>> = {
  none: DiagLogLevel.NONE,
  error: DiagLogLevel.ERROR,
  warn: DiagLogLevel.WARN,
  info: DiagLogLevel.INFO,
  debug: DiagLogLevel.DEBUG,
  verbose: DiagLogLevel.VERBOSE
}

/** The longest part of one message that is written: some messages are whole batches of spans. */
const LONGEST_NOTE = 2_000

/**
 * Writes the OpenTelemetry SDK's own messages, such as that a collector rejects spans, to the log. By default they go to
 * standard output, or nowhere. Its most detailed messages, if enabled, get the level `info`, whatever our LOG_LEVEL is.
 */
const layer = (level: SdkLogLevel): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const logging =
        (line: Effect.Effect<void>): DiagLogFunction =>
        (...parts) =>
          void run(Effect.annotateLogs(line, { note: noteOf(parts) }))
      const said = logging(Effect.logInfo("the OpenTelemetry SDK reports"))
      const logger = {
        error: logging(Effect.logError("the OpenTelemetry SDK reports an error")),
        warn: logging(Effect.logWarning("the OpenTelemetry SDK warns")),
        info: said,
        debug: said,
        verbose: said
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => diag.setLogger(logger, { logLevel: levels[level], suppressOverrideMessage: true })),
        () => Effect.sync(() => diag.disable())
      )
    })
  )

export const SdkDiagnostics = { layer }

const noteOf = (parts: ReadonlyArray<unknown>): string =>
  parts
    .map((part) => (typeof part === "string" ? part : part instanceof Error ? `${part.name}: ${part.message}` : inJson(part)))
    .join(" ")
    .slice(0, LONGEST_NOTE)

/** Spans refer to their processors, which refer to their spans. */
const inJson = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return "<structure>"
  }
}
