import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { HttpServerResponse } from "effect/http"
import { vi } from "vitest"
import type { RequestHead } from "../../src/http/edge/RequestHead.ts"
import { makeRequestLog } from "../../src/http/edge/RequestTelemetry.ts"
import { onEdge } from "../support/EdgeClient.ts"
import { workedMs } from "../support/PatientClock.ts"
import { signed } from "../support/RawHttp.ts"
import { payout as given } from "../support/SampleTransactions.ts"

const parsed = (answer: { text: string }) => JSON.parse(answer.text)
/** Lines of one kind that strangers can make the log write in ten seconds. */
const LINES = 100
const payout = JSON.stringify({
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
})

const head: RequestHead = {
  requestId: "mine-1",
  method: "GET",
  rawTarget: "/v1/float",
  path: "/v1/float",
  rawHeaders: [],
  match: { _tag: "Unknown" }
}

/** Commits wait until a test says otherwise. */
const waiting = () => {
  const database = { waits: true }
  return { database, commitsWait: () => database.waits }
}

describe("while commits wait for a standby", () => {
  it(
    "an unsigned request is 401 as ever, and writes only the lines that are bounded",
    onEdge(
      async ({ ask, behind }) => {
        expect((await ask("GET", "/v1/float")).status).toBe(401)
        expect([...behind.logs].sort()).toStrictEqual(['["a signature was refused"]', '["request"]'])
      },
      { commitsWait: waiting().commitsWait }
    )
  )

  const standby = waiting()
  it(
    "a signed request is ambiguous, and neither its nonce nor its key is used, so that it works once they end",
    onEdge(
      async ({ ask, behind }) => {
        const requests = [
          ["GET", "/v1/float", signed("GET", "/v1/float"), ""],
          ["POST", "/v1/payouts", [...signed("POST", "/v1/payouts", payout), ["Idempotency-Key", "waits"]], payout]
        ] as const
        for (const [method, target, headers, body] of requests) {
          const answer = await ask(method, target, [...headers, ["Content-Type", "application/json"]], body)
          expect([answer.status, parsed(answer).error]).toMatchObject([500, { code: "internal_error", ambiguous: true }])
        }
        expect([behind.payouts.length, behind.claims.size]).toStrictEqual([0, 0])
        expect(behind.logs).toStrictEqual(['["request"]', '["request"]'])
        standby.database.waits = false
        const answers = []
        for (const [method, target, headers, body] of requests)
          answers.push((await ask(method, target, [...headers, ["Content-Type", "application/json"]], body)).status)
        expect(answers).toStrictEqual([200, 201])
      },
      { commitsWait: standby.commitsWait }
    )
  )

  it(
    "a request whose signature cannot be checked in time is ambiguous within a second or so, and nothing broke",
    onEdge(
      async ({ behind, signed: asSigned }) => {
        const from = workedMs()
        const answer = await asSigned("GET", "/v1/float")
        expect([answer.status, parsed(answer).error]).toMatchObject([500, { code: "internal_error", ambiguous: true }])
        expect(behind.logs).toStrictEqual(['["request"]'])
        // Otherwise after five seconds.
        expect(workedMs() - from).toBeLessThan(4_500)
      },
      { commitsWait: waiting().commitsWait, findsKeys: false }
    )
  )

  it.each([
    {
      what: "a payout",
      request: ["POST", "/v1/payouts", [["Idempotency-Key", "waits"]], payout],
      details: { request_id: expect.any(String), reference: given().reference }
    },
    {
      what: "a callback",
      request: ["POST", "/webhooks/eversend/secret-1", [], "{}"],
      details: { request_id: expect.any(String) }
    },
    {
      what: "a raw read, which commits its audit row,",
      request: ["GET", `/v1/transactions/${given().reference}?view=raw`, [["X-Audit-Reason", "ticket 7"]], ""],
      details: { request_id: expect.any(String) },
      isAdmins: true
    }
  ] as const)(
    "$what that is under way when they begin to is ambiguous soon, and its work goes on",
    ({ details, request, ...more }) => {
      const database = { waits: false }
      const standby = Promise.withResolvers<void>()
      let hasEnded = false
      /** A commit that waits. */
      const commit = Effect.promise(async () => {
        database.waits = true
        await standby.promise
        hasEnded = true
      })
      const story = onEdge(
        async ({ behind, signed: asSigned }) => {
          const [method, target, headers, body] = request
          const answer = await asSigned(method, target, headers, body)
          expect([answer.status, parsed(answer).error]).toMatchObject([500, { code: "internal_error", ambiguous: true, details }])
          expect(hasEnded).toBe(false)
          // Neither its deadline nor a defect.
          expect(behind.logs).toStrictEqual(['["request"]'])
          standby.resolve()
          await vi.waitFor(() => expect(hasEnded).toBe(true))
        },
        {
          commitsWait: () => database.waits,
          haste: 20,
          createPayout: () => Effect.as(commit, given()),
          receive: () => Effect.as(commit, "stored" as const),
          ...("isAdmins" in more
            ? { readRaw: () => Effect.as(commit, { transaction: given(), rawRequest: null, rawResponse: null }) }
            : {})
        }
      )
      return story()
    }
  )

  it("what breaks after its request was answered so is in the log", () => {
    const database = { waits: false }
    const standby = Promise.withResolvers<void>()
    const story = onEdge(
      async ({ ask, behind }) => {
        expect((await ask("POST", "/webhooks/eversend/secret-1", undefined, "{}")).status).toBe(500)
        standby.reject(new Error("the server closed the connection"))
        await vi.waitFor(() => expect(behind.logs.slice(1)).toMatchObject([expect.stringContaining("the request broke")]))
      },
      {
        commitsWait: () => database.waits,
        haste: 20,
        receive: () =>
          Effect.promise(async () => {
            database.waits = true
            await standby.promise
            return "stored" as const
          })
      }
    )
    return story()
  })

  it.effect("a flood of requests that were refused so has few lines, and hides none that broke, which have few, too", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const log = yield* makeRequestLog
      const write = (outcome: { readonly isRefused?: boolean }) =>
        log(0, head, "GET /v1/float", { appId: "", response: HttpServerResponse.empty({ status: 500 }), ...outcome }).pipe(
          Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(message))])),
          Effect.repeat({ times: 2 * LINES - 1 })
        )
      yield* write({ isRefused: true })
      expect(lines.length).toBe(LINES)
      yield* write({})
      expect(lines.length).toBe(2 * LINES)
    })
  )
})
