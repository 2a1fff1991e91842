import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { momoPayout } from "../support/RequestBodies.ts"
import { everyOther, Stack, tenantOn } from "../support/Stack.ts"
import { givenPerson } from "./Person.ts"

layer(Stack.layer({}, { beside: everyOther }), { excludeTestServices: true })("a tenant's command line", (it) => {
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
})
