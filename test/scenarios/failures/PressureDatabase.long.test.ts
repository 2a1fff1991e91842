import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { describe } from "vitest"
import { databaseProxy } from "../../support/DatabaseProxy.ts"
import { freePort } from "../../support/FreePort.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, executionsOf, gatewayOn, givenStack, tenantOn, verified } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"
const shed = { status: 429, body: { error: { code: "rate_limited", retriable: true, details: { scope: "server" } } } }
const broken = { status: 500, body: { error: { code: "internal_error", ambiguous: true } } }

/** A gateway whose line to its database the test holds or cuts. */
const given = Effect.gen(function* () {
  const { database, gateway: clear, simulator } = yield* givenStack({ RECONCILER_SCHEDULE: "1h" })
  const line = yield* databaseProxy(database)
  const managementPort = yield* freePort
  const gateway = yield* Effect.orDie(gatewayOn(line.database, simulator, { MANAGEMENT_PORT: String(managementPort) }))
  const ready = Effect.promise(() => fetch(`http://127.0.0.1:${managementPort}/readyz`).then(({ status }) => status))
  const tenant = yield* tenantOn(gateway)
  return { clear, line, ready, simulator, tenant }
})

describe("a gateway whose database", () => {
  it.live(
    "hangs refuses requests before anything begins, says that it is not ready, and recovers by itself",
    () =>
      Effect.gen(function* () {
        const { clear, line, ready, tenant } = yield* given
        expect(yield* ready).toBe(200)
        yield* line.hold
        const asked = yield* Effect.all([tenant.get("/v1/float"), tenant.post(PAYOUTS, momoPayout("1234"), "k"), ready], {
          concurrency: 3
        })
        expect(asked).toMatchObject([shed, shed, 503])
        yield* line.letGo
        yield* eventually(ready, (status) => status === 200)
        const answer = yield* tenant.post(PAYOUTS, momoPayout("1234"), "k")
        expect(said(answer)).toStrictEqual({ status: 201 })
        yield* tenant.until(`${PAYOUTS}/${referenceOf(answer)}`, ({ status }) => status === "successful")
        expect(yield* tenant.float).toMatchObject({ available_minor: 89_000, reserved_minor: 0, paid_out_minor: 10_000 })
        expect(yield* verified(clear)).toMatchObject({ ok: true, differences: [] })
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "is gone for a while settles what was under way once it is back, and pays once",
    () =>
      Effect.gen(function* () {
        const { clear, line, ready, simulator, tenant } = yield* given
        const paying = yield* Effect.forkChild(tenant.post(PAYOUTS, momoPayout("0003"), "k"))
        yield* eventually(callsOf(simulator), (calls) => calls.includes("POST /v1/payouts"))
        yield* line.cut
        expect(yield* Fiber.join(paying)).toMatchObject(broken)
        expect(yield* tenant.get("/v1/float")).toMatchObject(broken)
        expect(yield* tenant.post(PAYOUTS, momoPayout("1234"), "other")).toMatchObject(broken)
        expect(yield* ready).toBe(503)

        yield* line.mend
        yield* eventually(ready, (status) => status === 200)
        const other = yield* eventually(tenant.post(PAYOUTS, momoPayout("1234"), "other"), ({ status }) => status !== 500)
        expect(said(other)).toStrictEqual({ status: 201 })
        const settled = yield* eventually(tenant.float, ({ reserved_minor }) => reserved_minor === 0)
        expect(settled).toMatchObject({ available_minor: 78_000, paid_out_minor: 20_000 })
        const again = yield* eventually(tenant.post(PAYOUTS, momoPayout("0003"), "k"), ({ status }) => status !== 409)
        expect(said(again)).toStrictEqual({ status: 201 })
        expect(yield* executionsOf(simulator, referenceOf(again))).toHaveLength(1)
        expect(yield* verified(clear)).toMatchObject({ ok: true, differences: [] })
      }).pipe(Effect.scoped),
    120_000
  )
})
