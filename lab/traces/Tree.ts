import type { ReceivedSpan } from "../../test/support/OtlpReceiver.ts"

const NANOS_A_MS = 1_000_000
const NAME_WIDTH = 52

/** What a line says besides its name and its times. */
const SHOWN = [
  "gateway.operation",
  "gateway.attempt",
  "gateway.provider",
  "http.response.status_code",
  "gateway.outcome",
  "gateway.fact",
  "gateway.actor",
  "gateway.verdict",
  "gateway.note",
  "gateway.candidates",
  "error.type",
  "gateway.connection_wait_ms",
  "gateway.connect_ms",
  "gateway.first_byte_ms",
  "gateway.provider_request_id",
  "gateway.retry_after",
  "gateway.batch_size"
] as const

/**
 * One trace as text: a line a span, below its parent, with the milliseconds from the trace's first span to its beginning and how long it took.
 * A span whose parent was not received stands at the left.
 */
export const traceTree = (spans: ReadonlyArray<ReceivedSpan>): string => {
  const known = new Set(spans.map(({ spanId }) => spanId))
  const sorted = spans.toSorted((one, other) => (BigInt(one.startNanos) < BigInt(other.startNanos) ? -1 : 1))
  const [first] = sorted
  if (first === undefined) return ""
  const ms = (nanos: bigint) => (Number(nanos) / NANOS_A_MS).toFixed(1).padStart(9)
  const lineOf = ({ attributes, endNanos, links, name, startNanos }: ReceivedSpan, depth: number): string => {
    const begun = BigInt(startNanos)
    const said = SHOWN.flatMap((one) => (attributes[one] === undefined ? [] : [`${shortName(one)} ${attributes[one]}`]))
    const all = [...said, ...(links.length === 0 ? [] : [`${links.length} ${links.length === 1 ? "link" : "links"}`])].join(", ")
    const title = `${"  ".repeat(depth)}${name}`.padEnd(NAME_WIDTH)
    return `${ms(begun - BigInt(first.startNanos))} ${ms(BigInt(endNanos) - begun)}  ${title} ${all}`.trimEnd()
  }
  const below = (parentId: string, depth: number): ReadonlyArray<string> =>
    sorted.filter((span) => span.parentId === parentId).flatMap((span) => [lineOf(span, depth), ...below(span.spanId, depth + 1)])
  const roots = sorted.filter(({ parentId }) => !known.has(parentId))
  return [`trace ${first.traceId}`, ...roots.flatMap((root) => [lineOf(root, 0), ...below(root.spanId, 1)])].join("\n")
}

const shortName = (name: string): string => name.replace(/^(gateway|http\.response)\./, "")
