import { Option, Redacted, Result, Schema } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isSameHolder } from "../../src/domain/BankAccount.ts"
import {
  besideSpelling,
  type Denial,
  type DeniedParty,
  type DenylistKind,
  deniedSpellings,
  newDenial
} from "../../src/domain/Denylist.ts"
import { msisdnAsWritten, msisdnOf } from "../../src/domain/Msisdn.ts"
import { Destination, MomoParty } from "../../src/domain/Party.ts"
import { deniedIdentity, nameIdentity, payerIdentity, recipientIdentity } from "../../src/domain/PartyIdentity.ts"
import { accountOf, destinationOf } from "../../src/http/body/Parties.ts"

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
    expect([
      momo("+256772123456"),
      bank("0011223344"),
      bank("ab-12", "bank1"),
      wallet("tag", "janedoe1"),
      wallet("email", "bob@x.org")
    ]).toEqual(["momo||+256772123456", "bank|KE:01|0011223344", "bank|KE:BANK1|AB12", "wallet||janedoe1", "wallet||bob@x.org"])
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
      wallet("tag", "jane@doe1"),
      wallet("email", "jane@doe.example"),
      momo("+256772123456")
    ]
    expect(new Set(others).size).toBe(others.length)
  })
})

const spellingsFor = (kind: DenylistKind, text: string, party: DeniedParty | null) =>
  deniedSpellings(kind, { value: Redacted.make(text), party }).map(({ spelling }) => spelling)

it("a payer is known by the number", () => {
  const payer = Schema.decodeUnknownSync(MomoParty)({ _tag: "momo", msisdn: "+256772123456", network: "MTN", country: "UG" })
  expect(Redacted.value(payerIdentity(payer))).toBe("+256772123456")
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
    ["jane-doe", "jane-doe"],
    ["Jane1@Example.com", "jane1@example.com"],
    ["Jane@Exa mple.COM", "jane@exa mple.com"]
  ])("takes %j for %s", (given, spelled) => {
    expect(deniedIdentity(given)).toBe(spelled)
  })

  it("finds what earlier releases kept, in their spelling", () => {
    expect(spellingsFor("destination", "A-12345", null)).toEqual(["a12345", "a-12345"])
    expect(spellingsFor("destination", "@JaneDoe", null)).toEqual(["janedoe", "@janedoe"])
    expect(spellingsFor("screened_name", "Jane Doe", null)).toEqual(["doe jane"])
    expect(spellingsFor("screened_name", "J. Groß", null)).toEqual(["gross j", "groß j"])
  })

  it("takes a name for the same with a character in it that is not seen, as a bank does for its holder", () => {
    expect(spellingsFor("screened_name", `JA${ZERO_WIDTH}NE D\u00ADoe`, null)[0]).toBe("doe jane")
    expect(nameIdentity("  José  Núñez-Abe ")).toBe("abe jose nunez")
    for (const line of ["Jane\tDoe", "DOE\nJane", "Jane\u2028Doe"]) expect(nameIdentity(line)).toBe("doe jane")
    expect(isSameHolder(Redacted.make(`Ja${ZERO_WIDTH}ne DOE`), Redacted.make("doe, jane"))).toBe(true)
  })
})

// Issue 38, line 3.
const people = [
  { country: "UG", prefix: "256", national: "772800012" },
  { country: "CI", prefix: "225", national: "0703445566" },
  { country: "KE", prefix: "254", national: "711002233" },
  { country: "GH", prefix: "233", national: "241234567" },
  { country: "CM", prefix: "237", national: "671234567" },
  { country: "CG", prefix: "242", national: "066543210" },
  { country: "BJ", prefix: "229", national: "0197123456" },
  { country: "NG", prefix: "234", national: "8031234567" }
] as const
const trunk = (person: (typeof people)[number]) => (person.national.startsWith("0") ? "" : "0")
const marks = fc.constantFrom("", " ", "-", ".", "/", "\u00A0", "\u2011", ZERO_WIDTH, "\u202A", "\u00AD", "\uFEFF")
const wide = (digit: string) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0)
/** The digits with anything between them that people, and those who hide, write there. */
const written = (digits: string) =>
  fc
    .array(fc.tuple(marks, fc.boolean()), { minLength: digits.length, maxLength: digits.length })
    .map((between) => [...digits].map((digit, at) => `${between[at]?.[1] ? wide(digit) : digit}${between[at]?.[0]}`).join(""))
const spelled = fc.constantFrom(...people).chain((person) =>
  fc
    .record({
      opening: fc.constantFrom("+", "00", "", "(+", " +"),
      trunk: fc.constantFrom("", trunk(person)),
      national: written(person.national)
    })
    .map(({ national, opening, trunk: zero }) => ({
      person,
      text: `${opening}${person.prefix}${opening === "(+" ? ")" : ""}${zero}${national}`
    }))
)
const e164 = ({ national, prefix }: (typeof people)[number]) => `+${prefix}${national}`

const denialOf = (text: string, isAccount: boolean, country: string | null = null) =>
  newDenial("destination", text, { country, isAccount })
const account = (text: string) => denialOf(text, true)
const phone = (text: string, country: string | null = null) =>
  Result.map(denialOf(text, false, country), ({ spelling }) => spelling)
/** Whether a row denies what a payment names, by the rule of the look-up's statement. */
const finds = ({ party: row, spelling }: Denial, text: string, party: DeniedParty | null): boolean =>
  deniedSpellings("destination", { value: Redacted.make(text), party }).some(
    (one) => one.spelling === spelling && (row === null || one.of === null || one.of === row)
  )

describe("line 3: a person is one under every spelling", () => {
  it("of a number with its country's prefix, whoever reads it", () => {
    fc.assert(
      fc.property(spelled, ({ person, text }) => {
        expect([text, phone(text)]).toEqual([text, Result.succeed(e164(person).slice(1))])
        // What a payment takes of it is the same person, and is found on the list.
        for (const number of Option.toArray(msisdnOf(text, person.country))) expect([text, number]).toEqual([text, e164(person)])
        expect(spellingsFor("destination", e164(person), "phone")).toContain(e164(person).slice(1))
      }),
      { numRuns: 500 }
    )
  })

  it("of a national number where its country is said; without one it is refused, for it is somebody in every country", () => {
    for (const person of people) {
      const text = `${trunk(person)}${person.national}`
      expect(msisdnAsWritten(text, person.country)).toEqual(Option.some(e164(person)))
      expect(phone(text, person.country)).toEqual(Result.succeed(e164(person).slice(1)))
      expect(phone(text)).toMatchObject({ failure: expect.stringContaining("--country") })
    }
  })

  it("of an account, which is said to be one where it could be a number", () => {
    expect(Result.map(account("00-1122 3344"), ({ spelling }) => spelling)).toEqual(Result.succeed("0011223344"))
    expect(spellingsFor("destination", "0011223344", "account")).toContain("0011223344")
    expect(phone("AC-2204")).toEqual(Result.succeed("ac2204"))
    // Nobody knows what the digits of an earlier row are of: it is found as both.
    expect(spellingsFor("destination", "2560772800022", "account")).toEqual(
      expect.arrayContaining(["256772800022", "2560772800022"])
    )
  })

  it("and an account is another party than a phone with the same digits, however either is written", () => {
    const accounts = fc
      .constantFrom("", "00", "0")
      .chain((opening) => fc.constantFrom(...people).chain((person) => written(`${opening}${person.prefix}${person.national}`)))
    fc.assert(
      fc.property(spelled, accounts, ({ text }, number) => {
        const rows = { phone: Result.getOrThrow(denialOf(text, false)), account: Result.getOrThrow(account(number)) }
        expect([text, finds(rows.phone, text, "phone"), finds(rows.phone, text, "account")]).toEqual([text, true, false])
        expect([number, finds(rows.account, number, "account"), finds(rows.account, number, "phone")]).toEqual([
          number,
          true,
          false
        ])
        // A handle is compared with all, and an earlier row with everybody.
        expect(finds(rows.phone, text, null)).toBe(true)
        for (const party of ["phone", "account"] as const) expect(finds({ ...rows.phone, party: null }, text, party)).toBe(true)
      }),
      { numRuns: 300 }
    )
    const beside = { spelling: besideSpelling("account", "256772800012"), party: "account", masked: "" } as const
    expect([finds(beside, "256772800012", "account"), finds(beside, "+256772800012", "phone")]).toEqual([true, false])
  })

  it("is not put on a list as nothing", () => {
    for (const [kind, text] of [
      ["destination", ZERO_WIDTH],
      ["destination", "--"],
      ["screened_name", " . "]
    ] as const)
      expect([text, newDenial(kind, text, { country: null, isAccount: true })]).toMatchObject([text, { _tag: "Failure" }])
  })

  it("in the spellings that earlier releases kept of a number: each of their rows refuses", () => {
    for (const kept of ["256772800012", "0772800012", "772800012", "2560772800012", "00256772800012"])
      expect(spellingsFor("destination", "+256772800012", "phone")).toContain(kept)
  })
})

describe("a recipient is sent", () => {
  it("without what is not seen, and with nothing that a provider might skip", () => {
    const account = { country: "KE", bank_code: ` 01${ZERO_WIDTH}`, account_number: "00-11 22\u202C" }
    const read = Result.getOrThrow(accountOf(account, ""))
    expect([read.bankCode, Redacted.value(read.accountNumber)]).toEqual(["01", "00-1122"])
    for (const odd of ["0011;2233", "٠٠١١", "0011\u28002233", "-0011", ZERO_WIDTH])
      expect([odd, accountOf({ ...account, account_number: odd }, "destination.")]).toMatchObject([
        odd,
        { failure: [{ path: "destination.account_number" }] }
      ])
    expect(accountOf({ ...account, bank_code: "01|02" }, "")).toMatchObject({ failure: [{ path: "bank_code" }] })
  })

  it("at a bank without the blanks by which its account was grouped (38.15)", () => {
    const accounts = ["9030 0012 34", "9030001234", " 9030\u00a0001234 "].map((account_number) =>
      accountOf({ country: "UG", bank_code: "01", account_number }, "")
    )
    for (const account of accounts) expect(Redacted.value(Result.getOrThrow(account).accountNumber)).toBe("9030001234")
  })

  it("by wallet with a handle that can be seen", () => {
    const sent = (handle: object) => destinationOf({ type: "wallet", country: "UG", ...handle })
    expect(sent({ tag: ` jane${ZERO_WIDTH}doe ` })).toMatchObject({ success: { value: Redacted.make("janedoe") } })
    expect(sent({ tag: ZERO_WIDTH })).toMatchObject({ failure: [{ path: "destination.tag" }] })
  })
})
