import { expect, it } from "@effect/vitest"
import { Clock, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { reader } from "../../../src/ConfigRules.ts"
import { minor } from "../../../src/domain/Money.ts"
import { waveProvider } from "../../../src/providers/wave/Settings.ts"
import type { Adapter, StatusQuery } from "../../../src/services/ports/Provider.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, quoteOrder } from "../contract/Orders.ts"
import { answer, reset, type Stub, stub } from "../ProviderStub.ts"
import { abidjan, charge, open, payout, payoutShown, sessionShown } from "./Orders.ts"

const sentTo = ({ seen }: Stub, line: string) => seen.filter((one) => one.line.startsWith(line))

it.effect("a payout is the bytes of Wave's documents, and the same order is the same bytes under the same key", () =>
  Effect.gen(function* () {
    const order = payout({
      narration: "Retrait 8123",
      destination: {
        _tag: "momo",
        msisdn: Redacted.make("+2250703445566"),
        network: "WAVE",
        country: "CI",
        name: Redacted.make("Awa K")
      }
    })
    const { reference } = order
    const server = yield* stub({ "POST /v1/payout": [answer(200, payoutShown(reference))] })
    const { send } = payoutsOf(yield* open(server.baseUrl))
    expect(yield* send(order)).toMatchObject({
      _tag: "Succeeded",
      amount: 25_000n,
      fee: 250n,
      providerReference: "pt-1r7dv2kg0tz4a"
    })
    // On another quote: what it costs is no part of the body.
    yield* send({ ...order, quote: { ...order.quote, fee: minor(300n), token: "another" } })
    const [first, second] = sentTo(server, "POST /v1/payout")
    expect(first?.body).toBe(
      `{"currency":"XOF","receive_amount":"25000","mobile":"+2250703445566","name":"Awa K","payment_reason":"Retrait 8123","client_reference":"${reference}"}`
    )
    expect(second?.body).toBe(first?.body)
    const headers = { "idempotency-key": reference, authorization: "Bearer wave_ci_prod_key", "content-type": "application/json" }
    expect([first?.headers, second?.headers]).toMatchObject([headers, headers])
  }).pipe(Effect.scoped)
)

it.effect("a payout whose answer is lost is sent once, and searched for in the wallet of its country", () =>
  Effect.gen(function* () {
    const order = payout()
    const { reference } = order
    const server = yield* stub({
      "POST /v1/payout": [reset],
      "GET /v1/payouts/search": [answer(200, { result: [] }), answer(200, { result: [payoutShown(reference)] })]
    })
    const { fetchStatus, send } = payoutsOf(yield* open(server.baseUrl))
    expect(yield* send(order)).toMatchObject({ _tag: "Unknown" })
    const asked = yield* askOrder(abidjan, reference)
    expect(yield* fetchStatus(asked)).toMatchObject({ _tag: "NotFound" })
    expect(yield* fetchStatus(asked)).toMatchObject({ _tag: "Succeeded" })
    expect(yield* fetchStatus({ ...asked, country: "SN" })).toMatchObject({ _tag: "Succeeded" })
    expect(yield* fetchStatus({ ...asked, country: "BF" })).toMatchObject({ _tag: "Unknown" })
    expect(sentTo(server, "POST")).toHaveLength(1)
    const searches = sentTo(server, `GET /v1/payouts/search?client_reference=${reference}`)
    expect(searches.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer wave_ci_prod_key",
      "Bearer wave_ci_prod_key",
      "Bearer wave_sn_prod_key"
    ])
  }).pipe(Effect.scoped)
)

it.effect("a session is the bytes of Wave's documents, and none is made without an address over https", () =>
  Effect.gen(function* () {
    const order = charge()
    const { reference } = order
    const server = yield* stub({ "POST /v1/checkout/sessions": [answer(200, sessionShown(reference))] })
    const { charge: place } = collectionsOf(yield* open(server.baseUrl))
    expect(yield* place(order)).toMatchObject({ _tag: "NeedsRedirect" })
    for (const redirectUrl of [null, "http://shop.example/back"])
      expect(yield* place({ ...order, redirectUrl })).toMatchObject({ _tag: "Refused", kind: "other" })
    expect(server.seen.map(({ body }) => body)).toEqual([
      `{"amount":"15000","currency":"XOF","success_url":"https://shop.example/back","error_url":"https://shop.example/back","client_reference":"${reference}","restrict_payer_mobile":"+2250703445566"}`
    ])
  }).pipe(Effect.scoped)
)

/** A charge that is asked about so long after it was sent, with a handle or without. */
const asked = Effect.fnUntraced(function* (
  adapter: Adapter,
  reference: ReturnType<typeof charge>["reference"],
  handle: string | null,
  { afterMs, ...over }: Pick<StatusQuery, "isOver"> & { readonly afterMs: number }
) {
  const sentAt = (yield* Clock.currentTimeMillis) - afterMs
  return yield* collectionsOf(adapter).fetchStatus({ ...(yield* askOrder(abidjan, reference, handle)), sentAt, ...over })
})

it.effect("a session that nobody was sent to is expired after five minutes, and no other one while the payer has time", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    const { reference } = charge()
    const [shown, stray] = [sessionShown(reference), sessionShown(reference, { id: "cos-stray" })]
    const expired = sessionShown(reference, { id: "cos-stray", checkout_status: "expired" })
    const given = yield* stub({
      "GET /v1/checkout/sessions/search": [answer(200, { result: [shown] }), answer(200, { result: [shown, stray] })],
      "POST /v1/checkout/sessions/": [answer(200, "")]
    })
    const withPage = yield* open(given.baseUrl)
    expect(yield* asked(withPage, reference, shown.id, { afterMs: 86_400_000 })).toMatchObject({ _tag: "StillPending" })
    expect(sentTo(given, "POST")).toEqual([])
    yield* asked(withPage, reference, shown.id, { afterMs: 86_400_000 })
    expect(sentTo(given, "POST").map(({ line }) => line)).toEqual(["POST /v1/checkout/sessions/cos-stray/expire"])

    const lost = yield* stub({
      "GET /v1/checkout/sessions/search": [
        answer(200, { result: [stray] }),
        answer(200, { result: [stray] }),
        answer(200, { result: [expired] })
      ],
      "POST /v1/checkout/sessions/": [answer(409, { code: "a-code", message: "a text" })]
    })
    const withoutPage = yield* open(lost.baseUrl)
    expect(yield* asked(withoutPage, reference, null, { afterMs: 299_999 })).toMatchObject({ _tag: "StillPending" })
    expect(sentTo(lost, "POST")).toEqual([])
    expect(yield* asked(withoutPage, reference, null, { afterMs: 300_000 })).toMatchObject({
      _tag: "Refused",
      failure: { code: "timed_out" }
    })
    expect(sentTo(lost, "POST")).toHaveLength(1)
  }).pipe(Effect.scoped)
)

const isOpen = { _tag: "StillPending", isUnfinished: undefined }
const isLeft = { _tag: "StillPending", isUnfinished: true }
const page = "cos-1s9t0xyz2a4b6"
it.effect.each<{
  readonly what: string
  /** What the search shows before and after, and what the pages answer that are to expire. */
  readonly found: readonly [before: ReadonlyArray<object>, after: ReadonlyArray<object>]
  readonly expiring: Readonly<Record<string, number>>
  readonly fact: object
}>([
  { what: "expires", found: [[{}], [{ checkout_status: "expired" }]], expiring: { [page]: 200 }, fact: isLeft },
  { what: "expires, and the search is late", found: [[{}], [{}]], expiring: { [page]: 200 }, fact: isLeft },
  { what: "does not expire", found: [[{}], [{}]], expiring: { [page]: 503 }, fact: isOpen },
  { what: "is over already, and the search is late", found: [[{}], [{}]], expiring: { [page]: 409 }, fact: isOpen },
  {
    what: "is paid meanwhile",
    found: [[{}], [{ checkout_status: "complete", payment_status: "succeeded" }]],
    expiring: { [page]: 409 },
    fact: { _tag: "Succeeded", amount: 15_000n }
  },
  {
    what: "is open after a payment that was cancelled",
    found: [[{ payment_status: "cancelled" }], [{ payment_status: "cancelled" }]],
    expiring: { [page]: 500 },
    fact: isOpen
  },
  {
    what: "expires, and a second one does not",
    found: [
      [{}, { id: "cos-2" }],
      [{ checkout_status: "expired" }, { id: "cos-2" }]
    ],
    expiring: { [page]: 200, "cos-2": 500 },
    fact: isOpen
  },
  {
    what: "expires unseen while a second one stays",
    found: [
      [{}, { id: "cos-2" }],
      [{}, { id: "cos-2" }]
    ],
    expiring: { [page]: 200, "cos-2": 500 },
    fact: isOpen
  },
  { what: "is not found, and expires", found: [[], []], expiring: { [page]: 200 }, fact: { _tag: "NotFound" } },
  { what: "is not found, and does not expire", found: [[], []], expiring: { [page]: 503 }, fact: { _tag: "Unknown" } },
  {
    what: "is not found beside one that expired, and does not expire",
    found: [[{ id: "cos-2", checkout_status: "expired" }], [{ id: "cos-2", checkout_status: "expired" }]],
    expiring: { [page]: 409 },
    fact: { _tag: "Unknown" }
  },
  {
    what: "expired in words that nobody knows",
    found: [[{ checkout_status: "expired", payment_status: "succeeded" }], []],
    expiring: {},
    fact: { _tag: "Unknown" }
  }
])("the payer's time is over: a session that $what", ({ expiring, fact, found: [before, after] }) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(1_800_000_000_000)
    const { reference } = charge()
    const result = (changes: ReadonlyArray<object>) =>
      answer(200, { result: changes.map((change) => sessionShown(reference, change)) })
    const expires = Object.entries(expiring).map(
      ([id, status]) =>
        [`POST /v1/checkout/sessions/${id}/expire`, [answer(status, status === 200 ? "" : { code: "a-code" })]] as const
    )
    const server = yield* stub({
      ...Object.fromEntries(expires),
      "GET /v1/checkout/sessions/search": [result(before), result(after)]
    })
    const adapter = yield* open(server.baseUrl)
    const told = yield* asked(adapter, reference, page, { afterMs: 900_000, isOver: true })
    expect({ isUnfinished: undefined, ...told }).toMatchObject(fact)
    expect(sentTo(server, "POST").map(({ line }) => line)).toEqual(expires.map(([line]) => line))
  }).pipe(Effect.scoped)
)

it.effect("a payout is priced by the contract, with a fee that comes back, and never across a border", () =>
  Effect.gen(function* () {
    const { quote } = payoutsOf(yield* open("http://127.0.0.1:1"))
    const order = quoteOrder(abidjan, "5566")
    expect(yield* quote(order)).toMatchObject({ principal: 20_000n, fee: 300n, feeReturns: true })
    for (const change of [{ destinationCountry: "SN" }, { destinationCurrency: "XAF" as const }])
      expect(yield* quote({ ...order, ...change })).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
  }).pipe(Effect.scoped)
)

const mistakesIn = (variables: Record<string, string>) => {
  const mistakes: Array<string> = []
  waveProvider.configured(reader(variables, mistakes), mistakes, { timeoutMs: 1000, refuseLoopback: true, refuseRemote: false })
  return mistakes
}

it.each([
  ["a key of production in test mode", { WAVE_TEST_API_KEY: "CI:wave_ci_prod_1" }, true],
  ["one of production beside one for tests", { WAVE_TEST_API_KEY: "CI:wave_ci_test_1,SN:wave_sn_prod_2" }, true],
  ["one for tests in live mode", { WAVE_LIVE_API_KEY: "CI:wave_ci_test_1" }, true],
  ["one in capitals", { WAVE_TEST_API_KEY: "CI:WAVE_CI_PROD_1" }, true],
  ["of production as the account before in test mode", { WAVE_TEST_PREVIOUS_API_KEY: "CI:wave_ci_prod_1" }, true],
  ["a key for tests in test mode", { WAVE_TEST_API_KEY: "CI:wave_ci_test_1" }, false],
  ["a key of production in live mode", { WAVE_LIVE_API_KEY: "CI:wave_ci_prod_1" }, false],
  ["keys that do not say what they are", { WAVE_TEST_API_KEY: "CI:another,SN:wave_sn_production_1" }, false]
])("%s: a key stands in its own mode alone", (_what, variables: Record<string, string>, isRefused) => {
  const [name = ""] = Object.keys(variables)
  const mode = name.includes("TEST") ? "test" : "live"
  const wrong = mistakesIn({ WAVE_BASE_URL: "https://api.wave.com", ...variables }).filter((mistake) =>
    mistake.startsWith(`${name} must be`)
  )
  expect(wrong).toEqual(isRefused ? [expect.stringContaining(`each the key of its wallet, for ${mode} mode`)] : [])
  expect(wrong.join()).not.toMatch(/wave_ci/i)
})

it("settings name all mistakes at once, a key of another country among them, and no secret", () => {
  const variables = { WAVE_BASE_URL: "https://api.wave.com", WAVE_LIVE_API_KEY: "CI:wave_sn_prod_1,SN:wave_sn_prod_2" }
  expect(mistakesIn(variables)).toEqual([
    "WAVE_PAYOUT_FEES is required together with WAVE_BASE_URL",
    "WAVE_COLLECTION_FEE is required together with WAVE_BASE_URL",
    "WAVE_LIVE_WEBHOOK_SECRET is required together with the other WAVE_LIVE credentials",
    "WAVE_LIVE_API_KEY must be a comma list such as CI:value,SN:value, of the countries CI, SN, BF, ML, each the key of its wallet, for live mode"
  ])
})
