import { Redacted, Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  besideSpelling,
  type Denial,
  type DeniedAs,
  DeniedParty,
  type DeniedSpelling,
  type DenylistKind,
  deniedSpellings,
  newDenial
} from "../../src/domain/Denylist.ts"

const NOBODY = "the value has no letter and no digit: it would deny nobody"
const AMBIGUOUS =
  "the value is no phone number with its country's prefix: add --country for a national number, or --account where it is the number of an account"
const phone: Denial = {
  spelling: "256772800012",
  party: "phone",
  masked: "••••0012"
}

describe("a value that is put on the denylist", () => {
  it.each<readonly [string, DenylistKind, string, Partial<DeniedAs>, Denial | string]>([
    ["a phone's number with its prefix", "destination", "+256 772-80 00-12", {}, phone],
    ["a national number of a country", "screened_number", "0772 800012", { country: "UG" }, phone],
    ["a national number of no country", "screened_number", "0772 800012", {}, AMBIGUOUS],
    ["digits and signs that may be either's", "destination", "(12) 34-5/6", {}, AMBIGUOUS],
    [
      "an account's number",
      "destination",
      "00-1122 3344",
      { isAccount: true },
      { spelling: "0011223344", party: "account", masked: "••••3344" }
    ],
    [
      "an account's number that ends with a letter",
      "destination",
      "12345678a",
      {},
      { spelling: "12345678a", party: null, masked: "••••678a" }
    ],
    [
      "an account's number that begins with a letter",
      "destination",
      "A-12345678",
      {},
      { spelling: "a12345678", party: null, masked: "••••5678" }
    ],
    [
      "a handle that begins with digits",
      "destination",
      "0772 jane",
      {},
      { spelling: "0772jane", party: null, masked: "••••jane" }
    ],
    ["a handle", "destination", "@janedoe", {}, { spelling: "janedoe", party: null, masked: "••••doe" }],
    ["a handle of a country", "destination", "janedoe", { country: "UG" }, "the value is no phone number of UG"],
    ["a name", "screened_name", "Jane Doe", {}, { spelling: "doe jane", party: null, masked: "J••• D••" }],
    ["signs alone", "destination", "--", { isAccount: true }, NOBODY],
    ["signs alone for a name", "screened_name", " . ", {}, NOBODY]
  ])("is kept in one spelling, shown by its end, or refused: %s", (...[, kind, value, as, kept]) => {
    const denial = newDenial(kind, value, {
      country: null,
      isAccount: false,
      ...as
    })
    expect(Result.getOrElse(denial, (why) => why)).toStrictEqual(kept)
  })
})

describe("what a payment names is looked for", () => {
  const spelled = (of: DeniedSpelling["of"], ...spellings: ReadonlyArray<string>) =>
    spellings.map((spelling) => ({ spelling, of }))
  it.each<readonly [string, DenylistKind, string, DeniedParty | null, ReadonlyArray<DeniedSpelling>]>([
    [
      "a phone's number, and as it was kept before",
      "destination",
      "+256772800012",
      "phone",
      [
        ...spelled("phone", "256772800012", "phone|256772800012"),
        ...spelled("unsaid", "2560772800012", "00256772800012", "002560772800012", "0772800012", "772800012")
      ]
    ],
    [
      "an account with the digits of a phone",
      "destination",
      "2560772800022",
      "account",
      [...spelled("account", "2560772800022", "account|2560772800022"), ...spelled("unsaid", "256772800022")]
    ],
    ["an account's number with signs in it", "destination", "11.22", "account", spelled("account", "1122", "account|1122")],
    [
      "an account with letters behind its digits",
      "destination",
      " 1122-AB ",
      "account",
      [...spelled("account", "1122ab", "account|1122ab"), ...spelled("unsaid", "1122-ab")]
    ],
    ["a handle, among all rows", "destination", "A-12345", null, [...spelled(null, "a12345"), ...spelled("unsaid", "a-12345")]],
    [
      "a phone's number behind 00, whose digits a row without a party may have",
      "destination",
      " 00256 772-800012 ",
      "phone",
      [...spelled("phone", "256772800012", "phone|256772800012"), ...spelled("unsaid", "00256772800012")]
    ],
    [
      "digits behind 00 of nobody in particular",
      "destination",
      "00256 772800012",
      null,
      spelled(null, "256772800012", "00256772800012")
    ],
    [
      "a phone's number between blanks, which were never kept",
      "destination",
      " +256 772 800012 ",
      "phone",
      spelled("phone", "256772800012", "phone|256772800012")
    ],
    ["a name, and as it was kept before", "screened_name", "J. Groß", null, spelled(null, "gross j", "groß j")]
  ])("as %s", (...[, kind, text, party, spellings]) => {
    expect(deniedSpellings(kind, { value: Redacted.make(text), party })).toStrictEqual(spellings)
  })

  it("beside another party with the same digits, which has the plain spelling", () => {
    expect(DeniedParty.literals.map((party) => besideSpelling(party, "1122"))).toStrictEqual(["phone|1122", "account|1122"])
  })
})
