import { describe, expect, it } from "vitest"
import { maskedName, maskedProviderCall, maskedText } from "../../src/domain/Masking.ts"

/** What is kept of a member, and of the same in a text that is not JSON. */
const kept = (name: string, value: unknown): unknown =>
  JSON.parse(maskedProviderCall(JSON.stringify({ [name]: value }), null).request)[name]
const plain = (text: string): string => maskedProviderCall(text, null).request

describe("of a member that opens something nothing is kept", () => {
  it.each([
    ..."pin otp cvv cvc jwt pinId pin_id PINID customerPin pin_code sms_otp_value".split(" "),
    ..."oneTimeCode onetime one_time accessToken token secret password passwd passcode signature".split(" "),
    ..."authorization authorisation apiKey api_key apikey privateKey credentials sessionId x-api-key".split(" ")
  ])("%s", (name) => {
    expect(kept(name, "abc")).toBe("[removed]")
    expect(kept(name, 12)).toBe("[removed]")
    expect(kept(name, { inner: ["abc"] })).toBe("[removed]")
    expect(kept(name, null)).toBeNull()
    if (/^[A-Za-z]/.test(name)) expect(plain(`it said ${name}=abc`)).toBe(`it said ${name}=[removed]`)
  })

  it.each(["shipping", "spinner", "topping", "adopts", "cvvx", "keypins", "keys", "pass", "author"])(
    "but of %s it is",
    (name) => {
      expect(kept(name, "abc")).toBe("abc")
      expect(plain(`${name}=abc`)).toBe(`${name}=abc`)
    }
  )
})

describe("of a member that says who somebody is the end is kept", () => {
  it.each([
    ..."firstName last_name middleName fullName givenName familyName accountName customerName holderName ownerName".split(" "),
    ..."recipientName beneficiaryName payerName username userName senderName firstnames name names".split(" "),
    ..."email e_mail payerEmail tag externalId external_id externalid handle address homeAddress birthDate dateOfBirth".split(
      " "
    ),
    ..."phone msisdn mobile phoneNumber accountNumber account_no accountNo accountno account bank_account iban card pan".split(
      " "
    )
  ])("%s", (name) => {
    expect(kept(name, "Josephine")).toBe("••••hine")
    expect(kept(name, ["Josephine"])).toEqual(["••••hine"])
    expect(plain(`it said ${name}: Josephine!`)).toBe(`it said ${name}: ••••ine!`)
  })

  it.each([
    "networkName",
    "nameOfBank",
    "accountNameStatus",
    "namespace",
    "tagline",
    "price_tag",
    "stage",
    "accounts",
    "account_note",
    "company",
    "note",
    "title"
  ])("but all of %s is", (name) => {
    expect(kept(name, "Josephine")).toBe("Josephine")
    expect(plain(`${name}: Josephine`)).toBe(`${name}: Josephine`)
  })

  it("and all of an account that is named by its currency", () => {
    expect(["UG", "UGX", "U", "UGXX", "ugx", "UGX1", "1UGX"].map((text) => kept("account", text))).toEqual([
      "UG",
      "UGX",
      "••••",
      "••••XX",
      "••••x",
      "••••X1",
      "••••GX"
    ])
  })
})

describe("the digits of a figure are kept as they were written", () => {
  it.each(
    "amount fee fees charge balance total rate price minimum maximum limit status code dailyLimit exchange_rate feesTotal".split(
      " "
    )
  )("%s", (name) => {
    expect(maskedProviderCall(`{"${name}":12345678.50}`, null).request).toBe(`{"${name}":12345678.50}`)
    for (const text of ["12345678", "-12345678", "12345678.50"]) expect(kept(name, text)).toBe(text)
    for (const text of ["UGX 12345678", "12345678 UGX", "12345678.", "--12345678"]) expect(kept(name, text)).not.toBe(text)
  })

  it.each(["feed", "order", "number", "note"])("and not those of %s", (name) => {
    expect(kept(name, 12_345_678)).toBe("••••5678")
    expect(kept(name, "12345678")).toBe("••••5678")
    expect(maskedProviderCall(`{"${name}":1234.50}`, null).request).toBe(`{"${name}":1234.50}`)
  })
})

describe("in a text for people", () => {
  it.each([
    ["seven digits", "a 1234567 b", "a ••••4567 b"],
    ["digits with signs between them", "a +256 (772) 123-456.7 b", "a ••••4567 b"],
    ["two signs between them", "a 12) 34567 b", "a ••••4567 b"],
    ["two numbers", "1234567 and 7654321", "••••4567 and ••••4321"],
    ["an address", "to jane.doe@mail.example.", "to ••••.doe"],
    ["an address behind a colon", "mailto:jane.doe@mail.example", "mailto:••••.doe"],
    ["an address in quotes", `"jane.doe@mail.example", 'x'`, `"••••.doe", 'x'`],
    ["an address in brackets", "<jane.doe@mail.example>;", "<••••.doe>;"],
    ["a moment beside a number", "1234567 at 2026-11-21T08:00:00.000Z", "••••4567 at 2026-11-21T08:00:00.000Z"]
  ])("is masked: %s", (_, text, masked) => expect(maskedText(text)).toBe(masked))

  it.each([
    "six digits: 123456",
    "four and three: 1234 - - - 567",
    "an at sign: @ 5",
    "2026-11-21",
    "2026-11-21T08:00",
    "2026-11-21 08:00:00",
    "2026-11-21T08:00:00Z",
    "2026-11-21T08:00:00.123456Z",
    "2026-11-21T08:00:00+03:00",
    "2026-11-21T08:00:00-0300",
    "from 2026-11-21T08:00:00Z to 2026-11-22T08:00:00.5+03:00, both on 2026-11-23"
  ])("is left: %s", (text) => expect(maskedText(text)).toBe(text))

  it("a name shows the first letter of each word, and at least one dot", () => {
    expect(maskedName("  Jane   van Doe ")).toBe("J••• v•• D••")
    expect(maskedName("J D")).toBe("J• D•")
    expect(maskedName("😀lex 😀")).toBe("😀••• 😀•")
  })
})

describe("a text that is not JSON", () => {
  it.each([
    ["pin=1234&name=Josephine", "pin=[removed]&name=••••hine"],
    [`"pin": "1234", 'name' : 'Josephine'}`, `"pin": "[removed]", 'name' : '••••hine'}`],
    ["<a>pin=12</a>; pin=34;x", "<a>pin=[removed]</a>; pin=[removed];x"],
    ["x-pin=1234 9pin=5", "x-pin=[removed] 9pin=5"],
    ["pin = 12,pin=34", "pin = [removed],pin=[removed]"],
    ["pin 1234", "pin 1234"]
  ])("is masked by what each word is said to be: %s", (text, masked) => expect(plain(text)).toBe(masked))
})

describe("what the request says of a person is masked in the answer", () => {
  const answered = (request: object, response: string) => maskedProviderCall(JSON.stringify(request), response).response

  it("the longest first, whatever the case, wherever it is", () => {
    expect(answered({ firstName: "Anna", fullName: "Anna Akello" }, '["ANNA AKELLO and anna, Anna"]')).toBe(
      '["••••ello and ••••na, ••••na"]'
    )
  })

  it("and not where it is shorter than four characters, or no person's", () => {
    expect(answered({ firstName: "Ann" }, '["Ann"]')).toBe('["Ann"]')
    expect(answered({ note: "Josephine" }, '["Josephine"]')).toBe('["Josephine"]')
    expect(answered({ account: "Josephine" }, '["Josephine"]')).toBe('["Josephine"]')
  })

  it("with every sign in it as itself", () => {
    expect(answered({ name: "A.B*C+(D)" }, '["A.B*C+(D) AxBBCC"]')).toBe('["••••+(D) AxBBCC"]')
    expect(answered({ name: "Josephine$&" }, '["to Josephine$&"]')).toBe('["to ••••ne$&"]')
    const quoted = { name: 'Jo "Jay" \\ Akello' }
    expect(answered(quoted, JSON.stringify({ message: `Paid to ${quoted.name}` }))).toBe('{"message":"Paid to ••••ello"}')
    expect(answered(quoted, `Paid to ${quoted.name}`)).toBe("Paid to ••••ello")
  })

  it("in names of members and in numbers, and JSON stays JSON whatever a person is called", () => {
    expect(answered({ name: "Josephine" }, '{"for Josephine":1}')).toBe('{"for ••••hine":1}')
    expect(answered({ externalId: "54321" }, '{"order":54321,"amount":54321}')).toBe('{"order":"••••21","amount":54321}')
    expect(answered({ name: "true" }, '{"ok":true,"said":"true"}')).toBe('{"ok":true,"said":"••••ue"}')
  })
})

describe("what is kept is the same JSON", () => {
  it("with its lists, truths and nothings, and masked names", () => {
    const text = '{"a":[1,true,null,{"b":false}],"c":{},"d":[],"e":"x","no 1234567":1}'
    expect(maskedProviderCall(text, null).request).toBe(text.replace("1234567", "••••4567"))
    expect(maskedProviderCall("[12345678,1.50]", "true")).toEqual({ request: '["••••5678",1.50]', response: "true" })
    expect(maskedProviderCall("null", null)).toEqual({ request: "null", response: null })
  })

  it("without NUL and halves of characters, and as far as it is looked at", () => {
    expect(plain("a\u0000b")).toBe("ab")
    expect(plain("a\ud800b")).toBe("a\ufffdb")
    expect(maskedProviderCall('{"a":"x\\u0000y"}', null).request).toBe('{"a":"x\\u0000y"}')
    expect(plain(`token=${"x".repeat(65_536 - 6 - 4)} end and more`)).toBe("token=[removed] end")
  })

  it("whole up to 16 KiB, and with a mark where it is cut", () => {
    for (const [text, length] of [
      ["x".repeat(16_384), 16_384],
      ["é".repeat(8_192), 8_192]
    ] as const)
      expect(plain(text)).toHaveLength(length)
    const cut = plain("x".repeat(16_385))
    expect(cut).toBe(`${"x".repeat(16_384 - 8)}…[cut]`)
    expect(plain(`x${"é".repeat(8_192)}`)).toBe(`x${"é".repeat(8_187)}…[cut]`)
  })
})
