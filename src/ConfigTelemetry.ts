import { readFileSync } from "node:fs"
import { Redacted } from "effect"
import { collector } from "./ConfigAddresses.ts"
import { boolean, oneOf, type Reader, type Rule, text, wholeNumber } from "./ConfigRules.ts"

/** Where one signal is exported to, and how; null in `Settings` where it is not exported. */
interface SignalSettings {
  readonly url: string
  /** They may be credentials: never shown. */
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly timeoutMs: number
  /** In PEM: the authority of the collector's certificate, and the gateway's own certificate; null: the runtime's, and none. */
  readonly authority: string | null
  readonly certificate: string | null
  readonly key: Redacted.Redacted | null
}

const file: Rule<string> = {
  meaning: "a file that can be read",
  of: (path) => {
    try {
      return readFileSync(path, "utf8")
    } catch {
      return undefined
    }
  }
}

/** Attributes and headers: `name=value,…`, each percent-encoded. */
const pairs: Rule<Readonly<Record<string, string>>> = {
  meaning: "NAME=VALUE,… with what is not plain percent-encoded",
  of: (given) => {
    try {
      const parts = given.split(",").filter((part) => part.trim() !== "")
      const entries = parts.map((part) => part.split(/=(.*)/s, 2).map((word) => decodeURIComponent(word.trim())))
      return entries.every(([name = "", value]) => name !== "" && value !== undefined) ? Object.fromEntries(entries) : undefined
    } catch {
      return undefined
    }
  },
  isSecret: true
}

const LONGEST_MS = 600_000
const exporters = oneOf({ otlp: true, none: false })
// The two other forms of OTLP need another exporter, and another port of the collector.
const PROTOCOL = "http/protobuf"
const protocols = oneOf({ [PROTOCOL]: true })
const compressions = oneOf({ none: "none", gzip: "gzip" })
const sdkLogLevels = oneOf({
  none: "none",
  error: "error",
  warn: "warn",
  info: "info",
  debug: "debug",
  verbose: "verbose",
  all: "verbose"
})
const temporalities = oneOf({ cumulative: "cumulative", delta: "delta", lowmemory: "delta" })

/**
 * The standard OTEL_* variables that the gateway reads itself. The SDK reads those of samplers, and of the limits, batches and
 * compression of spans. Nothing is sent where no endpoint is set. The setting of one signal takes precedence over that of all.
 */
export const telemetryOf = (read: Reader, mistakes: Array<string>) => {
  const isDisabled = read("OTEL_SDK_DISABLED", "false", boolean)
  const everywhere = collector(read, mistakes, "OTEL_EXPORTER_OTLP")
  const attributes = read("OTEL_RESOURCE_ATTRIBUTES", "", pairs)

  const shared = {
    protocol: read("OTEL_EXPORTER_OTLP_PROTOCOL", PROTOCOL, protocols),
    headers: read("OTEL_EXPORTER_OTLP_HEADERS", "", pairs),
    timeoutMs: read("OTEL_EXPORTER_OTLP_TIMEOUT", "10000", wholeNumber(1, LONGEST_MS)),
    compression: read("OTEL_EXPORTER_OTLP_COMPRESSION", "none", compressions),
    authority: read.optional("OTEL_EXPORTER_OTLP_CERTIFICATE", file),
    certificate: read.optional("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", file),
    key: read.optional("OTEL_EXPORTER_OTLP_CLIENT_KEY", file)
  }

  const signal = (name: "TRACES" | "METRICS"): SignalSettings | null => {
    const prefix = `OTEL_EXPORTER_OTLP_${name}`
    const own = collector(read, mistakes, prefix)
    const isExported = read(`OTEL_${name}_EXPORTER`, "otlp", exporters)
    read(`${prefix}_PROTOCOL`, PROTOCOL, protocols)
    const headers = { ...shared.headers, ...read(`${prefix}_HEADERS`, "", pairs) }
    const timeoutMs = read.optional(`${prefix}_TIMEOUT`, wholeNumber(1, LONGEST_MS)) ?? shared.timeoutMs
    const authority = read.optional(`${prefix}_CERTIFICATE`, file) ?? shared.authority
    const certificate = read.optional(`${prefix}_CLIENT_CERTIFICATE`, file) ?? shared.certificate
    const key = read.optional(`${prefix}_CLIENT_KEY`, file) ?? shared.key
    // The path is appended only to the endpoint that all signals share.
    const url = own ?? (everywhere === null ? null : `${everywhere.replace(/\/+$/, "")}/v1/${name.toLowerCase()}`)
    if (isDisabled || !isExported || url === null) return null
    const login = { authority, certificate, key: key === null ? null : Redacted.make(key) }
    return { url, headers: Redacted.make(headers), timeoutMs, ...login }
  }

  const [traces, metrics] = [signal("TRACES"), signal("METRICS")]
  const metricsTimeoutMs = read("OTEL_METRIC_EXPORT_TIMEOUT", "30000", wholeNumber(1, LONGEST_MS))

  return {
    traces,
    metrics: metrics === null ? null : { ...metrics, timeoutMs: Math.min(metrics.timeoutMs, metricsTimeoutMs) },
    sdkLogLevel: read("OTEL_LOG_LEVEL", "error", sdkLogLevels),
    metricsEveryMs: read("OTEL_METRIC_EXPORT_INTERVAL", "15000", wholeNumber(100, LONGEST_MS)),
    metricsCompression: read.optional("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", compressions) ?? shared.compression,
    metricsTemporality: read("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative", temporalities),
    serviceName: read("OTEL_SERVICE_NAME", attributes["service.name"] ?? "payment-gateway", text),
    /** Attributes of the resource, beside its name and its version. */
    attributes
  }
}
