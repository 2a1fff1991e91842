import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AppId, type Reference } from "../../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT } from "../../../src/domain/WebhookEndpoint.ts"
import type { AuditedChange } from "../../../src/services/ports/AuditLog.ts"
import { RandomSource } from "../../../src/services/ports/RandomSource.ts"
import type { DeliveryCursor, RecoveryStep } from "../../../src/services/ports/WebhookDeliveries.ts"
import { EVENTS_KEPT_MS, makeRecovery } from "../../../src/services/webhooks/WebhookRecovery.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakeWebhookDeliveries } from "../../fakes/FakePorts.ts"

const change: AuditedChange = { at: 10_000, actor: "operator", action: "webhook recover", subject: "acme", details: {} }
const wish = { appId: AppId.make("acme"), mode: "live", endpoint: DEFAULT_ENDPOINT, since: 1_000, until: 9_000, change } as const

/** A recovery whose step `n` makes `n` deliveries and goes on at `next(n)`; what each step was asked, and when it was over. */
const recovery = (next: (step: number) => DeliveryCursor | "later" | null) => {
  const asked: Array<RecoveryStep> = []
  const seen: Array<string> = []
  const deliveries = fakeWebhookDeliveries({
    recover: (step) =>
      Effect.sync(() => {
        asked.push(step)
        seen.push(`step ${asked.length}`)
        return { made: asked.length, next: next(asked.length) }
      })
  })
  let made = 0
  const references = fake(RandomSource, { reference: Effect.sync(() => `${++made}` as Reference) })
  const stepped = Effect.sync(() => void seen.push("over"))
  const recovered = Effect.flatMap(makeRecovery(stepped), (recover) => recover(wish)).pipe(
    Effect.provide(Layer.merge(deliveries, references))
  )
  return { asked, seen, recovered }
}

describe("the recovery of webhooks", () => {
  it.effect("goes on where each step ended, and says how many deliveries all of them made", () =>
    Effect.gen(function* () {
      const places = [{ at: 1_500, id: "b" }, { at: 1_500, id: "c" }, null]
      const { asked, recovered, seen } = recovery((step) => places[step - 1] ?? null)
      expect(yield* recovered).toStrictEqual({ deliveries: 1 + 2 + 3, resumeAt: null })
      expect(asked).toStrictEqual(
        [{ at: 1_000, id: "" }, places[0], places[1]].map((from) => ({
          appId: "acme",
          mode: "live",
          endpoint: "default",
          from,
          until: 9_000,
          change,
          ids: expect.any(Array),
          dueAtMost: 10_000
        }))
      )
      expect(seen).toStrictEqual(["step 1", "over", "step 2", "over", "step 3", "over"])
    })
  )

  it.effect("ends where too much is due, or another recovery is at work, and says from when it has to be asked for again", () =>
    Effect.gen(function* () {
      const { recovered } = recovery((step) => (step === 1 ? { at: 1_500, id: "b" } : "later"))
      expect(yield* recovered).toStrictEqual({ deliveries: 3, resumeAt: 1_500 })
    })
  )

  it.effect("gives each step a thousand ids that no other has", () =>
    Effect.gen(function* () {
      const { asked, recovered } = recovery((step) => (step < 3 ? { at: 2_000, id: "" } : null))
      yield* recovered
      expect(asked.map(({ ids }) => ids.length)).toStrictEqual([1_000, 1_000, 1_000])
      expect(new Set(asked.flatMap(({ ids }) => ids)).size).toBe(3_000)
    })
  )

  it.effect("ends after a hundred steps, and says where the next one begins", () =>
    Effect.gen(function* () {
      const { asked, recovered } = recovery((step) => ({ at: 2_000 + step, id: "" }))
      expect(yield* recovered).toStrictEqual({ deliveries: 5_050, resumeAt: 2_100 })
      expect(asked).toHaveLength(100)
    })
  )

  it("reaches back thirty days, which is how long an event is kept", () => expect(EVENTS_KEPT_MS).toBe(2_592_000_000))
})
