import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Stack, tenantOn } from "../support/Stack.ts"
import { personOn, textOf } from "./FormPerson.ts"

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0", PROVIDER_TIMEOUT_MS: "15000" }), { excludeTestServices: true })(
  "the page of wallets",
  (it) => {
    it.effect("has what the provider's account holds against the floats of all tenants, with the time of each figure", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        yield* tenantOn(gateway, 70_000n)
        yield* tenantOn(gateway, 20_000n)
        const person = yield* personOn(gateway, "viewer", "viewer")
        const page = textOf((yield* person.read("/wallets")).text)
        expect(page).toMatch(/live UGX UGX [\d,]+ UGX 90,000 UGX -?[\d,]+/)
        expect(page).toMatch(/eversend live UGX [\d,]+ (not named|UGX [\d,]+) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
      })
    )
  }
)
