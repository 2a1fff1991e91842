import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { momoPayout } from "../../support/RequestBodies.ts"
import { type Answer, client, referenceOf, said, signingHeaders } from "../../support/SignedClient.ts"
import { callsOf, executionsOf, gatewayOn, givenStack, tenantOn, verified, webhooksOf } from "../../support/Stack.ts"

const PAYOUTS = "/v1/payouts"

/** Two gateway processes on one database; the provider calls back at the second, and nothing but a callback settles anything. */
const givenNodes = Effect.gen(function* () {
  const overrides = { RECONCILER_SCHEDULE: "1h", PROVIDER_TIMEOUT_MS: "8000" }
  const { database, gateway: one, simulator } = yield* givenStack(overrides)
  const two = yield* gatewayOn(database, simulator, overrides)
  const tenantWith = (float: bigint) =>
    Effect.map(tenantOn(one, float), (onOne) => ({ ...onOne, onOne, onTwo: client(two, onOne.key) }))
  return { one, two, simulator, tenantWith }
})

describe("two nodes on one database", () => {
  it.live("refuse a nonce that the other has seen", () =>
    Effect.gen(function* () {
      const { one, tenantWith, two } = yield* givenNodes
      const { key, onOne, onTwo } = yield* tenantWith(0n)
      const withNonce = (host: string, nonce: string) =>
        signingHeaders(host, key, { method: "GET", target: "/v1/float", body: "", nonce })
      const nonce = "one-nonce-for-both-nodes"
      expect(said(yield* onOne.call("GET", "/v1/float", undefined, withNonce(one.host, nonce)))).toStrictEqual({ status: 200 })
      const refused = { status: 401, code: "unauthorized", class: "retriable", details: {} }
      expect(said(yield* onTwo.call("GET", "/v1/float", undefined, withNonce(two.host, nonce)))).toStrictEqual(refused)
      expect(said(yield* onOne.call("GET", "/v1/float", undefined, withNonce(one.host, nonce)))).toStrictEqual(refused)
      expect(said(yield* onTwo.call("GET", "/v1/float", undefined, withNonce(two.host, `${nonce}-2`)))).toStrictEqual({
        status: 200
      })
    })
  )

  it.live("send exactly twenty of sixty-four payouts at once on a float for twenty, once each", () =>
    Effect.gen(function* () {
      const { one, simulator, tenantWith } = yield* givenNodes
      const { onOne, onTwo } = yield* tenantWith(20n * 11_000n)
      const answers = yield* Effect.forEach(
        Array.from({ length: 64 }, (_, at) => at),
        (at) => (at % 2 === 0 ? onOne : onTwo).post(PAYOUTS, momoPayout(String(2_000 + at))),
        { concurrency: "unbounded" }
      )
      const sent = answers.filter(({ status }) => status === 201).map(referenceOf)
      expect(sent).toHaveLength(20)
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        expect(said(answer)).toMatchObject({ status: 422, code: "insufficient_tenant_float", class: "terminal" })
      }
      yield* Effect.forEach(sent, (reference) => onOne.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful"))
      const executed = yield* Effect.promise(() => simulator.executions())
      expect(executed.map((execution) => execution.client_reference).sort()).toStrictEqual(sent.toSorted())
      expect(yield* onTwo.float).toMatchObject({ available_minor: 0, reserved_minor: 0, paid_out_minor: 200_000 })
      expect(yield* verified(one)).toMatchObject({ ok: true, differences: [] })
    })
  )

  it.live("make one payout of one key at both at once, and both repeat its answer", () =>
    Effect.gen(function* () {
      const { simulator, tenantWith } = yield* givenNodes
      const { onOne, onTwo } = yield* tenantWith(100_000n)
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? onOne : onTwo)),
        (node) => node.post(PAYOUTS, momoPayout("1234"), "both"),
        { concurrency: "unbounded" }
      )
      const first = answers.filter((answer) => answer.status === 201 && !isReplay(answer))
      expect(first).toHaveLength(1)
      const again = yield* Effect.forEach([onOne, onTwo], (node) => node.post(PAYOUTS, momoPayout("1234"), "both"))
      expect(again.map((answer) => [answer.text, isReplay(answer)])).toStrictEqual(again.map(() => [first[0]?.text, true]))
      const calls = yield* callsOf(simulator, again.map(referenceOf)[0])
      expect(calls.filter((call) => call === "POST /v1/payouts")).toHaveLength(1)
    })
  )

  it.live("settle each other's payouts by callbacks, and send the webhook once", () =>
    Effect.gen(function* () {
      const { one, simulator, tenantWith } = yield* givenNodes
      const tenant = yield* tenantWith(100_000n)
      const webhooks = yield* webhooksOf(one, tenant)
      const reference = referenceOf(yield* tenant.onOne.post(PAYOUTS, momoPayout("0009")))
      yield* tenant.onOne.until(`${PAYOUTS}/${reference}`, ({ status }) => status === "successful")
      expect((yield* tenant.onTwo.get(`${PAYOUTS}/${reference}`)).text).toBe(
        (yield* tenant.onOne.get(`${PAYOUTS}/${reference}`)).text
      )
      yield* Effect.promise(() => simulator.control("POST", "/callbacks/flush"))
      expect(yield* executionsOf(simulator, reference)).toHaveLength(1)
      expect(yield* tenant.float).toMatchObject({ available_minor: 89_000, reserved_minor: 0, paid_out_minor: 10_000 })
      expect(yield* webhooks.types(1)).toStrictEqual(["payout.successful"])
      expect(yield* verified(one)).toMatchObject({ ok: true, differences: [] })
    })
  )
})

const isReplay = ({ headers }: Answer): boolean => headers.get("idempotency-replayed") === "true"
