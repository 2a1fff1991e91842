import { Effect, Layer, Redacted } from "effect"
import { Database } from "../../src/persistence/Database.ts"
import { VaultPg } from "../../src/persistence/vault/VaultPg.ts"
import { type Key, payoutRequest } from "../http/Requests.ts"
import { openPayouts, type Request } from "./OneFiber.ts"

// A process of its own, so that the processor time is that of the payouts and of nothing else.

/** So many payouts by so many callers, of whom each waits for its own before it takes the next. */
export interface Task {
  readonly callers: number
  readonly count: number
}

/** Milliseconds of processor time a payout, and payouts a second. */
export interface Floor {
  readonly cpuMs: number
  readonly aSecond: number
}

const databaseUrl = Redacted.make(process.env["DATABASE_URL"] ?? "")
const masterKey = Redacted.make(process.env["MASTER_KEY"] ?? "")
const keys: ReadonlyArray<Key> = JSON.parse(process.env["KEYS"] ?? "[]")

const requestOf = (key: Key): Request => {
  const bytes = payoutRequest(key, 1)
  const end = bytes.indexOf("\r\n\r\n")
  const lines = bytes.toString("latin1", 0, end).split("\r\n").slice(1)
  const headers = lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)] as const)
  return { headers: new Map(headers), body: bytes.subarray(end + 4) }
}

type Payout = (request: Request) => Effect.Effect<void>

const measured = async (payout: Payout, { callers, count }: Task): Promise<Floor> => {
  const requests = Array.from({ length: count }, (_, at) => keys[at % keys.length]).flatMap((key) =>
    key === undefined ? [] : requestOf(key)
  )
  const [before, startedAt] = [process.cpuUsage(), performance.now()]
  const loop = async () => {
    for (let next = requests.pop(); next !== undefined; next = requests.pop()) await Effect.runPromise(payout(next))
  }
  await Promise.all(Array.from({ length: callers }, loop))
  const { system, user } = process.cpuUsage(before)
  return { cpuMs: (user + system) / 1000 / count, aSecond: count / ((performance.now() - startedAt) / 1000) }
}

const serving = Effect.gen(function* () {
  const payout = yield* openPayouts({ databaseUrl, baseUrl: process.env["PROVIDER_URL"] ?? "", keys })
  process.on("message", (task: Task) => {
    measured(payout, task).then(
      (outcome) => process.send?.({ outcome }),
      (cause: unknown) => process.send?.({ failure: String(cause) })
    )
  })
  process.send?.({ ready: true })
  return yield* Effect.never
})
const vault = Layer.provide(VaultPg.layer(masterKey), Database.layer({ url: databaseUrl }))
process.on("disconnect", () => process.exit())
await Effect.runPromise(Effect.scoped(serving).pipe(Effect.provide(vault)))
