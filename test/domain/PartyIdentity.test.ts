import { Redacted, Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { isSameHolder } from "../../src/domain/BankAccount.ts"
import { deniedSpelling, deniedSpellings } from "../../src/domain/Denylist.ts"
import { Destination } from "../../src/domain/Party.ts"
import { deniedIdentity, nameIdentity, recipientIdentity } from "../../src/domain/PartyIdentity.ts"
import { accountOf, destinationOf } from "../../src/http/Parties.ts"

const ZERO_WIDTH = "\u200B"
const read = Schema.decodeUnknownSync(Destination)
const who = (destination: object): string => Redacted.value(recipientIdentity(read(destination)))
const momo = (msisdn: string) => who({ _tag: "momo", msisdn, network: "MTN", country: "UG" })
const wallet = (identifier: string, value: string) => who({ _tag: "wallet", country: "UG", identifier, value })
const bank = (accountNumber: string, bankCode = "01", country = "KE") =>
  who({ _tag: "bank", country, bankCode, accountNumber, accountName: "Jane Doe", msisdn: null })

describe("a recipient is the same", () => {
  it("by mobile money and by wallet, where the number is the same", () => {
    expect(wallet("msisdn", "+256772123456")).toBe(momo("+256772123456"))
    expect(wallet("msisdn", "+256772123457")).not.toBe(momo("+256772123456"))
  })

  it.each([
    [
      "an e-mail address",
      () =>
        ["bob@x.org", "BOB@X.ORG", "bob@x.org ", `b${ZERO_WIDTH}ob@x.org`, "ｂob@x.org", "bob@x.org."].map((value) =>
          wallet("email", value)
        )
    ],
    [
      "one in another script",
      () => ["bob@bücher.example", "BOB@BÜCHER.example", "bob@xn--bcher-kva.example"].map((value) => wallet("email", value))
    ],
    [
      "a tag",
      () =>
        ["janedoe1", "@janedoe1", "JaneDoe1", " janedoe1 ", `jane${ZERO_WIDTH}doe1`, "janedoe１"].map((value) =>
          wallet("tag", value)
        )
    ],
    [
      "an account",
      () =>
        [
          "AB0011223344",
          "ab-0011 2233 44",
          "AB.0011/223344",
          `AB00112233${ZERO_WIDTH}44`,
          "ＡＢ0011223344",
          "AB0011223344\u00A0"
        ].map((value) => bank(value))
    ],
    ["a bank", () => ["ab01", "AB01", "AB-01 "].map((code) => bank("0011", code))]
  ])("in any spelling of %s", (_, spelled) => {
    expect(new Set(spelled()).size).toBe(1)
  })

  it("in the words of earlier releases, where it was spelled as it should be: their hashes still match", () => {
    expect([momo("+256772123456"), bank("0011223344"), wallet("tag", "janedoe1"), wallet("email", "bob@x.org")]).toEqual([
      "momo||+256772123456",
      "bank|KE:01|0011223344",
      "wallet||janedoe1",
      "wallet||bob@x.org"
    ])
  })

  it("only where number, bank, country and handle are", () => {
    const others = [
      bank("0011223344"),
      bank("0011223345"),
      bank("11223344"),
      bank("0011223344", "02"),
      bank("0011223344", "01", "UG"),
      wallet("tag", "janedoe1"),
      wallet("tag", "jane-doe1"),
      wallet("email", "jane@doe.example"),
      momo("+256772123456")
    ]
    expect(new Set(others).size).toBe(others.length)
  })
})

describe("the denylist", () => {
  it.each([
    ["+256 772-123456", "256772123456"],
    ["(256) 772.123.456", "256772123456"],
    [` 256772${ZERO_WIDTH}123456 `, "256772123456"],
    ["256\u2011772\u2013123456", "256772123456"],
    ["２５６772123456", "256772123456"],
    ["Jane@Example.com", "jane@example.com"],
    [" JaneDoe ", "janedoe"],
    ["@JaneDoe", "janedoe"],
    [`Jane\u2060Doe`, "janedoe"],
    ["A-12345", "a12345"],
    ["a 123/45", "a12345"],
    ["jane-doe", "jane-doe"]
  ])("takes %j for %s", (given, spelled) => {
    expect(deniedIdentity(given)).toBe(spelled)
  })

  it("finds what earlier releases kept, in their spelling", () => {
    expect(deniedSpellings("destination", "A-12345")).toEqual(["a12345", "a-12345"])
    expect(deniedSpellings("destination", "@JaneDoe")).toEqual(["janedoe", "@janedoe"])
    expect(deniedSpellings("screened_number", "+256 772-123456")).toEqual(["256772123456"])
    expect(deniedSpellings("screened_name", "Jane Doe")).toEqual(["doe jane"])
    expect(deniedSpellings("screened_name", "J. Groß")).toEqual(["gross j", "groß j"])
  })

  it("takes a name for the same with a character in it that is not seen, as a bank does for its holder", () => {
    expect(deniedSpelling("screened_name", `JA${ZERO_WIDTH}NE D\u00ADoe`)).toBe("doe jane")
    expect(nameIdentity("  José  Núñez-Abe ")).toBe("abe jose nunez")
    expect(isSameHolder(Redacted.make(`Ja${ZERO_WIDTH}ne DOE`), Redacted.make("doe, jane"))).toBe(true)
  })
})

describe("a recipient is sent", () => {
  it("without what is not seen, and with nothing that a provider might skip", () => {
    const account = { country: "KE", bank_code: ` 01${ZERO_WIDTH}`, account_number: "00-11 22\u202C" }
    const read = Result.getOrThrow(accountOf(account, ""))
    expect([read.bankCode, Redacted.value(read.accountNumber)]).toEqual(["01", "00-11 22"])
    for (const odd of ["0011;2233", "٠٠١١", "0011\u28002233", "-0011", ZERO_WIDTH])
      expect([odd, accountOf({ ...account, account_number: odd }, "destination.")]).toMatchObject([
        odd,
        { failure: [{ path: "destination.account_number" }] }
      ])
    expect(accountOf({ ...account, bank_code: "01|02" }, "")).toMatchObject({ failure: [{ path: "bank_code" }] })
  })

  it("by wallet with a handle that can be seen", () => {
    const sent = (handle: object) => destinationOf({ type: "wallet", country: "UG", ...handle })
    expect(sent({ tag: ` jane${ZERO_WIDTH}doe ` })).toMatchObject({ success: { value: Redacted.make("janedoe") } })
    expect(sent({ tag: ZERO_WIDTH })).toMatchObject({ failure: [{ path: "destination.tag" }] })
  })
})
