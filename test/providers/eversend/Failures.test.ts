import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import type { PayoutOrder } from "../../../src/services/ports/Provider.ts"
import {
  answer,
  type Behaviour,
  bytes,
  halfAnswer,
  listAnswer,
  payoutAnswer,
  reset,
  silence,
  stub,
  transaction
} from "../ProviderStub.ts"
import { open, payoutOrder, payoutsOf } from "./Orders.ts"

const TIMEOUT_MS = 10_000
const PAY = "POST /payouts"
const SEARCH = "GET /transactions?"

const sent = Effect.fnUntraced(function* (
  behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>,
  order: PayoutOrder = payoutOrder()
) {
  const server = yield* stub(behaviours)
  const payouts = payoutsOf(yield* open(server.baseUrl))
  const outcome = yield* payouts.send(order)
  return { outcome, server, payouts, paid: server.seen.filter(({ line }) => line.startsWith(PAY)) }
})

describe("a payout whose answer cannot be believed is unknown, and is sent once", () => {
  const order = payoutOrder()
  const { reference } = order
  const cases: ReadonlyArray<readonly [string, Behaviour, "timeout" | "unavailable" | "bad_response"]> = [
    ["a reset instead of an answer", reset, "unavailable"],
    ["an end without an answer", bytes(""), "unavailable"],
    ["half a status line", bytes("HTTP/1.1 2"), "unavailable"],
    ["half the headers", bytes("HTTP/1.1 200 OK\r\ncontent-le"), "unavailable"],
    ["half the body", halfAnswer, "unavailable"],
    ["something that is not HTTP", bytes("220 mail.example ESMTP\r\n\r\n"), "bad_response"],
    ["an empty body", answer(200, ""), "bad_response"],
    ["text", answer(200, "OK", "text/plain"), "bad_response"],
    ["JSON that breaks off", answer(200, '{"code":200,"data":{"transaction"'), "bad_response"],
    ["JSON under another content type", answer(200, payoutAnswer(reference), "text/html"), "bad_response"],
    ["JSON of another shape", answer(200, { code: 200, data: {}, success: true }), "bad_response"],
    ["a refusal under HTTP 200", answer(200, { code: 400, success: false, message: "no" }), "bad_response"],
    ["JSON that is nested too deep", answer(200, `${"[".repeat(200_000)}${"]".repeat(200_000)}`), "bad_response"],
    ["more than any honest answer", answer(200, " ".repeat(1024 * 1024 + 1)), "bad_response"],
    ["an unknown status", answer(200, payoutAnswer(reference, { status: "on_hold" })), "bad_response"],
    ["a status in capitals", answer(200, payoutAnswer(reference, { status: "FAILED" })), "bad_response"],
    ["another transaction", answer(200, payoutAnswer("SOMEONEELSES")), "bad_response"],
    [
      "a success without an amount",
      answer(200, payoutAnswer(reference, { status: "successful", amount: undefined })),
      "bad_response"
    ],
    [
      "a success finer than its currency",
      answer(200, payoutAnswer(reference, { status: "successful", amount: "20000.5" })),
      "bad_response"
    ],
    [
      "a success in an unknown currency",
      answer(200, payoutAnswer(reference, { status: "successful", currency: "USDC" })),
      "bad_response"
    ],
    ["a redirection", (response) => response.writeHead(307, { location: "/elsewhere" }).end(), "bad_response"],
    ["HTTP 408", answer(408, {}), "timeout"],
    ["HTTP 409", answer(409, { message: "duplicate" }), "bad_response"],
    ["HTTP 429", answer(429, {}), "unavailable"],
    ["HTTP 500", answer(500, { error: "An error has occurred" }), "unavailable"],
    ["HTTP 503", answer(503, "<html>", "text/html"), "unavailable"],
    ["HTTP 504", answer(504, ""), "timeout"]
  ]
  for (const [name, behaviour, reason] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const { outcome, paid } = yield* sent({ [PAY]: [behaviour] }, order)
        expect(outcome).toMatchObject({ _tag: "Unknown", reason })
        expect(paid).toHaveLength(1)
      })
    )
  }

  it.effect("after no answer in time", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [PAY]: [silence] })
      const fiber = yield* Effect.forkChild(payoutsOf(yield* open(server.baseUrl)).send(order))
      yield* server.arrived(PAY)
      yield* TestClock.adjust(TIMEOUT_MS)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Unknown", reason: "timeout" })
    })
  )
})

describe("the answer to a payout", () => {
  const order = payoutOrder()
  const { reference } = order

  it.effect("is accepted when it says pending, with numbers or strings, whatever else is in it", () =>
    Effect.gen(function* () {
      const said = payoutAnswer(reference, { amount: 20000, fees: 0, beneficiary: { id: 272 } })
      expect((yield* sent({ [PAY]: [answer(200, said, "application/json; charset=utf-8")] }, order)).outcome).toMatchObject({
        _tag: "Accepted",
        providerReference: "BP1",
        observedAmount: 20_000n,
        observedCurrency: "UGX"
      })
    })
  )

  it.effect("is only accepted when it says successful, because the fee of so new a payment is not final", () =>
    Effect.gen(function* () {
      const said = payoutAnswer(reference, { status: "successful", amount: "20000.00", fees: "999.0000001" })
      const { outcome } = yield* sent({ [PAY]: [answer(200, said)] }, order)
      expect(outcome).toMatchObject({ _tag: "Accepted", observedAmount: 20_000n, observedCurrency: "UGX" })
    })
  )

  it.effect("is refused when it says failed, without a look-up", () =>
    Effect.gen(function* () {
      const { outcome, server } = yield* sent({ [PAY]: [answer(200, payoutAnswer(reference, { status: "failed" }))] }, order)
      expect(outcome).toMatchObject({ _tag: "Refused", providerReference: "BP1", kind: "other" })
      expect(server.seen.filter(({ line }) => line.startsWith(SEARCH))).toEqual([])
    })
  )
})

describe("a payout refused by its HTTP status", () => {
  const order = payoutOrder()
  const { reference } = order
  const open = { _tag: "Unknown", reason: "bad_response" }
  const cases: ReadonlyArray<readonly [string, Behaviour, object]> = [
    ["is open when nothing is found", answer(200, listAnswer()), open],
    ["is open when only others are found", answer(200, listAnswer(transaction(`${reference}0`))), open],
    ["is open when only a collection is found", answer(200, listAnswer(transaction(reference, { type: "collection" }))), open],
    [
      "is accepted when it is found pending",
      answer(200, listAnswer(transaction(reference))),
      { _tag: "Accepted", providerReference: "BP1" }
    ],
    [
      "succeeded when it is found so",
      answer(200, listAnswer(transaction(reference, { status: "successful" }))),
      { _tag: "Succeeded" }
    ],
    [
      "failed when it is found so",
      answer(200, listAnswer(transaction(reference, { status: "failed" }))),
      { _tag: "Refused", providerReference: "BP1" }
    ],
    ["is unknown when the lookup fails", answer(500, {}), { _tag: "Unknown", reason: "unavailable" }],
    ["is unknown when the lookup is refused", answer(404, {}), { _tag: "Unknown", reason: "bad_response" }],
    ["is unknown when the lookup breaks off", reset, { _tag: "Unknown", reason: "unavailable" }],
    [
      "is unknown when it is found twice",
      answer(200, listAnswer(transaction(reference), transaction(reference, { transactionId: "BP2", status: "failed" }))),
      { _tag: "Unknown", reason: "bad_response" }
    ]
  ]
  for (const [name, looked, expected] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const { outcome, paid } = yield* sent({ [PAY]: [answer(400, { message: "Bad request" })], [SEARCH]: [looked] }, order)
        expect(outcome).toMatchObject(expected)
        expect(paid).toHaveLength(1)
      })
    )
  }

  const words = "phone number must be a valid international format"
  it.effect.each([
    [400, { message: { message: words } }, { _tag: "Refused", kind: "party", failure: { code: "invalid_destination" } }],
    [400, { error: words }, { _tag: "Refused" }],
    [400, { message: "customer must be a string" }, open],
    [400, { message: `${words}, sometimes` }, open],
    [402, { message: words }, open],
    [402, { message: "Insufficient wallet balance" }, open],
    [404, { message: "Account not found" }, open],
    [404, { message: "Bank not found" }, open],
    [400, { message: "Invalid OTP" }, open],
    [400, { message: "Quotation token is invalid or has expired" }, open]
  ] as const)("%s %o is believed only where integrators know that nothing was made", ([status, said, expected]) =>
    Effect.map(sent({ [PAY]: [answer(status, said)], [SEARCH]: [answer(200, listAnswer())] }, order), ({ outcome }) =>
      expect(outcome).toMatchObject(expected)
    )
  )

  it.effect("403 is our own configuration, and needs no look-up", () =>
    Effect.gen(function* () {
      const { outcome, server } = yield* sent({ [PAY]: [answer(403, { message: "Invalid request origin" })] }, order)
      expect(outcome).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(server.seen.filter(({ line }) => line.startsWith(SEARCH))).toEqual([])
    })
  )
})
