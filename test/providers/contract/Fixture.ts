import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { Context, Effect, Layer, Option, Schema, type Scope } from "effect"
import type { Mode, Reference } from "../../../src/domain/Ids.ts"
import { MemoryOf, processMemory } from "../../../src/providers/SharedMemory.ts"
import type { Adapter, CollectionOperations, PayoutOperations, RawCallback } from "../../../src/services/ports/Provider.ts"
import { Execution } from "../../../src/simulator/Facts.ts"
import type { KnownSimulator } from "../../../src/simulator/SimulatorModule.ts"
import { simulatorServer } from "../../../src/simulator/SimulatorServer.ts"
import { databaseFolder } from "../../support/DatabaseFolder.ts"
import { listening } from "../../support/ListeningServer.ts"
import { eventually } from "../../support/SignedClient.ts"

/** How soon the simulator settles what it accepted. */
const SETTLING_MS = 10
/** For answers that come. */
const PATIENCE_MS = 10_000
/** For answers that never come. By the patient clock it is enough for all that is before them. */
export const IMPATIENCE_MS = 800

/** Both modes of a provider, opened as a gateway opens them. */
interface Opened {
  readonly live: Adapter
  readonly test: Adapter
}

interface Parts extends Opened {
  readonly name: string
  /** The same account with a short deadline. */
  readonly impatient: Adapter
  readonly baseUrl: string
  /** Another gateway's adapter, before any other address. */
  readonly open: (baseUrl: string, timeoutMs?: number) => Effect.Effect<Opened, never, Scope.Scope>
  readonly control: (path: string, body: object) => Effect.Effect<void>
  readonly executions: (reference: Reference) => Effect.Effect<ReadonlyArray<Execution>>
  /** Callbacks that name one of these in their bytes or their address, in the order in which they came, once there are so many. */
  readonly callbacks: (names: ReadonlyArray<string | null>, count: number) => Effect.Effect<ReadonlyArray<RawCallback>>
}

/** One provider's simulator with an account for each mode, a receiver of its callbacks, and adapters before it. */
export const openBench = Effect.fnUntraced(function* (known: KnownSimulator): Effect.fn.Return<Parts, never, Scope.Scope> {
  const dataDir = mkdtempSync(join(databaseFolder(), "contract-"))
  yield* Effect.addFinalizer(() => Effect.promise(() => rm(dataDir, { recursive: true, force: true })))
  const simulator = known.simulated(known.accounts({ baseUrl: "", timeoutMs: PATIENCE_MS }))
  const server = yield* simulatorServer({
    host: "127.0.0.1",
    controlPort: 0,
    dataDir,
    delayMs: SETTLING_MS,
    providers: [simulator]
  })
  const baseUrl = server.baseUrls[known.name] ?? ""
  // All adapters of a bench are nodes of one gateway.
  const memory = processMemory()
  const open: Parts["open"] = Effect.fnUntraced(function* (address, timeoutMs = PATIENCE_MS) {
    const opened = yield* Effect.provideService(known.accounts({ baseUrl: address, timeoutMs }).open, MemoryOf, memory)
    const providers = opened.map(({ adapter }) => adapter)
    return { live: inMode(providers, "live"), test: inMode(providers, "test") }
  })
  const control: Parts["control"] = (path, body) =>
    Effect.promise(async () => {
      const answer = await fetch(`${server.controlUrl}/__simulator/${path}`, { method: "POST", body: JSON.stringify(body) })
      if (answer.status !== 200) throw new Error(await answer.text())
    })
  const { live, test } = yield* open(baseUrl)
  const received = yield* receiver([live, test])
  yield* control("callbacks", { provider: known.name, url: received.url })
  // A token that all nodes share is there before anything is timed or counted.
  if (live.callbacks.keep !== undefined) yield* Effect.exit(live.reference?.balances ?? Effect.void)
  return {
    live,
    test,
    name: known.name,
    impatient: (yield* open(baseUrl, IMPATIENCE_MS)).live,
    baseUrl,
    open,
    control,
    executions: (reference) =>
      Effect.promise(async () =>
        decodeExecutions(await (await fetch(`${server.controlUrl}/__simulator/executions?reference=${reference}`)).json())
      ),
    callbacks: (names, count) =>
      eventually(
        Effect.sync(() => received.all.filter((callback) => names.some((name) => name !== null && isNamed(callback, name)))),
        ({ length }) => length >= count
      )
  }
})

/** One bench for the tests of one provider. */
export class ContractBench extends Context.Service<ContractBench, Parts>()("test/ContractBench") {
  static readonly layer = (known: KnownSimulator) => Layer.effect(ContractBench, openBench(known))
}

export const payoutsOf = ({ payouts }: Adapter): PayoutOperations => Option.getOrThrow(Option.fromUndefinedOr(payouts))
export const collectionsOf = ({ collections }: Adapter): CollectionOperations =>
  Option.getOrThrow(Option.fromUndefinedOr(collections))

/** As the gateway verifies: once more after what it needs was got anew. */
export const verified = Effect.fnUntraced(function* ({ callbacks }: Adapter, callback: RawCallback) {
  const hint = callbacks.verify(callback)
  if (Option.isSome(hint) || callbacks.refreshKeys === undefined) return hint
  yield* callbacks.refreshKeys
  return callbacks.verify(callback)
})

/** A wire may write our reference in small letters; one whose bodies have no room for it has it in the address, in hexadecimal digits. */
const isNamed = ({ body, path }: RawCallback, name: string): boolean =>
  Buffer.from(body).toString("utf8").toLowerCase().includes(name.toLowerCase()) ||
  path.includes(Buffer.from(name).toString("hex"))

const decodeExecutions = Schema.decodeUnknownSync(Schema.Array(Execution))

const inMode = (providers: ReadonlyArray<Adapter>, mode: Mode): Adapter =>
  Option.getOrThrow(Option.fromUndefinedOr(providers.find((one) => one.mode === mode)))

/** Hands callbacks on as the gateway does; the answers to questions among them are no callbacks about anything. */
const receiver = Effect.fnUntraced(function* (adapters: ReadonlyArray<Adapter>) {
  const all: Array<RawCallback> = []
  const take = (callback: RawCallback) =>
    Effect.gen(function* () {
      let isAnswer = false
      for (const adapter of adapters) {
        const hint = yield* verified(adapter, callback)
        if (Option.isNone(hint)) continue
        yield* adapter.callbacks.keep?.(callback) ?? Effect.void
        isAnswer ||= hint.value.isAnswer === true
      }
      if (!isAnswer) all.push(callback)
    })
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      const callback = { method: request.method ?? "", path: request.url ?? "", headers, body: Buffer.concat(chunks) }
      void Effect.runPromise(take(callback)).then(() => response.writeHead(200).end())
    })
  })
  const port = yield* listening(server)
  return { all, url: `http://127.0.0.1:${port}/callbacks` }
})
