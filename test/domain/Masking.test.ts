import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { LONGEST_RAW_BYTES, maskedNumber, maskedProviderCall, maskedText } from "../../src/domain/Masking.ts"
import { maskedDestination } from "../../src/domain/Party.ts"

describe("the mask of a number, name or address", () => {
  it.each([
    ["256772123456", "••••3456"],
    ["janedoe", "••••doe"],
    ["@janedoe", "••••edoe"],
    ["jane.doe@mail.example", "••••.doe"],
    ["jo@mail.example", "••••o"],
    ["j@mail.example", "••••"]
  ])("shows %s as %s", (value, expected) => {
    expect(maskedNumber(value)).toBe(expected)
  })

  it("shows the same characters of an address wherever it appears", () => {
    const address = "jane.doe@mail.example"
    const shown = "••••.doe"
    expect(maskedText(`pay ${address} now`)).toBe(`pay ${shown} now`)
    expect(maskedDestination({ _tag: "wallet", country: "UG", identifier: "email", value: Redacted.make(address) })).toBe(shown)
    const kept = maskedProviderCall(JSON.stringify({ email: address }), `sent to ${address}`)
    expect(kept).toStrictEqual({ request: JSON.stringify({ email: shown }), response: `sent to ${shown}` })
  })
})

describe("the stored request and response of a provider call", () => {
  it("keep no code by which a payer authorises, in either spelling", () => {
    for (const name of ["preAuthorisationCode", "pre_authorization_code", "authorization"])
      expect(maskedProviderCall(JSON.stringify({ [name]: "123456" }), null).request).toBe(JSON.stringify({ [name]: "[removed]" }))
  })

  it.each(["CallBackURL", "ResultURL", "QueueTimeOutURL", "callback_url", "returnUrl", "url"])(
    "keep nothing of an address that a result can be sent to: %s, nor where the answer repeats it",
    (name) => {
      const address = "https://pay.example.ke/webhooks/daraja/KEY/payout-3031-0123456789abcdef0123456789abcdef"
      const kept = maskedProviderCall(JSON.stringify({ [name]: address, deep: [{ [name]: [address] }] }), `no ${address}!`)
      expect(kept).toStrictEqual({
        request: JSON.stringify({ [name]: "[removed]", deep: [{ [name]: "[removed]" }] }),
        response: "no [removed]!"
      })
      expect(maskedProviderCall("{}", `${name}=${address}`).response).toBe(`${name}=[removed]`)
    }
  )

  it("judge the value of a pair by the name that the pair gives it", () => {
    const pairs = [
      { Key: "ReceiverPartyPublicName", Value: "254711002233 - ADA KAMYA" },
      { Key: "TransactionAmount", Value: 250 },
      { Value: "TKS41Q7ZPD", Key: "TransactionReceipt" }
    ]
    const kept = maskedProviderCall("{}", JSON.stringify(pairs)).response ?? ""
    expect(kept).not.toContain("ADA KAMYA")
    expect(kept).not.toContain("254711002233")
    expect(JSON.parse(kept)).toMatchObject([{ Key: "ReceiverPartyPublicName" }, pairs[1], pairs[2]])
  })

  it("keep no message of Airtel's, which has names and our balance in it", () => {
    const said = {
      data: { transaction: { id: "9c1b7a52f4de4c8d", status: "TS", message: "Paid UGX 15,000 to ADA KAMYA" } },
      status: { response_code: "DP00900001001", message: "You have sent ZMW 250 to ADA KAMYA. Bal ZMW 41,250.00", success: true }
    }
    const kept = maskedProviderCall("{}", JSON.stringify(said)).response ?? ""
    expect(JSON.parse(kept)).toMatchObject({
      data: { transaction: { status: "TS", message: "[removed]" } },
      status: { message: "[removed]", success: true }
    })
    const older = { code: "400", message: "JOHN DOE has it", result_code: "ESB000041" }
    expect(maskedProviderCall("{}", JSON.stringify({ status: older })).response).not.toContain("JOHN")
    // Of another provider it says why.
    expect(maskedProviderCall("{}", '{"message":"Invalid amount"}').response).toBe('{"message":"Invalid amount"}')
  })

  it("keep our own reference whole, also one that begins with seven digits, and mask an account number of its length", () => {
    const request = { transactionRef: "87942939AR0Y3ZBJ8WWX8M0CW4", note: "TR330006100519786457841326" }
    expect(maskedProviderCall(JSON.stringify(request), null).request).toBe(
      JSON.stringify({ ...request, note: maskedText(request.note) })
    )
    expect(maskedText(request.note)).not.toContain("0006100519")
  })

  it("keep the last four digits of a number, however it is written", () => {
    for (const number of ["256772123456", "+256 772 123 456", "0772-123-456", "(0772) 123456", "0772.123.456"])
      expect(maskedText(`to ${number}!`)).toBe("to ••••3456!")
    expect(maskedText("order 123456 of 2026-11-21T08:00:00.000Z")).toBe("order 123456 of 2026-11-21T08:00:00.000Z")
  })

  // What is next to a moment is no part of a number that begins in it.
  it.each([
    "2026-11-21 123456",
    "2026-11-21 08:00 123456",
    "2026-11-21 08:00:00 123456",
    "2026-11-21T08:00:00.123456789Z",
    "2026-11-21T08:00:00Z 123456",
    "2026-11-21T08:00:00+03:00 123456",
    "2026-11-21T08:00:00-0300 123456"
  ])("keep a moment as it is: %s", (moment) => {
    expect(maskedText(`at ${moment}`)).toBe(`at ${moment}`)
  })

  it("keep every moment of many, and take no number for one", () => {
    const moments = Array.from({ length: 12 }, (_, at) => `2026-11-${at + 10}T08:00Z`).join(", ")
    expect(maskedText(`${moments} and 256772123456`)).toBe(`${moments} and ••••3456`)
    expect(maskedText("070-12-34-567")).toBe("••••4567")
  })

  it("keep what is no moment, whatever signs are in it", () => {
    expect(maskedText("\uE0000\uE001 at 2026-11-21T08:00Z to 256772123456")).toBe(
      "\uE0000\uE001 at 2026-11-21T08:00Z to ••••3456"
    )
  })

  it("mask a number that NUL takes apart", () => {
    expect(maskedProviderCall("{}", "to 2567\u000072123456").response).toBe("to ••••3456")
  })

  it("keep every character that the cut does not take apart", () => {
    const { response } = maskedProviderCall("{}", `\uFFFD ${"é".repeat(20_000)}`)
    expect(response?.startsWith("\uFFFD é")).toBe(true)
    expect(response?.endsWith("é…[cut]")).toBe(true)
    expect(response?.slice(1).includes("\uFFFD")).toBe(false)
  })

  it("mask numbers, names and addresses, remove credentials, and leave amounts as they were written", () => {
    const { request } = maskedProviderCall(
      JSON.stringify({
        token: "quote-token-1",
        transactionRef: "R1",
        phoneNumber: "+256772123456",
        bankAccountNumber: "00123456789",
        firstName: "Josephine",
        country: "UG",
        amount: 12345678.5,
        customer: { email: "jo@example.test", externalId: "order 7" },
        otp: { pinId: "p-1", pin: "123456" }
      }),
      null
    )
    expect(JSON.parse(request)).toEqual({
      token: "[removed]",
      transactionRef: "R1",
      phoneNumber: "••••3456",
      bankAccountNumber: "••••6789",
      firstName: "••••hine",
      country: "UG",
      amount: 12345678.5,
      customer: { email: "••••o", externalId: "••••r 7" },
      otp: "[removed]"
    })
  })

  it("mask a person's data from the request wherever the response repeats it", () => {
    const { response } = maskedProviderCall(
      JSON.stringify({ bankAccountName: "Josephine Akello" }),
      JSON.stringify({ message: "Paid to JOSEPHINE AKELLO on 256772123456", session: "s3cr3t", id: 256772123456 })
    )
    expect(JSON.parse(response ?? "")).toEqual({ message: "Paid to ••••ello on ••••3456", session: "[removed]", id: "••••3456" })
  })

  it("mask a text that is not JSON", () => {
    const { response } = maskedProviderCall("{}", "token=abc.def msisdn: 256772123456 name=Josephine jo@example.test\u0000")
    expect(response).toBe("token=[removed] msisdn: ••••3456 name=••••hine ••••o")
  })

  it("are bounded in bytes", () => {
    const { request, response } = maskedProviderCall(JSON.stringify({ note: "é".repeat(20_000) }), "x".repeat(100_000))
    const deep = maskedProviderCall("{}", "[".repeat(30_000) + "]".repeat(30_000)).response
    for (const kept of [request, response ?? "", deep ?? ""]) {
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(LONGEST_RAW_BYTES)
      expect(kept.endsWith("…[cut]")).toBe(true)
    }
  })
})
