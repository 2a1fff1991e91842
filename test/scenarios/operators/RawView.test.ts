import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { routes } from "../../../src/http/edge/HttpRoutes.ts"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { bankPayout, momoPayout } from "../../support/RequestBodies.ts"
import { type Answer, referenceOf, said } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn } from "../../support/Stack.ts"

const reason = { "x-audit-reason": "case 17" }
const refused = (status: number, code: string, details: object = {}) => ({ status, code, class: "terminal", details })

const given = Effect.gen(function* () {
  const { gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway, 100_000n)
  const operator = yield* tenantOn(gateway, 0n)
  const admin = yield* keyOn(gateway, operator.appId, "live", { role: "admin" })
  const raw = (reference: string, headers: Record<string, string> = reason) =>
    admin.call("GET", `/v1/transactions/${reference}?view=raw`, undefined, headers)
  const rows = Effect.map(Context.get(gateway.context, AuditLog).list(100), (all) =>
    all.filter(({ action }) => action === "transaction raw read")
  )
  return { gateway, tenant, operator, admin, raw, rows }
})

layer(Stack.layer(), { excludeTestServices: true })("the raw view", (it) => {
  it.effect("shows an admin key the masked provider call of any tenant, and writes one audit row", () =>
    Effect.gen(function* () {
      const { admin, operator, raw, rows, tenant } = yield* given
      const reference = referenceOf(yield* tenant.post("/v1/payouts", bankPayout("5678")))
      const answer: Answer = yield* raw(reference)
      expect(said(answer)).toEqual({ status: 200 })
      const { raw_request, raw_response, provider_reference } = answer.body.data
      expect(JSON.parse(String(raw_request))).toMatchObject({
        token: "[removed]",
        transactionRef: reference,
        bankAccountName: "•••• Doe",
        bankAccountNumber: "••••5678"
      })
      expect(JSON.parse(String(raw_response))).toMatchObject({ data: { transaction: { transactionRef: reference } } })
      expect(provider_reference).toEqual(expect.any(String))
      expect(answer.text).not.toMatch(/903000125678|Jane Doe/)

      const [row] = yield* rows
      expect(row).toMatchObject({
        actor: `${operator.appId}/${admin.key.keyId}`,
        subject: reference,
        details: { reason: "case 17" }
      })
      const own = yield* tenant.get(`/v1/transactions/${reference}`)
      expect(Object.keys(own.body.data).filter((name) => /raw|provider_reference/.test(name))).toEqual([])
    })
  )

  it.effect(
    "is all that an admin key is for: it changes nothing, also not of its own tenant, and a reader changes nothing of its own",
    () =>
      Effect.gen(function* () {
        const { admin, gateway, operator, tenant } = yield* given
        const reader = yield* keyOn(gateway, tenant.appId, "live", { role: "reader" })
        const url = "https://example.com/hook"
        const bodies: Readonly<Record<string, object>> = {
          "PUT /v1/webhooks/endpoint": { url },
          "PUT /v1/webhooks/endpoints/{name}": { url },
          "POST /v1/payouts": momoPayout("1234")
        }
        // A search is a read whose words stand in no address.
        const changing = [...routes.keys()].filter((name) => !/^GET | \/webhooks\/|\/search$/.test(name))
        expect(changing.length).toBeGreaterThan(10)
        for (const name of changing) {
          const [method = "", path = ""] = name.replaceAll(/\{\w+\}/g, "nothing").split(" ")
          for (const { call } of [admin, reader])
            expect([name, said(yield* call(method, path, bodies[name] ?? (method === "DELETE" ? undefined : {})))]).toEqual([
              name,
              refused(403, "capability_not_allowed", { capability: "changes" })
            ])
        }
        const own = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
        expect((yield* reader.get(`/v1/payouts/${own}`)).status).toBe(200)
        expect((yield* reader.get("/v1/reference/corridors")).status).toBe(200)
        expect(said(yield* reader.get(`/v1/payouts/${own}0`))).toEqual(refused(404, "not_found"))
        expect(said(yield* reader.get(`/v1/transactions/${own}?view=raw`))).toEqual(
          refused(403, "capability_not_allowed", { capability: "raw_view" })
        )
        expect((yield* operator.get("/v1/webhooks/endpoint")).status).toBe(404)
        expect((yield* admin.get("/v1/float")).status).toBe(200)
      })
  )

  it.effect("is refused to a tenant's key before anything else is checked", () =>
    Effect.gen(function* () {
      const { tenant } = yield* given
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      for (const id of [reference, "nothing"]) {
        const answer = yield* tenant.get(`/v1/transactions/${id}?view=raw`)
        expect(said(answer)).toEqual(refused(403, "capability_not_allowed", { capability: "raw_view" }))
      }
    })
  )

  it.effect("needs one reason and an existing record of the key's mode, and refuses any other view", () =>
    Effect.gen(function* () {
      const { admin, gateway, operator, raw, rows, tenant } = yield* given
      const reference = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      const before = (yield* rows).length
      const unreasoned = refused(400, "validation_failed", { issues: expect.anything() })
      for (const headers of [{}, { "x-audit-reason": " " }, { "x-audit-reason": "x".repeat(201) }])
        expect(said(yield* raw(reference, headers))).toEqual(unreasoned)
      expect(said(yield* raw("00000000000000000000000001"))).toEqual(refused(404, "not_found"))
      const test = yield* keyOn(gateway, operator.appId, "test", { role: "admin" })
      expect(said(yield* test.call("GET", `/v1/transactions/${reference}?view=raw`, undefined, reason))).toEqual(
        refused(404, "not_found")
      )
      for (const view of ["full", "", "RAW"])
        expect(said(yield* admin.call("GET", `/v1/transactions/${reference}?view=${view}`, undefined, reason))).toMatchObject({
          status: 422,
          code: "validation_failed"
        })
      expect(said(yield* admin.get(`/v1/transactions/${reference}`))).toEqual(refused(404, "not_found"))
      expect((yield* rows).length).toBe(before)
    })
  )
})
