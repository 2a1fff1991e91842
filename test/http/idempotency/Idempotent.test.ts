import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { DuplicateChargeInFlight, ProviderTimeout } from "../../../src/domain/errors/Ambiguous.ts"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import { DestinationBlocked, PayoutRejectedByProvider, TenantFrozen } from "../../../src/domain/errors/Terminal.ts"
import { type EdgeClient, onEdge } from "../../support/EdgeClient.ts"
import { payout as given } from "../../support/SampleTransactions.ts"

const parsed = (answer: { text: string }) => JSON.parse(answer.text)
const { reference } = given()
const body = {
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
}
const pay = ({ signed }: EdgeClient, key = "k", changes: object = {}) =>
  signed("POST", "/v1/payouts", [["Idempotency-Key", key]], JSON.stringify({ ...body, ...changes }))
const state = ({ behind }: EdgeClient) => behind.claims.get("k")?.state._tag

describe("an idempotency key", () => {
  it(
    "is required, is sent once, and is at most 255 printable characters",
    onEdge(async ({ behind, signed }) => {
      const text = JSON.stringify(body)
      const ask = (...keys: ReadonlyArray<string>) =>
        signed(
          "POST",
          "/v1/payouts",
          keys.map((key) => ["Idempotency-Key", key] as const),
          text
        )
      expect(parsed(await ask()).error.code).toBe("idempotency_key_required")
      for (const keys of [[""], ["a".repeat(256)], ["a", "a"], ["a", "b"], ["é"], ["a\tb"]]) {
        const answer = await ask(...keys)
        expect([keys, answer.status, parsed(answer).error.details.issues?.[0].path]).toEqual([keys, 400, "Idempotency-Key"])
      }
      expect(behind.claims.size).toBe(0)
      expect((await ask("a".repeat(255))).status).toBe(201)
      expect((await ask("a b~")).status).toBe(201)
    })
  )

  it(
    "keeps a bounded number of refusals of a tenant; beyond it a refusal is not answered, and its key runs again",
    onEdge(
      async (client) => {
        const answers = [await pay(client, "a"), await pay(client, "b"), await pay(client, "c")]
        expect(answers.map((answer) => [answer.status, parsed(answer).error.code])).toEqual([
          [403, "tenant_frozen"],
          [403, "tenant_frozen"],
          [429, "rate_limited"]
        ])
        expect(parsed(answers[2] ?? { text: "{}" }).error).toMatchObject({ retriable: true, details: { scope: "key" } })
        expect(answers[2]?.headers["retry-after"]).toBe("3600")
        expect([...client.behind.claims.keys()]).toEqual(["a", "b"])
        expect((await pay(client, "a")).headers["idempotency-replayed"]).toBe("true")
        // What is kept is as small as what it says.
        expect(answers[0]?.text.length).toBeLessThan(512)
      },
      {
        createPayout: () => Effect.fail(new TenantFrozen({})),
        keptRefusals: { count: 1, windowMs: 3_600_000, burst: 2 }
      }
    )
  )

  it("that is claimed too late sheds its request, which has run nothing then, and runs when it is sent again", () => {
    const waiting = Promise.withResolvers<void>()
    return onEdge(
      async (client) => {
        const shed = await pay(client)
        expect([shed.status, parsed(shed).error.code, shed.headers["retry-after"]]).toEqual([429, "rate_limited", "1"])
        waiting.resolve()
        // A claim that had stayed would answer 409.
        expect([(await pay(client)).status, client.behind.payouts.length]).toEqual([201, 1])
      },
      { claimsAfter: waiting.promise, haste: 100 }
    )()
  })

  it(
    "is claimed while the recipient is screened, and a refusal of the recipient is its answer",
    onEdge(
      async (client) => {
        const answers = [await pay(client), await pay(client)]
        expect(answers.map((answer) => [answer.status, parsed(answer).error.code])).toEqual([
          [403, "destination_blocked"],
          [403, "destination_blocked"]
        ])
        expect(answers[1]?.headers["idempotency-replayed"]).toBe("true")
      },
      {
        screen: () => Effect.fail(new DestinationBlocked({})),
        createPayout: (_caller, _command, { screened = Exit.void }) => Effect.as(screened, given())
      }
    )
  )

  it(
    "stands for the same request however the same body is written, and for no other",
    onEdge(async (client) => {
      expect((await pay(client)).status).toBe(201)
      const { claims } = client.behind
      const first = claims.get("k")?.fingerprint
      const same = [
        { deduct_fee_from_amount: false },
        { destination_currency: "UGX", metadata: {}, ignored: 1, mode: "live" },
        { destination: { country: "UG", network: "mtn", type: "momo", msisdn: "+256 772 123456" } }
      ]
      for (const [at, changes] of same.entries()) {
        await pay(client, `same-${at}`, changes)
        expect(claims.get(`same-${at}`)?.fingerprint).toBe(first)
      }
      for (const changes of [
        { amount_minor: 1001 },
        { deduct_fee_from_amount: true },
        { metadata: { a: 1 } },
        { narration: "x" },
        { destination: { ...body.destination, msisdn: "256772123457" } }
      ]) {
        expect([changes, parsed(await pay(client, "k", changes)).error.code]).toEqual([changes, "idempotency_key_reused"])
      }
      expect(parsed(await pay(client)).error.code).toBe("request_in_progress")
      expect(client.behind.payouts.length).toBe(1 + same.length)
    })
  )

  it(
    "keeps a refusal that came before any transaction was recorded, and repeats its bytes",
    onEdge(
      async (client) => {
        const first = await pay(client)
        const again = await pay(client)
        expect([first.status, again.status, again.text]).toEqual([403, 403, first.text])
        expect([first.headers["idempotency-replayed"], again.headers["idempotency-replayed"]]).toEqual([undefined, "true"])
        expect(again.headers["x-request-id"]).not.toBe(first.headers["x-request-id"])
      },
      { createPayout: () => Effect.fail(new TenantFrozen()) }
    )
  )

  it("answers no refusal once another request has claimed the key, because that one may pay", () => {
    let overtaken = () => {}
    return onEdge(
      async (client) => {
        overtaken = () => client.behind.claims.delete("k")
        const answer = await pay(client)
        expect([answer.status, parsed(answer).error.code, parsed(answer).error.retriable]).toEqual([
          409,
          "request_in_progress",
          true
        ])
        expect(answer.headers["retry-after"]).toBe("1")
      },
      { createPayout: () => Effect.suspend(() => (overtaken(), Effect.fail(new TenantFrozen()))) }
    )()
  })

  it(
    "does not store a refusal that names a transaction: the commit that made the refusal stored it",
    onEdge(
      async (client) => {
        expect((await pay(client)).status).toBe(422)
        expect(state(client)).toBe("Busy")
      },
      { createPayout: () => Effect.fail(new PayoutRejectedByProvider({ reference, failure_code: "unknown" })) }
    )
  )

  it(
    "is free again after a refusal that can be retried",
    onEdge(
      async (client) => {
        expect((await pay(client)).status).toBe(503)
        expect(state(client)).toBeUndefined()
      },
      { createPayout: () => Effect.fail(new ProviderError({})) }
    )
  )

  it(
    "is free again when an earlier charge was found, because nothing was recorded for it",
    onEdge(
      async (client) => {
        expect((await pay(client)).status).toBe(409)
        expect(state(client)).toBeUndefined()
      },
      {
        createPayout: () =>
          // A payout has no such guard; the edge treats every money step alike.
          Effect.fail(
            new DuplicateChargeInFlight({
              reference,
              status: "pending",
              amount_minor: given().amount,
              currency: "UGX",
              metadata: {},
              created_at: ""
            }) as never
          )
      }
    )
  )

  it(
    "is held for its lease while the outcome is not known, because the work may still end",
    onEdge(
      async (client) => {
        const answer = await pay(client)
        expect([answer.status, parsed(answer).error.ambiguous]).toEqual([503, true])
        expect(state(client)).toBe("Busy")
      },
      { createPayout: () => Effect.fail(new ProviderTimeout({ reference })) }
    )
  )

  it(
    "is held for its lease after a bug, whose answer names the reference that exists",
    onEdge(
      async (client) => {
        const answer = await pay(client)
        expect([answer.status, parsed(answer).error.code, parsed(answer).error.details]).toEqual([
          500,
          "internal_error",
          { request_id: answer.headers["x-request-id"], reference }
        ])
        expect(answer.text).not.toContain("secret")
        expect(state(client)).toBe("Busy")
      },
      { createPayout: () => Effect.die(new Error("a secret bug")) }
    )
  )

  it(
    "answers from the transaction when it belongs to one",
    onEdge(async (client) => {
      await pay(client)
      const kept = client.behind.claims.get("k")
      client.behind.claims.set("k", { fingerprint: kept?.fingerprint ?? "", state: { _tag: "Pinned", reference, leased: false } })
      const answer = await pay(client)
      expect([answer.status, parsed(answer).data.status]).toEqual([201, "successful"])
    })
  )
})
