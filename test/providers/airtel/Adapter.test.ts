import { expect, it } from "@effect/vitest"
import { Clock, Effect, Redacted } from "effect"
import { describe } from "vitest"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import type { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { wireId } from "../../../src/providers/airtel/Wire.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, momo, newReference } from "../contract/Orders.ts"
import { answer, type Behaviour, stub } from "../ProviderStub.ts"
import { accountIn, charge, open, payout, uganda, zambia } from "./Orders.ts"

const TOKEN = "POST /auth/oauth2/token"
const PUSH = "POST /merchant/v1/payments/"
const token = (text: string) => answer(200, { access_token: text, expires_in: "180" })
const invalid = (status: number) => answer(status, { error: "invalid_token", error_description: "expired" })
const prompted: Behaviour = (reply, seen) =>
  answer(200, {
    data: { transaction: { id: JSON.parse(seen.body).transaction.id, status: "SUCCESS" } },
    status: { response_code: "DP00800001006" }
  })(reply, seen)

describe("a token of Airtel's", () => {
  for (const status of [401, 403])
    it.effect(`that ended under ${status} is got anew, and the call is made once more: nothing was executed`, () =>
      Effect.gen(function* () {
        const server = yield* stub({ [TOKEN]: [token("one"), token("two")], [PUSH]: [invalid(status), prompted] })
        const provider = yield* open([accountIn("UG", server.baseUrl)])
        expect(yield* collectionsOf(provider).charge(charge())).toMatchObject({ _tag: "Accepted" })
        const pushes = server.seen.filter(({ line }) => line === PUSH)
        expect(pushes.map(({ headers }) => headers.authorization)).toStrictEqual(["Bearer one", "Bearer two"])
        expect(pushes[1]?.body).toBe(pushes[0]?.body)
      })
    )

  it.effect("has not ended for a page under 403: whether the charge was placed, nobody knows", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [TOKEN]: [token("one")], [PUSH]: [answer(403, "<html>", "text/html")] })
      const provider = yield* open([accountIn("UG", server.baseUrl)])
      expect(yield* collectionsOf(provider).charge(charge())).toMatchObject({ _tag: "Unknown" })
      expect(server.seen.filter(({ line }) => line === PUSH)).toHaveLength(1)
    })
  )
})

describe("a 401", () => {
  it.effect.each(["TIP", "TS"])(
    "beside a transaction that is %s is not about a token: it was executed, and is not sent again",
    (status) =>
      Effect.gen(function* () {
        const shown: Behaviour = (reply, seen) =>
          answer(401, { data: { transaction: { id: JSON.parse(seen.body).transaction.id, status } }, status: {} })(reply, seen)
        const server = yield* stub({ [TOKEN]: [token("one"), answer(500, "")], [PUSH]: [shown] })
        const provider = yield* open([accountIn("UG", server.baseUrl)])
        expect(yield* collectionsOf(provider).charge(charge())).toMatchObject({ _tag: "Unknown" })
        expect(server.seen.filter(({ line }) => line === PUSH)).toHaveLength(1)
      })
  )
})

describe("an id that Airtel has already", () => {
  const duplicate = answer(200, { status: { response_code: "DP00900001011", result_code: "521050", success: false } })
  const PAY = "POST /standard/v1/disbursements/"
  const delivered = (reference: Reference) =>
    answer(200, {
      data: { transaction: { id: wireId(reference), status: "TS" } },
      status: { response_code: "DP00900001001" }
    })

  it.effect("is a forgotten request's: what became of that is not booked with this order's figures", () =>
    Effect.gen(function* () {
      const order = payout()
      const server = yield* stub({
        [TOKEN]: [token("one")],
        [PAY]: [duplicate],
        "GET /standard/v1/": [delivered(order.reference)]
      })
      const provider = yield* open([accountIn("ZM", server.baseUrl)])
      expect(yield* payoutsOf(provider).send(order)).toMatchObject({ _tag: "Mismatched" })
    })
  )

  it.effect("is its own where the call was sent once more for its token", () =>
    Effect.gen(function* () {
      const order = payout()
      const server = yield* stub({
        [TOKEN]: [token("one"), token("two")],
        [PAY]: [invalid(401), duplicate],
        "GET /standard/v1/": [delivered(order.reference)]
      })
      const provider = yield* open([accountIn("ZM", server.baseUrl)])
      expect(yield* payoutsOf(provider).send(order)).toMatchObject({ _tag: "Succeeded" })
    })
  )
})

describe("an order", () => {
  it.effect("that Airtel cannot do is refused, and nothing is sent", () =>
    Effect.gen(function* () {
      const server = yield* stub({})
      const provider = yield* open([accountIn("UG", server.baseUrl)])
      const wrong = [
        momo("UG", "UGX", "MTN", "+25677260"),
        momo("UG", "UGX", "AIRTEL", "+25473260"),
        momo("ZM", "ZMW", "AIRTEL", "+26097631")
      ]
      for (const way of wrong)
        expect(yield* collectionsOf(provider).charge(charge(way))).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(yield* payoutsOf(provider).send(payout(zambia))).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(server.seen).toStrictEqual([])
    })
  )
})

describe("the status of a charge", () => {
  it.effect("that failed within three minutes is asked about once more, and not later", () =>
    Effect.gen(function* () {
      const reference = newReference()
      const failed = {
        data: { transaction: { id: wireId(reference), status: "TF" } },
        status: { response_code: "DP00800001008" }
      }
      const server = yield* stub({ [TOKEN]: [token("one")], "GET /standard/v1/": [answer(200, failed)] })
      const provider = yield* open([accountIn("UG", server.baseUrl)])
      const ask = yield* askOrder(uganda, reference)
      const now = yield* Clock.currentTimeMillis
      const { fetchStatus } = collectionsOf(provider)
      expect(yield* fetchStatus({ ...ask, sentAt: now - 179_000 })).toMatchObject({ _tag: "Refused", isUnsure: true })
      expect(yield* fetchStatus({ ...ask, sentAt: now - 180_000 })).not.toHaveProperty("isUnsure")
      expect(yield* payoutsOf(provider).fetchStatus({ ...ask, sentAt: now })).not.toHaveProperty("isUnsure")
    })
  )
})

describe("a charge that was reversed at Airtel", () => {
  it.effect("came back with the amount that was charged", () =>
    Effect.gen(function* () {
      const reference = newReference()
      const reversed = { data: { transaction: { id: wireId(reference), status: "TR" } }, status: {} }
      const server = yield* stub({ [TOKEN]: [token("one")], "GET /standard/v1/": [answer(200, reversed)] })
      const provider = yield* open([accountIn("UG", server.baseUrl)])
      const ask = yield* askOrder(uganda, reference)
      const terms = { country: "UG", method: "momo", network: "AIRTEL", amount: minor(15_000n), fee: null } as const
      const { fetchStatus } = collectionsOf(provider)
      expect(yield* fetchStatus({ ...ask, charge: terms })).toMatchObject({ _tag: "Returned", amount: 15_000n })
    })
  )
})

describe("a day's list of transactions", () => {
  const START = Date.parse("2026-11-28T00:00:00Z")
  const HOUR = 3_600_000
  const row = (at: number, number: number) => ({
    charges: { service: 1 },
    payee: { currency: "UGX" },
    payer: { currency: "UGX", msisdn: "752604418" },
    service: { type: "MERCHPAY" },
    transaction: { airtel_money_id: `MP${number}`, amount: 1000, created_at: at, id: `id${number}`, status: "TS" }
  })

  /** Of these moments, as a provider lists them: no more than `limit` of them, and nothing says that there are more. */
  const listing =
    (times: ReadonlyArray<number>): Behaviour =>
    (reply, seen) => {
      const query = new URLSearchParams(seen.line.split("?")[1])
      const [from, to, limit] = ["from", "to", "limit"].map((name) => Number(query.get(name)))
      const rows = times.flatMap((at, number) => (at >= (from ?? 0) && at <= (to ?? 0) ? [row(at, number)] : []))
      return answer(200, { data: { transactions: rows.slice(0, limit) }, status: {} })(reply, seen)
    }

  const listed = Effect.fnUntraced(function* (times: ReadonlyArray<number>) {
    const server = yield* stub({ [TOKEN]: [token("one")], "GET /merchant/v1/transactions": [listing(times)] })
    const { statement } = yield* open([accountIn("UG", server.baseUrl)], { statementCountries: ["UG"] })
    return statement === undefined ? yield* Effect.die(new Error("no statement")) : statement("2026-11-28")
  })

  it.effect("that is longer than an answer is read in parts, each row once", () =>
    Effect.gen(function* () {
      const times = Array.from({ length: 170 }, (_, number) => START + Math.floor(number / 3) * 20 * 60_000)
      const { lines, unreadable } = yield* yield* listed([...times, START + 24 * HOUR - 1])
      expect(unreadable).toStrictEqual([])
      expect(lines.map(({ providerReference }) => providerReference).sort()).toStrictEqual(
        Array.from({ length: 171 }, (_, number) => `id${number}`).sort()
      )
    })
  )

  it.effect("that has more at one moment than an answer shows is not read at all", () =>
    Effect.gen(function* () {
      const reading = yield* listed(Array(60).fill(START + HOUR))
      expect(yield* Effect.flip(reading)).toStrictEqual(new ProviderError({}))
    })
  )

  it.effect("is not asked for in a country that does not list, and reconciling asks there", () =>
    Effect.gen(function* () {
      const { statement } = yield* open([accountIn("UG", "http://127.0.0.1:1", { pin: Redacted.make("1") })])
      expect(statement).toBeUndefined()
    })
  )
})
