import type { Answer } from "./Case.ts"

const END_OF_HEAD = Buffer.from("\r\n\r\n")
const NOTHING = Buffer.alloc(0)

/** Takes the bytes of a connection and gives its answers, one after another. `isHead` says whether the next one has no body. */
export const makeAnswerReader = (isHead: () => boolean) => {
  let held: Buffer = NOTHING
  return {
    /** Whether bytes have come that are no whole answer yet. */
    isAmid: () => held.length > 0,
    take: (chunk: Buffer) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    },
    /** The next whole answer; undefined while it has not come. Throws where the bytes are no answer. */
    next: (): Answer | undefined => {
      for (;;) {
        const read = answerIn(held, isHead())
        if (read === undefined) return undefined
        held = held.subarray(read.bytes)
        // An interim answer: the request's own is still to come.
        if (read.status >= 200) return read
      }
    }
  }
}

const answerIn = (bytes: Buffer, head: boolean): Answer | undefined => {
  const end = bytes.indexOf(END_OF_HEAD)
  if (end === -1) return undefined
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const [, code] = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first) ?? []
  if (code === undefined) throw new Error(`no status line: ${JSON.stringify(first.slice(0, 200))}`)
  const headers = Object.fromEntries(lines.map(headerOf))
  const status = Number(code)
  const start = end + END_OF_HEAD.length
  const bodyless = head || status < 200 || status === 204 || status === 304
  const body = bodyless ? { text: "", until: start } : bodyIn(bytes, start, headers)
  return body === undefined ? undefined : { status, headers, text: body.text, bytes: body.until }
}

const headerOf = (line: string): [string, string] => {
  const colon = line.indexOf(":")
  if (colon < 1 || /[^\x20-\x7e]/.test(line)) throw new Error(`no header: ${JSON.stringify(line.slice(0, 200))}`)
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}

const bodyIn = (bytes: Buffer, start: number, headers: Readonly<Record<string, string>>) => {
  if (headers["transfer-encoding"] === "chunked") return chunksIn(bytes, start)
  const length = Number(headers["content-length"] ?? "none")
  if (!Number.isSafeInteger(length)) throw new Error("neither a length nor chunks")
  const until = start + length
  return bytes.length < until ? undefined : { text: bytes.toString("utf8", start, until), until }
}

const chunksIn = (bytes: Buffer, start: number): { text: string; until: number } | undefined => {
  const parts: Array<Buffer> = []
  for (let at = start; ; ) {
    const line = bytes.indexOf("\r\n", at)
    if (line === -1) return undefined
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16)
    const from = line + 2
    if (bytes.length < from + size + 2) return undefined
    if (size === 0) return { text: Buffer.concat(parts).toString("utf8"), until: from + 2 }
    parts.push(bytes.subarray(from, from + size))
    at = from + size + 2
  }
}
