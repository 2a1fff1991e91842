import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { type EdgeClient, onEdge } from "../support/EdgeClient.ts"

const parsed = (answer: { text: string }) => JSON.parse(answer.text)
const outcome = (answer: { status: number; text: string }) => [answer.status, parsed(answer).error?.code ?? "ok"]

const payout = {
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "+256 772 123456", network: "mtn", country: "UG" }
}
const collection = {
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  source: { type: "momo", msisdn: "256772123456", network: "MTN" }
}
const bank = { type: "bank", country: "UG", bank_code: "b1", account_number: "0123456789", account_name: "Jane Doe" }

let keys = 0
const post = (
  client: EdgeClient,
  target: string,
  body: unknown,
  headers: ReadonlyArray<readonly [string, string]> = [["Idempotency-Key", `k${keys++}`]]
) => client.signed("POST", target, headers, typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body))

describe("a decoded body", () => {
  it(
    "never appears in the issues of a refusal",
    onEdge(async (client) => {
      const secret = "s3cr3t-value"
      const wrong = {
        amount_minor: secret,
        currency: 1,
        country: secret,
        method: secret,
        destination: { type: "momo", msisdn: secret, network: [secret], country: secret },
        narration: secret.repeat(99),
        metadata: secret,
        amount_type: secret,
        deduct_fee_from_amount: secret
      }
      const answer = await post(client, "/v1/payouts", wrong)
      expect(answer.status).toBe(422)
      expect(answer.text).not.toContain(secret)
    })
  )

  it(
    "becomes a command with defaults, whose numbers cannot be logged",
    onEdge(async (client) => {
      const { behind } = client
      const answer = await post(
        client,
        "/v1/payouts",
        JSON.stringify({ ...payout, metadata: "@" }).replace('"@"', '{ "n": 1.0, "big": 12345678901234567890 }')
      )
      expect(answer.status).toBe(201)
      expect(answer.text).toContain('"metadata":{"n":1.0,"big":12345678901234567890}')
      const [command] = behind.payouts
      expect(command).toMatchObject({
        amount: 1000n,
        currency: "UGX",
        destinationCurrency: "UGX",
        amountType: null,
        deductFeeFromAmount: false,
        narration: null,
        metadata: '{"n":1.0,"big":12345678901234567890}'
      })
      expect(command?.destination).toMatchObject({ _tag: "momo", network: "MTN", country: "UG" })
      expect(command?.destination._tag === "momo" && Redacted.value(command.destination.msisdn)).toBe("+256772123456")
      expect(JSON.stringify(command?.destination)).not.toContain("772123456")
      expect((await post(client, "/v1/payouts", { ...payout, method: "bank", destination: bank })).status).toBe(201)
      expect(
        (
          await post(client, "/v1/payouts", {
            ...payout,
            method: "wallet",
            destination: { type: "wallet", country: "UG", tag: "jane" }
          })
        ).status
      ).toBe(201)
      expect((await post(client, "/v1/collections", { ...collection, customer: { first_name: "Jane" } })).status).toBe(201)
      expect(
        (
          await post(client, "/v1/collections", {
            ...collection,
            method: "card",
            source: { type: "card" },
            redirect_url: "https://a.example/done"
          })
        ).status
      ).toBe(201)
      expect(behind.collections.map(({ metadata, redirectUrl, source }) => [metadata, redirectUrl, source?.country])).toEqual([
        ["{}", null, "UG"],
        ["{}", "https://a.example/done", undefined]
      ])
    })
  )

  it(
    "names the ignored members, and only those",
    onEdge(async (client) => {
      const body = {
        ...payout,
        otp: { pin_id: "p" },
        "häß\nlich": 1,
        mode: "live",
        is_test_mode: false,
        destination: { ...payout.destination, extra: { a: 1 } },
        metadata: { any: { thing: 1 } }
      }
      const answer = await post(client, "/v1/payouts", body)
      expect(answer.status).toBe(201)
      expect(answer.headers["x-gateway-ignored"]?.split(",").toSorted()).toEqual(["destination.extra", "h???lich", "otp"])
      expect((await post(client, "/v1/payouts", payout)).headers["x-gateway-ignored"]).toBeUndefined()
      const many = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`member-${at}`, 1]))
      expect(
        (await post(client, "/v1/payouts", { ...payout, ...many })).headers["x-gateway-ignored"]?.length
      ).toBeLessThanOrEqual(1024)
    })
  )

  it(
    "may repeat the key's mode, and claim no other mode",
    onEdge(async (client) => {
      for (const claim of [
        { mode: "test" },
        { is_test_mode: true },
        { mode: 1 },
        { is_test_mode: "false" },
        { mode: "live", is_test_mode: true }
      ]) {
        for (const target of ["/v1/payouts", "/v1/collections", "/v1/payouts/quote"]) {
          const answer = await post(client, target, { ...claim, currency: "XXX" }, [])
          expect([...outcome(answer), parsed(answer).error.details]).toEqual([400, "mode_mismatch", { key_mode: "live" }])
        }
      }
    })
  )

  it(
    "is accepted as uncompressed JSON or without a content type, and not otherwise",
    onEdge(async (client) => {
      const typed = (...headers: ReadonlyArray<readonly [string, string]>) =>
        post(client, "/v1/payouts", payout, [["Idempotency-Key", `k${keys++}`], ...headers])
      const accepted = ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
      // Issue 38, line 12.
      for (const type of [...accepted, "application/json;", "application/json; charset=utf-8;"])
        expect((await typed(["Content-Type", type])).status).toBe(201)
      expect((await typed()).status).toBe(201)
      for (const type of [
        "text/plain",
        "application/json; charset=utf-16",
        "application/jsonx",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a"
      ]) {
        expect(outcome(await typed(["Content-Type", type]))).toEqual([415, "unsupported_media_type"])
      }
      expect(outcome(await typed(["Content-Type", "application/json"], ["Content-Type", "text/plain"]))).toEqual([
        415,
        "unsupported_media_type"
      ])
      const zipped = await typed(["Content-Encoding", "gzip"])
      expect(outcome(zipped)).toEqual([415, "unsupported_media_type"])
      expect(zipped.text).toContain("without compression")
    })
  )

  it(
    "is refused in the contract's order",
    onEdge(async (client) => {
      const { ask, signed } = client
      const large = "x".repeat(65_537)
      const plain = ["Content-Type", "text/plain"] as const
      const foreign = ["Origin", "https://evil.example"] as const
      const key = ["Idempotency-Key", ""] as const
      // Each is wrong in everything that comes later, too.
      expect(outcome(await ask("POST", "/v1/nowhere", [["Host", "a"], plain, foreign], large))).toEqual([
        413,
        "payload_too_large"
      ])
      expect(outcome(await ask("POST", "/v1/nowhere", [["Host", "a"], plain, foreign], "{"))).toEqual([401, "unauthorized"])
      expect(outcome(await signed("POST", "/v1/nowhere", [plain, foreign], "{"))).toEqual([415, "unsupported_media_type"])
      expect(outcome(await signed("POST", "/v1/nowhere", [foreign], "{"))).toEqual([403, "cross_origin_denied"])
      expect(outcome(await signed("POST", "/v1/nowhere", [key], "{"))).toEqual([404, "not_found"])
      expect(outcome(await signed("PUT", "/v1/payouts", [key], "{"))).toEqual([405, "method_not_allowed"])
      expect(outcome(await signed("POST", "/v1/payouts", [key], "{"))).toEqual([400, "validation_failed"])
      expect(outcome(await signed("POST", "/v1/payouts", [key], '{"mode":"test","currency":"XXX"}'))).toEqual([
        400,
        "mode_mismatch"
      ])
      expect(outcome(await signed("POST", "/v1/payouts", [], '{"currency":"XXX"}'))).toEqual([400, "idempotency_key_required"])
      expect(outcome(await signed("POST", "/v1/payouts", [key], '{"currency":"XXX"}'))).toEqual([400, "validation_failed"])
      expect(
        outcome(await signed("POST", "/v1/payouts", [["Idempotency-Key", "k"]], '{"currency":"XXX","amount_minor":1.5}'))
      ).toEqual([422, "unknown_currency"])
      expect(outcome(await signed("POST", "/v1/payouts", [["Idempotency-Key", "k"]], '{"amount_minor":1.5}'))).toEqual([
        422,
        "inexact_amount"
      ])
    })
  )
})
