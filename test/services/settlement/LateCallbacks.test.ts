import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { fakeGateway } from "../../fakes/FakeGateway.ts"
import { fakeRecords } from "../../fakes/FakeMemory.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, FLOAT, floatNow } from "../../support/PaymentRequests.ts"

const heard = { providerReference: "late", note: "" }

it.effect(
  "a callback about a failed charge that the provider still calls pending is processed again until the money is found",
  () => {
    const provider = fakeProvider("alpha", { sending: "refused", status: { _tag: "StillPending", ...heard } })
    return Effect.gen(function* () {
      const { poll } = yield* OutcomePoller
      const look = Effect.flatMap(fakeRecords, ([stored]) =>
        stored === undefined ? Effect.succeed(false) : poll(stored, "callback")
      )
      expect(yield* charge("one")).toBe("charge_rejected_by_provider")
      expect(yield* look).toBe(false)
      expect(yield* fakeRecords).toMatchObject([{ transaction: { status: "failed" } }])
      provider.script.status = { _tag: "Succeeded", ...heard, amount: null, currency: null, fee: null }
      expect(yield* look).toBe(true)
      expect(yield* fakeRecords).toMatchObject([{ transaction: { status: "successful", lateSuccess: true } }])
      expect(yield* floatNow).toStrictEqual([FLOAT + 50_000n, 0n])
    }).pipe(Effect.provide(fakeGateway({ providers: [provider] })))
  }
)
