import { type ChildProcess, spawn } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import process from "node:process"
import { layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { expect } from "vitest"
import { faultyProxy } from "../support/FaultyProxy.ts"
import { listening } from "../support/ListeningServer.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { eventually } from "../support/SignedClient.ts"
import { everyOther, Stack, tenantOn } from "../support/Stack.ts"
import { givenPerson } from "./Person.ts"

const MAIN = join(import.meta.dirname, "../../clients/cli/src/main.ts")
const before = { url: "https://example.com/hooks", events: ["payout.failed"] }

/** A tenant whose events go to another machine, and a person who reaches the gateway through a proxy that spoils requests. */
const given = Effect.gen(function* () {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway)
  const person = yield* givenPerson(tenant)
  const proxy = yield* faultyProxy(gateway.url)
  yield* person.run("login", "--url", proxy.url, "--key", person.keyFile)
  yield* tenant.call("PUT", "/v1/webhooks/endpoint", before)
  const endpoint = tenant.get("/v1/webhooks/endpoint")
  const until = (isHere: boolean) => eventually(endpoint, ({ text }) => text.includes("127.0.0.1") === isHere)
  return { ...person, tenant, proxy, endpoint, until }
})

layer(Stack.layer({}, { beside: everyOther }), { excludeTestServices: true })("the endpoint that listen has borrowed", (it) => {
  it.effect("is put back where the answer to borrowing it was lost", () =>
    Effect.gen(function* () {
      const { endpoint, proxy, run } = yield* given
      proxy.plan("", undefined, "lost answer")
      const { code, errors } = yield* run("listen", "--take-over")
      expect([code, errors]).toEqual([1, expect.stringMatching(/^no answer from http:\/\/127\.0\.0\.1:\d+ \(\w+\)\.$/)])
      expect((yield* endpoint).body.data).toMatchObject({ ...before, enabled: true })
    })
  )

  it.effect("is put back although the first tries to do so get no answer", () =>
    Effect.gen(function* () {
      const { proxy, run, until } = yield* given
      const running = yield* Effect.forkChild(run("listen", "--take-over"))
      yield* until(true)
      proxy.plan("", "lost request", "503 of a proxy")
      yield* Fiber.interrupt(running)
      expect((yield* until(false)).body.data).toMatchObject({ ...before, enabled: true })
    })
  )

  it.effect("is named, with exit code 1, where the gateway does not take it back", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* givenPerson(yield* tenantOn((yield* Stack).gateway))
      let puts = 0
      const server = createServer((request, response) => {
        const error = { code: "validation_failed", message: "no", terminal: true, retriable: false, ambiguous: false }
        const refused = { error: { ...error, details: { issues: [{ path: "url", message: "leads nowhere" }] } } }
        const isRefused = request.method === "PUT" && ++puts > 1
        const status = isRefused ? 422 : 200
        const data = { ...before, enabled: true }
        request.resume()
        response.writeHead(status).end(JSON.stringify({ code: status, message: "", ...(isRefused ? refused : { data }) }))
      })
      const url = `http://127.0.0.1:${yield* listening(server)}`
      const key = { url, app_id: "a", key_id: "k", api_key: "x", signing_secret: "s" }
      yield* Effect.promise(() => writeFile(join(folder, "key.json"), JSON.stringify(key)))
      yield* run("login", "--url", url, "--key", join(folder, "key.json"))
      const port = yield* freePort
      const running = yield* Effect.forkChild(run("listen", "--take-over", "--count", "1", "--port", String(port)))
      const event = () => fetch(`http://127.0.0.1:${port}`, { method: "POST", body: "{}" }).catch(() => undefined)
      yield* eventually(Effect.promise(event), (answer) => answer !== undefined)
      const { code, errors } = yield* Fiber.join(running)
      expect([code, errors.split("\n").at(-1)]).toEqual([
        1,
        "the endpoint is not as it was before, at https://example.com/hooks: validation_failed: url leads nowhere. It will not succeed as it is: change it."
      ])
    })
  )

  it.effect("is put back where the terminal is closed, and where the reader of the events has gone", () =>
    Effect.gen(function* () {
      const { tenant, until, variables } = yield* given
      const ways: ReadonlyArray<(child: ChildProcess) => Effect.Effect<unknown>> = [
        (child) => Effect.sync(() => child.kill("SIGHUP")),
        (child) => {
          child.stdout?.destroy()
          return tenant.post("/v1/payouts", momoPayout("3001"))
        }
      ]
      for (const end of ways) {
        const child = spawn(process.execPath, [MAIN, "listen", "--take-over"], { env: { ...process.env, ...variables } })
        const errors: Array<Buffer> = []
        child.stderr.on("data", (part) => errors.push(part))
        const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
        yield* until(true)
        yield* end(child)
        expect(yield* Effect.promise(() => ended)).toBe(130)
        expect(Buffer.concat(errors).toString()).not.toContain("Error")
        expect((yield* until(false)).body.data).toMatchObject({ ...before, enabled: true })
      }
    })
  )
})

/** Free until somebody else takes it. */
const freePort = Effect.scoped(listening(createServer()))
