import { expect, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { AppId } from "../../src/domain/Ids.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { momoCharge, momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { Stack, tenantOn, webhooksOf } from "../support/Stack.ts"
import { auditEntry } from "../support/TestDatabase.ts"
import { personOn, textOf } from "./FormPerson.ts"

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" }), { excludeTestServices: true })("a tenant's page", (it) => {
  it.effect("has what the tenant has, what it may do, how it fares, and where its lists are", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 100_000n)
      yield* webhooksOf(gateway, tenant)
      const paid = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      yield* tenant.until(`/v1/payouts/${paid}`, ({ status }) => status === "successful")
      const failed = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0002")))
      yield* tenant.until(`/v1/payouts/${failed}`, ({ status }) => status === "failed")
      yield* tenant.post("/v1/collections", momoCharge("0008"))
      const person = yield* personOn(gateway, "viewer", "viewer")
      const { text } = yield* person.read(`/tenants/${tenant.appId}`)
      const page = textOf(text)
      expect(page).toContain(`Tenant ${tenant.appId} The tenant Status active`)
      expect(page).toContain("UGX live UGX 89,000 UGX 0 nothing")
      expect(page).toContain("the last hour payout 2 1 1 0 50.0 %")
      expect(page).toContain("the last day payout 2 1 1 0 50.0 %")
      expect(page).toMatch(/payouts, all of it one hour [\d,]+ 1 /)
      expect(page).toMatch(/k_\w+ live tenant in the hour from \d{4}/)
      expect(page).toMatch(/default http\S+ enabled/)
      expect(page).toContain("UG UGX payout momo eversend operational")
      for (const place of ["/transactions?app=", "/unknown?app=", "/webhooks?app="])
        expect(text).toContain(`${place}${tenant.appId}`)
      expect(textOf((yield* person.read(`/tenants/${tenant.appId}?mode=test`)).text)).toContain("Nothing began within a day.")

      const tenants = Context.get(gateway.context, Tenants)
      const audit = auditEntry({ action: "tenant freeze", subject: tenant.appId })
      yield* tenants.setStatus(AppId.make(tenant.appId), "frozen", audit)
      expect(textOf((yield* person.read(`/tenants/${tenant.appId}`)).text)).toContain("Status frozen")
    })
  )

  it.effect("is found by a part of its name, and the list ends after fifty", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenants = Context.get(gateway.context, Tenants)
      const names = Array.from({ length: 51 }, (_, at) => `paged-${String(at).padStart(2, "0")}`)
      const made = { status: "active", capabilities: [], createdAt: 0 } as const
      yield* Effect.forEach(names, (name) =>
        tenants.create({ appId: AppId.make(name), ...made }, auditEntry({ action: "tenant create", subject: name }))
      )
      const person = yield* personOn(gateway, "pager", "viewer")
      const first = (yield* person.read("/tenants?name=paged")).text
      expect(first.match(/href="\/tenants\/paged-\d+"/g)).toHaveLength(50)
      const next = /href="([^"]+after=[^"]+)"/.exec(first)?.[1]?.replaceAll("&amp;", "&") ?? ""
      expect((yield* person.read(next)).text.match(/\/tenants\/paged-\d+/g)).toStrictEqual(["/tenants/paged-50"])
      expect((yield* person.read("/tenants?name=paged-07")).to).toBe("/tenants/paged-07")
      expect((yield* person.read("/tenants/absent")).status).toBe(404)
    })
  )
})
