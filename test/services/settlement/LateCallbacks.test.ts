import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, FLOAT, floatNow } from "../../support/PaymentRequests.ts"
import { onlyRecord, routedTo } from "../../support/RoutedGateway.ts"

it.effect(
  "a callback about a failed charge that the provider still calls pending is looked into again, until the money is found",
  () =>
    Effect.gen(function* () {
      const paid = { _tag: "Succeeded", providerReference: "late", amount: null, currency: null, fee: null, note: "" } as const
      const answers: Array<StatusOutcome> = [{ _tag: "StillPending", providerReference: "late", note: "" }, paid]
      const alpha = fakeProvider("alpha", { sending: "refused" })
      const provider: typeof alpha.provider = (mode) => {
        const whole = alpha.provider(mode)
        const { collections } = whole
        return collections === undefined
          ? whole
          : { ...whole, collections: { ...collections, fetchStatus: () => Effect.sync(() => answers.shift() ?? paid) } }
      }
      const { node } = yield* routedTo([{ ...alpha, provider }])
      yield* Effect.gen(function* () {
        const { ask } = yield* OutcomePoller
        const look = Effect.flatMap(onlyRecord, (stored) => ask(stored, "callback"))
        expect(yield* charge("one")).toBe("charge_rejected_by_provider")
        expect(yield* look).toBe(false)
        expect((yield* onlyRecord).transaction).toMatchObject({ status: "failed" })
        expect(yield* look).toBe(true)
        expect((yield* onlyRecord).transaction).toMatchObject({ status: "successful", lateSuccess: true })
        expect(yield* floatNow).toStrictEqual([FLOAT + 50_000n, 0n])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
)
