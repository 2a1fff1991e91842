import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Webhook } from "standardwebhooks"
import { describe, expect } from "vitest"
import { EventType } from "../../src/domain/Event.ts"
import { demandCodes, RIGHT } from "../support/OtpRequests.ts"
import { momoCharge, momoPayout } from "../support/RequestBodies.ts"
import { eventually } from "../support/SignedClient.ts"
import { everyOther, Stack, tenantOn } from "../support/Stack.ts"
import { receiver } from "../support/WebhookReceiver.ts"
import { command, givenPerson } from "./Person.ts"

const TO_JANE = ["--amount-minor", "1000", "--currency", "UGX", "--country", "UG", "--msisdn", "256772123456", "--network", "MTN"]

const listening = (server: Server) =>
  Effect.callback<number>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

describe("a tenant's command line", () => {
  layer(Stack.layer({}, { beside: everyOther }), { excludeTestServices: true })((it) => {
    it.effect("keeps logins that work, for their owner only, several beside each other", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { folder, keyFile, login, result, run } = yield* givenPerson(tenant)
        expect(yield* run("payout", "list")).toMatchObject({
          code: 1,
          errors: "there is no login default: make one with gateway login"
        })
        expect((yield* login).output).toContain(`Logged in to ${gateway.url} as ${tenant.appId} with the live key`)
        const second = yield* result("login", "--url", `${gateway.url}/`, "--key", keyFile, "--profile", "second")
        expect(second).toMatchObject({ profile: "second", url: gateway.url, mode: "live" })
        const kept = join(folder, "payment-gateway")
        expect(yield* Effect.promise(() => readdir(kept))).toEqual(["default.json", "second.json"])
        for (const path of [kept, join(kept, "default.json")])
          expect((yield* Effect.promise(() => stat(path))).mode & 0o077).toBe(0)
        expect(yield* result("payout", "list", "--profile", "second")).toEqual({ items: [], next_cursor: null })
      })
    )

    it.effect("refuses a login that does not work, in one line, and keeps nothing", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { folder, keyFile, run } = yield* givenPerson(yield* tenantOn(gateway))
        const login = (...args: ReadonlyArray<string>) => run("login", ...args)
        expect(yield* login()).toMatchObject({ code: 2, errors: "give --url and --key: there is no terminal to ask at" })
        expect((yield* login("--url", "http://api.example", "--key", keyFile)).errors).toMatch(/unencrypted: use https$/)
        expect((yield* login("--url", "nowhere", "--key", keyFile)).errors).toMatch(/is no gateway's address/)
        expect((yield* login("--url", "http://127.0.0.1:1", "--key", keyFile)).errors).toMatch(
          /^no answer from http:\/\/127.0.0.1:1 \([\w ]+\)\.$/
        )
        expect((yield* login("--url", gateway.url, "--key", join(folder, "none"))).errors).toMatch(/^cannot read/)
        yield* Effect.promise(() => writeFile(keyFile, '{"app_id":"x","key_id":"k_1","api_key":"a","signing_secret":"s"}'))
        const broken = '{"app_id":"x\\n","key_id":"k_1","api_key":"a","signing_secret":"s"}'
        yield* Effect.promise(() => writeFile(join(folder, "broken.json"), broken))
        expect((yield* login("--url", gateway.url, "--key", join(folder, "broken.json"))).errors).toMatch(/is no key file/)
        yield* Effect.promise(() => rm(join(folder, "broken.json")))
        const wrong = yield* login("--url", gateway.url, "--key", keyFile)
        expect(wrong).toMatchObject({ code: 1, output: "" })
        expect(wrong.errors).toMatch(/^unauthorized: .*log in again\.$/)
        expect(yield* Effect.promise(() => readdir(folder))).toEqual(["key.json"])
      })
    )

    it.effect("pays, once with one idempotency key, and follows the payout until it is settled", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { folder, login, result, run } = yield* givenPerson(yield* tenantOn(gateway))
        yield* login
        const order = 12345678901234567890n
        const pay = ["payout", "create", ...TO_JANE, "--metadata", `{"order":${order}}`, "--idempotency-key", "order-7"]
        const paid = yield* run(...pay, "--wait")
        expect(paid.code).toBe(0)
        expect(paid.output).toMatch(/^payout \w{26} is successful\n/)
        expect(paid.output).toContain("UGX 1000 (1000 minor)")
        expect(paid.errors).toMatch(/is pending\n\w{26} is successful$/)
        const again = yield* run(...pay, "--json")
        expect(again).toMatchObject({ code: 0, errors: "" })
        expect(again.output).toContain(`"metadata":{"order":${order}}`)
        const { reference } = JSON.parse(again.output)
        expect(paid.output).toContain(reference)
        expect((yield* result("payout", "get", reference)).status).toBe("successful")
        const other = yield* run(...pay.with(pay.indexOf("1000"), "1001"))
        expect(other.errors).toMatch(
          /^idempotency_key_reused: .* outcome stands: look at it with list --idempotency-key order-7, and take another key only for another payment\.$/
        )
        expect((yield* result("payout", "list", "--idempotency-key", "order-7")).items).toMatchObject([{ reference }])

        const body = join(folder, "payout.json")
        const destination = { type: "momo", msisdn: "256772120001", network: "MTN", country: "UG" }
        const request = { amount_minor: 2000, currency: "UGX", country: "UG", method: "momo", destination }
        yield* Effect.promise(() => writeFile(body, JSON.stringify(request)))
        const refused = yield* run("payout", "create", "--body", body)
        expect(refused).toMatchObject({ code: 1, output: "" })
        expect(refused.errors).toMatch(/^idempotency key [\w-]{36}\npayout_rejected_by_provider: .* change it\.$/)
        const fails = ["payout", "create", ...TO_JANE.with(7, "256772120002")]
        expect((yield* run(...fails)).code).toBe(0)
        const failed = yield* run(...fails, "--wait")
        expect([failed.code, failed.errors.split("\n").at(-1)]).toEqual([
          1,
          expect.stringMatching(/^payout \w{26} is failed: \S.*$/)
        ])
        expect((yield* result("payout", "list", "--status", "successful")).items).toHaveLength(1)
        const listed = yield* run("payout", "list", "--limit", "1")
        expect(listed.output.split("\n")[0]).toMatch(/^reference +status +amount_minor/)
        expect(listed.errors).toMatch(/^there are more: --cursor \S+$/)
        expect((yield* result("payout", "list", "--metadata", `order=${order}`)).items).toHaveLength(1)
      })
    )

    it.effect("refuses what cannot be sent with exit code 2, and says what the gateway finds wrong in one line", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { keyFile, login, run } = yield* givenPerson(yield* tenantOn(gateway, 0n))
        yield* login
        const create = (...args: ReadonlyArray<string>) => run("payout", "create", ...args)
        expect(yield* create()).toMatchObject({
          code: 2,
          errors: "give --amount-minor, --currency, --country, or --body with a whole request"
        })
        expect(yield* create("--amount-minor", "10.5")).toMatchObject({ code: 2 })
        expect(yield* create(...TO_JANE, "--body", keyFile)).toMatchObject({
          code: 2,
          errors: expect.stringMatching(/^--body has all/)
        })
        expect(yield* create(...TO_JANE, "--metadata", "{")).toMatchObject({ code: 2 })
        yield* Effect.promise(() => writeFile(keyFile, Buffer.from('{"destination":{"account_name":"José"}}', "latin1")))
        expect(yield* create("--body", keyFile)).toMatchObject({ code: 1, errors: `${keyFile} is not UTF-8: save it as such` })
        const incomplete = yield* create(...TO_JANE.slice(0, 8), "--idempotency-key", "k-1")
        expect(incomplete).toMatchObject({ code: 1, output: "" })
        expect(incomplete.errors).toMatch(/^validation_failed: destination.network .* change it\.$/)
        expect((yield* create(...TO_JANE, "--idempotency-key", "k-2")).errors).toMatch(/^insufficient_tenant_float: /)
        expect((yield* run("payout", "get", "nothing")).errors).toMatch(/^not_found: /)
      })
    )

    it.effect("does not take a request in progress for a refusal, nor for another server's answer", () =>
      Effect.gen(function* () {
        const { folder, run } = yield* givenPerson(yield* tenantOn((yield* Stack).gateway))
        const error = {
          code: "request_in_progress",
          message: "busy",
          terminal: false,
          retriable: true,
          ambiguous: false,
          details: {}
        }
        const busy = createServer((_, answer) => answer.writeHead(409).end(JSON.stringify({ code: 409, message: "busy", error })))
        const address = yield* Effect.acquireRelease(listening(busy), () => Effect.sync(() => busy.close()))
        const login = { url: `http://127.0.0.1:${address}`, app_id: "a", key_id: "k", api_key: "x", signing_secret: "s" }
        yield* Effect.promise(() => mkdir(join(folder, "payment-gateway")))
        yield* Effect.promise(() => writeFile(join(folder, "payment-gateway", "default.json"), JSON.stringify(login)))
        const create = run("payout", "create", ...TO_JANE, "--idempotency-key", "k-3")
        expect(yield* create).toMatchObject({
          code: 3,
          errors:
            "request_in_progress: busy. It may have been accepted: run the same command with --idempotency-key k-3, which never does it twice"
        })
        busy.closeAllConnections()
        busy.close()
        expect(yield* create).toMatchObject({
          code: 3,
          errors: expect.stringMatching(/^no answer from .* It may have been accepted/)
        })
      })
    )

    it.effect("collects, and gives the one-time code that a collection waits for", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { login, result, run } = yield* givenPerson(yield* tenantOn(gateway))
        yield* login
        const collected = yield* result("collection", "create", ...TO_JANE, "--wait")
        expect(collected).toMatchObject({ kind: "collection", status: "successful" })
        expect(yield* result("collection", "get", collected.reference)).toEqual(collected)
        expect((yield* result("collection", "list")).items).toHaveLength(1)
        yield* demandCodes(gateway, "KE")
        const payer = ["--msisdn", "254712345678", "--network", "MPESA"]
        const charge = ["--amount-minor", "10000", "--currency", "KES", "--country", "KE", ...payer]
        const waiting = yield* run("collection", "create", ...charge)
        expect(waiting.output).toContain("is requires_action")
        expect(waiting.output).toContain("With a one-time code: gateway collection authorize")
        const [, reference = ""] = waiting.output.split(" ")
        const { next_action } = yield* result("collection", "get", reference)
        const authorize = ["collection", "authorize", reference, "--pin-id", next_action.pin_id, ...payer]
        expect((yield* run(...authorize, "--pin", "000000")).errors).toMatch(
          /\notp_incorrect: .* Ask the payer for the code again\.$/
        )
        expect(yield* result(...authorize, "--pin", RIGHT, "--wait")).toMatchObject({ reference, status: "successful" })
      })
    )

    it.effect("triggers an ending in test mode and follows it, and never with a live key", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const test = yield* givenPerson(yield* tenantOn(gateway, 100_000n, { mode: "test" }))
        yield* test.login
        expect(yield* test.result("trigger", "0002")).toMatchObject({ kind: "payout", status: "failed", is_test_mode: true })
        expect(yield* test.result("trigger", "1234", "--kind", "collection")).toMatchObject({
          kind: "collection",
          status: "successful"
        })
        expect(yield* test.run("trigger", "12")).toMatchObject({ code: 2, output: "" })
        expect((yield* test.run("trigger", "1234", "--country", "ZZ")).errors).toMatch(/^no test number of ZZ/)
        for (const mode of ["live", undefined]) {
          const live = yield* givenPerson(yield* tenantOn(gateway), mode)
          yield* live.login
          const refused = yield* live.run("trigger", "1234")
          expect(refused.code).toBe(1)
          expect(refused.errors).toMatch(/trigger moves test money only, and this login's key is live/)
        }
      })
    )

    it.effect("listens: shows events and forwards the very bytes with the gateway's signature, and puts the endpoint back", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { login, run } = yield* givenPerson(tenant)
        yield* login
        const hook = yield* receiver((response) => response.writeHead(204).end())
        const listening = yield* Effect.forkChild(run("listen", "--forward", hook.url, "--count", "2", "--json"))
        const borrowed = yield* eventually(tenant.get("/v1/webhooks/endpoint"), ({ status }) => status === 200)
        expect(borrowed.body.data.events).toEqual(EventType.literals)
        yield* run("payout", "create", ...TO_JANE, "--wait")
        const { code, errors, output } = yield* Fiber.join(listening)
        expect(code).toBe(0)
        const secret = /whsec_\S+/.exec(errors)?.[0] ?? ""
        const shown = output.split("\n").map((line) => JSON.parse(line))
        expect(shown.map(({ event }) => event.type).sort()).toEqual(["payout.pending", "payout.successful"])
        expect(shown[0].forwarded.status).toBe(204)
        for (const { body, headers } of hook.received)
          expect(new Webhook(secret).verify(body, { ...headers } as Record<string, string>)).toEqual(JSON.parse(body))
        expect((yield* tenant.get("/v1/webhooks/endpoint")).status).toBe(404)
      })
    )

    it.effect("takes events from another machine's endpoint only when told to, and gives them back when it is stopped", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { login, run } = yield* givenPerson(tenant)
        yield* login
        const endpoint = tenant.get("/v1/webhooks/endpoint")
        const before = { url: "https://example.com/hooks", events: ["payout.failed"] }
        yield* tenant.call("PUT", "/v1/webhooks/endpoint", before)
        expect((yield* run("listen")).errors).toMatch(/^events go to https:\/\/example.com\/hooks: --take-over/)
        const listening = yield* Effect.forkChild(run("listen", "--take-over"))
        yield* eventually(endpoint, ({ text }) => text.includes("127.0.0.1"))
        yield* Fiber.interrupt(listening)
        const after = yield* eventually(endpoint, ({ text }) => !text.includes("127.0.0.1"))
        expect(after.body.data).toMatchObject({ ...before, enabled: true })
      })
    )

    it.effect("shows changes of transactions of a gateway elsewhere, and forwards nothing that the gateway did not sign", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { folder, login, run } = yield* givenPerson(tenant)
        yield* login
        const file = join(folder, "payment-gateway", "default.json")
        // An address that leads here and is not known to.
        const kept = yield* Effect.promise(() => readFile(file, "utf8"))
        yield* Effect.promise(() => writeFile(file, kept.replace("127.0.0.1", "0.0.0.0")))
        const refused = yield* run("listen", "--forward", "http://127.0.0.1:3000/")
        expect(refused).toMatchObject({
          code: 1,
          output: "",
          errors: expect.stringMatching(/cannot reach this machine.*--public-url/)
        })
        const listening = yield* Effect.forkChild(run("listen", "--count", "1"))
        let charges = 1_000
        const charge = Effect.suspend(() => tenant.post("/v1/collections", momoCharge(String(charges++))))
        const charging = yield* Effect.forkChild(Effect.forever(Effect.delay(charge, "200 millis")))
        const { code, errors, output } = yield* Fiber.join(listening)
        yield* Fiber.interrupt(charging)
        expect([code, errors]).toEqual([0, expect.stringMatching(/^ready: \S+ is asked every 1 s what changed/)])
        expect(output).toMatch(/^\S+Z {2}collection +\w{26} \w+/)
      })
    )

    it.effect("shows hostile text of a record as escapes: no broken line and no terminal control", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { login, run } = yield* givenPerson(tenant)
        yield* login
        const hostile = "evil\u001b[31m\u202e\nforged line\u0007"
        const sent = yield* tenant.post("/v1/payouts", momoPayout("3001", { narration: hostile, metadata: { note: hostile } }))
        const reference = JSON.parse(sent.text).data.reference
        for (const words of [
          ["payout", "list"],
          ["payout", "get", reference]
        ]) {
          const asText = yield* run(...words)
          expect([asText.code, asText.output.includes(reference)]).toEqual([0, true])
          for (const { errors, output } of [asText, yield* run(...words, "--json")]) {
            expect(`${errors}${output}`).not.toMatch(/\p{Cc}(?<!\n)|\u202e/u)
            expect(`${errors}${output}`).not.toMatch(/^\s*forged/m)
          }
        }
      })
    )

    it.effect("has colours on a terminal only, and none where NO_COLOR is set", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const { login, run, variables } = yield* givenPerson(tenant)
        yield* login
        const { output } = yield* run("payout", "create", ...TO_JANE, "--wait")
        expect(output).not.toContain("\u001b")
        const [, reference = ""] = output.split(" ")
        const shown = (more: Record<string, string>) => command({ ...variables, ...more }, true, "payout", "get", reference)
        expect((yield* shown({})).output).toContain("\u001b[32msuccessful\u001b[0m")
        expect((yield* shown({ NO_COLOR: "1" })).output).not.toContain("\u001b")
      })
    )
  })
})
