import { createServer } from "node:http"

// A process of its own: an OTLP/HTTP receiver that reads the protobuf as its schema numbers it, and tells what it got as JSON.

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  readonly name: string
  readonly kind: number
  readonly startNanos: string
  readonly endNanos: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
  readonly events: ReadonlyArray<string>
  readonly status: number
  readonly resource: Readonly<Record<string, string | number | boolean>>
}

type Field = readonly [number: number, value: bigint | Uint8Array]

const fieldsOf = (bytes: Uint8Array): ReadonlyArray<Field> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fields: Array<Field> = []
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const wire = tag & 7
    if (wire === 0) fields.push([tag >> 3, varint()])
    else if (wire === 1) {
      fields.push([tag >> 3, view.getBigUint64(at, true)])
      at += 8
    } else if (wire === 2) {
      const length = Number(varint())
      if (at + length > bytes.length) throw new Error("a field is longer than its message")
      fields.push([tag >> 3, bytes.subarray(at, at + length)])
      at += length
    } else if (wire === 5) {
      fields.push([tag >> 3, BigInt(view.getUint32(at, true))])
      at += 4
    } else throw new Error(`no wire type ${wire}`)
  }
  return fields
}

const messages = (bytes: Uint8Array, number: number): ReadonlyArray<Uint8Array> =>
  fieldsOf(bytes).flatMap(([found, value]) => (found === number && value instanceof Uint8Array ? [value] : []))
const text = (bytes: Uint8Array, number: number): string => Buffer.from(messages(bytes, number)[0] ?? []).toString("utf8")
const hex = (bytes: Uint8Array, number: number): string => Buffer.from(messages(bytes, number)[0] ?? []).toString("hex")
const whole = (bytes: Uint8Array, number: number): bigint =>
  fieldsOf(bytes).reduce((last, [found, value]) => (found === number && typeof value === "bigint" ? value : last), 0n)

const scalar = (any: Uint8Array): string | number | boolean => {
  const [field] = fieldsOf(any)
  if (field === undefined) return ""
  const [number, value] = field
  if (value instanceof Uint8Array) return number === 1 ? Buffer.from(value).toString("utf8") : "<structure>"
  if (number === 2) return value === 1n
  return number === 4 ? Buffer.from(new BigUint64Array([value]).buffer).readDoubleLE() : Number(BigInt.asIntN(64, value))
}

const attributes = (bytes: Uint8Array, number: number): Record<string, string | number | boolean> =>
  Object.fromEntries(messages(bytes, number).map((pair) => [text(pair, 1), scalar(messages(pair, 2)[0] ?? new Uint8Array())]))

const spansOf = (request: Uint8Array): ReadonlyArray<ReceivedSpan> =>
  messages(request, 1).flatMap((resourceSpans) => {
    const resource = attributes(messages(resourceSpans, 1)[0] ?? new Uint8Array(), 1)
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        name: text(span, 5),
        kind: Number(whole(span, 6)),
        startNanos: String(whole(span, 7)),
        endNanos: String(whole(span, 8)),
        attributes: attributes(span, 9),
        events: messages(span, 11).map((event) => text(event, 2)),
        links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
        status: Number(whole(messages(span, 15)[0] ?? new Uint8Array(), 3)),
        resource
      }))
    )
  })

/** One point of a gauge, with its value in full. */
export interface ReceivedGauge {
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly value: string
}

const valueOf = (point: Uint8Array): string => {
  for (const [number, value] of fieldsOf(point)) {
    if (number === 6 && typeof value === "bigint") return String(BigInt.asIntN(64, value))
    if (number === 4 && typeof value === "bigint") return String(Buffer.from(new BigUint64Array([value]).buffer).readDoubleLE())
  }
  return "0"
}

const gaugesOf = (request: Uint8Array): ReadonlyArray<ReceivedGauge> =>
  messages(request, 1)
    .flatMap((resourceMetrics) => messages(resourceMetrics, 2))
    .flatMap((scopeMetrics) => messages(scopeMetrics, 2))
    .flatMap((metric) =>
      messages(metric, 5)
        .flatMap((gauge) => messages(gauge, 1))
        .map((point) => ({ name: text(metric, 1), attributes: attributes(point, 7), value: valueOf(point) }))
    )

const received: Array<ReceivedSpan> = []
const gauges: Array<ReceivedGauge> = []
const server = createServer(async (request, response) => {
  if (request.method === "GET") return void response.end(JSON.stringify({ spans: received, gauges }))
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  if (request.headers["content-type"] !== "application/x-protobuf") return void response.writeHead(415).end()
  if (request.url === "/v1/traces") received.push(...spansOf(Buffer.concat(chunks)))
  if (request.url === "/v1/metrics") gauges.push(...gaugesOf(Buffer.concat(chunks)))
  response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
})
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const address = server.address()
  process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`)
})
