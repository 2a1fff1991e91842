import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { unquotable } from "../../src/providers/flutterwave/Quote.ts"
import { marketOf, NETWORK } from "../../src/providers/mtn/Networks.ts"
import { quoteOf } from "../../src/providers/pawapay/Quote.ts"
import { countryQuote } from "../../src/providers/Quotes.ts"
import { simulatedPayoutFees } from "../../src/simulator/Fees.ts"
import { momo, quoteOrder, wallet } from "./contract/Orders.ts"

const airtelUganda = quoteOrder(momo("UG", "UGX", "AIRTEL", "25670000"), "1234")
const airtelKenya = quoteOrder(momo("KE", "KES", "AIRTEL", "25470000"), "1234")
const moov = quoteOrder(momo("CI", "XOF", "MOOV", "22507000"), "1234")

describe("a provider does not price a payout to a network that it does not reach, so that the next one is asked", () => {
  const cases = [
    ["MTN", countryQuote({ accounts: [marketOf("UG")], network: NETWORK }, airtelUganda, simulatedPayoutFees, 0)],
    ["pawaPay", quoteOf(moov, simulatedPayoutFees, 0)],
    ["Flutterwave", unquotable(airtelKenya)]
  ] as const
  for (const [name, quoted] of cases)
    it(name, () => {
      expect(quoted).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
    })

  it("but it refuses a wallet as terminal, because no other provider can pay it", () => {
    const destination = { _tag: "wallet", country: "UG", identifier: "email", value: Redacted.make("jane@example.org") } as const
    expect(unquotable({ ...quoteOrder(wallet("UG", "UGX", "25670000"), "1234"), destination })).toMatchObject({
      _tag: "QuoteRefused",
      kind: "party"
    })
  })
})
