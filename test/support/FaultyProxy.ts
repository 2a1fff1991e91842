import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http"
import { Effect } from "effect"
import { listening } from "./ListeningServer.ts"

/** What goes wrong between a client and the gateway, for one request. */
export const faults = [
  "lost request",
  "lost answer",
  "answer cut short",
  "503 of a proxy",
  "429 of a proxy",
  "doubled, the first is answered",
  "doubled, the last is answered"
] as const
export type Fault = (typeof faults)[number]

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * Stands in front of a gateway and spoils requests. `plan` lists the faults for the requests with an idempotency key, or with none, in their
 * order; where there is none, or none is left, a request passes.
 */
export const faultyProxy = Effect.fnUntraced(function* (gatewayUrl: string) {
  const plans = new Map<string, Array<Fault | undefined>>()
  const requests: Array<{ readonly key: string; readonly nonce: string; readonly body: string }> = []
  const server = createServer(async (incoming, response) => {
    const body = await bytesOf(incoming)
    const key = String(incoming.headers["idempotency-key"] ?? "")
    requests.push({ key, nonce: String(incoming.headers["x-gateway-nonce"]), body: body.toString() })
    const forward = () => forwarded(gatewayUrl, incoming, body)
    await spoil(plans.get(key)?.shift(), forward, response).catch(() => response.destroy())
  })
  const port = yield* listening(server)
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    plan: (key: string, ...planned: ReadonlyArray<Fault | undefined>): void => void plans.set(key, [...planned])
  }
})

const spoil = async (fault: Fault | undefined, forward: () => Promise<Answer>, response: ServerResponse): Promise<void> => {
  switch (fault) {
    case "lost request":
      response.destroy()
      return
    case "503 of a proxy":
      response.writeHead(503, { "content-type": "text/html" }).end("<h1>Service Unavailable</h1>")
      return
    case "429 of a proxy":
      response.writeHead(429, { "retry-after": "0" }).end()
      return
    case "lost answer":
      await forward()
      response.destroy()
      return
    case "answer cut short": {
      const { body, headers, status } = await forward()
      response.writeHead(status, headers).write(body.subarray(0, body.length / 2), () => response.destroy())
      return
    }
    case "doubled, the first is answered":
    case "doubled, the last is answered": {
      const [first, last] = await Promise.all([forward(), forward()])
      send(response, fault === "doubled, the last is answered" ? last : first)
      return
    }
    case undefined:
      send(response, await forward())
  }
}

const send = (response: ServerResponse, { body, headers, status }: Answer): void =>
  void response.writeHead(status, headers).end(body)

/** Sends the same bytes under the same headers. */
const forwarded = (gatewayUrl: string, { headers, method, url }: IncomingMessage, body: Buffer): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = request(`${gatewayUrl}${url}`, { method, headers, agent: false }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await bytesOf(answer) })
    })
    outgoing.on("error", reject).end(body)
  })

const bytesOf = async (incoming: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
