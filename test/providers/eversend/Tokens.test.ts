import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { deadlineAfter } from "../../../src/providers/Client.ts"
import { tokenClient } from "../../../src/providers/Tokens.ts"
import { openTransport } from "../../../src/providers/Transport.ts"
import { LeavesBy } from "../../../src/runtime/LatestTime.ts"
import { answer, type Behaviour, bytes, listAnswer, payoutAnswer, reset, type Seen, silence, stub } from "../ProviderStub.ts"
import { askOrder, chargeOrder, collectionsOf, newReference, open, payoutOrder, payoutsOf, quoteOrder } from "./Orders.ts"

const TOKEN = "GET /auth/token"
const PAY = "POST /payouts"
const SEARCH = "GET /transactions?"
const TIMEOUT_MS = 10_000

const count = (seen: ReadonlyArray<Seen>, beginning: string): number =>
  seen.filter(({ line }) => line.startsWith(beginning)).length

const tokenOf = (token: string) => answer(200, { status: 200, token })

describe("tokens", () => {
  it.effect("are fetched once for many concurrent calls, and again after twenty minutes", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [SEARCH]: [answer(200, listAnswer())] })
      const { fetchStatus } = payoutsOf(yield* open(server.baseUrl))
      const many = Effect.all(
        Array.from({ length: 20 }, () => fetchStatus(askOrder(newReference()))),
        { concurrency: "unbounded" }
      )
      yield* many
      expect(count(server.seen, TOKEN)).toBe(1)
      yield* TestClock.adjust("19 minutes")
      yield* many
      expect(count(server.seen, TOKEN)).toBe(1)
      yield* TestClock.adjust("1 minute")
      yield* many
      expect(count(server.seen, TOKEN)).toBe(2)
    })
  )

  it.effect("are replaced when one expires under way, and the payout is sent once more, because a 401 executes nothing", () =>
    Effect.gen(function* () {
      const order = payoutOrder()
      const server = yield* stub({
        [TOKEN]: [tokenOf("first"), tokenOf("second")],
        "POST /payouts/quotation": [answer(400, {})],
        [PAY]: [answer(401, { message: "Invalid token" }), answer(200, payoutAnswer(order.reference))]
      })
      const payouts = payoutsOf(yield* open(server.baseUrl))
      yield* payouts.quote(quoteOrder())
      expect(yield* payouts.send(order)).toMatchObject({ _tag: "Accepted" })
      const used = server.seen.map(({ headers, line }) => [line, headers.authorization])
      expect(used).toEqual([
        ["GET /auth/token", undefined],
        ["POST /payouts/quotation", "Bearer first"],
        ["POST /payouts", "Bearer first"],
        ["GET /auth/token", undefined],
        ["POST /payouts", "Bearer second"]
      ])
    })
  )

  it.live("that are refused although they are new mean our own configuration, and the payout is not tried a fifth time", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [PAY]: [answer(401, {})] })
      expect(yield* payoutsOf(yield* open(server.baseUrl)).send(payoutOrder())).toMatchObject({ _tag: "Refused", kind: "config" })
      expect(count(server.seen, PAY)).toBe(4)
    })
  )

  // Each call was made with two tokens, and what the other node ended meanwhile counted as a refusal of ours.
  it.live("that end each other on two nodes refuse no payout, and none is executed twice (38.15)", () =>
    Effect.gen(function* () {
      let current = ""
      const executed: Array<string> = []
      const server = yield* stub({
        [TOKEN]: [
          (response, seen) => {
            current = `token-${seen.port}-${executed.length}-${Math.random()}`
            tokenOf(current)(response, seen)
          }
        ],
        [PAY]: [
          (response, seen) => {
            if (seen.headers.authorization !== `Bearer ${current}`)
              return answer(401, { message: "Invalid token" })(response, seen)
            const { transactionRef } = JSON.parse(seen.body)
            executed.push(transactionRef)
            answer(200, payoutAnswer(transactionRef))(response, seen)
          }
        ]
      })
      const nodes = [yield* open(server.baseUrl), yield* open(server.baseUrl)]
      const orders = Array.from({ length: 8 }, (_, at) => ({ node: nodes[at % 2], order: payoutOrder() }))
      const outcomes = yield* Effect.forEach(
        orders,
        ({ node, order }) => (node === undefined ? Effect.succeed({ _tag: "" }) : payoutsOf(node).send(order)),
        { concurrency: "unbounded" }
      )
      expect(outcomes.map(({ _tag }) => _tag)).toEqual(orders.map(() => "Accepted"))
      expect(executed.toSorted()).toEqual(orders.map(({ order }) => order.reference).toSorted())
    })
  )

  it.live("that a late payout is the first to ask for serve the payouts that wait with it", () =>
    Effect.gen(function* () {
      const server = yield* stub({ "POST /token": [answer(200, { text: "posted" })], [PAY]: [answer(200, {})] })
      const account = {
        baseUrl: server.baseUrl,
        timeoutMs: TIMEOUT_MS,
        // What is read may leave at any time.
        request: { method: "POST", path: "/token", headers: {}, body: "{}" },
        schema: Schema.Struct({ text: Schema.String }),
        tokenIn: ({ text }: { readonly text: string }) => ({ text, lifeMs: TIMEOUT_MS }),
        refusing: [],
        alarm: "",
        headers: {}
      } as const
      const client = yield* tokenClient(account, yield* openTransport("eversend"))
      const call = { operation: "payout", method: "POST", path: "/payouts", body: {} } as const
      const pay = Effect.flatMap(deadlineAfter(TIMEOUT_MS), (until) => client(call, until))
      const late = Effect.provideService(pay, LeavesBy, 0)
      const responses = yield* Effect.all([late, pay], { concurrency: "unbounded" })
      expect(responses.map(({ _tag }) => _tag)).toEqual(["NotSent", "Answered"])
      expect(server.seen).toHaveLength(2)
    })
  )

  const failing: ReadonlyArray<readonly [string, Behaviour]> = [
    ["refused", answer(401, { message: "Invalid client credentials" })],
    ["answered by 500", answer(500, {})],
    ["answered without one", answer(200, { status: 200 })],
    ["answered by text", answer(200, "OK", "text/plain")],
    ["reset", reset],
    ["cut off", bytes("HTTP/1.1 200 OK\r\n")]
  ]
  for (const [name, behaviour] of failing) {
    it.effect(`that cannot be fetched (${name}) prevent every money call`, () =>
      Effect.gen(function* () {
        const server = yield* stub({ [TOKEN]: [behaviour] })
        const provider = yield* open(server.baseUrl)
        expect(yield* payoutsOf(provider).send(payoutOrder())).toMatchObject({ _tag: "NotSent" })
        expect(yield* collectionsOf(provider).charge(chargeOrder("1234"))).toMatchObject({ _tag: "NotSent" })
        expect(yield* payoutsOf(provider).fetchStatus(askOrder(newReference()))).toMatchObject({
          _tag: "Unknown",
          reason: "unavailable"
        })
        expect(yield* Effect.flip(payoutsOf(provider).quote(quoteOrder()))).toMatchObject({ _tag: "provider_error" })
        expect(server.seen.map(({ line }) => line)).toEqual([TOKEN, TOKEN, TOKEN, TOKEN])
      })
    )
  }

  it.effect("that do not come in time prevent the money call, and the next call tries again", () =>
    Effect.gen(function* () {
      const order = payoutOrder()
      const server = yield* stub({ [TOKEN]: [silence, tokenOf("late")], [PAY]: [answer(200, payoutAnswer(order.reference))] })
      const payouts = payoutsOf(yield* open(server.baseUrl))
      const fiber = yield* Effect.forkChild(payouts.send(order))
      yield* server.arrived(TOKEN)
      yield* TestClock.adjust(TIMEOUT_MS)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "NotSent" })
      expect(yield* payouts.send(order)).toMatchObject({ _tag: "Accepted" })
    })
  )

  it.effect("are requested with the configured origin", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [SEARCH]: [answer(200, listAnswer())] })
      const { fetchStatus } = payoutsOf(yield* open(server.baseUrl, { origin: "https://pay.example" }))
      yield* fetchStatus(askOrder(newReference()))
      expect(server.seen.map(({ headers }) => headers.origin)).toEqual(["https://pay.example", "https://pay.example"])
    })
  )
})
