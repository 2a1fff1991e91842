import { expect, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { authorize, demandCodes, RIGHT, waiting, wrapped } from "../../support/OtpRequests.ts"
import { momoCharge, momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, Stack, tenantOn, verified } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"
const COLLECTIONS = "/v1/collections"
const inProgress = (details: object = {}) => ({ status: 409, code: "request_in_progress", class: "retriable", details })

// The lease is the default: nobody waits for its end here.
const settings = { PROVIDER_TIMEOUT_MS: "800", RECONCILER_SCHEDULE: "1h" }

layer(Stack.layer(settings, { delayMs: 60_000 }), { excludeTestServices: true })(
  "a key whose request ended without an outcome",
  (it) => {
    const silences = [
      ["the provider timed out", "0004", "provider_timeout"],
      ["the provider answered 500", "0005", "provider_unavailable"],
      ["the provider's answer cannot be read", "0006", "provider_bad_response"],
      ["the connection broke before anything was executed", "0007", "provider_unavailable"]
    ] as const
    for (const [what, ending, code] of silences) {
      it.effect(`${what}: is in progress during its lease, and sends nothing again`, () =>
        Effect.gen(function* () {
          const { gateway, simulator } = yield* Stack
          const tenant = yield* tenantOn(gateway)
          for (const [address, body] of [
            [PAYOUTS, momoPayout(ending)],
            [COLLECTIONS, momoCharge(ending)]
          ] as const) {
            const ask = tenant.post(address, body, "ended")
            const first = yield* ask
            const reference = referenceOf(first)
            expect(said(first)).toMatchObject({ status: 503, code })
            const calls = yield* callsOf(simulator)
            expect(said(yield* ask)).toStrictEqual(inProgress({ reference }))
            expect(yield* callsOf(simulator)).toStrictEqual(calls)
          }
          expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
        })
      )
    }

    it.effect("is in progress while its request runs, with the reference and when to try again", () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const ask = tenant.post(PAYOUTS, momoPayout("0004"), "running")
        const running = yield* Effect.forkScoped(ask)
        yield* eventually(tenant.float, (float) => float["reserved_minor"] === 11_000)
        const again = yield* ask
        const reference = referenceOf(yield* Fiber.join(running))
        expect(said(again)).toStrictEqual(inProgress({ reference }))
        expect(again.headers.get("retry-after")).toBe("1")
        expect(said(yield* ask)).toStrictEqual(inProgress({ reference }))
        expect((yield* callsOf(simulator, reference)).filter((call) => call === "POST /v1/payouts")).toHaveLength(1)
      })
    )

    it.effect("is in progress before anything is recorded, without a reference and with when to try again", () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        const tenant = yield* tenantOn(gateway)
        const wish = { provider: "eversend", operation: "quotation", ending: "0003" }
        yield* Effect.promise(() => simulator.control("POST", "/next", wish))
        const ask = tenant.post(PAYOUTS, momoPayout("1234"), "quoting")
        const before = (yield* callsOf(simulator)).length
        const running = yield* Effect.forkScoped(ask)
        yield* eventually(callsOf(simulator), ({ length }) => length > before)
        const again = yield* ask
        expect(said(again)).toStrictEqual(inProgress())
        expect(again.headers.get("retry-after")).toBe("1")
        expect(said(yield* Fiber.join(running))).toMatchObject({ status: 503, code: "provider_error" })
      })
    )

    it.effect("of an unanswered authorize is in progress; without the key the record is shown as it is", () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        yield* demandCodes(gateway, "UG")
        const tenant = yield* tenantOn(gateway)
        const { pinId, reference } = yield* waiting(tenant, "0004")
        const say = (headers = {}) => authorize(tenant, reference, wrapped(pinId, RIGHT, "0004"), headers)
        const running = yield* Effect.forkScoped(say({ "idempotency-key": "said" }))
        yield* eventually(callsOf(simulator, reference), (calls) => calls.includes("POST /v1/collections/momo"))
        const second = yield* say()
        expect(said(second)).toStrictEqual(inProgress({ reference }))
        expect(second.headers.get("retry-after")).toBe("1")
        expect(said(yield* Fiber.join(running))).toMatchObject({ status: 503, code: "provider_timeout" })
        expect(said(yield* say({ "idempotency-key": "said" }))).toStrictEqual(inProgress({ reference }))
        expect(yield* say()).toMatchObject({ status: 200, body: { data: { reference, status: "pending" } } })
      })
    )
  }
)
