import { Redacted } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { json } from "../../src/domain/Json.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Destination } from "../../src/domain/Party.ts"
import { nameRule as eversendName, payoutBody as eversendPayout } from "../../src/providers/eversend/Order.ts"
import { accountOf as flutterwaveAccount, textRule as flutterwaveText } from "../../src/providers/flutterwave/Order.ts"
import { messageRule as mtnMessage, transferBody as mtnTransfer } from "../../src/providers/mtn/Order.ts"
import { noteText, providerText } from "../../src/providers/ProviderText.ts"
import { messageRule as pawapayMessage, payoutBody as pawapayPayout } from "../../src/providers/pawapay/Order.ts"
import { nameRule as paystackName, recipientBody } from "../../src/providers/paystack/Networks.ts"
import { reasonRule as paystackReason, transferBody as paystackTransfer } from "../../src/providers/paystack/Order.ts"
import { bank, momo, orderOn, payerOf } from "./contract/Orders.ts"

// Issue 38, line 6: what people write to people never stops a payment.

const rules = {
  "Eversend's names": eversendName,
  "Flutterwave's texts": flutterwaveText,
  "MTN's messages": mtnMessage,
  "pawaPay's messages": pawapayMessage,
  "Paystack's names": paystackName,
  "Paystack's reasons": paystackReason
}
const uganda = momo("UG", "UGX", "MTN", "+25677200")
const quote = {
  principal: minor(20_000n),
  fee: minor(0n),
  destinationAmount: minor(20_000n),
  destinationCurrency: "UGX",
  rate: null,
  expiresInMs: 1,
  token: "t"
} as const
const orderWith = (narration: string) => ({ ...orderOn(quote, uganda, "1234"), narration })

const odd = ["é", "🎉", "👩\u200D👧", "\uD83C", "&", "<", "'", "’", "\n", "\u202E", " ", "Ẹ", "ŋ"]
const written = fc
  .array(fc.oneof(fc.constantFrom(...odd), fc.string({ unit: "binary", minLength: 1, maxLength: 3 })), { maxLength: 200 })
  .map((parts) => parts.join(""))

describe("line 6: a text for a provider", () => {
  it.each(Object.entries(rules))("is one that %s take, whatever was written", (_, rule) => {
    fc.assert(
      fc.property(written, (said) => {
        const sent = providerText(rule, said)
        if (sent === undefined) return
        expect(sent).toBe(sent.trim())
        expect(sent.isWellFormed()).toBe(true)
        expect(Array.from(sent).length).toBeLessThanOrEqual(rule.atMost)
        expect(sent).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Extended_Pictographic}]/u)
        if (!rule.everyScript) expect(sent).toMatch(/^[A-Za-z0-9 .-]+$/)
        expect(providerText(rule, sent)).toBe(sent)
      }),
      { numRuns: 200 }
    )
  })

  it("is cut by characters, and never within one", () => {
    expect(providerText(flutterwaveText, `${"x".repeat(99)}\u{20000}y`)).toBe(`${"x".repeat(99)}\u{20000}`)
    expect(Array.from(providerText(eversendName, "Ó".repeat(200)) ?? "")).toHaveLength(128)
  })

  it.each([
    ["School fees & transport", "School fees transport"],
    ["Loyer d'août – à Ẹniọlá", "Loyer d aout a Eniola"],
    ["Ŋutifafa Agbɔ", "Ngutifafa Agbo"],
    ["50% off <b>", "50 off b"],
    ["Rent\u202E🎉🎉", "Rent"],
    ["No. 12-7", "No. 12-7"],
    ["Rent\nNovember\t2026", "Rent November 2026"],
    ["Flour 10½ kg", "Flour 10 1 2 kg"]
  ])("to MTN: %j is %j, and the reference where nothing is left", (said, sent) => {
    const order = orderWith(said)
    expect(mtnTransfer(order, payerOf(uganda, "1234"))).toMatchObject({ payeeNote: sent })
    expect(noteText(mtnMessage, "🎉 ♥ …", order.reference)).toBe(order.reference)
    expect(noteText(mtnMessage, "ኪራይ", order.reference)).toBe(order.reference)
  })

  it("to pawaPay has 4 to 22 characters, or is left out", () => {
    const message = (said: string) => {
      const { corridor, destination } = orderWith(said)
      return pawapayPayout({ ...orderWith(said), corridor, destination })
    }
    expect(message("Électricité & eau, janvier")).toMatchObject({ customerMessage: "Electricite eau janvie" })
    for (const short of ["ok!", "♥♥♥♥", "ኪራይ"]) expect(message(short)).not.toHaveProperty("customerMessage")
  })

  it("line 10: of a mobile-money recipient goes to every provider that takes one, and nobody's only where there is none", () => {
    const ghana = momo("GH", "GHS", "MTN", "+23324400").party("1234")
    const named = ghana._tag === "momo" ? { ...ghana, name: Redacted.make("Ama Ɔbɛng Núñez") } : ghana
    const sent = (to: Destination) => ({
      eversend: JSON.parse(json(eversendPayout({ ...orderWith(""), destination: to }, ""))),
      flutterwave: flutterwaveAccount(to),
      paystack: recipientBody(to, "GHS")
    })
    expect(sent(named)).toMatchObject({
      eversend: { firstName: "Ama", lastName: "Ɔbɛng Núñez" },
      flutterwave: { beneficiary_name: "Ama Ɔbɛng Núñez" },
      paystack: { name: "Ama Ɔbɛng Núñez" }
    })
    expect(sent(ghana)).toMatchObject({
      eversend: { firstName: "Payment", lastName: "Recipient" },
      flutterwave: { beneficiary_name: "Payment Recipient" },
      paystack: { name: "Payment Recipient" }
    })
  })

  it("keeps names as their owners write them where the provider takes them, and doubles a single one where two are wanted", () => {
    const named = (name: string) => {
      const { amount: _, ...way } = bank("KE", "KES", "01", "0011")
      const destination = { ...way.party("1234"), accountName: Redacted.make(name) }
      return JSON.parse(json(eversendPayout({ ...orderWith(""), destination: destination as never }, "A bank")))
    }
    expect(named("Ng'ang'a  O’Brien-Núñez")).toMatchObject({
      firstName: "Ng'ang'a",
      lastName: "O’Brien-Núñez",
      bankAccountName: "Ng'ang'a O’Brien-Núñez"
    })
    expect(named("Madonna")).toMatchObject({ firstName: "Madonna", lastName: "Madonna" })
    expect(paystackTransfer(orderWith("Ama’s \uD83Cfees\n🎉"), "RCP_1")).toMatchObject({ reason: "Ama’s fees" })
  })
})
