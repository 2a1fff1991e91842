import { expect, layer } from "@effect/vitest"
import { Context, Effect, Option } from "effect"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { RECONCILIATIONS_KEPT_MS, Reconciliations } from "../../src/services/ports/Reconciliations.ts"
import { keptReconciliation } from "../../src/services/settlement/KeptReconciliation.ts"
import type { ModeDifference } from "../../src/services/settlement/Reconciliation.ts"
import { Settlement } from "../../src/services/settlement/Settlement.ts"
import { momoPayout } from "../support/RequestBodies.ts"
import { referenceOf } from "../support/SignedClient.ts"
import { Stack, tenantOn } from "../support/Stack.ts"
import { personOn, textOf } from "./FormPerson.ts"

const AT = Date.parse("2026-01-31T12:00:00Z")
const another: Fact = {
  _tag: "Succeeded",
  providerReference: null,
  amount: minor(9_999n),
  currency: "UGX",
  fee: null,
  note: "status successful"
}
const difference = (change: Partial<ModeDifference>): ModeDifference => ({
  kind: "state",
  direction: "payout",
  reference: null,
  provider_reference: null,
  ours: "pending",
  theirs: "successful",
  lines: [],
  mode: "live",
  account: "current",
  ...change
})
const report = (differences: ReadonlyArray<ModeDifference>, day = "2026-01-31") => ({
  ok: false,
  provider: "eversend",
  day,
  compared_by: { live: "statement" as const },
  checked: { ours: 7, theirs: 8, unreadable: 0 },
  differences,
  known: []
})

layer(Stack.layer({ RECONCILER_SCHEDULE: "1h", CONSOLE_PORT: "0" }), { excludeTestServices: true })(
  "the results of reconciliation",
  (it) => {
    it.effect("lead from a difference to the record and to the ruling on it, masked", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const tenant = yield* tenantOn(gateway, 50_000n)
        const reference = Reference.make(referenceOf(yield* tenant.post("/v1/payouts", momoPayout("0010"))))
        const { apply } = Context.get(gateway.context, Settlement)
        yield* Effect.forEach([another, another], (fact) => apply({ reference, fact, actor: "reconciler" }))
        const { find, keep } = Context.get(gateway.context, Reconciliations)
        const unknown = difference({
          kind: "missing_here",
          provider_reference: "256772123456",
          ours: null,
          theirs: "successful 20000000 UGX"
        })
        const found = [difference({ reference }), unknown, ...Array.from({ length: 60 }, () => unknown)]
        yield* keep(keptReconciliation(report(found), AT))
        // An older result is none in the place of a newer one.
        yield* keep(keptReconciliation(report([]), AT - 1))
        expect(Option.getOrThrow(yield* find("eversend", "2026-01-31")).differences).toBe(62)

        const person = yield* personOn(gateway, "viewer", "viewer")
        expect(textOf((yield* person.read("/reconciliations")).text)).toContain("eversend 2026-01-31 2026-01-31 12:00:00")
        const { text } = yield* person.read("/reconciliations/eversend/2026-01-31")
        expect(text).toContain(`href="/transactions/${reference}"`)
        expect(text).toContain(`href="/reviews/${reference}"`)
        expect(textOf(text)).toContain(
          "they moved money that we do not know of live none of ours successful 20000000 UGX ••••3456 nothing"
        )
        expect(text).not.toContain("256772123456")
        expect(text.match(/they moved money/g)).toHaveLength(49)
        const next = yield* person.read("/reconciliations/eversend/2026-01-31?from=50")
        expect(next.text.match(/they moved money/g)).toHaveLength(12)
        expect((yield* person.read("/reconciliations/eversend/2026-02-01")).status).toBe(404)
      })
    )

    it.effect("are kept a thousand differences a result, and ninety days", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Stack
        const { find, keep, list, prune } = Context.get(gateway.context, Reconciliations)
        const many = Array.from({ length: 1_001 }, () => difference({}))
        yield* keep(keptReconciliation(report(many, "2025-01-01"), AT - RECONCILIATIONS_KEPT_MS - 1))
        const kept = Option.getOrThrow(yield* find("eversend", "2025-01-01"))
        expect([kept.found.length, kept.differences]).toStrictEqual([1_000, 1_001])
        const days = Effect.map(list(100), (results) => results.map(({ day }) => day))
        expect(yield* days).toContain("2025-01-01")
        expect(yield* prune(AT - RECONCILIATIONS_KEPT_MS, 10)).toBe(1)
        expect(yield* days).not.toContain("2025-01-01")
      })
    )
  }
)
