import { createHmac } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { Context, Effect, Layer, ManagedRuntime, Redacted, Schema } from "effect"
import * as Wire from "../../../src/providers/eversend/Wire.ts"
import { eversendSimulator } from "../../../src/simulator/eversend/Simulator.ts"
import { Execution } from "../../../src/simulator/Facts.ts"
import type { SimulatedProvider } from "../../../src/simulator/SimulatedProvider.ts"
import { type SimulatorServer, simulatorServer } from "../../../src/simulator/SimulatorServer.ts"
import { databaseFolder } from "../../support/DatabaseFolder.ts"
import { abortedAfter, patiently } from "../../support/PatientClock.ts"
import { eventually as eventuallyAsked } from "../../support/SignedClient.ts"

const CLIENT = "simulator"
const SECRET = "simulator-secret"
/** How long the client waits for an answer that may never come. */
const SILENCE_MS = 3_000
const WEBHOOK_SECRET = "webhook-secret"

export const newDataDir = () => mkdtempSync(join(databaseFolder(), "simulator-"))

interface Wish {
  readonly dataDir?: string
  readonly delayMs?: number
  /** Other providers that the same simulator plays. */
  readonly beside?: ReadonlyArray<SimulatedProvider>
}

class Simulator extends Context.Service<Simulator, SimulatorServer>()("test/Simulator") {}

/** A running simulator, and a client that knows Eversend's wire. */
export const startSimulator = async (wish: Wish = {}) => {
  const { beside = [], dataDir = newDataDir(), delayMs = 20 } = wish
  const account = (clientId: string, secret: string) => ({
    clientId,
    clientSecret: Redacted.make(secret),
    webhookSecret: Redacted.make(WEBHOOK_SECRET)
  })
  const runtime = ManagedRuntime.make(
    Layer.effect(
      Simulator,
      patiently(
        simulatorServer({
          host: "127.0.0.1",
          controlPort: 0,
          dataDir,
          delayMs,
          providers: [eversendSimulator([account(CLIENT, SECRET), account("other", "other-secret")]), ...beside]
        })
      )
    )
  )
  const { baseUrls, controlUrl } = await runtime.runPromise(Effect.flatMap(Simulator, Effect.succeed))
  const eversendBaseUrl = baseUrls.eversend ?? ""

  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const bearer = headers.authorization ?? `Bearer ${await token()}`
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${eversendBaseUrl}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers, authorization: bearer },
      ...text,
      signal: abortedAfter(SILENCE_MS)
    })
    return { status: answer.status, text: await answer.text() }
  }
  const token = async (clientId = CLIENT, clientSecret = SECRET) => {
    const answer = await fetch(`${eversendBaseUrl}//auth/token`, { headers: { clientId, clientSecret } })
    return Schema.decodeUnknownSync(Wire.TokenAnswer)(await answer.json()).token
  }
  const control = async (method: string, path: string, body?: unknown) => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${controlUrl}/__simulator${path}`, { method, ...text })
    const json: unknown = await answer.json()
    return { status: answer.status, json }
  }
  const executions = async (reference?: string) => {
    const { json } = await control("GET", `/executions${reference === undefined ? "" : `?reference=${reference}`}`)
    return Schema.decodeUnknownSync(Schema.Array(Execution))(json)
  }
  const search = async (reference: string) => {
    const { text } = await call("GET", `/transactions?search=${reference}`)
    const { transactions } = Schema.decodeUnknownSync(Schema.fromJsonString(Wire.TransactionsAnswer))(text).data
    return Schema.decodeUnknownSync(Schema.Array(Wire.Transaction))(transactions)
  }
  return {
    controlUrl,
    eversendBaseUrl,
    baseUrls,
    dataDir,
    call,
    token,
    control,
    executions,
    search,
    stop: async () => {
      await runtime.dispose()
      if (wish.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    }
  }
}

export type Running = Awaited<ReturnType<typeof startSimulator>>

export const decode = <A>(schema: Schema.ConstraintDecoder<A>, text: string): A =>
  Schema.decodeUnknownSync(Schema.fromJsonString(schema))(text)

export const quotation = async (running: Running, change: object = {}) => {
  const body = {
    sourceWallet: "UGX",
    amount: 20000,
    type: "momo",
    destinationCountry: "UG",
    destinationCurrency: "UGX",
    amountType: "SOURCE",
    ...change
  }
  const { text } = await running.call("POST", "/payouts/quotation", body)
  return decode(Wire.PayoutQuotationAnswer, text).data
}

export const person = { firstName: "Jane", lastName: "Doe", country: "UG", phoneNumber: "+256700001234" }

/** One momo payout of UGX 20,000 to a number with this ending. */
export const payout = async (running: Running, ending: string, transactionRef: string) => {
  const { token } = await quotation(running)
  return running.call("POST", "/payouts", { ...person, token, transactionRef, phoneNumber: `+25670000${ending}` })
}

/** One momo collection of UGX 20,000 from a number with this ending. */
export const collection = (running: Running, ending: string, transactionRef: string, change: object = {}) =>
  running.call("POST", "/collections/momo", {
    phone: `+25670000${ending}`,
    amount: 20000,
    country: "UG",
    currency: "UGX",
    transactionRef,
    customer: { email: "jane@example.com" },
    ...change
  })

export interface Received {
  readonly body: string
  readonly type: string
  readonly genuine: boolean
}

/** A merchant's callback address. `answer` decides each answer's status. */
const startReceiver = async (running: Running, answer: (count: number) => number = () => 200) => {
  const received: Array<Received> = []
  let arrived = Promise.withResolvers<void>()
  const server: Server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8")
      const signature = createHmac("sha512", WEBHOOK_SECRET).update(body).digest("hex")
      const type = decode(Wire.CallbackBody, body).type ?? ""
      received.push({ body, type, genuine: request.headers["x-eversend-signature"] === signature })
      response.writeHead(answer(received.length)).end()
      arrived.resolve()
      arrived = Promise.withResolvers<void>()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  await running.control("POST", "/callbacks", { provider: "eversend", url: `http://127.0.0.1:${port}/hook` })
  const count = async (wanted: number): Promise<ReadonlyArray<Received>> => {
    while (received.length < wanted) await Promise.race([arrived.promise, deadline(`${wanted} callbacks`)])
    return received
  }
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { received, count, stop }
}

const DEADLINE_MS = 45_000

const deadline = (what: string) =>
  new Promise<never>((_, reject) => {
    abortedAfter(DEADLINE_MS).addEventListener("abort", () => reject(new Error(`no ${what} in time`)))
  })

/** Asks again until the answer is the wanted one. */
export const eventually = <A>(ask: () => Promise<A>, wanted: (value: A) => boolean): Promise<A> =>
  Effect.runPromise(eventuallyAsked(Effect.promise(ask), wanted))

/** Starts what one test needs, and stops it after the test. */
export const makeBench = (afterEach: (stop: () => Promise<void>) => void) => {
  const stops: Array<() => Promise<void>> = []
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop()
  })
  return {
    start: async (wish: Wish = {}) => {
      const running = await startSimulator(wish)
      stops.push(running.stop)
      return running
    },
    receive: async (running: Running, answer?: (count: number) => number) => {
      const receiver = await startReceiver(running, answer)
      stops.push(receiver.stop)
      return receiver
    }
  }
}

export const settled = (running: Running, reference: string, status: string) =>
  eventually(
    () => running.search(reference),
    ([first]) => first?.status === status
  )
