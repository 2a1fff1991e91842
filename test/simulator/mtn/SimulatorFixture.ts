import { randomUUID } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { Context, Effect, Layer, Schema } from "effect"
import type { MtnSettings } from "../../../src/providers/mtn/Client.ts"
import type { Product } from "../../../src/providers/mtn/Wire.ts"
import { Execution } from "../../../src/simulator/Facts.ts"
import { mtnSimulator } from "../../../src/simulator/mtn/Simulator.ts"
import { simulatorServer } from "../../../src/simulator/SimulatorServer.ts"
import { settings, USER_ID } from "../../providers/mtn/Orders.ts"
import { databaseFolder } from "../../support/DatabaseFolder.ts"
import { listening } from "../../support/ListeningServer.ts"
import { eventually } from "../../support/SignedClient.ts"

const decodeToken = Schema.decodeUnknownSync(Schema.Struct({ access_token: Schema.String }))
const decodeExecutions = Schema.decodeUnknownSync(Schema.Array(Execution))

interface Wish {
  readonly product?: Product
  readonly environment?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** A running simulator of MTN alone, a client that knows its wire, and a receiver of its callbacks. */
const openBench = Effect.fnUntraced(function* (given: MtnSettings) {
  const dataDir = mkdtempSync(join(databaseFolder(), "mtn-"))
  yield* Effect.addFinalizer(() => Effect.promise(() => rm(dataDir, { recursive: true, force: true })))
  const providers = [mtnSimulator([given])]
  const server = yield* simulatorServer({ host: "127.0.0.1", controlPort: 0, dataDir, delayMs: 10, providers })
  const baseUrl = server.baseUrls["mtn"] ?? ""
  const receiver = yield* callbackReceiver

  const tokenOf = (product: Product) =>
    Effect.promise(async () => {
      const answer = await fetch(`${baseUrl}/${product}/token/`, {
        method: "POST",
        headers: {
          authorization: `Basic ${Buffer.from(`${USER_ID}:api-key`).toString("base64")}`,
          "ocp-apim-subscription-key": `${product}-key`
        }
      })
      return decodeToken(await answer.json()).access_token
    })

  const call = Effect.fnUntraced(function* (method: "GET" | "POST", path: string, wish: Wish = {}) {
    const { body, environment = "mtnuganda", headers = {}, product = "disbursement" } = wish
    const token = yield* tokenOf(product)
    return yield* Effect.promise(async () => {
      const answer = await fetch(`${baseUrl}/${product}/v1_0${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          "ocp-apim-subscription-key": `${product}-key`,
          "x-target-environment": environment,
          "x-reference-id": randomUUID(),
          ...headers
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await answer.text()
      const json: unknown = text === "" ? null : JSON.parse(text)
      return { status: answer.status, text, json }
    })
  })
  const control = (path: string, body: object) =>
    Effect.promise(() => fetch(`${server.controlUrl}/__simulator/${path}`, { method: "POST", body: JSON.stringify(body) }))
  yield* control("callbacks", { provider: "mtn", url: receiver.url })
  const executions = (reference: string) =>
    Effect.promise(async () =>
      decodeExecutions(await (await fetch(`${server.controlUrl}/__simulator/executions?reference=${reference}`)).json())
    )
  return { baseUrl, call, control, executions, ...receiver }
})

const callbackReceiver = Effect.gen(function* () {
  const received: Array<{ readonly method: string; readonly body: string }> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      received.push({ method: request.method ?? "", body: Buffer.concat(chunks).toString("utf8") })
      // Not even this brings it a second time.
      response.writeHead(503).end()
    })
  })
  const port = yield* listening(server)
  const url = `http://127.0.0.1:${port}/hook`
  const about = (name: string, count: number) =>
    eventually(
      Effect.sync(() => received.filter(({ body }) => body.includes(name))),
      ({ length }) => length >= count
    )
  return { url, about }
})

type Parts = Effect.Success<ReturnType<typeof openBench>>

export class MtnBench extends Context.Service<MtnBench, Parts>()("test/MtnBench") {
  static readonly layer = (given = settings("")) => Layer.effect(MtnBench, openBench(given))
}

/** POST of a movement to a number with this ending. */
export const movement = (product: Product, externalId: string, ending = "1234", change: object = {}) => ({
  amount: "20000",
  currency: "UGX",
  externalId,
  [product === "collection" ? "payer" : "payee"]: { partyIdType: "MSISDN", partyId: `25670000${ending}` },
  payerMessage: "lunch",
  payeeNote: "lunch",
  ...change
})
