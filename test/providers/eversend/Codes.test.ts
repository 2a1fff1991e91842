import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import { answer, type Behaviour, chargeAnswer, listAnswer, reset, stub, transaction } from "../ProviderStub.ts"
import { askOrder, chargeOrder, collectionsOf, open } from "./Orders.ts"

const CHARGE = "POST /collections/momo"
const CODE = "POST /collections/otp"
const SEARCH = "GET /transactions?"
const otp = { pinId: "VE1", pin: Redacted.make("123456") }

describe("a charge with a code", () => {
  const order = chargeOrder("1234", { otp })
  const cases: ReadonlyArray<readonly [string, Behaviour, object]> = [
    ["is accepted", answer(200, chargeAnswer(order.reference)), { _tag: "Accepted" }],
    ["400 can be the code", answer(400, { message: "Invalid OTP" }), { _tag: "CodeRejected", note: "HTTP 400" }],
    ["402 may have placed it, whatever it says", answer(402, { message: "Invalid OTP" }), { _tag: "Unknown" }],
    ["404 may have placed it", answer(404, { message: "no" }), { _tag: "Unknown", reason: "bad_response" }],
    ["400 in other words may have placed it", answer(400, { message: "Account not found" }), { _tag: "Unknown" }],
    ["403 is our own account, never the code", answer(403, {}), { _tag: "Refused", kind: "config" }],
    ["500 may have placed it", answer(500, { message: "An error has occurred" }), { _tag: "Unknown" }],
    ["silence may have placed it", reset, { _tag: "Unknown" }]
  ]
  it.effect("that was refused and made all the same took the code", () =>
    Effect.gen(function* () {
      const made = transaction(order.reference, { type: "collection", status: "pending" })
      const server = yield* stub({ [CHARGE]: [answer(400, {})], [SEARCH]: [answer(200, listAnswer(made))] })
      expect(yield* collectionsOf(yield* open(server.baseUrl)).charge(order)).toMatchObject({ _tag: "Accepted" })
    })
  )

  const attempt = transaction(order.reference, { type: "collection", status: "failed", reason: "Invalid OTP" })
  const asked = { ...askOrder(order.reference), wrongCode: true } as const
  for (const [name, rows, query, expected] of [
    ["is no failure of the charge after a wrong code", [attempt], asked, "NotFound"],
    [
      "hides no charge that the right code made",
      [attempt, { ...attempt, transactionId: "BE2", status: "pending" }],
      asked,
      "StillPending"
    ],
    ["is the charge's own where no code was called wrong", [attempt], askOrder(order.reference), "Refused"]
  ] as const)
    it.effect(`whose failed attempt is listed: it ${name}`, () =>
      Effect.gen(function* () {
        const server = yield* stub({ [SEARCH]: [answer(200, listAnswer(...rows))] })
        expect(yield* collectionsOf(yield* open(server.baseUrl)).fetchStatus(query)).toMatchObject({ _tag: expected })
      })
    )

  it.effect("whose failed attempt is listed at once was not taken for its code", () =>
    Effect.gen(function* () {
      const wrong = answer(400, { message: "Invalid OTP" })
      const server = yield* stub({ [CHARGE]: [wrong], [SEARCH]: [answer(200, listAnswer(attempt))] })
      expect(yield* collectionsOf(yield* open(server.baseUrl)).charge(order)).toMatchObject({ _tag: "CodeRejected" })
    })
  )

  for (const [name, behaviour, expected] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const server = yield* stub({ [CHARGE]: [behaviour], [SEARCH]: [answer(200, listAnswer())] })
        expect(yield* collectionsOf(yield* open(server.baseUrl)).charge(order)).toMatchObject(expected)
        const charges = server.seen.filter(({ line }) => line.startsWith(CHARGE))
        expect(charges).toMatchObject([{ body: expect.stringContaining('"otp":{"pinId":"VE1","pin":"123456"}') }])
      })
    )
  }
})

describe("sending a code", () => {
  const { source } = chargeOrder("1234")
  const sent = Effect.fnUntraced(function* (behaviour: Behaviour) {
    const server = yield* stub({ [CODE]: [behaviour] })
    const { sendCode = () => Effect.die(new Error("Eversend sends codes")) } = collectionsOf(yield* open(server.baseUrl))
    return { server, code: yield* Effect.exit(sendCode(source)) }
  })

  it.effect("answers Eversend's own reference of the code", () =>
    Effect.gen(function* () {
      const { code, server } = yield* sent(answer(200, { code: 200, data: { pinId: "VE1" }, success: true }))
      expect(code).toMatchObject({ _tag: "Success", value: { pinId: "VE1" } })
      expect(server.seen.at(-1)?.body).toBe('{"phone":"+256700001234"}')
    })
  )

  it.effect("did not send a text after a refusal", () =>
    Effect.map(sent(answer(400, {})), ({ code }) => expect(JSON.stringify(code)).toContain("provider_error"))
  )

  for (const [name, behaviour] of [
    ["an error", answer(500, {})],
    ["an answer without a handle", answer(200, { code: 200, data: {} })],
    ["no answer", reset]
  ] as const)
    it.effect(`may have sent a text after ${name}`, () =>
      Effect.map(sent(behaviour), ({ code }) => expect(code).toMatchObject({ _tag: "Success", value: "unknown" }))
    )
})
