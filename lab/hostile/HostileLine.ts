import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { listening } from "../../test/support/ListeningServer.ts"

/** An answer as it goes over the line. */
export interface Spoken {
  /** The informational answer that comes first, which nobody asked for. */
  readonly early: 100 | 103 | null
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface Asked {
  readonly method: string
  readonly path: string
  /** Whose address it came to (`addressOf`); null where it is nobody's own. */
  readonly number: number | null
}

/** What the line makes of one request: whether the provider gets it, and what becomes of the answer. */
export interface Twist {
  /** Instead of asking the provider at all. */
  readonly instead?: Spoken
  readonly change?: (spoken: Spoken) => Spoken
  /** The provider is asked with a token that it has ended. */
  readonly isStale?: true
  /** What happens once the provider has answered, and before that answer is heard. */
  readonly meanwhile?: () => Promise<void>
  /** Whether the connection breaks in place of the answer: asked once the provider has answered. */
  readonly isBroken?: () => boolean
}

/** A line to a provider whose twists are chosen for each request. */
export interface HostileLine {
  readonly baseUrl: string
  /** An address of one's own, so that the line knows whose request it is. */
  readonly addressOf: (number: number) => string
  /** Chosen anew by each case; null is an honest line. */
  twist: ((asked: Asked) => Twist | null) | null
}

export const openHostileLine = Effect.fnUntraced(function* (target: string): Effect.fn.Return<HostileLine, never, Scope.Scope> {
  const { origin, pathname } = new URL(target)
  const line: { twist: HostileLine["twist"] } = { twist: null }
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "" } = incoming
    const [, own, path = ""] = /^(?:\/~(\d+))?(.*)$/.exec(url) ?? []
    const body = await read(incoming)
    const twist = line.twist?.({ method, path, number: own === undefined ? null : Number(own) }) ?? null
    const headers = twist?.isStale === true ? ended(incoming.headers) : incoming.headers
    const honest = twist?.instead ?? (await forwarded(`${origin}${path}`, { method, headers }, body))
    await twist?.meanwhile?.()
    if (twist?.isBroken?.() === true) return void incoming.socket.destroy()
    speak(response, twist?.change?.(honest) ?? honest)
  }
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => incoming.socket.destroy())
  })
  const port = yield* listening(server)
  const here = `http://127.0.0.1:${port}`
  return Object.assign(line, { baseUrl: here + pathname, addressOf: (number: number) => `${here}/~${number}${pathname}` })
})

/** Another token in place of one that was good so far. */
const ended = ({ authorization, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders =>
  authorization === undefined ? headers : { ...headers, authorization: authorization.replace(/\S+$/, "ended") }

const read = async (incoming: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const forwarded = async (
  address: string,
  asked: { readonly method: string; readonly headers: IncomingHttpHeaders },
  body: Buffer
): Promise<Spoken> => {
  const onward = request(address, asked)
  onward.end(body)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => onward.on("response", resolve).on("error", reject))
  const type = answer.headers["content-type"]
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type }
  return { early: null, status: answer.statusCode ?? 0, headers, body: await read(answer) }
}

const speak = (response: ServerResponse, { body, early, headers, status }: Spoken) => {
  if (early === 100) response.writeContinue()
  if (early === 103) response.writeEarlyHints({ link: "</style.css>; rel=preload" })
  response.writeHead(status, "Said", { "content-length": String(body.length), ...headers }).end(body)
}
