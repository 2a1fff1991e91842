import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { describe } from "vitest"
import { TenantChanges } from "../../../src/services/ports/TenantChanges.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually, said } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn } from "../../support/Stack.ts"
import { type Received, receiver } from "../../support/WebhookReceiver.ts"

const ENDPOINT = "/v1/webhooks/endpoint"

/** A receiver that takes everything, and what it received so far, once that is so much. */
const givenHook = Effect.map(
  receiver((response) => response.writeHead(204).end()),
  ({ received, url }) => ({
    url,
    count: (wanted: number) =>
      eventually(
        Effect.sync(() => received),
        ({ length }) => length >= wanted
      )
  })
)

const headersOf = ({ headers }: Received) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/** Whether an independent implementation of Standard Webhooks takes it with this secret. */
const isSignedWith = (secret: string, one: Received | undefined): boolean => {
  if (one === undefined) return false
  try {
    new Webhook(secret).verify(one.body, headersOf(one))
    return true
  } catch {
    return false
  }
}

const typeOf = (one: Received | undefined): string => JSON.parse(one?.body ?? "{}").type

describe("a tenant's own webhook endpoint", () => {
  layer(Stack.layer(), { excludeTestServices: true })((it) => {
    it.effect("is absent, created with a secret that is shown once, changed, read and removed", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const hook = yield* givenHook
        for (const [method, path] of [
          ["GET", ENDPOINT],
          ["DELETE", ENDPOINT],
          ["POST", `${ENDPOINT}/rotate-secret`],
          ["POST", `${ENDPOINT}/test`]
        ] as const)
          expect(said(yield* tenant.call(method, path))).toMatchObject({ status: 404, code: "not_found" })

        const made = yield* tenant.call("PUT", ENDPOINT, { url: hook.url })
        expect(made.status).toBe(200)
        const { secret, ...shown } = made.body.data
        expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
        expect(shown).toMatchObject({
          url: hook.url,
          events: [
            "collection.successful",
            "collection.failed",
            "collection.expired",
            "collection.reversed",
            "collection.corrected",
            "payout.successful",
            "payout.failed",
            "payout.returned",
            "payout.corrected",
            "fx.successful",
            "fx.failed"
          ],
          enabled: true,
          disabled_reason: null,
          failing_since: null,
          is_test_mode: false
        })
        expect((yield* tenant.get(ENDPOINT)).body.data).toStrictEqual(shown)

        yield* tenant.post("/v1/payouts", momoPayout("1234"))
        const [first] = yield* hook.count(1)
        expect(typeOf(first)).toBe("payout.successful")
        expect(isSignedWith(String(secret), first)).toBe(true)

        const changed = yield* tenant.call("PUT", ENDPOINT, {
          url: hook.url,
          events: ["payout.pending"],
          enabled: true,
          colour: 1
        })
        expect(changed.headers.get("x-gateway-ignored")).toBe("colour")
        expect(changed.body.data).toMatchObject({ events: ["payout.pending"], created_at: shown["created_at"] })
        expect(changed.text).not.toContain("secret")
        yield* tenant.post("/v1/payouts", momoPayout("1234"))
        const [, second] = yield* hook.count(2)
        expect(typeOf(second)).toBe("payout.pending")
        expect(isSignedWith(String(secret), second)).toBe(true)

        const off = yield* tenant.call("PUT", ENDPOINT, { url: hook.url, enabled: false })
        expect(off.body.data).toMatchObject({ enabled: false, disabled_reason: null })
        const before = (yield* tenant.get("/v1/webhooks/deliveries")).body.data["items"] ?? []
        const silent = yield* tenant.post("/v1/payouts", momoPayout("1234"))
        yield* tenant.until(`/v1/payouts/${silent.body.data["reference"]}`, ({ status }) => status === "successful")
        expect((yield* tenant.get("/v1/webhooks/deliveries")).body.data["items"]).toStrictEqual(before)
        expect(said(yield* tenant.call("POST", `${ENDPOINT}/test`))).toMatchObject({ status: 422, code: "validation_failed" })

        expect((yield* tenant.call("DELETE", ENDPOINT)).body.data).toStrictEqual(off.body.data)
        expect((yield* tenant.get(ENDPOINT)).status).toBe(404)
        const anew = yield* tenant.call("PUT", ENDPOINT, { url: hook.url })
        expect(anew.body.data["secret"]).not.toBe(secret)
        expect((yield* hook.count(2)).length).toBe(2)
      })
    )

    it.effect("signs with the old and the new secret while one is rotated", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const hook = yield* givenHook
        const { secret: old = "" } = (yield* tenant.call("PUT", ENDPOINT, { url: hook.url })).body.data
        const rotated = yield* tenant.call("POST", `${ENDPOINT}/rotate-secret`)
        const { previous_secret_until: until = "", secret: fresh = "" } = rotated.body.data
        expect(rotated.status).toBe(200)
        expect(Date.parse(until) - Date.now()).toBeGreaterThan(23.9 * 3_600_000)
        expect(Date.parse(until) - Date.now()).toBeLessThanOrEqual(24 * 3_600_000)
        yield* tenant.call("POST", `${ENDPOINT}/test`)
        const [one] = yield* hook.count(1)
        expect([old, fresh].map((secret) => isSignedWith(secret, one))).toStrictEqual([true, true])
        // A second rotation drops the oldest.
        const { secret: third = "" } = (yield* tenant.call("POST", `${ENDPOINT}/rotate-secret`, {})).body.data
        yield* tenant.call("POST", `${ENDPOINT}/test`)
        const [, two] = yield* hook.count(2)
        expect([old, fresh, third].map((secret) => isSignedWith(secret, two))).toStrictEqual([false, true, true])
      })
    )

    it.effect("gets a test event whatever event types it subscribes to", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 0n, { mode: "test" })
        const hook = yield* givenHook
        yield* tenant.call("PUT", ENDPOINT, { url: hook.url, events: ["fx.failed"] })
        const asked = yield* tenant.call("POST", `${ENDPOINT}/test`)
        expect(asked.body.data).toMatchObject({ event_type: "webhook.test", reference: null, is_test_mode: true })
        const [one] = yield* hook.count(1)
        expect(one?.headers["webhook-id"]).toBe(asked.body.data["event_id"])
        expect(JSON.parse(one?.body ?? "{}")).toStrictEqual({
          id: asked.body.data["event_id"],
          type: "webhook.test",
          api_version: "v1",
          timestamp: asked.body.data["created_at"],
          app_id: tenant.appId,
          is_test_mode: true,
          data: { message: "This event is a test.", metadata: {} }
        })
      })
    )

    it.effect("belongs to one tenant and mode, and every change is recorded with who made it", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const other = yield* keyOn(gateway, tenant.appId, "test")
        const stranger = yield* tenantOn(gateway)
        const hook = yield* givenHook
        yield* tenant.call("PUT", ENDPOINT, { url: hook.url })
        for (const foreign of [other, stranger]) {
          expect((yield* foreign.get(ENDPOINT)).status).toBe(404)
          expect((yield* foreign.call("DELETE", ENDPOINT)).status).toBe(404)
          expect((yield* foreign.call("POST", `${ENDPOINT}/rotate-secret`)).status).toBe(404)
        }
        expect((yield* other.call("PUT", ENDPOINT, { url: `${hook.url}/test` })).body.data).toMatchObject({ is_test_mode: true })
        expect((yield* tenant.get(ENDPOINT)).body.data).toMatchObject({ url: hook.url })
        yield* tenant.call("POST", `${ENDPOINT}/rotate-secret`)
        yield* tenant.call("DELETE", ENDPOINT)
        const rows = yield* Context.get(gateway.context, TenantChanges).list(tenant.appId, null, 100)
        expect(rows.map(({ action, actor, tenant: { mode } }) => [action, actor, mode])).toStrictEqual([
          ["webhook endpoint remove", `${tenant.appId}/${tenant.key.keyId}`, "live"],
          ["webhook rotate-secret", `${tenant.appId}/${tenant.key.keyId}`, "live"],
          ["webhook endpoint", `${tenant.appId}/${other.key.keyId}`, "test"],
          ["webhook endpoint", `${tenant.appId}/${tenant.key.keyId}`, "live"]
        ])
      })
    )

    it.effect("is refused with the name of the wrong field, and never its value", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 0n)
        const url = "https://tenant.example/hook"
        const wrong: ReadonlyArray<readonly [string, unknown]> = [
          ["url", {}],
          ["url", { url: null }],
          ["url", { url: 7 }],
          ["url", { url: "" }],
          ["url", { url: "tenant.example" }],
          ["url", { url: "http://tenant.example/" }],
          ["url", { url: "ftp://tenant.example/" }],
          ["url", { url: "https://10.1.2.3/" }],
          ["url", { url: "https://169.254.169.254/latest" }],
          ["url", { url: "https://[fd00::1]/" }],
          ["url", { url: "https://user:word@tenant.example/" }],
          ["url", { url: `${url}/${"x".repeat(2048)}` }],
          ["url", { url: `${url}\u0000` }],
          ["events", { url, events: null }],
          ["events", { url, events: "payout.failed" }],
          ["events", { url, events: [] }],
          ["events", { url, events: ["payout.failed", "payout.failed"] }],
          ["events.1", { url, events: ["payout.failed", "payout.gone"] }],
          ["enabled", { url, enabled: null }],
          ["enabled", { url, enabled: "true" }],
          ["", [url]]
        ]
        for (const [path, body] of wrong) {
          const answer = yield* tenant.call("PUT", ENDPOINT, body)
          const paths = (answer.body.error?.["details"]?.["issues"] ?? []).map((issue: { path: string }) => issue.path)
          expect([answer.status, paths], JSON.stringify(body)).toStrictEqual([422, expect.arrayContaining([path])])
          for (const value of ["tenant.example", "10.1.2.3", "169.254", "payout.gone"]) expect(answer.text).not.toContain(value)
        }
        expect(said(yield* tenant.call("PUT", ENDPOINT, { url, mode: "test" }))).toMatchObject({ code: "mode_mismatch" })
        expect((yield* tenant.call("PUT", ENDPOINT, "{")).status).toBe(400)
        expect((yield* tenant.call("PATCH", ENDPOINT, { url })).status).toBe(405)
        expect((yield* tenant.get(ENDPOINT)).status).toBe(404)
      })
    )
  })
})
