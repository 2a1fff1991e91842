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

/** Each body with what it must be answered. */
const refusals = (target: string, cases: ReadonlyArray<readonly [body: unknown, status: number, code: string, path?: string]>) =>
  onEdge(async (client) => {
    for (const [body, status, code, path] of cases) {
      const answer = await post(client, target, body)
      expect([body, ...outcome(answer)]).toEqual([body, status, code])
      if (path !== undefined)
        expect(
          parsed(answer).error.details.issues.map((issue: { path: string }) => issue.path),
          JSON.stringify(body)
        ).toContain(path)
    }
    expect(client.behind.claims.size).toBe(0)
  })

describe("request bodies", () => {
  it(
    "are answered 400 when they cannot be parsed",
    refusals("/v1/payouts", [
      ["", 400, "validation_failed"],
      ["{", 400, "validation_failed"],
      ['{"a":1,"a":2}', 400, "validation_failed"],
      ["[".repeat(65_000), 400, "validation_failed"],
      [`${'{"a":'.repeat(33)}1${"}".repeat(33)}`, 400, "validation_failed"],
      [Uint8Array.of(0x7b, 0xff, 0x7d), 400, "validation_failed"]
    ])
  )

  it(
    "of payouts name every wrong field, in the contract's order",
    refusals("/v1/payouts", [
      ["[]", 422, "validation_failed", ""],
      ["{}", 422, "validation_failed", "amount_minor"],
      [{ ...payout, currency: "XXX", amount_minor: 1.5 }, 422, "unknown_currency"],
      [{ ...payout, destination_currency: "ugx" }, 422, "unknown_currency"],
      [{ ...payout, currency: 5 }, 422, "validation_failed", "currency"],
      [JSON.stringify(payout).replace("1000", "1000.0"), 422, "inexact_amount"],
      [JSON.stringify(payout).replace("1000", "1e3"), 422, "inexact_amount"],
      [JSON.stringify({ ...payout, country: 1 }).replace("1000", "99.5"), 422, "inexact_amount"],
      [JSON.stringify(payout).replace("1000", "9007199254740992"), 422, "validation_failed", "amount_minor"],
      [JSON.stringify(payout).replace("1000", "99999999999999999999999"), 422, "validation_failed", "amount_minor"],
      [JSON.stringify(payout).replace("1000", "-0"), 422, "validation_failed", "amount_minor"],
      [{ ...payout, amount_minor: 0 }, 422, "validation_failed", "amount_minor"],
      [{ ...payout, amount_minor: -5 }, 422, "validation_failed", "amount_minor"],
      [{ ...payout, amount_minor: "1000" }, 422, "validation_failed", "amount_minor"],
      [{ ...payout, amount_minor: null }, 422, "validation_failed", "amount_minor"],
      [{ ...payout, country: "ug" }, 422, "validation_failed", "country"],
      [{ ...payout, method: "card" }, 422, "validation_failed", "method"],
      [{ ...payout, method: "bank" }, 422, "validation_failed", "destination.type"],
      [
        { ...payout, destination: { ...payout.destination, country: undefined } },
        422,
        "validation_failed",
        "destination.country"
      ],
      [{ ...payout, destination: { ...payout.destination, country: "KE" } }, 422, "validation_failed", "destination.msisdn"],
      [
        { ...payout, destination: { ...payout.destination, msisdn: "0772123456" } },
        422,
        "validation_failed",
        "destination.msisdn"
      ],
      [{ ...payout, destination: { ...payout.destination, msisdn: "25677212" } }, 422, "validation_failed", "destination.msisdn"],
      [{ ...payout, destination: { ...payout.destination, network: " " } }, 422, "validation_failed", "destination.network"],
      [{ ...payout, destination: { type: "crypto" } }, 422, "validation_failed", "destination.type"],
      [
        { ...payout, method: "bank", destination: { ...bank, account_name: undefined } },
        422,
        "validation_failed",
        "destination.account_name"
      ],
      [{ ...payout, method: "wallet", destination: { type: "wallet", country: "UG" } }, 422, "validation_failed", "destination"],
      [
        { ...payout, method: "wallet", destination: { type: "wallet", country: "UG", tag: "a", email: "a@b" } },
        422,
        "validation_failed",
        "destination"
      ],
      [{ ...payout, amount_type: "BOTH" }, 422, "validation_failed", "amount_type"],
      [{ ...payout, destination_currency: "KES" }, 400, "amount_type_required"],
      [{ ...payout, destination_currency: "KES", narration: "" }, 422, "validation_failed", "narration"],
      [
        { ...payout, destination_currency: "KES", amount_type: "DESTINATION", deduct_fee_from_amount: true },
        422,
        "validation_failed",
        "deduct_fee_from_amount"
      ],
      [{ ...payout, narration: "x".repeat(141) }, 422, "validation_failed", "narration"],
      [{ ...payout, narration: "a\u0000b" }, 422, "validation_failed", "narration"],
      [JSON.stringify({ ...payout, narration: "@" }).replace("@", "\\ud800"), 422, "validation_failed", "narration"],
      [{ ...payout, metadata: { deep: [{ x: "\u0000" }] } }, 422, "validation_failed", "metadata.deep.0.x"],
      [{ ...payout, metadata: { "\u0000": 1 } }, 422, "validation_failed", "metadata"],
      [{ ...payout, extra: "\u0000" }, 422, "validation_failed", "extra"],
      [{ ...payout, metadata: [] }, 422, "validation_failed", "metadata"],
      [{ ...payout, metadata: { a: "é".repeat(2045) } }, 422, "validation_failed", "metadata"]
    ])
  )

  it(
    "of collections name every wrong field, and card data wherever it stands in a source",
    refusals("/v1/collections", [
      [{ ...collection, source: undefined }, 422, "validation_failed", "source"],
      [{ ...collection, method: "card", redirect_url: "https://a.example" }, 422, "validation_failed", "source.type"],
      [{ ...collection, method: "card", source: undefined }, 422, "validation_failed", "redirect_url"],
      [
        { ...collection, currency: "GHS", country: "GH", source: { ...collection.source, msisdn: "233241234567" } },
        422,
        "validation_failed",
        "redirect_url"
      ],
      [{ ...collection, redirect_url: "javascript:alert(1)" }, 422, "validation_failed", "redirect_url"],
      [{ ...collection, redirect_url: `https://a.example/${"x".repeat(2040)}` }, 422, "validation_failed", "redirect_url"],
      [{ ...collection, payer: {}, customer: {} }, 422, "validation_failed", "customer"],
      [{ ...collection, payer: { email: "x".repeat(129) } }, 422, "validation_failed", "payer.email"],
      [
        { ...collection, source: { ...collection.source, msisdn: "4242 4242 4242 4242" } },
        422,
        "validation_failed",
        "source.msisdn"
      ],
      [{ ...collection, source: { ...collection.source, note: "4242-4242-4242-4242" } }, 422, "validation_failed", "source.note"],
      [
        { ...collection, source: { ...collection.source, deep: [{ n: 4242424242424242 }] } },
        422,
        "validation_failed",
        "source.deep.0.n"
      ],
      [
        { ...collection, source: { ...collection.source, deep: ["charge 4242 4242 4242 4242, valid to 12/28"] } },
        422,
        "validation_failed",
        "source.deep.0"
      ],
      [{ ...collection, source: { ...collection.source, "card 4242424242424242": "x" } }, 422, "validation_failed", "source"],
      [{ ...collection, source: { ...collection.source, card_number: "x" } }, 422, "validation_failed", "source.card_number"],
      [{ ...collection, source: { ...collection.source, CVV: 123 } }, 422, "validation_failed", "source.CVV"]
    ])
  )
})
