import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { TenantChanges } from "../../../src/services/ports/TenantChanges.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn, verified } from "../../support/Stack.ts"
import { type Received, receiver } from "../../support/WebhookReceiver.ts"

const ENDPOINTS = "/v1/webhooks/endpoints"
const ERP = `${ENDPOINTS}/erp`

/** A receiver, how it answers from now on, and what it received once that is so much. */
const givenHook = Effect.gen(function* () {
  let status = 204
  const { received, url } = yield* receiver((response) => response.writeHead(status).end())
  const count = (wanted: number) =>
    eventually(
      Effect.sync(() => received),
      ({ length }) => length >= wanted
    )
  return { url, received, count, answer: (next: number) => Effect.sync(() => (status = next)) }
})

const isSignedWith = (secret: string, { body, headers }: Received): boolean => {
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  try {
    new Webhook(secret).verify(body, named)
    return true
  } catch {
    return false
  }
}
const typeOf = ({ body }: Received): string => JSON.parse(body).type
const itemsOf = (text: string): ReadonlyArray<Readonly<Record<string, unknown>>> => JSON.parse(text).data.items

layer(Stack.layer(), { excludeTestServices: true })("a tenant's endpoints by name", (it) => {
  it.effect("are set, listed, read, rotated and removed, and default is the one of the calls without a name", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      expect(JSON.parse((yield* tenant.get(ENDPOINTS)).text).data).toStrictEqual([])
      for (const [method, path] of [
        ["GET", ERP],
        ["DELETE", ERP],
        ["POST", `${ERP}/rotate-secret`],
        ["POST", `${ERP}/test`]
      ] as const)
        expect(said(yield* tenant.call(method, path))).toMatchObject({ status: 404, code: "not_found" })

      const [hook, other] = [yield* givenHook, yield* givenHook]
      const made = (yield* tenant.call("PUT", ERP, { url: hook.url, events: ["payout.failed"] })).body.data
      expect(made["secret"]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      const { secret: _, ...shown } = made
      expect(shown).toMatchObject({ name: "erp", url: hook.url, events: ["payout.failed"], enabled: true, is_test_mode: false })
      expect((yield* tenant.get(ERP)).body.data).toStrictEqual(shown)
      // The same endpoint, by both of its ways.
      const first = (yield* tenant.call("PUT", "/v1/webhooks/endpoint", { url: other.url })).body.data
      expect("name" in first).toBe(false)
      const byName = (yield* tenant.get(`${ENDPOINTS}/default`)).body.data
      expect((yield* tenant.get("/v1/webhooks/endpoint")).body.data).toStrictEqual(
        Object.fromEntries(Object.entries(byName).filter(([member]) => member !== "name"))
      )
      expect(JSON.parse((yield* tenant.get(ENDPOINTS)).text).data).toStrictEqual([byName, shown])

      // A test of one of them, signed with its own secrets.
      const rotated = (yield* tenant.call("POST", `${ERP}/rotate-secret`)).body.data
      const sent = (yield* tenant.call("POST", `${ERP}/test`)).body.data
      expect(sent).toMatchObject({ endpoint: "erp", event_type: "webhook.test" })
      const [one] = yield* hook.count(1)
      expect(one && [made, rotated, first].map(({ secret }) => isSignedWith(String(secret), one))).toStrictEqual([
        true,
        true,
        false
      ])
      expect(other.received).toStrictEqual([])

      // Of one mode and one tenant.
      const test = yield* keyOn(gateway, tenant.appId, "test")
      expect((yield* test.get(ERP)).status).toBe(404)
      expect((yield* (yield* tenantOn(gateway)).get(ERP)).status).toBe(404)
      expect((yield* tenant.call("DELETE", ERP)).body.data).toMatchObject({ name: "erp" })
      expect((yield* tenant.get(ERP)).status).toBe(404)
      const changes = yield* Context.get(gateway.context, TenantChanges).list(tenant.appId, null, 9)
      expect(changes.map(({ action, details }) => [action, details["endpoint"]]).toReversed()).toStrictEqual([
        ["webhook endpoint", "erp"],
        ["webhook endpoint", undefined],
        ["webhook rotate-secret", "erp"],
        ["webhook endpoint remove", "erp"]
      ])
    })
  )

  it.effect("are refused with a name or an address that cannot be, and beyond the fifth, and nothing is lost", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway)
      const { url } = yield* givenHook
      const refusal = { status: 422, code: "validation_failed" }
      for (const name of ["ERP", "e.rp", "x".repeat(33)]) {
        for (const method of ["GET", "PUT", "DELETE"] as const) {
          const refused = yield* tenant.call(method, `${ENDPOINTS}/${name}`, method === "PUT" ? { url } : undefined)
          expect([name, method, said(refused)]).toMatchObject([name, method, refusal])
          expect(refused.text).toContain("must be a name of 1 to 32 of a-z, 0-9, _ and -")
        }
      }
      for (const address of [
        "http://shop.example/",
        "https://user:word@shop.example/",
        "https://10.0.0.1/",
        "https://169.254.169.254/x"
      ])
        expect(said(yield* tenant.call("PUT", ERP, { url: address }))).toMatchObject(refusal)
      for (const name of ["a", "b", "c", "x".repeat(32)])
        expect((yield* tenant.call("PUT", `${ENDPOINTS}/${name}`, { url })).status).toBe(200)
      const sixth = yield* tenant.call("PUT", ERP, { url })
      expect(said(sixth)).toMatchObject(refusal)
      expect(sixth.text).toContain("there are at most 5 endpoints of a mode")
      // The one that every release knows always has its place.
      expect((yield* tenant.call("PUT", "/v1/webhooks/endpoint", { url })).status).toBe(200)
      expect((yield* tenant.call("PUT", `${ENDPOINTS}/a`, { url, enabled: false })).body.data).toMatchObject({ enabled: false })
      expect(JSON.parse((yield* tenant.get(ENDPOINTS)).text).data).toHaveLength(5)
    })
  )

  it.effect("get what each wants: while one answers nothing good the others hear at once, and a recovery is of one alone", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 1_000_000n)
      const [main, erp, mail] = [yield* givenHook, yield* givenHook, yield* givenHook]
      const set = (name: string, url: string, events: ReadonlyArray<string>) =>
        tenant.call("PUT", `${ENDPOINTS}/${name}`, { url, events })
      const secrets = [
        String((yield* set("default", main.url, ["payout.successful", "payout.pending"])).body.data["secret"]),
        String((yield* set("erp", erp.url, ["payout.successful"])).body.data["secret"])
      ]
      yield* set("mail", mail.url, ["payout.failed"])
      yield* erp.answer(410)
      const references = [referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))]
      yield* main.count(2)
      yield* eventually(tenant.get(ERP), ({ body }) => body.data["disabled_reason"] === "gone")
      references.push(referenceOf(yield* tenant.post("/v1/payouts", momoPayout("4321"))))
      const heard = yield* main.count(4)
      expect(heard.map(typeOf).sort()).toStrictEqual([
        "payout.pending",
        "payout.pending",
        "payout.successful",
        "payout.successful"
      ])
      expect([erp.received.length, mail.received.length]).toStrictEqual([1, 0])

      const deliveries = (query: string) =>
        Effect.map(tenant.get(`/v1/webhooks/deliveries?${query}`), ({ text }) =>
          itemsOf(text).map(({ endpoint, event_type, status }) => `${endpoint} ${event_type} ${status}`)
        )
      expect(yield* deliveries("endpoint=erp")).toStrictEqual(["erp payout.successful parked"])
      expect(yield* deliveries("status=parked")).toStrictEqual(["erp payout.successful parked"])
      yield* eventually(deliveries("endpoint=default&status=delivered"), ({ length }) => length === 4)
      expect(yield* deliveries("endpoint=mail")).toStrictEqual([])
      expect((yield* tenant.get("/v1/webhooks/deliveries?endpoint=E")).status).toBe(422)

      // It comes back and gets what it missed, and nobody else gets anything again.
      const since = new Date(Date.now() - 600_000).toISOString()
      expect(said(yield* tenant.call("POST", "/v1/webhooks/recover", { since, endpoint: "erp" }))).toMatchObject({ status: 422 })
      yield* erp.answer(204)
      yield* set("erp", erp.url, ["payout.successful"])
      const recovered = yield* tenant.call("POST", "/v1/webhooks/recover", { since, endpoint: "erp" })
      expect(recovered.body.data).toStrictEqual({ deliveries: 2, resume_since: null })
      const late = (yield* erp.count(3)).slice(1)
      expect(late.map(({ body }) => JSON.parse(body).data.reference)).toStrictEqual(references)
      expect([main.received.length, mail.received.length]).toStrictEqual([4, 0])
      // The bytes and the id of each event are the same for both, and each is signed for its endpoint alone.
      for (const one of late) {
        const twin = heard.find(({ headers }) => headers["webhook-id"] === one.headers["webhook-id"])
        expect(twin?.body).toBe(one.body)
        expect(secrets.map((secret) => isSignedWith(secret, one))).toStrictEqual([false, true])
      }
      const again = itemsOf((yield* tenant.get("/v1/webhooks/deliveries?endpoint=erp&status=parked")).text)[0]?.["id"]
      expect((yield* tenant.call("POST", `/v1/webhooks/deliveries/${again}/redeliver`)).body.data).toMatchObject({
        endpoint: "erp"
      })
      yield* erp.count(4)
      expect((yield* verified(gateway)).differences).toStrictEqual([])
    })
  )
})
