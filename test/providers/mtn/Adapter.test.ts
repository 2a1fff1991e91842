import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { referenceIdOf } from "../../../src/providers/mtn/Wire.ts"
import { withCapturedCall } from "../../../src/runtime/CapturedCall.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, momo, newReference } from "../contract/Orders.ts"
import { answer, type Behaviour, halfAnswer, reset, stub } from "../ProviderStub.ts"
import { accountIn, charge, ghana, open, overheard, payout, statusOf, USER_ID, uganda } from "./Orders.ts"

const token = (text: string, expires_in: unknown = 3600) =>
  answer(200, { access_token: text, token_type: "access_token", expires_in })
const taken: Behaviour = (response) => response.writeHead(202).end()

const TRANSFER = "POST /disbursement/v1_0/transfer"
const REQUEST = "POST /collection/v1_0/requesttopay"
const PAY_TOKEN = "POST /disbursement/token/"
const COLLECT_TOKEN = "POST /collection/token/"

/** Whatever is not said is answered as MTN would. */
const wire = (behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>) =>
  stub({
    [PAY_TOKEN]: [token("pay-token")],
    [COLLECT_TOKEN]: [token("collect-token")],
    [TRANSFER]: [taken],
    [REQUEST]: [taken],
    ...behaviours
  })

describe("a payout or charge on the wire", () => {
  it.effect("has the product's key, its token, the country, the reference and the callback address", () =>
    Effect.gen(function* () {
      const server = yield* wire({})
      const callbackUrl = Redacted.make("https://pay.example/webhooks/mtn/secret")
      const provider = yield* open(`${server.baseUrl}/`, { callbackUrl })
      const [transfer, request] = [payout(), charge({}, ghana)]
      expect(yield* payoutsOf(provider).send(transfer)).toMatchObject({ _tag: "Accepted" })
      expect(yield* collectionsOf(provider).charge(request)).toMatchObject({ _tag: "Accepted" })
      const basic = Buffer.from(`${USER_ID}:api-key`).toString("base64")
      const callback = "https://pay.example/webhooks/mtn/secret"
      expect(
        server.seen.map(({ headers, line }) => [
          line,
          headers.authorization,
          headers["ocp-apim-subscription-key"],
          headers["x-target-environment"],
          headers["x-reference-id"],
          headers["x-callback-url"]
        ])
      ).toStrictEqual([
        [PAY_TOKEN, `Basic ${basic}`, "disbursement-key", undefined, undefined, undefined],
        [TRANSFER, "Bearer pay-token", "disbursement-key", "mtnuganda", referenceIdOf(transfer.reference), callback],
        [COLLECT_TOKEN, `Basic ${basic}`, "collection-key", undefined, undefined, undefined],
        [REQUEST, "Bearer collect-token", "collection-key", "mtnghana", referenceIdOf(request.reference), callback]
      ])
    })
  )

  it.effect("is stored for operators without the number in it", () =>
    Effect.gen(function* () {
      const refused = answer(400, { code: "BAD_REQUEST", message: "256700001234 is none" })
      const server = yield* wire({ [TRANSFER]: [refused] })
      const { raw } = yield* withCapturedCall(payoutsOf(yield* open(server.baseUrl)).send(payout()))
      expect(raw?.request).toContain('"partyId":"••••1234"')
      expect(JSON.stringify(raw)).not.toContain("256700001234")
      expect(server.seen.map(({ headers }) => headers["content-length"])).toContain("0")
    })
  )

  it.effect("goes to the host of its country", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* wire({}), yield* wire({})]
      const provider = yield* open(here.baseUrl, { countries: [accountIn("UG", here.baseUrl), accountIn("GH", there.baseUrl)] })
      yield* payoutsOf(provider).send(payout({}, ghana))
      expect([here.seen.length, there.seen.map(({ line }) => line)]).toStrictEqual([0, [PAY_TOKEN, TRANSFER]])
    })
  )

  it.effect("is refused before anything is sent where there is no account, or on another network", () =>
    Effect.gen(function* () {
      const server = yield* wire({})
      const provider = yield* open(server.baseUrl)
      const airtel = momo("UG", "UGX", "AIRTEL", "25670000")
      const rwanda = momo("RW", "RWF", "MTN", "25078000")
      const refused = { _tag: "Refused", kind: "config", failure: { code: "provider_rejected" } }
      for (const way of [airtel, rwanda]) {
        expect(yield* payoutsOf(provider).send(payout({}, way))).toMatchObject(refused)
        expect(yield* collectionsOf(provider).charge(charge({}, way))).toMatchObject(refused)
      }
      expect(server.seen).toStrictEqual([])
    })
  )
})

describe("a payout or charge whose answer cannot be believed is unknown, and is sent once", () => {
  const cases: ReadonlyArray<readonly [string, Behaviour, "timeout" | "unavailable" | "bad_response"]> = [
    ["a reset", reset, "unavailable"],
    ["half an answer", halfAnswer, "unavailable"],
    ["HTTP 202 with a body", answer(202, { status: "SUCCESSFUL" }), "bad_response"],
    ["HTTP 200 without one", answer(200, ""), "bad_response"],
    ["HTML under HTTP 200", answer(200, "<html></html>", "text/html"), "bad_response"],
    ["HTTP 500", answer(500, { code: "INTERNAL_PROCESSING_ERROR", message: "" }), "unavailable"],
    ["HTTP 503", answer(503, { code: "SERVICE_UNAVAILABLE", message: "" }), "unavailable"],
    ["HTTP 429", answer(429, { statusCode: 429 }), "unavailable"],
    ["HTTP 422", answer(422, {}), "bad_response"]
  ]
  for (const [name, behaviour, reason] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const server = yield* wire({ [TRANSFER]: [behaviour], [REQUEST]: [behaviour] })
        const provider = yield* open(server.baseUrl)
        expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "Unknown", reason })
        expect(yield* collectionsOf(provider).charge(charge())).toMatchObject({ _tag: "Unknown", reason })
        expect(server.seen.map(({ line }) => line)).toStrictEqual([PAY_TOKEN, TRANSFER, COLLECT_TOKEN, REQUEST])
      })
    )
  }
})

describe("a token", () => {
  const failures: ReadonlyArray<readonly [string, Behaviour]> = [
    ["refused", answer(401, { statusCode: 401, message: "Access denied" })],
    ["reset", reset],
    ["unreadable", answer(200, "<html>", "text/html")],
    ["an error", answer(500, { code: "INTERNAL_PROCESSING_ERROR", message: "" })]
  ]
  for (const [name, behaviour] of failures) {
    it.effect(`${name}: the payout was not sent`, () =>
      Effect.gen(function* () {
        const server = yield* wire({ [PAY_TOKEN]: [behaviour] })
        const provider = yield* open(server.baseUrl)
        expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "NotSent" })
        expect(server.seen.map(({ line }) => line)).toStrictEqual([PAY_TOKEN])
      })
    )
  }

  it.effect("is used until a minute before it expires, and for its own product only", () =>
    Effect.gen(function* () {
      const server = yield* wire({ [PAY_TOKEN]: [token("one", 120), token("two", "120")] })
      const payouts = payoutsOf(yield* open(server.baseUrl))
      const tokens = Effect.sync(() =>
        server.seen.filter(({ line }) => line === TRANSFER).map(({ headers }) => headers.authorization)
      )
      yield* payouts.send(payout())
      yield* TestClock.adjust(59_000)
      yield* payouts.send(payout())
      yield* TestClock.adjust(2000)
      yield* payouts.send(payout())
      expect(yield* tokens).toStrictEqual(["Bearer one", "Bearer one", "Bearer two"])
    })
  )

  it.live("that is no longer accepted is fetched again, and is not fetched for ever", () =>
    Effect.gen(function* () {
      const refused = answer(401, { statusCode: 401 })
      const server = yield* wire({ [PAY_TOKEN]: [token("old"), token("new")], [TRANSFER]: [refused, taken, refused] })
      const payouts = payoutsOf(yield* open(server.baseUrl))
      expect(yield* payouts.send(payout())).toMatchObject({ _tag: "Accepted" })
      const ids = server.seen.flatMap(({ headers, line }) => (line === TRANSFER ? [headers["x-reference-id"]] : []))
      expect(ids).toHaveLength(2)
      expect(new Set(ids).size).toBe(1)
      expect(yield* payouts.send(payout())).toMatchObject({ _tag: "Refused", kind: "config" })
    })
  )
})

describe("a reference that MTN already has", () => {
  const known = answer(409, { code: "RESOURCE_ALREADY_EXIST", message: "Duplicated reference id." })
  const cases = [
    ["PENDING", "Accepted"],
    ["SUCCESSFUL", "Succeeded"],
    ["FAILED", "Refused"]
  ] as const
  for (const [status, tag] of cases) {
    it.effect(`has the outcome of its status: ${status} is ${tag}`, () =>
      Effect.gen(function* () {
        const order = payout()
        const path = `GET /disbursement/v1_0/transfer/${referenceIdOf(order.reference)}`
        const server = yield* wire({ [TRANSFER]: [known], [path]: [answer(200, statusOf(order.reference, { status }))] })
        const outcome = yield* payoutsOf(yield* open(server.baseUrl)).send(order)
        expect(outcome).toMatchObject({ _tag: tag, providerReference: referenceIdOf(order.reference) })
        expect(server.seen.map(({ line }) => line)).toStrictEqual([PAY_TOKEN, TRANSFER, path])
      })
    )
  }

  it.effect("is unknown when its status cannot be read", () =>
    Effect.gen(function* () {
      const server = yield* wire({ [REQUEST]: [known], "GET /collection/v1_0": [answer(503, {})] })
      const outcome = yield* collectionsOf(yield* open(server.baseUrl)).charge(charge())
      expect(outcome).toMatchObject({ _tag: "Unknown", reason: "unavailable" })
    })
  )
})

describe("the alarms for operators", () => {
  it.effect("include an unknown status, which is never a failure", () =>
    Effect.gen(function* () {
      const reference = newReference()
      const server = yield* wire({ "GET /collection/v1_0": [answer(200, statusOf(reference, { status: "ON_HOLD" }))] })
      const { fetchStatus } = collectionsOf(yield* open(server.baseUrl))
      const { errors, value } = yield* overheard(Effect.flatMap(askOrder(uganda, reference), fetchStatus))
      expect(value).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
      expect(errors).toHaveLength(1)
    })
  )

  it.effect("include a country without an account", () =>
    Effect.gen(function* () {
      const server = yield* wire({})
      const { fetchStatus } = payoutsOf(yield* open(server.baseUrl))
      const rwanda = momo("RW", "RWF", "MTN", "25078000")
      const { errors, value } = yield* overheard(Effect.flatMap(askOrder(rwanda, newReference()), fetchStatus))
      expect([value._tag, errors.length, server.seen.length]).toStrictEqual(["Unknown", 1, 0])
    })
  )

  it.effect("contain no personal data", () =>
    Effect.gen(function* () {
      const refused = answer(400, { code: "BAD_REQUEST", message: "256700001234 Jane Doe" })
      const nothing = answer(404, { code: "RESOURCE_NOT_FOUND", message: "Requested resource was not found." })
      const server = yield* wire({ [TRANSFER]: [refused], "GET /disbursement/v1_0/transfer/": [nothing] })
      const order = payout()
      const { errors } = yield* overheard(payoutsOf(yield* open(server.baseUrl)).send(order))
      expect(errors.map((line) => JSON.parse(line))).toStrictEqual([
        { alarm: "MTN refuses a call: HTTP 400, BAD_REQUEST", provider: "mtn", reference: order.reference }
      ])
    })
  )
})

it.effect("say that nothing was sent when nobody answers at the address", () =>
  Effect.gen(function* () {
    const provider = yield* open("http://127.0.0.1:1")
    expect(yield* payoutsOf(provider).send(payout())).toMatchObject({ _tag: "NotSent" })
    expect(yield* collectionsOf(provider).charge(charge())).toMatchObject({ _tag: "NotSent" })
    const asked = yield* Effect.flatMap(askOrder(uganda, newReference()), payoutsOf(provider).fetchStatus)
    expect(asked).toMatchObject({ _tag: "Unknown", reason: "unavailable" })
  })
)

// Issue 38, line 14.
