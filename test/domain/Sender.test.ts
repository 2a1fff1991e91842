import { inspect } from "node:util"
import { Redacted, Result, Schema } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { maskedSender, Sender, senderFrom } from "../../src/domain/Sender.ts"

const ZERO_WIDTH = "\u200B"
const shop = { name: "Shop Limited", country: "KE", number: "0711 002 233", address: "1 Moi Avenue, Nairobi" }
/** What a provider would be sent, or why nothing is kept. */
const sent = (typed: Partial<typeof shop>) =>
  Result.match(senderFrom({ ...shop, ...typed }), {
    onFailure: (why) => why,
    onSuccess: ({ address, country, msisdn, name }: Sender) => [
      Redacted.value(name),
      country,
      Redacted.value(msisdn),
      Redacted.value(address)
    ]
  })
const asSent = (change: { name?: string; country?: string; msisdn?: string; address?: string } = {}) => {
  const { address = shop.address, country = "KE", msisdn = "+254711002233", name = shop.name } = change
  return [name, country, msisdn, address]
}
const NAME = "the name must be one line of 1 to 100 characters"
const COUNTRY = "the country must be two capital letters such as KE"
const NUMBER = "the number must be a phone number that is possible in its country"
const ADDRESS = "the address must be one line of 1 to 200 characters"

describe("a tenant's sender, as it is typed", () => {
  it.each<readonly [string, Partial<typeof shop>, ReturnType<typeof asSent>]>([
    ["with the number as it is dialled at home", {}, asSent()],
    ["with the number as it is dialled from abroad", { number: "+254 711-002-233" }, asSent()],
    ["with zeros for the plus sign", { number: "00254711002233" }, asSent()],
    [
      "with a number of another country, which has its prefix",
      { number: "+256 772 123456" },
      asSent({ msisdn: "+256772123456" })
    ],
    ["from another country", { country: "UG", number: "0772123456" }, asSent({ country: "UG", msisdn: "+256772123456" })],
    ["with blanks around it", { name: "  Shop Limited ", address: "\u00A01 Moi Avenue, Nairobi " }, asSent()],
    ["with a line break behind it, as it is pasted", { name: "Shop Limited\n", address: "1 Moi Avenue, Nairobi\r\n" }, asSent()],
    ["with an address on two lines", { address: "1 Moi Avenue,\r\nNairobi" }, asSent()],
    ["from a table, with a tabulator", { name: "Shop\tLimited", address: "1 Moi\tAvenue,\u2028Nairobi" }, asSent()],
    ["with what is not seen", { name: `Shop${ZERO_WIDTH} Limited`, address: `\uFEFF1 Moi Avenue, Nairobi` }, asSent()],
    ["in wide letters", { name: "Ｓhop Limited" }, asSent()],
    [
      "with accents and marks, which it keeps",
      { name: "Société Côte d'Ivoire & Fils" },
      asSent({ name: "Société Côte d'Ivoire & Fils" })
    ],
    [
      "as long as it may be",
      { name: "n".repeat(100), address: "a".repeat(200) },
      asSent({ name: "n".repeat(100), address: "a".repeat(200) })
    ],
    ["as short as it may be", { name: "n", address: "a" }, asSent({ name: "n", address: "a" })]
  ])("is sent in one form: %s", (_, typed, expected) => {
    expect(sent(typed)).toStrictEqual(expected)
  })

  it.each<readonly [string, Partial<typeof shop>, string]>([
    ["without a name", { name: "" }, NAME],
    ["with a name that nobody sees", { name: ` ${ZERO_WIDTH} ` }, NAME],
    ["with a longer name", { name: "n".repeat(101) }, NAME],
    ["with a name that is longer once it is in plain letters", { name: "ﬃ".repeat(34) }, NAME],
    ["with a country in small letters", { country: "ke" }, COUNTRY],
    ["with a country's whole name", { country: "Kenya" }, COUNTRY],
    ["without a country", { country: "" }, COUNTRY],
    ["without a number", { number: "" }, NUMBER],
    ["with a number that is too short", { number: "0711" }, NUMBER],
    ["with a number of letters", { number: "SHOP-LTD" }, NUMBER],
    ["with a number in a country that there is not", { country: "XX" }, NUMBER],
    ["without an address", { address: " " }, ADDRESS],
    ["with a longer address", { address: "a".repeat(201) }, ADDRESS]
  ])("is refused %s", (_, typed, why) => {
    expect(sent(typed)).toBe(why)
  })

  it("is refused for the first of several reasons, in the order of the fields", () => {
    expect(sent({ name: "", country: "", number: "", address: "" })).toBe(NAME)
    expect(sent({ country: "", number: "", address: "" })).toBe(COUNTRY)
    expect(sent({ number: "", address: "" })).toBe(NUMBER)
  })
})

describe("a tenant's sender, once it is kept", () => {
  it("is shown by first letters, its country and the end of its number", () => {
    expect(maskedSender(Result.getOrThrow(senderFrom(shop)))).toStrictEqual({
      name: "S••• L••••••",
      country: "KE",
      number: "••••2233",
      address: "1• M•• A•••••• N••••••"
    })
  })

  it("is what was typed, once it is opened again, and nothing that nobody could have typed", () => {
    const sender = Result.getOrThrow(senderFrom(shop))
    const opened = { name: "Shop Limited", country: "KE", msisdn: "+254711002233", address: "1 Moi Avenue, Nairobi" }
    expect(Schema.encodeSync(Sender)(sender)).toStrictEqual(opened)
    expect(Schema.decodeUnknownSync(Sender)(opened)).toStrictEqual(sender)
    for (const damaged of [{}, { ...opened, country: "Kenya" }, { ...opened, address: null }])
      expect(Schema.decodeUnknownResult(Sender)(damaged)).toMatchObject({ _tag: "Failure" })
  })

  it("is told to nobody who looks at the value, prints it or shows it", () => {
    const word = fc.stringMatching(/^zq[a-z]{3,10}$/)
    fc.assert(
      fc.property(word, word, fc.stringMatching(/^7[0-9]{8}$/), (name, address, number) => {
        const sender = Result.getOrThrow(senderFrom({ name, country: "KE", number, address }))
        for (const said of [inspect(sender, { depth: 5 }), JSON.stringify(sender), JSON.stringify(maskedSender(sender))])
          for (const secret of [name, address, number]) expect(said).not.toContain(secret)
      })
    )
  })
})
