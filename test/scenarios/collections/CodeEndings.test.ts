import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { authorize, codeExpires, demandCodes, pinIdOf, RIGHT, waiting, wrapped } from "../../support/OtpRequests.ts"
import { momoCharge } from "../../support/RequestBodies.ts"
import { referenceOf, said } from "../../support/SignedClient.ts"
import { callsOf, executionsOf, ledgerVerifies, Stack, tenantOn, webhooksOf } from "../../support/Stack.ts"

const events = [
  "collection.requires_action",
  "collection.pending",
  "collection.successful",
  "collection.failed",
  "collection.expired"
] as const
const reference = expect.any(String)
const unheard = (code: string) => ({ status: 503, code, class: "ambiguous", details: { reference } })

const endings = [
  { ending: "0001", answer: { status: 422, code: "charge_rejected_by_provider" }, ends: "failed", moved: 0, through: [] },
  { ending: "0002", answer: { status: 200 }, ends: "failed", moved: 0, through: ["collection.pending"] },
  {
    ending: "0003",
    answer: unheard("provider_timeout"),
    ends: "successful",
    moved: 1,
    through: ["collection.pending"]
  },
  {
    ending: "0005",
    answer: unheard("provider_unavailable"),
    ends: "successful",
    moved: 1,
    through: ["collection.pending"]
  }
] as const

// Callbacks come after the gateway stopped waiting for an answer.
const settings = { PROVIDER_TIMEOUT_MS: "500" }

layer(Stack.layer(settings, { delayMs: 1_000 }), { excludeTestServices: true })("a charge placed by a code", (it) => {
  for (const { answer, ending, ends, moved, through } of endings) {
    it.effect(`${ending}: ends ${ends}, is placed once, and silence never becomes a refusal`, () =>
      Effect.gen(function* () {
        const { gateway, simulator } = yield* Stack
        yield* demandCodes(gateway, "UG")
        const tenant = yield* tenantOn(gateway, 0n)
        const webhooks = yield* webhooksOf(gateway, tenant, events)
        const { pinId, reference } = yield* waiting(tenant, ending)
        expect(said(yield* authorize(tenant, reference, wrapped(pinId, RIGHT, ending)))).toMatchObject(answer)
        yield* tenant.until(`/v1/collections/${reference}`, (now) => now["status"] === ends)
        expect(yield* executionsOf(simulator, reference)).toHaveLength(moved)
        expect((yield* callsOf(simulator, reference)).filter((call) => call === "POST /v1/collections/momo")).toHaveLength(1)
        expect(yield* webhooks.types(2 + through.length)).toStrictEqual([
          "collection.requires_action",
          ...through,
          `collection.${ends}`
        ])
        const later = yield* authorize(tenant, reference, wrapped(pinId, RIGHT, ending))
        expect([later.status, later.body.data["status"]]).toStrictEqual([200, ends])
      })
    )
  }

  it.effect("records nothing when the code cannot be sent, and lets the key run again", () =>
    Effect.gen(function* () {
      const { gateway, simulator } = yield* Stack
      yield* demandCodes(gateway, "UG")
      const tenant = yield* tenantOn(gateway, 0n)
      const down = (is: boolean) => Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down: is }))
      const first = yield* Effect.acquireUseRelease(
        down(true),
        () => tenant.post("/v1/collections", momoCharge("3001"), "unsent"),
        () => down(false)
      )
      expect(said(first)).toStrictEqual({ status: 503, code: "provider_error", class: "retriable", details: {} })
      const again = yield* tenant.post("/v1/collections", momoCharge("3001"), "unsent")
      expect([again.status, again.body.data["status"]]).toStrictEqual([201, "requires_action"])
    })
  )

  it.effect("leaves a ledger that verifies", () => ledgerVerifies)
})

layer(Stack.layer(), { excludeTestServices: true })("a code that the payer never sends", (it) => {
  it.effect("expires with its window without asking the provider, and a later code is not passed on", () =>
    Effect.gen(function* () {
      const { database, gateway, simulator } = yield* Stack
      yield* demandCodes(gateway, "UG")
      const tenant = yield* tenantOn(gateway, 0n)
      const webhooks = yield* webhooksOf(gateway, tenant, events)
      const answer = yield* tenant.post("/v1/collections", momoCharge("3002"))
      const address = `/v1/collections/${referenceOf(answer)}`
      yield* codeExpires(database, referenceOf(answer))
      const ended = yield* tenant.until(address, ({ status }) => status === "expired")
      expect(ended).toMatchObject({ next_action: null, failure: { code: "timed_out" } })
      expect(yield* webhooks.types(2)).toStrictEqual(["collection.requires_action", "collection.expired"])
      expect(yield* callsOf(simulator, referenceOf(answer))).toStrictEqual([])
      const late = yield* authorize(tenant, referenceOf(answer), wrapped(pinIdOf(answer), RIGHT, "3002"))
      expect([late.status, late.body.data["status"]]).toStrictEqual([200, "expired"])
    })
  )
})
