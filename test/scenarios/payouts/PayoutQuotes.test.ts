import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { bankPayout, momoPayout } from "../../support/RequestBodies.ts"
import { said } from "../../support/SignedClient.ts"
import { keyOn, Stack, tenantOn } from "../../support/Stack.ts"

const QUOTES = "/v1/payouts/quotes"
const recipient: unknown = expect.stringMatching(/^[A-Za-z0-9_-]{22}$/)
const to = (msisdn: string, more: Readonly<Record<string, unknown>> = {}) => ({
  ...momoPayout("1234", more),
  destination: { type: "momo", msisdn, network: "MTN", country: "UG" }
})

layer(Stack.layer(), { excludeTestServices: true })("a list of payouts", (it) => {
  it.effect("is priced payout by payout, with the total and the shortfall of each currency, and moves nothing", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway, 22_000n)
      const items = [momoPayout("1234"), bankPayout("1235"), momoPayout("1236", { deduct_fee_from_amount: true })]
      const { body, status } = yield* tenant.call("POST", QUOTES, { items })
      const quote = {
        amount_minor: 10_000,
        amount_currency: "UGX",
        currency: "UGX",
        principal_minor: 10_000,
        fees_minor: 1_000,
        total_amount_minor: 11_000,
        destination_amount_minor: 10_000,
        destination_currency: "UGX",
        rate: null,
        expires_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/)
      }
      const deducted = { principal_minor: 9_000, total_amount_minor: 10_000, destination_amount_minor: 9_000 }
      expect([status, body.data]).toStrictEqual([
        200,
        {
          items: [
            { quote, error: null, duplicate_of: null, recipient },
            { quote: { ...quote, fees_minor: 5_400, total_amount_minor: 15_400 }, error: null, duplicate_of: null, recipient },
            { quote: { ...quote, ...deducted }, error: null, duplicate_of: null, recipient }
          ],
          totals: [
            {
              currency: "UGX",
              items: 3,
              principal_minor: 29_000,
              fees_minor: 7_400,
              total_amount_minor: 36_400,
              available_minor: 22_000,
              shortfall_minor: 14_400
            }
          ]
        }
      ])
      expect(yield* tenant.float).toMatchObject({ available_minor: 22_000, reserved_minor: 0 })
      expect((yield* tenant.get("/v1/transactions")).body.data["items"]).toStrictEqual([])
    })
  )

  it.effect("has the refusal of each payout that would be refused, and prices the others beside it", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 22_000n)
      const items = [
        7,
        momoPayout("1234", { amount_minor: 1.5 }),
        momoPayout("1234", { currency: "XXX" }),
        momoPayout("1234", { country: "ZZ" }),
        to("12"),
        { ...momoPayout("1234"), destination: undefined },
        momoPayout("1234", { amount_minor: 1 }),
        momoPayout("1234", { destination_currency: "KES" }),
        momoPayout("1234", { mode: "test" }),
        momoPayout("1234", { colour: "red" })
      ]
      const answer = yield* tenant.call("POST", QUOTES, { items, note: 1 })
      const said = JSON.parse(answer.text).data.items.map(
        (item: { quote: object | null; error: { code: string; details: object } | null }) =>
          item.error === null ? "priced" : [item.error.code, item.quote, item.error.details]
      )
      expect(said).toStrictEqual([
        ["validation_failed", null, { issues: [{ path: "", message: "The body must be an object." }] }],
        ["inexact_amount", null, { field: "amount_minor" }],
        ["unknown_currency", null, { currency: "XXX" }],
        ["corridor_unsupported", null, expect.objectContaining({ country: "ZZ" })],
        ["validation_failed", null, { issues: [{ path: "destination.msisdn", message: expect.any(String) }] }],
        ["validation_failed", null, { issues: [{ path: "destination", message: "is required" }] }],
        ["amount_below_minimum", null, { minimum_minor: 500, method: "momo" }],
        ["amount_type_required", null, {}],
        ["mode_mismatch", null, { key_mode: "live" }],
        "priced"
      ])
      expect(answer.headers.get("x-gateway-ignored")).toBe("note,items.9.colour")
      expect(JSON.parse(answer.text).data.totals).toMatchObject([{ items: 1, total_amount_minor: 11_000, shortfall_minor: 0 }])
    })
  )

  it.effect("names a second payout to the same recipient, however it is written, and whether the amount is the same", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway, 22_000n)
      const items = [to("256772000001"), to("+256 772 000 001"), to("256772000002"), to("256772000001", { amount_minor: 600 })]
      const { body } = yield* tenant.call("POST", QUOTES, { items })
      const duplicates = JSON.parse(JSON.stringify(body.data["items"])).map(
        (item: { duplicate_of: unknown }) => item.duplicate_of
      )
      expect(duplicates).toStrictEqual([null, { item: 0, same_amount: true }, null, { item: 0, same_amount: false }])
    })
  )

  it.effect("has one text for one recipient in every list of a tenant and mode, and another for another tenant and mode", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 22_000n)
      const tested = yield* keyOn(gateway, tenant.appId, "test")
      const other = yield* tenantOn(gateway, 22_000n)
      const wallet = {
        ...momoPayout("1234"),
        method: "wallet",
        destination: { type: "wallet", msisdn: "256 772000001", country: "UG" }
      }
      const recipientsFor = (asking: Pick<typeof tenant, "call">, items: ReadonlyArray<unknown>) =>
        Effect.map(
          asking.call("POST", QUOTES, { items }),
          ({ text }): ReadonlyArray<string | null> =>
            JSON.parse(text).data.items.map((item: { recipient: string | null }) => item.recipient)
        )
      const [first, second, broken] = yield* recipientsFor(tenant, [to("256772000001"), to("256772000002"), to("77")])
      expect([first, second, broken]).toStrictEqual([recipient, recipient, null])
      expect(second).not.toBe(first)
      expect(yield* recipientsFor(tenant, [to("+256 772 000 001", { amount_minor: 600 }), wallet])).toStrictEqual([first, first])
      for (const stranger of [tested, other]) {
        const [same] = yield* recipientsFor(stranger, [to("256772000001")])
        expect([same, same === first]).toStrictEqual([recipient, false])
      }
      expect(Buffer.from(first ?? "", "base64url").toString("latin1")).not.toContain("772000001")
    })
  )

  it.effect("has 1 to 100 payouts", () =>
    Effect.gen(function* () {
      const tenant = yield* tenantOn((yield* Stack).gateway, 22_000n)
      const issue = (message: string) => ({
        status: 422,
        code: "validation_failed",
        class: "terminal",
        details: { issues: [{ path: "items", message }] }
      })
      const many = Array.from({ length: 101 }, () => momoPayout("1234"))
      expect(said(yield* tenant.call("POST", QUOTES, {}))).toStrictEqual(issue("is required"))
      for (const items of [[], many, "all"])
        expect(said(yield* tenant.call("POST", QUOTES, { items }))).toStrictEqual(issue("must be a list of 1 to 100 payouts"))
      const hundred = yield* tenant.call("POST", QUOTES, { items: many.slice(1) })
      expect([hundred.status, hundred.body.data["totals"]]).toMatchObject([200, [{ items: 100, total_amount_minor: 1_100_000 }]])
    })
  )
})
