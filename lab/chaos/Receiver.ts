import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import type { Told } from "./History.ts"

/** What the tenants' endpoint heard: the newest version of each record, and whether each event's bytes were ever the same. */
export interface Heard {
  readonly url: (appId: string) => string
  readonly learn: (appId: string, secret: string) => void
  /** What the newest event about a reference says. */
  readonly newest: (reference: string) => Readonly<Record<string, unknown>> | undefined
  readonly types: (reference: string) => ReadonlySet<string>
  /** When the first event about a reference arrived. */
  readonly firstAt: (reference: string) => number | undefined
  readonly count: () => number
  /** Wrong signatures, and events whose bytes changed between attempts: there must be none. */
  readonly faults: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

export const openReceiver = async (told: (one: Told) => void = () => undefined): Promise<Heard> => {
  const secrets = new Map<string, string>()
  /** Of hours of events only what is compared is kept. */
  const digests = new Map<string, string>()
  const newest = new Map<string, Readonly<Record<string, unknown>>>()
  const types = new Map<string, Set<string>>()
  const first = new Map<string, number>()
  const faults: Array<string> = []
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request.setEncoding("utf8")) body += chunk
    const id = String(request.headers["webhook-id"])
    const secret = secrets.get(request.url?.slice(1) ?? "") ?? ""
    const expected = createHmac("sha256", Buffer.from(secret.replace("whsec_", ""), "base64"))
      .update(`${id}.${request.headers["webhook-timestamp"]}.${body}`)
      .digest()
    const given = Buffer.from(String(request.headers["webhook-signature"]).replace("v1,", ""), "base64")
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) faults.push(`${id}: wrong signature`)
    const digest = createHash("sha256").update(body).digest("base64")
    if ((digests.get(id) ?? digest) !== digest) faults.push(`${id}: other bytes than before`)
    digests.set(id, digest)
    const event: { type: string; data: Record<string, unknown> } = JSON.parse(body)
    const reference = String(event.data["reference"])
    const { completed_at, status, version } = event.data
    told({ id, type: event.type, reference, version: Number(version), status: String(status), at: performance.now() })
    first.set(reference, first.get(reference) ?? Date.now())
    const known = newest.get(reference)
    if (known === undefined || Number(known["version"]) <= Number(version))
      newest.set(reference, { completed_at, status, version })
    types.set(reference, (types.get(reference) ?? new Set()).add(event.type))
    response.writeHead(204).end()
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: (appId) => `http://127.0.0.1:${port}/${appId}`,
    learn: (appId, secret) => void secrets.set(appId, secret),
    newest: (reference) => newest.get(reference),
    types: (reference) => types.get(reference) ?? new Set(),
    firstAt: (reference) => first.get(reference),
    count: () => digests.size,
    faults,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      })
  }
}
