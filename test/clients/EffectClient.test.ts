import { expect, it, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, describe } from "vitest"
import { failureOf, type GatewayFailure } from "../../clients/effect/src/Errors.ts"
import { Gateway, retrySchedule } from "../../clients/effect/src/Gateway.ts"
import { GatewayError } from "../../clients/typescript/src/Gateway.ts"
import { examplesOf, projectWith, run } from "../support/CopiedClients.ts"
import { faultyProxy } from "../support/FaultyProxy.ts"
import { Stack, tenantOn } from "../support/Stack.ts"

const setting = Effect.gen(function* () {
  const { gateway } = yield* Stack
  const { key } = yield* tenantOn(gateway)
  const keyFile = { app_id: key.appId, key_id: key.keyId, api_key: key.apiKey, signing_secret: key.secret }
  return { gateway, key: keyFile, proxy: yield* faultyProxy(gateway.url) }
})

layer(Stack.layer(), { excludeTestServices: true })("the Effect client", (it) => {
  const project = projectWith(["typescript", "effect"], ["effect"])
  afterAll(() => project.remove())
  const main = project.write("main.ts", examplesOf("effect", { "payment-gateway-effect": "./effect/src/Gateway.ts" }))

  it.effect("runs the example of its page", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* setting
      const environment = { GATEWAY_URL: gateway.url, GATEWAY_KEY: JSON.stringify(key) }
      const { printed, status } = yield* Effect.promise(() => run([process.execPath, main], environment))
      expect(status, printed).toBe(0)
      expect(printed).toMatch(/successful[^]*insufficient_tenant_float[^]*10000n/)
    })
  )

  it.effect("does not show a key that it cannot read", () =>
    Effect.gen(function* () {
      const { gateway, key } = yield* setting
      const environment = { GATEWAY_URL: gateway.url, GATEWAY_KEY: key.api_key.slice(0, 20) }
      const { printed, status } = yield* Effect.promise(() => run([process.execPath, main], environment))
      expect([status === 0, printed]).toEqual([false, expect.stringContaining("GATEWAY_KEY is not what")])
      expect(printed).not.toContain(key.api_key.slice(0, 12))
    })
  )

  it.effect("pays once through lost answers, and fails with the class of the error", () =>
    Effect.gen(function* () {
      const { key, proxy } = yield* setting
      const story = Effect.gen(function* () {
        const { payouts } = yield* Gateway
        proxy.plan("order-7", "lost answer", "503 of a proxy")
        const made = yield* payouts.create(body, { idempotencyKey: "order-7" })
        const again = yield* payouts.create(body, { idempotencyKey: "order-7" })
        expect(again.reference).toBe(made.reference)
        return yield* Effect.result(payouts.get("A".repeat(26)))
      })
      const failed = yield* Effect.provide(story, Gateway.layer({ url: proxy.url, key, retries: { pauseMs: 5 } }))
      expect(Result.isFailure(failed) && [failed.failure._tag, failed.failure.error.code]).toEqual(["TerminalError", "not_found"])
    })
  )
})

describe("its retry schedule", () => {
  const failure = (errorClass: GatewayError["class"], code: string, retryAfterSeconds?: number) =>
    failureOf(new GatewayError({ class: errorClass, code, message: "", details: {}, retryAfterSeconds }))

  const attempts = (error: GatewayFailure) =>
    Effect.gen(function* () {
      let count = 0
      const call = Effect.suspend(() => {
        count++
        return Effect.fail(error)
      })
      yield* Effect.forkChild(Effect.exit(Effect.retry(call, retrySchedule)))
      yield* TestClock.adjust("30 seconds")
      const early = count
      yield* TestClock.adjust("1 day")
      return [early > 1, count]
    })

  it.effect("repeats what is retriable or ambiguous a bounded number of times, and nothing else", () =>
    Effect.gen(function* () {
      expect(yield* attempts(failure("retriable", "rate_limited"))).toEqual([true, 21])
      expect(yield* attempts(failure("ambiguous", "no_answer"))).toEqual([true, 21])
      expect(yield* attempts(failure("retriable", "rate_limited", 60))).toEqual([false, 21])
      expect(yield* attempts(failure("terminal", "not_found"))).toEqual([false, 1])
      expect(yield* attempts(failure("retriable", "otp_incorrect"))).toEqual([false, 1])
      expect(yield* attempts(failure("ambiguous", "duplicate_charge_in_flight"))).toEqual([false, 1])
    })
  )
})

const body = {
  amount_minor: 1_000n,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772121234", network: "MTN", country: "UG" }
} as const
