import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Schedule, Schema } from "effect"
import { type Exposition, readExposition, sampled } from "../support/Exposition.ts"
import { freePort } from "../support/FreePort.ts"
import { asRuntime } from "../support/Postgres.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { client, eventually } from "../support/SignedClient.ts"
import { givenStack, tenantOn } from "../support/Stack.ts"
import { masterKey } from "../support/TestDatabase.ts"

const MAIN = resolve(import.meta.dirname, "../../src/gateway.js")
const BURST = 20
const PAYOUTS = 12
/** Paid, or nobody knows: the provider does not answer, and a poll may know before the time is up; or it gave no price in time. */
const ENDED = [201, 502, 503]
const STORY_MS = 240_000

const decodeServed = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ url: Schema.String })))

const running = Effect.fnUntraced(function* (env: NodeJS.ProcessEnv) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [MAIN, "serve", "--workers", "2", "--json"], { env, stdio: ["ignore", "pipe", "pipe"] })
    ),
    (begun) =>
      Effect.promise(async () => {
        if (begun.exitCode !== null || begun.signalCode !== null) return
        begun.kill("SIGTERM")
        await new Promise((gone) => begun.once("exit", gone))
      })
  )
  let errors = ""
  child.stderr.on("data", (chunk) => {
    errors += chunk
  })
  const ended = new Promise<number | null>((done) => child.once("close", done))
  return { child, ended: Effect.promise(() => ended), errors: () => errors.trim().split("\n") }
})

/** `gateway serve --workers 2` on a database and a simulator of its own. */
const givenWorkers = Effect.gen(function* () {
  const { database, gateway, simulator } = yield* givenStack()
  const other = yield* tenantOn(gateway, 1_000_000n)
  const managementPort = yield* freePort
  const dataDir = yield* Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-workers-")))
  const { HOME, NODE_COMPILE_CACHE, PATH } = process.env
  const env = {
    HOME,
    NODE_COMPILE_CACHE,
    PATH,
    DATABASE_URL: Redacted.value(asRuntime(database)),
    MASTER_KEY: Redacted.value(masterKey),
    DATA_DIR: dataDir,
    ALLOW_SIMULATOR: "true",
    PORT: "0",
    MANAGEMENT_PORT: String(managementPort),
    KEEP_ALIVE_DRAIN: "0s",
    LOG_FORMAT: "json",
    LOG_LEVEL: "error",
    EVERSEND_BASE_URL: simulator.eversendBaseUrl,
    EVERSEND_LIVE_CLIENT_ID: "simulator",
    EVERSEND_LIVE_CLIENT_SECRET: "simulator-secret",
    EVERSEND_LIVE_WEBHOOK_SECRET: "webhook-secret",
    PROVIDER_TIMEOUT_MS: "4000",
    RATE_LIMIT_READS: `1/m:${BURST}`
  }
  yield* Effect.addFinalizer(() => Effect.promise(() => rm(dataDir, { recursive: true, force: true })))
  const { child, ended, errors } = yield* running(env)
  const { url } = yield* Effect.promise(
    () => new Promise<string>((said) => child.stdout.once("data", (chunk) => said(String(chunk))))
  ).pipe(Effect.map((line) => decodeServed(line)))
  const managed = (path: string) =>
    Effect.promise(async () => {
      const answer = await fetch(`http://127.0.0.1:${managementPort}${path}`)
      return { status: answer.status, text: await answer.text() }
    })
  const page = Effect.map(managed("/metrics"), ({ text }) => readExposition(text))
  const tenant = client({ url, host: new URL(url).host }, other.key)
  /** `other` is the same tenant at the node beside it. */
  const another = running({ ...env, PORT: new URL(url).port, MANAGEMENT_PORT: "0" })
  return { another, child, ended, errors, managed, other, page, simulator, tenant }
})

const workersOf = ({ pid }: ChildProcess): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number)

const many = <A, E, R>(count: number, effect: (at: number) => Effect.Effect<A, E, R>) =>
  Effect.all(
    Array.from({ length: count }, (_, at) => effect(at)),
    { concurrency: "unbounded" }
  )

/** The provider executes it and never answers. Each goes to a number of its own. */
const unanswered = (at: number) =>
  momoPayout("", { destination: { ...momoPayout("").destination, msisdn: `25677${2_000_003 + at * 10_000}` } })

describe("gateway serve --workers 2", () => {
  it.live(
    "limits a key as one process does, replaces a worker that is killed, shows both on one page, and ends what is under way before it stops",
    () =>
      Effect.gen(function* () {
        const { another, child, ended, errors, managed, other, page, simulator, tenant } = yield* givenWorkers
        const executed = Effect.map(
          Effect.promise(() => simulator.executions()),
          ({ length }) => length
        )
        // Its workers cannot listen where these do.
        const refused = yield* another
        expect(yield* managed("/readyz")).toEqual({ status: 200, text: "ok\n" })

        const reads = yield* many(3 * BURST, () => tenant.get("/v1/float"))
        expect(reads.filter(({ status }) => status === 200)).toHaveLength(BURST)
        expect(new Set(reads.map(({ status }) => status))).toEqual(new Set([200, 429]))
        const before = yield* page
        for (const worker of ["1", "2"]) {
          expect(sampled(before, "gateway_worker_up", { worker })).toBe(1)
          expect(sampled(before, "gateway_database_up", { worker })).toBe(1)
          const { samples = [] } = before.get("gateway_http_requests_total") ?? {}
          expect(samples.some(({ labels, value }) => labels["worker"] === worker && value > 0)).toBe(true)
        }
        expect(before.get("gateway_transactions_open")?.samples.every(({ labels }) => labels["worker"] === "1")).toBe(true)

        const paying = yield* Effect.forkChild(many(PAYOUTS, (at) => Effect.exit(tenant.post("/v1/payouts", unanswered(at)))))
        yield* eventually(executed, (count) => count >= PAYOUTS / 2)
        const [killed = 0] = workersOf(child)
        process.kill(killed, "SIGKILL")
        const paid = yield* Fiber.join(paying)
        const answered = paid.flatMap((exit) => (Exit.isSuccess(exit) ? [exit.value] : []))
        expect(answered.length).toBeGreaterThan(0)
        expect(answered.length).toBeLessThan(PAYOUTS)
        expect(answered.filter(({ status }) => !ENDED.includes(status))).toEqual([])
        // What the killed worker had not sent yet stays reserved until the provider has said often enough that it knows nothing of it.
        yield* eventually(Effect.all([executed, other.float]), ([count, { paid_out_minor }]) => paid_out_minor === count * 10_000)

        // A start takes a second, or twenty on a machine that is busy with other tests.
        const isBack = (now: Exposition) => sampled(now, "gateway_worker_up", { worker: "1" }) === 1
        const after = yield* Effect.repeat(page, { until: isBack, schedule: Schedule.spaced("100 millis") })
        expect(sampled(after, "gateway_worker_restarts_total", { worker: "1" })).toBe(1)
        expect(sampled(after, "gateway_worker_restarts_total", { worker: "2" })).toBe(0)

        expect(yield* refused.ended).toBe(1)
        expect(refused.errors()).toEqual([expect.stringMatching(/^cannot listen on .* \(the address is taken\)/)])

        const settled = yield* executed
        const last = yield* Effect.forkChild(many(4, (at) => tenant.post("/v1/payouts", unanswered(PAYOUTS + at))))
        yield* eventually(executed, (count) => count > settled)
        child.kill("SIGTERM")
        expect((yield* Fiber.join(last)).filter(({ status }) => !ENDED.includes(status))).toEqual([])
        expect(yield* ended).toBe(0)
        expect(errors().map((line) => JSON.parse(line).message)).toEqual(["a worker process ended: another takes its place"])
      }),
    STORY_MS
  )
})
