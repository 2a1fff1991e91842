import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { demoTenant } from "../../src/commands/StartTenant.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { client, said } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"

const SALARIES = 61

layer(Stack.layer({ PROVIDER_TIMEOUT_MS: "5000" }), { excludeTestServices: true })("the tenant that start makes", (it) => {
  it.effect(
    "may make in test mode as many payouts as a live tenant, because its providers are simulated; another one may not",
    () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const dataDir = yield* Effect.promise(() => mkdtemp(join(tmpdir(), "payment-gateway-start-")))
        const issued = yield* Effect.provide(demoTenant(dataDir, "test"), gateway.context)
        const key = { appId: issued.app_id, keyId: issued.key_id, apiKey: issued.api_key, secret: issued.signing_secret }
        const demo = client(gateway, key)
        const other = yield* tenantOn(gateway, 1_000_000n, { mode: "test" })
        const payAll = ({ post }: Pick<typeof demo, "post">) =>
          Effect.forEach(
            Array.from({ length: SALARIES }, (_, row) => `${3000 + row}`),
            (ending) => post("/v1/payouts", { ...momoPayout(ending), amount_minor: 500 }),
            { concurrency: 8 }
          )
        const refused = (answers: Effect.Success<ReturnType<typeof payAll>>) =>
          answers.filter(({ status }) => status === 422).map(said)
        expect(refused(yield* payAll(demo))).toStrictEqual([])
        expect(refused(yield* payAll(other))).toMatchObject([{ code: "velocity_limit_exceeded", details: { window: "hour" } }])
        const hour = { direction: "payout", window: "hour", applies_to: "tenant", scope: "count" }
        expect((yield* demo.get("/v1/limits")).body.data).toContainEqual(
          expect.objectContaining({ ...hour, maximum_count: 600, used_count: SALARIES })
        )
        expect((yield* other.get("/v1/limits")).body.data).toContainEqual(
          expect.objectContaining({ ...hour, maximum_count: 60, used_count: 60 })
        )
      })
  )
})
