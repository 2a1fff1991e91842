import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { clawback } from "../../../src/domain/Clawback.ts"
import type { Fact } from "../../../src/domain/Fact.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { momoCharge } from "../../support/RequestBodies.ts"
import { referenceOf } from "../../support/SignedClient.ts"
import { Stack, tenantOn, verified } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

const paidOther: Fact = {
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(9_000n),
  currency: "UGX",
  fee: minor(100n),
  note: "status successful"
}
const lost = clawback({
  by: "dispute",
  id: "41",
  state: "taken",
  amount: minor(9_000n),
  currency: "UGX",
  reason: "chargeback",
  answerBy: null
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h" }), { excludeTestServices: true })("a file of rulings that is sent again", (it) => {
  it.effect("ends no case that was opened after it had ruled: the money of a lost dispute would stay in the float", () =>
    Effect.gen(function* () {
      const { database, gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 100_000n)
      const reference = Reference.make(referenceOf(yield* tenant.post("/v1/collections", momoCharge("0008"))))
      const { apply } = Context.get(gateway.context, Settlement)
      const hear = (fact: Fact) => apply({ reference, fact, actor: "callback" })
      const folder = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "rulings-"))),
        (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
      )
      const file = join(folder, "rulings.csv")
      const variables = { DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }
      const rule = (...flags: ReadonlyArray<string>) =>
        Effect.map(
          command(variables, "review", "rule", file, "--evidence", "their letter", "--json", ...flags),
          ({ code, output }) => ({ code, ...JSON.parse(output) })
        )
      const shown = Effect.map(tenant.get(`/v1/collections/${reference}`), ({ body }) => body.data)
      const rows = `reference,outcome,fee_minor,amount_minor,currency\n${reference},successful,100,9000,UGX\n`
      yield* Effect.promise(() => writeFile(file, rows))

      expect(yield* hear(paidOther)).toMatchObject({ needsReview: true })
      expect(yield* rule("--no-second-person")).toMatchObject({ code: 0, ruled: [{ reference }], not_ruled: [] })
      expect(yield* rule("--no-second-person")).toMatchObject({ code: 0, ruled: [], not_ruled: [{ already_so: true }] })

      expect(yield* hear(lost)).toMatchObject({ needsReview: true })
      const again = { code: 1, ruled: [], not_ruled: [{ reference, why: expect.stringMatching(/ruled so before/) }] }
      expect(yield* rule("--no-second-person")).toMatchObject(again)
      expect(yield* shown).toMatchObject({ needs_review: true })
      // What the provider says now is another outcome, which the file may say of many.
      yield* Effect.promise(() => writeFile(file, `reference,outcome\n${reference},failed\n`))
      expect(yield* rule("--no-second-person")).toMatchObject({ code: 0, ruled: [{ reference }] })
      expect(yield* shown).toMatchObject({ needs_review: false, reversed: { reason: expect.any(String) } })
      expect(yield* verified(gateway)).toMatchObject({ ok: true })
    })
  )
})
