import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { reader } from "../../../src/ConfigRules.ts"
import type { Mode } from "../../../src/domain/Ids.ts"
import { referenceFrom } from "../../../src/domain/Ids.ts"
import { paystackCallbacks } from "../../../src/providers/paystack/Callback.ts"
import { paystackProvider } from "../../../src/providers/paystack/Settings.ts"
import { simulatedPaystack } from "../../../src/simulator/paystack/Simulator.ts"
import { payoutsOf } from "../contract/Fixture.ts"
import { momo, quoteOrder } from "../contract/Orders.ts"

const read = (variables: Readonly<Record<string, string>>) => {
  const mistakes: Array<string> = []
  const accounts = paystackProvider.configured(reader(variables, mistakes), mistakes, {
    timeoutMs: 1000,
    refuseLoopback: false,
    refuseRemote: false
  })
  return { accounts, mistakes }
}

const whole = {
  PAYSTACK_BASE_URL: "https://api.paystack.co",
  PAYSTACK_LIVE_SECRET_KEY: "sk_live_1",
  PAYSTACK_PAYOUT_FEES: "GHS:momo:100,NGN:bank:5000"
}

describe("Paystack's settings", () => {
  it("are empty when nothing is set", () => expect(read({})).toStrictEqual({ accounts: undefined, mistakes: [] }))

  it.effect("open an account for each mode with a key, with the contract's fees", () =>
    Effect.gen(function* () {
      const { accounts, mistakes } = read({ ...whole, PAYSTACK_EMAIL_DOMAIN: "payers.shop.example" })
      expect(mistakes).toStrictEqual([])
      const [live, ...others] = (yield* accounts?.open ?? Effect.succeed([])).map(({ adapter }) => adapter)
      expect([live?.name, live?.mode, others]).toStrictEqual(["paystack", "live", []])
      if (live === undefined) return yield* Effect.die(new Error("there is no account"))
      const quote = payoutsOf(live).quote
      expect(yield* quote(quoteOrder(momo("GH", "GHS", "MTN", "23320000"), "1234"))).toMatchObject({ fee: 100n })
      expect(yield* quote(quoteOrder(momo("KE", "KES", "MPESA", "25470000"), "1234"))).toMatchObject({ _tag: "QuoteRefused" })
    }).pipe(Effect.scoped)
  )

  it("give the simulator an account name that does not reveal the key, and differs for another key", () => {
    const both = read({ ...whole, PAYSTACK_TEST_SECRET_KEY: "sk_test_1" }).accounts
    const nameIn = (mode: Mode) => (both === undefined ? "" : simulatedPaystack.accountName(both, mode))
    const [live, test] = [nameIn("live"), nameIn("test")]
    expect(live).toMatch(/^key-[0-9a-f]{12}$/)
    expect(test).toMatch(/^key-[0-9a-f]{12}$/)
    expect(live).not.toBe(test)
  })

  it("that are missing or wrong are named all at once, without a secret", () => {
    const { PAYSTACK_PAYOUT_FEES: _, ...unpriced } = whole
    expect(read(unpriced).mistakes).toStrictEqual(["PAYSTACK_PAYOUT_FEES is required together with PAYSTACK_BASE_URL"])
    const { PAYSTACK_BASE_URL: __, ...nowhere } = whole
    expect(read(nowhere).mistakes).toStrictEqual(["PAYSTACK_BASE_URL is required together with the account's credentials"])
    const wrong = read({ ...whole, PAYSTACK_PAYOUT_FEES: "GHS:momo:one", PAYSTACK_EMAIL_DOMAIN: "not a domain" }).mistakes
    expect(wrong).toHaveLength(2)
    expect(wrong.join()).not.toContain("sk_live_1")
  })
})

const SECRET = "sk_live_1"
const reference = referenceFrom(Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
const own = reference.toLowerCase()
const text = `{ "event" :"transfer.success",\n\t"data":  {"reference": "${own}" ,"transfer_code":"TRF_1", "id": 7, "amount" : 12345} }\n`
const sign = (body: string, secret = SECRET, hash = "sha512") => createHmac(hash, secret).update(body).digest("hex")
const verified = (body: string, signature: string | undefined, secret = SECRET) =>
  paystackCallbacks(Redacted.make(secret)).verify({
    method: "POST",
    path: "/",
    headers: { "x-paystack-signature": signature },
    body: Buffer.from(body)
  })

describe("a genuine callback of Paystack points at", () => {
  const bodies: ReadonlyArray<readonly [string, object, object]> = [
    [
      "a charge, by our reference and its number",
      { data: { reference: own, id: 59214 } },
      { reference, providerReference: "59214" }
    ],
    [
      "a transfer that came back",
      { event: "transfer.reversed", data: { reference: own } },
      { reference, providerReference: null, says: "returned" }
    ],
    [
      "a refund's charge",
      { event: "refund.processed", data: { transaction_reference: own } },
      { reference, providerReference: null }
    ],
    [
      "8. the charge that is disputed, never the dispute's own number",
      {
        event: "charge.dispute.create",
        data: { id: 771203, transaction_reference: null, transaction: { id: 59214, reference: own, status: "success" } }
      },
      { reference, providerReference: "59214" }
    ],
    [
      "8. the charge of a refund that names it by number alone",
      { event: "refund.processed", data: { id: 3018284, transaction: 59214, transaction_reference: null } },
      { reference: null, providerReference: "59214" }
    ],
    [
      "8. nothing, where a dispute names no charge",
      { event: "charge.dispute.remind", data: { id: 771203, transaction: null } },
      { reference: null, providerReference: null }
    ],
    ["nothing of ours", { data: { reference: "acv_9ee55786" } }, { reference: null, providerReference: null }],
    ["nothing, in capitals", { data: { reference } }, { reference: null, providerReference: null }],
    ["nothing, of an unknown shape", [1, 2], { reference: null, providerReference: null }]
  ]
  it("a transfer, with a signature over the bytes that came", () =>
    expect(verified(text, sign(text).toUpperCase())).toEqual(
      Option.some({ reference, providerReference: "TRF_1", says: "successful" })
    ))
  for (const [name, body, hint] of bodies)
    it(name, () => expect(verified(JSON.stringify(body), sign(JSON.stringify(body)))).toEqual(Option.some(hint)))
})

describe("a forged callback of Paystack is refused", () => {
  const signature = sign(text)
  const forgeries: ReadonlyArray<readonly [string, string, string | undefined]> = [
    ["without a signature", text, undefined],
    ["with a signature that is too short", text, signature.slice(2)],
    ["with another key", text, sign(text, "sk_live_2")],
    ["with SHA-256", text, sign(text, SECRET, "sha256")],
    ["altered by a byte", text.replace("12345", "12346"), signature],
    ["written again by a serializer, as Paystack's sample does", JSON.stringify(JSON.parse(text)), signature]
  ]
  for (const [name, body, given] of forgeries) it(name, () => expect(verified(body, given)).toEqual(Option.none()))

  it("under an empty key", () => expect(verified(text, sign(text, ""), "")).toEqual(Option.none()))
})
