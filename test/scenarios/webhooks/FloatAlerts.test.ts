import { layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { expect } from "vitest"
import { TenantChanges } from "../../../src/services/ports/TenantChanges.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"

const ALERTS = "/v1/float/alerts"

layer(Stack.layer(), { excludeTestServices: true })("alerts of a float", (it) => {
  it.effect("are set and ended for each currency and mode, and recorded with who changed them", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 100_000n)
      const inTest = yield* keyOn(gateway, tenant.appId, "test")
      const put = (body: object) => tenant.call("PUT", ALERTS, body)
      expect((yield* tenant.get(ALERTS)).body.data).toStrictEqual([])
      yield* put({ currency: "UGX", below_minor: 100_001 })
      const kes = { currency: "KES", below_minor: 5, available_minor: 0, is_low: true }
      const ugx = { currency: "UGX", below_minor: 100_001, available_minor: 100_000, is_low: true }
      expect((yield* put({ currency: "KES", below_minor: 5 })).body.data).toStrictEqual([kes, ugx])
      const higher = { ...ugx, below_minor: 100_000, is_low: false }
      expect((yield* put({ currency: "UGX", below_minor: 100_000 })).body.data).toStrictEqual([kes, higher])
      // The same again is no change.
      yield* put({ currency: "UGX", below_minor: 100_000 })
      expect((yield* put({ currency: "KES", below_minor: null })).body.data).toStrictEqual([higher])
      expect((yield* inTest.get(ALERTS)).body.data).toStrictEqual([])
      const changes = yield* Context.get(gateway.context, TenantChanges).list(tenant.appId, "live", 10)
      expect(changes.map(({ action, actor, details }) => [action, actor, details["currency"], details["below_minor"]])).toEqual(
        [
          ["KES", "none"],
          ["UGX", "100000"],
          ["KES", "5"],
          ["UGX", "100001"]
        ].map((change) => ["float alert", `${tenant.appId}/${tenant.key.keyId}`, ...change])
      )
      for (const wrong of [{}, { currency: "UGX" }, { currency: "UGX", below_minor: -1 }])
        expect(said(yield* put(wrong))).toMatchObject({ status: 422, code: "validation_failed" })
    })
  )

  it.effect("tell an endpoint of a float that a payout took below the amount", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 100_000n)
      const hook = yield* webhooksOf(gateway, tenant, ["float.low"])
      yield* tenant.call("PUT", ALERTS, { currency: "UGX", below_minor: 95_000 })
      const paid = referenceOf(yield* tenant.post("/v1/payouts", momoPayout("1234")))
      yield* tenant.until(`/v1/payouts/${paid}`, ({ status }) => status === "successful")
      const [event] = yield* hook.count(1)
      const { data, type } = JSON.parse(event?.body ?? "")
      expect(type).toBe("float.low")
      expect(data).toMatchObject({ currency: "UGX", available_minor: 89_000, below_minor: 95_000, metadata: {} })
      expect((yield* verified(gateway)).differences).toEqual([])
    })
  )
})
