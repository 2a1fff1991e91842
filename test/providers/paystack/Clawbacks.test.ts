import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { paystack } from "../../../src/providers/paystack/Adapter.ts"
import { simulatedPayoutFees } from "../../../src/simulator/Fees.ts"
import { answer, stub } from "../ProviderStub.ts"

const page = (data: ReadonlyArray<unknown>) => answer(200, { status: true, message: "", data, meta: {} })

const opened = (baseUrl: string) =>
  paystack(
    {
      baseUrl,
      secretKey: Redacted.make("sk_test_stub"),
      fees: simulatedPayoutFees,
      emailDomain: "example.com",
      timeoutMs: 5_000
    },
    "test"
  )

it.effect("disputes and refunds name the charge, what is asked back, and how far it is", () =>
  Effect.gen(function* () {
    const dispute = (change: object) => ({
      id: 771203,
      refund_amount: 125_000,
      currency: "KES",
      status: "awaiting-merchant-feedback",
      resolution: null,
      transaction: { id: 4099260777, reference: "0000000000000000000000000a" },
      transaction_reference: null,
      category: "chargeback",
      dueAt: "2026-12-01T18:00:00.000Z",
      ...change
    })
    const refund = (change: object) => ({ id: 9, transaction: 4099260777, amount: "5000", currency: "KES", ...change })
    const disputes = [
      dispute({}),
      dispute({ status: "resolved", resolution: "merchant-accepted" }),
      dispute({ status: "archived", resolution: "declined" }),
      dispute({ status: "resolved", resolution: "a-new-word" }),
      dispute({ status: "escalated" }),
      dispute({ id: {} })
    ]
    const refunds = ["pending", "needs-attention", "processed", "failed", "a-new-word"].map((status) => refund({ status }))
    const server = yield* stub({ "GET /dispute?": [page(disputes)], "GET /refund?": [page(refunds)] })
    const { collections } = yield* opened(server.baseUrl)
    const since = Date.parse("2026-09-01T00:00:00Z")
    const { isWhole, listed } = yield* collections?.clawbacks?.({ since, until: since + 1, providerReference: "4099260777" }) ??
      Effect.die(new Error("it lists them"))
    expect(isWhole).toBe(true)
    expect(listed.map(({ providerReference, reference }) => [reference, providerReference])).toStrictEqual([
      ...Array.from({ length: 5 }, () => ["0000000000000000000000000A", "4099260777"]),
      ...Array.from({ length: 5 }, () => [null, "4099260777"])
    ])
    const facts = listed.map(({ factIn }) => factIn("KES"))
    expect(facts.map(({ state }) => state)).toEqual([
      "open",
      "taken",
      "kept",
      "unknown",
      "unknown",
      "open",
      "open",
      "taken",
      "kept",
      "unknown"
    ])
    expect(facts[0]).toMatchObject({
      by: "dispute",
      id: "771203",
      amount: 125_000n,
      currency: "KES",
      reason: "chargeback, status awaiting-merchant-feedback",
      answerBy: Date.parse("2026-12-01T18:00:00Z")
    })
    expect(facts[7]).toMatchObject({ by: "refund", id: "9", amount: 5000n, reason: "status processed", answerBy: null })
    expect(server.seen[0]?.line).toBe(
      "GET /dispute?from=2026-09-01T00%3A00%3A00.000Z&to=2026-09-01T00%3A00%3A00.001Z&perPage=100&page=1&transaction=4099260777"
    )
  })
)

it.effect("a list that cannot be read hides nothing of the other one", () =>
  Effect.gen(function* () {
    const refund = { id: 9, transaction: 4099260777, amount: "5000", currency: "KES", status: "processed" }
    const broken = answer(500, { status: false, message: "An error occurred" })
    const server = yield* stub({ "GET /dispute?": Array.from({ length: 8 }, () => broken), "GET /refund?": [page([refund])] })
    const { collections } = yield* opened(server.baseUrl)
    const read = yield* collections?.clawbacks?.({ since: 0, until: 1, providerReference: null }) ??
      Effect.die(new Error("it lists them"))
    expect([read.isWhole, read.listed.map(({ factIn }) => factIn("KES").state)]).toEqual([false, ["taken"]])
  })
)
