import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import { wireId } from "../../../src/providers/airtel/Wire.ts"
import { simulatedAirtel } from "../../../src/simulator/airtel/Simulator.ts"
import { collectionsOf, openBench, payoutsOf } from "../contract/Fixture.ts"
import { askOrder } from "../contract/Orders.ts"
import { answer, type Behaviour, stub } from "../ProviderStub.ts"
import { accountIn, charge, open, payout, uganda, zambia } from "./Orders.ts"

// The examples of Airtel's documents, byte for byte, with our identifiers in the place of theirs.

const TOKEN = "POST /auth/oauth2/token"
const text = (body: string): Behaviour => answer(200, body)
const tokenGiven = text('{"token_type":"bearer","access_token":"Jx8fQ2","expires_in":"180"}')

const prompted = (id: string) =>
  `{"data":{"transaction":{"id":"${id}","status":"SUCCESS"}},"status":{"code":"200","message":"SUCCESS","result_code":"ESB000010","response_code":"DP00800001006","success":true}}`
const paid = (id: string) =>
  `{"data":{"transaction":{"airtel_money_id":"CI261128.1422.H71203","id":"${id}","message":"Paid UGX 15,000 to …","status":"TS"}},"status":{"code":"200","message":"SUCCESS","result_code":"ESB000010","response_code":"DP00800001001","success":true}}`
const unknownPayer =
  '{"data":{"transaction":{"id":false,"status":"…"}},"status":{"code":"400","message":"Msisdn Not Found","response_code":"DP00800001005","success":false}}'
const notFound =
  '{"data":{"transaction":{"id":false,"status":"…"}},"status":{"code":"400","message":"Not found","response_code":"DP00800001025","success":false}}'
const sent = (id: string) =>
  `{"data":{"transaction":{"reference_id":"CI261128.1507.H00406","airtel_money_id":"disbursement-8Q2-${id}","id":"${id}","status":"TS"}},"status":{"response_code":"DP00900001001","code":"200","success":true,"result_code":"ESB000010","message":"You have sent ZMW 250 … Bal ZMW …"}}`

describe("the documents' example of", () => {
  it.effect("a collection: the token, the prompt and its status", () =>
    Effect.gen(function* () {
      const order = charge()
      const id = wireId(order.reference)
      const server = yield* stub({
        [TOKEN]: [tokenGiven],
        "POST /merchant/v1/payments/": [text(prompted(id))],
        "GET /standard/v1/payments/": [text(paid(id))]
      })
      const provider = yield* open([accountIn("UG", server.baseUrl)])
      expect(yield* collectionsOf(provider).charge(order)).toMatchObject({ _tag: "Accepted", providerReference: id })
      const found = yield* collectionsOf(provider).fetchStatus(yield* askOrder(uganda, order.reference))
      expect(found).toMatchObject({ _tag: "Succeeded", amount: null, currency: "UGX", receipt: "CI261128.1422.H71203" })
      const [token, push, status] = server.seen
      expect(token?.body).toBe('{"client_id":"6f0c1d5e","client_secret":"b71d","grant_type":"client_credentials"}')
      expect(push?.body).toBe(
        `{"reference":"${order.reference}","subscriber":{"country":"UG","currency":"UGX","msisdn":"752604418"},"transaction":{"amount":15000,"country":"UG","currency":"UGX","id":"${id}"}}`
      )
      expect(push?.headers).toMatchObject({
        authorization: "Bearer Jx8fQ2",
        "x-country": "UG",
        "x-currency": "UGX",
        "content-type": "application/json",
        accept: "*/*"
      })
      expect(push?.headers).not.toHaveProperty("x-signature")
      expect(status?.line).toBe(`GET /standard/v1/payments/${id}`)
    })
  )

  it.effect("a business refusal under HTTP 200", () =>
    Effect.gen(function* () {
      const server = yield* stub({
        [TOKEN]: [tokenGiven],
        "POST /merchant/v1/payments/": [text(unknownPayer)],
        "GET /standard/v1/payments/": [text(notFound)]
      })
      const provider = yield* open([accountIn("UG", server.baseUrl)])
      expect(yield* collectionsOf(provider).charge(charge())).toMatchObject({ _tag: "Refused", kind: "other" })
    })
  )

  const bodies = {
    v1: (reference: string, id: string) =>
      `{"payee":{"msisdn":"976310552"},"reference":"${reference}","pin":"<enc>","transaction":{"amount":250,"id":"${id}"}}`,
    v2: (reference: string, id: string) =>
      `{"payee":{"currency":"ZMW","msisdn":"976310552"},"reference":"${reference}","pin":"<enc>","transaction":{"amount":250,"id":"${id}","type":"B2C"}}`
  }
  for (const version of ["v1", "v2"] as const)
    it.effect(`a disbursement, ${version}: a success at once, and its status`, () =>
      Effect.gen(function* () {
        const order = payout()
        const id = wireId(order.reference)
        const server = yield* stub({
          [TOKEN]: [tokenGiven],
          [`POST /standard/${version}/disbursements/`]: [text(sent(id))],
          [`GET /standard/${version}/disbursements/`]: [text(sent(id))]
        })
        const provider = yield* open([accountIn("ZM", server.baseUrl, { version })])
        const done = { _tag: "Succeeded", amount: null, providerReference: id, receipt: "CI261128.1507.H00406" }
        expect(yield* payoutsOf(provider).send(order)).toMatchObject(done)
        expect(yield* payoutsOf(provider).fetchStatus(yield* askOrder(zambia, order.reference))).toMatchObject(done)
        expect(server.seen[1]?.body).toBe(bodies[version](order.reference, id))
        expect(server.seen[2]?.line).toBe(
          `GET /standard/${version}/disbursements/${id}${version === "v2" ? "?transactionType=B2C" : ""}`
        )
      })
    )

  it.effect("a balance, with its commas, and of a holder", () =>
    Effect.gen(function* () {
      const server = yield* stub({
        [TOKEN]: [tokenGiven],
        "GET /standard/v1/users/balance": [
          text(
            '{"data":{"balance":"41,250.00","currency":"UGX","account_status":"ACTIVE"},"status":{"response_code":"DP02100000001"}}'
          ),
          text('{"data":{"balance":"41250","currency":"UGX"},"status":{"response_code":"DP02100000001"}}')
        ],
        "GET /standard/v1/users/752604418": [
          text(
            '{"data":{"first_name":"Ada","last_name":"K","grade":"SUBS","is_barred":false,"is_pin_set":true,"msisdn":"752604418","registration":{"status":"…"}},"status":{"response_code":"DP02200000001"}}'
          ),
          text('{"data":{},"status":{"response_code":"DP02200000002","success":false}}'),
          text('{"status":{"response_code":"ROUTER003"}}')
        ]
      })
      const { payouts, reference } = yield* open([accountIn("UG", server.baseUrl)])
      const balances = reference?.balances ?? Effect.succeed([])
      const held = [{ currency: "UGX", available: 41_250n, pending: null }]
      expect([yield* balances, yield* balances]).toStrictEqual([held, held])
      const holder = payouts?.holder?.({ _tag: "momo", msisdn: Redacted.make("+256752604418"), network: "AIRTEL", country: "UG" })
      const named = holder === undefined ? null : yield* holder
      expect(named === null || named === "inactive" || named.name === null ? named : Redacted.value(named.name)).toBe("Ada K")
      expect([holder && (yield* holder), holder && (yield* holder)]).toStrictEqual(["inactive", { name: null }])
    })
  )

  it.effect("the transaction summary", () =>
    Effect.gen(function* () {
      const row = (id: string, status: string, type = "MERCHPAY") =>
        `{"charges":{"service":150},"payee":{"currency":"TZS","msisdn":"…","name":"…"},"payer":{"currency":"TZS","msisdn":"…","name":"…"},"service":{"type":"${type}"},"transaction":{"airtel_money_id":"MP…","amount":15000,"created_at":1764290012000,"id":"${id}","reference_number":"INV…","status":"${status}"}}`
      const rows = [row("one", "TS"), row("two", "TR"), row("three", "TS", "B2C")]
      const server = yield* stub({
        [TOKEN]: [tokenGiven],
        "GET /merchant/v1/transactions": [text(`{"data":{"count":3,"transactions":[${rows.join(",")}]},"status":{}}`)]
      })
      const provider = yield* open([accountIn("TZ", server.baseUrl)], { statementCountries: ["TZ"] })
      const listed = provider.statement === undefined ? null : yield* provider.statement("2025-11-28")
      const line = {
        direction: "collection",
        reference: null,
        amount: 1_500_000n,
        currency: "TZS",
        fee: 15_000n,
        at: 1764290012000
      }
      expect(listed).toMatchObject({
        lines: [
          { ...line, providerReference: "one", status: "successful" },
          { ...line, providerReference: "two", status: "returned", refundOf: ["two"] }
        ],
        // Whether other movements are listed, and under which words, no document says.
        unreadable: [{ word: expect.stringContaining('"type":"B2C"') }],
        unsteady: []
      })
      expect(server.seen[1]?.line).toBe("GET /merchant/v1/transactions?from=1764288000000&to=1764374399999&limit=50&offset=0")
    })
  )
})

describe("the simulator takes the documents' examples as they stand:", () => {
  const send = (baseUrl: string, path: string, body: string, headers: Record<string, string> = {}) =>
    Effect.promise(async () => {
      const response = await fetch(baseUrl + path, {
        method: "POST",
        body,
        headers: { "content-type": "application/json", accept: "*/*", ...headers }
      })
      const answered: unknown = await response.json()
      return { status: response.status, body: answered }
    })

  it.live("a token, a push, and the same id again", () =>
    Effect.gen(function* () {
      const { baseUrl } = yield* openBench(simulatedAirtel)
      const credentials = `{"client_id":"simulated-live","client_secret":"simulated-live-client-secret","grant_type":"client_credentials"}`
      const { body: token } = yield* send(baseUrl, "/auth/oauth2/token", credentials)
      expect(token).toMatchObject({ token_type: "bearer", expires_in: "180" })
      const access = typeof token === "object" && token !== null && "access_token" in token ? String(token.access_token) : ""
      const headers = { authorization: `Bearer ${access}`, "x-country": "UG", "x-currency": "UGX" }
      const push =
        '{"reference":"INV 20441","subscriber":{"country":"UG","currency":"UGX","msisdn":"752604418"}, "transaction":{"amount":15000,"country":"UG","currency":"UGX","id":"9c1b7a52f4de4c8d"}}'
      expect(yield* send(baseUrl, "/merchant/v1/payments/", push, headers)).toStrictEqual({
        status: 200,
        body: JSON.parse(prompted("9c1b7a52f4de4c8d"))
      })
      expect(yield* send(baseUrl, "/merchant/v1/payments/", push, headers)).toMatchObject({
        status: 200,
        body: { status: { success: false, result_code: "ESB000041" } }
      })
      const withCode = push.replace("752604418", "0752604418").replace("9c1b7a52f4de4c8d", "9c1b7a52f4de4c8e")
      expect(yield* send(baseUrl, "/merchant/v1/payments/", withCode, headers)).toMatchObject({
        body: { status: { success: false } }
      })
      const stale = { ...headers, authorization: "Bearer stale" }
      expect(yield* send(baseUrl, "/merchant/v1/payments/", push, stale)).toStrictEqual({
        status: 401,
        body: { error: "invalid_token", error_description: "The access token is invalid or has expired" }
      })
      expect(yield* send(baseUrl, "/auth/oauth2/token", credentials.replace("live-client", "other"))).toStrictEqual({
        status: 400,
        body: { error: "invalid_client", error_description: "Invalid client authentication" }
      })
    })
  )
})
