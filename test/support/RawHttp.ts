import { createHash, createHmac } from "node:crypto"
import { connect } from "node:net"
import { AppId } from "../../src/domain/Ids.ts"
import vectors from "../http/signing-vectors.json" with { type: "json" }

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** A request to be written as it stands: no header is added, changed, merged or sorted. */
export interface RawAsk {
  readonly method: string
  readonly target: string
  readonly version?: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body?: Uint8Array | string
}

/** Sends bytes over a socket of their own and reads the one answer. */
export const sendBytes = (port: number, bytes: Uint8Array): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes))
    const done = () => {
      const answer = parsed(Buffer.concat(chunks))
      if (answer === undefined) return false
      socket.destroy()
      resolve(answer)
      return true
    }
    socket.on("data", (chunk) => {
      chunks.push(chunk)
      done()
    })
    socket.on("end", () => done() || reject(new Error(`cut: ${Buffer.concat(chunks).toString()}`)))
    socket.on("error", (error) => (chunks.length > 0 && done()) || reject(error))
  })

export const send = (port: number, ask: RawAsk): Promise<RawAnswer> => {
  const body = Buffer.from(ask.body ?? "")
  const lines = [
    `${ask.method} ${ask.target} ${ask.version ?? "HTTP/1.1"}`,
    ...ask.headers.map(([name, value]) => `${name}: ${value}`)
  ]
  if (body.length > 0 && !ask.headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name)))
    lines.push(`Content-Length: ${body.length}`)
  return sendBytes(port, Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]))
}

const parsed = (bytes: Buffer): RawAnswer | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const [first = "", ...lines] = bytes.subarray(0, end).toString().split("\r\n")
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()])
  )
  const body = bytes.subarray(end + 4)
  if (body.length < Number(headers["content-length"] ?? 0)) return undefined
  return { status: Number(first.split(" ")[1]), headers, text: body.toString() }
}

/** The vectors' tenant. */
export const caller = { appId: AppId.make(vectors.app_id), keyId: vectors.key_id, mode: "live", role: "tenant" } as const

let nonces = 0

/** The signing headers of the vectors' tenant, made here anew and not by the code under test. `canonicalQuery` must be given where there is a query. */
export const signed = (
  method: string,
  target: string,
  body: Uint8Array | string = "",
  { canonicalQuery = "", host = "api.gateway.example", timestamp = vectors.now } = {}
): ReadonlyArray<readonly [string, string]> => {
  const nonce = `test-nonce-${String(nonces++).padStart(8, "0")}`
  const text = [
    "v1",
    vectors.app_id,
    vectors.key_id,
    host.toLowerCase(),
    method,
    target.split("?")[0],
    canonicalQuery,
    timestamp,
    nonce,
    createHash("sha256").update(body).digest("hex")
  ].join("\n")
  return [
    ["Host", host],
    ["X-Gateway-Key", `${vectors.app_id}.${vectors.key_id}.${vectors.api_key}`],
    ["X-Gateway-Timestamp", String(timestamp)],
    ["X-Gateway-Nonce", nonce],
    ["X-Gateway-Signature", `v1=${createHmac("sha256", vectors.signing_secret).update(text).digest("hex")}`]
  ]
}
