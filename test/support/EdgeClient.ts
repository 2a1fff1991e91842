import { Effect, Layer } from "effect"
import { type Behind, type EdgeOptions, edge, port } from "./EdgeServer.ts"
import { type RawAnswer, send, sendBytes, signed } from "./RawHttp.ts"

export interface EdgeClient {
  readonly port: number
  readonly behind: Behind
  readonly bytes: (bytes: string) => Promise<RawAnswer>
  readonly ask: (method: string, target: string, headers?: Headers, body?: Uint8Array | string) => Promise<RawAnswer>
  /** The same with the signing headers. A query is canonical as it is. */
  readonly signed: (method: string, target: string, headers?: Headers, body?: Uint8Array | string) => Promise<RawAnswer>
}
type Headers = ReadonlyArray<readonly [name: string, value: string]>

/** Runs a story against an edge of its own. */
export const onEdge =
  (story: (client: EdgeClient) => Promise<void>, options: EdgeOptions = {}) =>
  (): Promise<void> => {
    const { behind, layer } = edge(options)
    const run = Effect.gen(function* () {
      const context = yield* Layer.build(layer)
      const taken = yield* Effect.provide(port, context)
      yield* Effect.promise(() => story(clientOf(taken, behind)))
    })
    return Effect.runPromise(Effect.scoped(run))
  }

const clientOf = (port: number, behind: Behind): EdgeClient => ({
  port,
  behind,
  bytes: (bytes) => sendBytes(port, Buffer.from(bytes)),
  ask: (method, target, headers = [["Host", "api.gateway.example"]], body = "") => send(port, { method, target, headers, body }),
  signed: (method, target, headers = [], body = "") => {
    const canonicalQuery = target.split("?")[1] ?? ""
    const signing = signed(method, target, method === "GET" ? "" : body, { canonicalQuery })
    return send(port, { method, target, headers: [...signing, ...headers], body })
  }
})
