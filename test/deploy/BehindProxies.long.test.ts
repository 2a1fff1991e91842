import { spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, get, type Server, type ServerResponse } from "node:http"
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
import { nginxIsThere, startApiHaproxy, startApiNginx } from "../support/Proxies.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { type Answer, client, eventually, referenceOf, signingHeaders } from "../support/SignedClient.ts"
import { givenStack, keyOn, nodeVariables, tenantOn, verified } from "../support/Stack.ts"
import { root } from "./DeployFiles.ts"

const PAYOUTS = "/v1/payouts"
const CLIENTS = 8
const STORY_MS = 240_000
const MANY = 60
/** Short enough to wait for: the key of a request whose process was killed is free when its lease ends. */
const TIMES = { PROVIDER_TIMEOUT_MS: "4000", IDEMPOTENCY_LEASE: "15s", RATE_LIMIT_MONEY: "off" }

const proxies = [
  { title: "HAProxy", unreachable: 503, start: startApiHaproxy, isThere: ["haproxy", "-v"] },
  { title: "nginx", unreachable: 502, start: startApiNginx, isThere: nginxIsThere }
] as const

/** Two processes of one database behind a proxy: one of its own, to be stopped and killed, and the one of the stack. */
const givenNodes = Effect.fnUntraced(function* (startProxy: (typeof proxies)[number]["start"]) {
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
    Effect.promise(() => startProxy([{ port, management: managementPort }, here])),
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

describe.each(proxies)("the shipped $title", ({ isThere: [program, ...args], start, unreachable }) => {
  const itHere = itWith(program, ...args)
  itHere("answers in the gateway's envelope, as ambiguous, where no process can be reached", async () => {
    const [one = 0, two = 0] = await freePorts(2)
    const { close, port } = await start([
      { port: one, management: two },
      { port: one, management: two }
    ])
    const answer = await fetch(`http://127.0.0.1:${port}${PAYOUTS}`, { method: "POST", body: "{}" })
    expect([answer.status, answer.headers.get("content-type")]).toEqual([unreachable, "application/json"])
    expect(await answer.json()).toMatchObject({
      code: unreachable,
      error: { code: "internal_error", terminal: false, retriable: false, ambiguous: true, details: {} }
    })
    await close()
  })

  itHere(
    "tells a process which address a client has, and what the client writes of it itself is not believed",
    () =>
      Effect.gen(function* () {
        const { gateway } = yield* givenStack({ ...TIMES, TRUSTED_PROXIES: "127.0.0.1" })
        const here = { port: Number(new URL(gateway.url).port), management: Context.get(gateway.context, ManagementAddress).port }
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => start([here, here])),
          ({ close }) => Effect.promise(close)
        )
        const { appId } = yield* tenantOn(gateway)
        const { key } = yield* keyOn(gateway, appId, "live", { addresses: ["127.0.0.2"] })
        const host = `127.0.0.1:${proxy.port}`
        const statusFrom = (localAddress: string, forwardedFor?: string) =>
          Effect.promise(
            () =>
              new Promise<number>((answered, failed) => {
                const signed = signingHeaders(host, key, { method: "GET", target: "/v1/float", body: "" })
                const headers = { ...signed, ...(forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor }) }
                get({ host: "127.0.0.1", port: proxy.port, path: "/v1/float", localAddress, headers }, (answer) => {
                  answer.resume().once("end", () => answered(answer.statusCode ?? 0))
                }).once("error", failed)
              })
          )
        expect(yield* statusFrom("127.0.0.2")).toBe(200)
        expect(yield* statusFrom("127.0.0.2", "127.0.0.3")).toBe(200)
        expect(yield* statusFrom("127.0.0.3")).toBe(401)
        expect(yield* statusFrom("127.0.0.3", "127.0.0.2")).toBe(401)
        expect(yield* statusFrom("127.0.0.3", "127.0.0.2, 127.0.0.2")).toBe(401)
      }).pipe(Effect.scoped, Effect.runPromise),
    STORY_MS
  )
})

/** A server of a test, until its scope ends. */
const serving = (answer: (response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<Server>((listening) => {
          const server = createServer((_, response) => answer(response))
          server.listen(0, "127.0.0.1", () => listening(server))
        })
    ),
    (server) => Effect.sync(() => server.close())
  )
const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" ? (address?.port ?? 0) : 0
}

const [nginx, ...nginxArgs] = nginxIsThere
describe("ready.sh beside nginx", () => {
  itWith(nginx, ...nginxArgs)(
    "keeps it from leading to a process that is not ready, and leads to it again",
    () =>
      Effect.gen(function* () {
        const state = { first: true }
        const named = (name: string) => serving((response) => response.end(name))
        const management = (isReady: () => boolean) => serving((response) => response.writeHead(isReady() ? 200 : 503).end())
        const [one, two] = [yield* named("one"), yield* named("two")].map(portOf)
        const [ready, always] = [yield* management(() => state.first), yield* management(() => true)].map(portOf)
        const place = (port = 0, management = 0) => ({ port, management })
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => startApiNginx([place(one, ready), place(two, always)])),
          ({ close }) => Effect.promise(close)
        )
        const file = join(proxy.folder, "processes.conf")
        const list = join(proxy.folder, "processes")
        yield* Effect.promise(() =>
          writeFile(list, `127.0.0.1:${one} 127.0.0.1:${ready}\n127.0.0.1:${two} 127.0.0.1:${always}\n`)
        )
        yield* Effect.acquireRelease(
          Effect.sync(() => spawn("sh", [join(root, "deploy/nginx/ready.sh"), list, file, ...proxy.reload], { stdio: "ignore" })),
          (child) => Effect.sync(() => child.kill("SIGTERM"))
        )
        const asked = Effect.forEach(numbers(CLIENTS), () =>
          Effect.promise(() => fetch(`http://127.0.0.1:${proxy.port}/`).then((answer) => answer.text()))
        )
        const names = Effect.map(asked, (all) => [...new Set(all)].toSorted())
        expect(yield* names).toEqual(["one", "two"])
        state.first = false
        yield* eventually(names, (all) => all.join() === "two")
        state.first = true
        yield* eventually(names, (all) => all.join() === "one,two")
      }).pipe(Effect.scoped, Effect.runPromise),
    STORY_MS
  )
})

describe.each(proxies)("two processes behind the shipped $title", ({ isThere: [program, ...args], start: startProxy }) => {
  itWith(program, ...args)(
    "lose no request when one is told to stop, and when one is killed a repeated key gets the truth of what was under way on it",
    () =>
      Effect.gen(function* () {
        const { answeredThere, executed, gateway, start, tenant } = yield* givenNodes(startProxy)
        const count = Effect.map(executed, ({ length }) => length)
        const pay = (from: number) =>
          Effect.forEach(numbers(MANY), (at) => tenant.post(PAYOUTS, momoPayout(String(from + at))), { concurrency: CLIENTS })
        // An answer of the proxy's own has no reference, and the interface does not describe it. A machine that does much else may be too slow for the provider.
        const lost = (answers: ReadonlyArray<Answer>) => answers.filter((answer) => referenceOf(answer) === "")

        const first = yield* start
        const seen = eventually(Effect.andThen(tenant.get("/v1/float"), answeredThere), (answers) => answers > 0)
        // A proxy looks once a second: without this all may be paid before it has seen the process.
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
        // A proxy asks once a second, and leads to it still.
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
