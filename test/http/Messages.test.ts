import { describe, expect, it } from "vitest"
import { isTree } from "../../src/http/description/OpenApiSchemas.ts"
import { bodyRoutes, issuesOf } from "../support/BodyDecoders.ts"
import { changed, fieldsOf } from "../support/BodyFields.ts"
import { onEdge } from "../support/EdgeClient.ts"
import { bodySchemaOf, interfaceDescription } from "../support/InterfaceDescription.ts"
import { signed } from "../support/RawHttp.ts"

const CURRENCIES = "UGX, RWF, XAF, XOF, KES, GHS, NGN, TZS, ZMW, USD, EUR, GBP"
const AMOUNT = "must be a whole number from 1 to 9007199254740991"
const COUNTRY = "must be two capital letters such as UG"
const BLANK = "must be a text that is not blank"
const MSISDN = "must be a phone number with its country's prefix and a possible length"

const momo = { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
const bank = { type: "bank", country: "UG", bank_code: "01", account_number: "1", account_name: "A" }
const payout = { amount_minor: 1, currency: "UGX", country: "UG", method: "momo", destination: momo }
const collection = { amount_minor: 1, currency: "UGX", country: "UG", method: "momo", source: momo }
const code = { pin_id: "p", pin: "1" }
const quote = { source_currency: "UGX", destination_currency: "KES" }
const endpoint = { url: "https://a.example" }

/** What is sent, and every issue that is answered. */
type Row = readonly [body: unknown, ...issues: ReadonlyArray<string>]

const table: Readonly<Record<string, ReadonlyArray<Row>>> = {
  "POST /v1/payouts": [
    [[], ": The body must be an object."],
    [
      {},
      "amount_minor: is required",
      "currency: is required",
      "country: is required",
      "method: is required",
      "destination: is required"
    ],
    [{ ...payout, amount_minor: "1" }, "amount_minor: must be a whole number"],
    [{ ...payout, amount_minor: 0 }, `amount_minor: ${AMOUNT}`],
    [{ ...payout, currency: 1 }, `currency: must be one of ${CURRENCIES}`],
    [{ ...payout, country: "Uganda" }, `country: ${COUNTRY}`],
    [{ ...payout, country: null }, "country: must be a text"],
    [{ ...payout, method: "cash" }, "method: must be one of momo, bank, wallet"],
    [{ ...payout, method: "bank" }, "destination.type: must be the same as method"],
    [{ ...payout, amount_type: "BOTH" }, "amount_type: must be one of SOURCE, DESTINATION"],
    [{ ...payout, deduct_fee_from_amount: "yes" }, "deduct_fee_from_amount: must be true or false"],
    [
      { ...payout, amount_type: "DESTINATION", deduct_fee_from_amount: true },
      "deduct_fee_from_amount: must not be true where amount_type is DESTINATION"
    ],
    [{ ...payout, narration: " " }, `narration: ${BLANK}`],
    [{ ...payout, narration: "x".repeat(141) }, "narration: must be at most 140 characters long"],
    [{ ...payout, metadata: [] }, "metadata: must be an object"],
    [{ ...payout, metadata: { a: "x".repeat(4096) } }, "metadata: must be at most 4096 bytes as compact JSON"],
    [{ ...payout, metadata: { a: ["\u0000"] } }, "metadata.a.0: must not hold the NUL character or half of a surrogate pair"],
    [
      { ...payout, metadata: { "\u0000": 1 } },
      "metadata: must not have a member whose name holds the NUL character or half of a surrogate pair"
    ],
    [{ ...payout, destination: "momo" }, "destination: must be an object"],
    [{ ...payout, destination: [] }, "destination: must be an object"],
    [{ ...payout, destination: {} }, "destination.type: is required"],
    [{ ...payout, destination: { ...momo, type: undefined } }, "destination.type: is required"],
    [{ ...payout, destination: { type: "cash" } }, "destination.type: must be one of momo, bank, wallet"],
    [{ ...payout, destination: { type: null } }, "destination.type: must be one of momo, bank, wallet"],
    [
      { ...payout, destination: { type: "momo" } },
      "destination.msisdn: is required",
      "destination.network: is required",
      "destination.country: is required"
    ],
    [{ ...payout, destination: { ...momo, msisdn: "1" } }, `destination.msisdn: ${MSISDN}`],
    [
      { ...payout, method: "bank", destination: { type: "bank" } },
      "destination.country: is required",
      "destination.bank_code: is required",
      "destination.account_number: is required",
      "destination.account_name: is required"
    ],
    [{ ...payout, method: "bank", destination: { ...bank, msisdn: "1" } }, `destination.msisdn: ${MSISDN}`],
    [
      { ...payout, method: "wallet", destination: { type: "wallet", country: "UG" } },
      "destination: requires exactly one of msisdn, email and tag"
    ],
    [
      { ...payout, method: "wallet", destination: { type: "wallet", country: "UG", email: "a" } },
      "destination.email: must be an email address"
    ]
  ],
  "POST /v1/payouts/quote": [
    [{}, "amount_minor: is required", "currency: is required", "country: is required", "method: is required"],
    [{ ...payout, destination: {} }, "destination.type: is required"]
  ],
  "POST /v1/payouts/quotes": [
    [{}, "items: is required"],
    [{ items: [] }, "items: must be a list of 1 to 100 payouts"]
  ],
  "POST /v1/collections": [
    [{}, "amount_minor: is required", "currency: is required", "country: is required", "method: is required"],
    [{ ...collection, source: undefined }, "source: is required for method momo"],
    [{ ...collection, source: {} }, "source.type: is required"],
    [{ ...collection, source: { type: "wallet" } }, "source.type: must be one of momo, bank, card"],
    [{ ...collection, source: 1 }, "source: must be an object"],
    [{ ...collection, source: { type: "momo" } }, "source.msisdn: is required", "source.network: is required"],
    [{ ...collection, source: { ...momo, cvv: 1 } }, "source.cvv: must not hold card data"],
    [{ ...collection, source: { ...momo, "4242 4242 4242 4242": 1 } }, "source: must not hold card data"],
    [
      { ...collection, method: "bank", source: { type: "bank" } },
      "redirect_url: is required here: where the payer goes on afterwards"
    ],
    [{ ...collection, redirect_url: "ftp://a" }, "redirect_url: must be an http or https URL"],
    [{ ...collection, payer: {}, customer: {} }, "customer: must not be sent together with payer"],
    [{ ...collection, payer: { email: 1 } }, "payer.email: must be a text"],
    [{ ...collection, otp: {} }, "otp.pin_id: is required", "otp.pin: is required"]
  ],
  "POST /v1/collections/{reference}/authorize": [
    [{}, "source: is required"],
    [{ source: momo }, "authorization: is required"],
    [{ source: momo, authorization: {} }, "authorization.type: is required", "authorization.otp: is required"],
    [{ source: momo, authorization: { type: "pin", otp: code } }, "authorization.type: must be otp"],
    [
      { source: momo, authorization: { type: "otp", otp: code }, otp: code },
      "authorization: must hold the code in one form only, and no other member beside it"
    ],
    [{ source: momo, pin: "1" }, "pin_id: is required"],
    [{ source: momo, pin_id: "1" }, "pin: is required"],
    [{ source: {}, otp: code }, "source.type: is required", "source.msisdn: is required", "source.network: is required"]
  ],
  "POST /v1/collections/otp": [
    [{}, "country: is required", "source: is required"],
    [{ country: "UG", source: { ...momo, type: "bank" } }, "source.type: must be momo"]
  ],
  "POST /v1/fx/quote": [
    [{}, "source_currency: is required", "destination_currency: is required"],
    [quote, "source_amount_minor: is required, or destination_amount_minor in its place"],
    [
      { ...quote, source_amount_minor: 1, destination_amount_minor: 1 },
      "destination_amount_minor: must not be sent together with source_amount_minor"
    ],
    [
      { ...quote, destination_currency: "UGX", source_amount_minor: 1 },
      "destination_currency: must be another currency than source_currency"
    ]
  ],
  "POST /v1/fx/exchange": [
    [{}, "quote_id: is required"],
    [{ quote_id: "" }, `quote_id: ${BLANK}`]
  ],
  "POST /v1/refunds": [
    [{}, "original_reference: is required"],
    [{ original_reference: "x".repeat(129) }, "original_reference: must be at most 128 characters long"]
  ],
  "POST /v1/reference/resolve-bank-account": [
    [{}, "country: is required", "bank_code: is required", "account_number: is required"]
  ],
  "POST /v1/transactions/search": [
    [{}, "msisdn: is required, or one of account_number, metadata and provider_receipt"],
    [{ msisdn: "+256772123456", provider_receipt: "A1" }, "provider_receipt: must not be beside msisdn"],
    [
      { msisdn: "0772123456" },
      "msisdn: must be a phone number with its country's prefix, or a national one with `country` beside it"
    ],
    [{ metadata: {} }, "metadata: must have 1 to 5 members"]
  ],
  "PUT /v1/float/alerts": [[{}, "currency: is required", "below_minor: is required"]],
  "PUT /v1/webhooks/endpoint": [
    [{}, "url: is required"],
    [{ ...endpoint, events: {} }, "events: must be a list"],
    [{ ...endpoint, events: [] }, "events: must be a list of at least one event type"],
    [{ ...endpoint, events: ["payout.failed", "payout.failed"] }, "events: must be a list without an event type twice"],
    [{ ...endpoint, events: Array(65).fill(0) }, "events: must be a list of at most 64 items"],
    [{ ...endpoint, enabled: 1 }, "enabled: must be true or false"]
  ],
  "PUT /v1/webhooks/endpoints/{name}": [[{ ...endpoint, events: [] }, "events: must be a list of at least one event type"]],
  "POST /v1/webhooks/recover": [
    [{}, "since: is required"],
    [{ since: "2026-01-31T12:00:00.000Z", endpoint: "ERP" }, "endpoint: must be a name of 1 to 32 of a-z, 0-9, _ and -"],
    [{ since: "today" }, "since: must be a moment in UTC such as 2026-01-31T12:00:00.000Z"]
  ]
}

const MARK = "Zq7xMark"
const wrongs = [null, 7, true, MARK, "", " ", MARK.repeat(400), `${MARK}\u0000`, {}, { [MARK]: MARK }, [], [MARK], 0, -1]
const fields = (route: string) => {
  const [method = "", path = ""] = route.split(" ")
  const operation: unknown = [interfaceDescription()["paths"]].flatMap((paths) => (isTree(paths) ? [paths[path]] : []))[0]
  const own = isTree(operation) ? operation[method.toLowerCase()] : undefined
  return fieldsOf(bodySchemaOf(own))
}

describe("the message about a refused field", () => {
  for (const route of bodyRoutes) {
    it(`of ${route} names the field's path and says in words what is required`, () => {
      for (const [body, ...issues] of table[route] ?? []) expect([body, ...issuesOf(route, body)]).toEqual([body, ...issues])
    })

    it(`of ${route} is our own text whatever the field holds, and never shows the value`, () => {
      expect(fields(route).length).toBeGreaterThan(0)
      for (const { body, name, path, required } of fields(route)) {
        if (required) expect(issuesOf(route, changed(body, path, undefined)), name).toContain(`${name}: is required`)
        for (const wrong of wrongs)
          for (const issue of issuesOf(route, changed(body, path, wrong))) {
            expect(issue).toMatch(/^[\w.]+: (?:is required|requires |must (?:not )?(?:be|hold|have) )/)
            expect(issue).not.toMatch(new RegExp(`string|number from NaN|RegExp|\\bgot\\b|<filter>|not valid|: .*${MARK}`))
          }
      }
    })
  }

  it(
    "of a query is our own text, too",
    onEdge(async ({ ask }) => {
      const said = async (target: string, canonicalQuery: string) => {
        const answer = await ask("GET", target, signed("GET", target, "", { canonicalQuery }))
        const issues: ReadonlyArray<{ path: string; message: string }> = JSON.parse(answer.text).error.details.issues
        return [answer.status, ...issues.map(({ message, path }) => `${path}: ${message}`)]
      }
      const page = "must be a whole number from 1 to 100"
      expect(await said("/v1/beneficiaries?limit=0", "limit=0")).toEqual([422, `limit: ${page}`])
      expect(await said("/v1/beneficiaries?limit=1&limit=2", "limit=1&limit=2")).toEqual([422, "limit: must be a text"])
      expect(await said("/v1/beneficiaries?cursor=~", "cursor=~")).toEqual([422, "cursor: must be a cursor that this list gave"])
      expect(await said("/v1/beneficiaries?cursor=x", "cursor=x")).toEqual([422, "cursor: must be a cursor that this list gave"])
      expect(await said("/v1/webhooks/deliveries?status=sent", "status=sent")).toEqual([
        422,
        "status: must be one of due, delivered, parked"
      ])
      expect(await said("/v1/transactions/x?view=all", "view=all")).toEqual([422, "view: must be raw"])
      expect(await said("/v1/reference/banks/uganda", "")).toEqual([422, `country: ${COUNTRY}`])
    })
  )

  it("shows an unprintable name as a question mark, and a long path only in part", () => {
    const long = issuesOf("POST /v1/payouts", { ...payout, metadata: { ["x".repeat(9_000)]: { y: "\u0000" } } })
    expect(long.map((issue) => issue.split(":")[0])).toEqual([`${`metadata.${"x".repeat(100)}`.slice(0, 97)}...`])
    const odd = issuesOf("POST /v1/payouts", {
      ...payout,
      metadata: { 'a"\u001b[31m\u202e': "\u0000", "4242 4242 4242 4242": "\u0000" }
    })
    expect(odd.map((issue) => issue.split(":")[0])).toEqual(["metadata.a??[31m?", "metadata.?"])
  })
})
