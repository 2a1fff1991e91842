import { createSocket } from "node:dgram"
import { isIPv6 } from "node:net"
import { Effect, type Scope } from "effect"

const TYPES = { A: 1, AAAA: 28 } as const
const HEADER_BYTES = 12
/** A pointer to the name of the question. */
const SAME_NAME = 0xc00c

export interface NameServer {
  /** As a list of name servers spells it. */
  readonly address: string
  /** Each question that came, such as `A tenant.example`. */
  readonly asked: Array<string>
}

/** A DNS server on loopback, over UDP; where `addresses` answers null it says nothing at all. */
export const nameServer = (
  addresses: (name: string, type: keyof typeof TYPES) => ReadonlyArray<string> | null
): Effect.Effect<NameServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<string> = []
      const socket = createSocket("udp4")
      socket.on("message", (query, { address, port }) => {
        const { name, type } = questionOf(query)
        const kind = type === TYPES.AAAA ? "AAAA" : "A"
        asked.push(`${kind} ${name}`)
        const found = addresses(name, kind)
        if (found === null) return
        const wanted = found.filter((one) => isIPv6(one) === (type === TYPES.AAAA))
        socket.send(answerOf(query, type, wanted), port, address)
      })
      await new Promise<void>((bound) => socket.bind(0, "127.0.0.1", bound))
      return { address: `127.0.0.1:${socket.address().port}`, asked, socket }
    }),
    ({ socket }) => Effect.promise(() => new Promise<void>((closed) => void socket.close(() => closed())))
  )

const questionOf = (query: Buffer): { readonly name: string; readonly type: number; readonly end: number } => {
  const labels: Array<string> = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

const answerOf = (query: Buffer, type: number, addresses: ReadonlyArray<string>): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES)
  query.copy(header, 0, 0, 2)
  // An answer, recursion wanted and available, without an error.
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  const records = addresses.map((address) => {
    const bytes = type === TYPES.AAAA ? bytes6(address) : Buffer.from(address.split(".").map(Number))
    const record = Buffer.alloc(12)
    record.writeUInt16BE(SAME_NAME, 0)
    record.writeUInt16BE(type, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(bytes.length, 10)
    return Buffer.concat([record, bytes])
  })
  return Buffer.concat([header, query.subarray(HEADER_BYTES, questionOf(query).end), ...records])
}

const bytes6 = (address: string): Buffer => {
  const hex = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [head = "", tail] = hex.split("::")
  const groups = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)))
  const before = groups(head)
  const after = groups(tail ?? "")
  const all = tail === undefined ? before : [...before, ...Array(8 - before.length - after.length).fill(0), ...after]
  const bytes = Buffer.alloc(16)
  for (const [index, group] of all.entries()) bytes.writeUInt16BE(group, 2 * index)
  return bytes
}
