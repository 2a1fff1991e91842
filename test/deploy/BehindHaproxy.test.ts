import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Exit, Fiber } from "effect"
import { describe, expect } from "vitest"
import { serveFrom } from "../../lab/releases/ReleaseBefore.ts"
import { ManagementAddress } from "../../src/App.ts"
import { readExposition } from "../support/Exposition.ts"
import { freePorts } from "../support/FreePort.ts"
import { itWith } from "../support/Installed.ts"
import { asRuntime } from "../support/Postgres.ts"
import { startApiHaproxy } from "../support/Proxies.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { type Answer, client, eventually, referenceOf } from "../support/SignedClient.ts"
import { givenStack, nodeVariables, tenantOn, verified } from "../support/Stack.ts"
import { root } from "./DeployFiles.ts"

const PAYOUTS = "/v1/payouts"
const CLIENTS = 8
const STORY_MS = 240_000
const MANY = 60
/** Short enough to wait for: the key of a request whose process was killed is free when its lease ends. */
const TIMES = { PROVIDER_TIMEOUT_MS: "4000", IDEMPOTENCY_LEASE: "15s", RATE_LIMIT_MONEY: "off" }

/** Two processes of one database behind HAProxy: one of its own, to be stopped and killed, and the one of the stack. */
const givenNodes = Effect.gen(function* () {
  const { database, gateway, simulator } = yield* givenStack(TIMES)
  const dataDir = yield* Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-behind-")))
  yield* Effect.addFinalizer(() => Effect.promise(() => rm(dataDir, { recursive: true, force: true })))
  const [port = 0, managementPort = 0] = yield* Effect.promise(() => freePorts(2))
  const variables = nodeVariables(asRuntime(database), simulator.eversendBaseUrl, {
    ...TIMES,
    // As it is unless it is set.
    KEEP_ALIVE_DRAIN: "5s",
    DATA_DIR: dataDir,
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort)
  })
  const start = Effect.acquireRelease(
    Effect.promise(() => serveFrom(root, variables)),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const here = { port: Number(new URL(gateway.url).port), management: Context.get(gateway.context, ManagementAddress).port }
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => startApiHaproxy([{ port, management: managementPort }, here])),
    ({ close }) => Effect.promise(close)
  )
  const { key } = yield* tenantOn(gateway, 100_000_000n)
  const tenant = client({ url: `http://127.0.0.1:${proxy.port}`, host: `127.0.0.1:${proxy.port}` }, key)
  const executed = Effect.promise(() => simulator.executions())
  /** How many requests the process of its own has answered. */
  const answeredThere = Effect.promise(async () => {
    const page = await fetch(`http://127.0.0.1:${managementPort}/metrics`)
    const { samples = [] } = readExposition(await page.text()).get("gateway_http_requests_total") ?? {}
    return samples.reduce((sum, { value }) => sum + value, 0)
  })
  return { answeredThere, executed, gateway, start, tenant }
})

/** The provider executes it and does not answer: it is under way for four seconds. */
const unanswered = (at: number) =>
  momoPayout("", { destination: { ...momoPayout("").destination, msisdn: `25677${2_000_003 + at * 10_000}` } })
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)

describe("the shipped HAProxy", () => {
  itWith("haproxy", "-v")("answers in the gateway's envelope, as ambiguous, where no process can be reached", async () => {
    const [one = 0, two = 0] = await freePorts(2)
    const { close, port } = await startApiHaproxy([
      { port: one, management: two },
      { port: one, management: two }
    ])
    const answer = await fetch(`http://127.0.0.1:${port}${PAYOUTS}`, { method: "POST", body: "{}" })
    expect([answer.status, answer.headers.get("content-type")]).toEqual([503, "application/json"])
    expect(await answer.json()).toMatchObject({
      code: 503,
      error: { code: "internal_error", terminal: false, retriable: false, ambiguous: true, details: {} }
    })
    await close()
  })
})

describe("two processes behind the shipped HAProxy", () => {
  itWith("haproxy", "-v")(
    "lose no request when one is told to stop, and when one is killed a repeated key gets the truth of what was under way on it",
    () =>
      Effect.gen(function* () {
        const { answeredThere, executed, gateway, start, tenant } = yield* givenNodes
        const count = Effect.map(executed, ({ length }) => length)
        const pay = (from: number) =>
          Effect.forEach(numbers(MANY), (at) => tenant.post(PAYOUTS, momoPayout(String(from + at))), { concurrency: CLIENTS })
        // An answer of the proxy's own has no reference, and the interface does not describe it. A machine that does much else may be too slow for the provider.
        const lost = (answers: ReadonlyArray<Answer>) => answers.filter((answer) => referenceOf(answer) === "")

        const first = yield* start
        const seen = eventually(Effect.andThen(tenant.get("/v1/float"), answeredThere), (answers) => answers > 0)
        // HAProxy looks once a second: without this all may be paid before it has seen the process.
        yield* seen
        const answeredBefore = yield* answeredThere
        const paying = yield* Effect.forkChild(pay(2_000))
        // A request that breaks ends the story at once.
        const broken = Effect.andThen(Fiber.join(paying), Effect.never)
        yield* Effect.raceFirst(
          eventually(count, (paid) => paid >= MANY / 3),
          broken
        )
        expect(yield* answeredThere).toBeGreaterThan(answeredBefore)
        const stopped = first.stop()
        expect(lost(yield* Fiber.join(paying))).toEqual([])
        expect(yield* Effect.promise(() => stopped)).toBe(0)

        const second = yield* start
        yield* seen
        const before = yield* count
        const asking = yield* Effect.forkChild(
          Effect.forEach(numbers(CLIENTS), (at) => Effect.exit(tenant.post(PAYOUTS, unanswered(at), `killed-${at}`)), {
            concurrency: "unbounded"
          })
        )
        yield* eventually(count, (paid) => paid === before + CLIENTS)
        const gone = new Promise((over) => second.child.once("exit", over))
        second.child.kill("SIGKILL")
        yield* Effect.promise(() => gone)
        // HAProxy asks once a second, and leads to it still.
        expect(lost(yield* pay(5_000))).toEqual([])
        const ended = yield* Fiber.join(asking)
        const unknown = ended.flatMap((exit, at) => (Exit.isFailure(exit) ? [at] : []))
        expect(unknown.length).toBeGreaterThan(0)
        expect(unknown.length).toBeLessThan(CLIENTS)

        const found = yield* Effect.forEach(
          unknown,
          (at) =>
            Effect.map(
              eventually(tenant.post(PAYOUTS, unanswered(at), `killed-${at}`), (answer) => referenceOf(answer) !== ""),
              referenceOf
            ),
          { concurrency: "unbounded" }
        )
        for (const reference of found)
          expect((yield* tenant.until(`${PAYOUTS}/${reference}`, ({ status }) => status !== "pending"))["status"]).toBe(
            "successful"
          )
        // Each was paid once.
        const references = (yield* executed).map(({ client_reference }) => client_reference)
        expect(references).toHaveLength(new Set(references).size)
        expect(references).toEqual(expect.arrayContaining(found))
        yield* eventually(tenant.float, ({ reserved_minor }) => reserved_minor === 0)
        expect((yield* tenant.float)["paid_out_minor"]).toBe(references.length * 10_000)
        expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
      }).pipe(Effect.scoped, Effect.runPromise),
    STORY_MS
  )
})
