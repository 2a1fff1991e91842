import { Redacted, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { beneficiaryOf } from "../../src/domain/Beneficiary.ts"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { Destination, maskedDestination } from "../../src/domain/Party.ts"
import { recipientIdentity } from "../../src/domain/PartyIdentity.ts"
import { NOON } from "../support/SampleTransactions.ts"

const read = Schema.decodeUnknownSync(Destination)
const momo = read({ _tag: "momo", msisdn: "+256772123456", network: "MTN", country: "UG" })
const account = { _tag: "bank", country: "KE", bankCode: "01", accountNumber: "0011223344", accountName: "Jane Doe" } as const
const bank = read({ ...account, msisdn: null })
const wallet = read({ _tag: "wallet", country: "UG", identifier: "tag", value: "janedoe1" })

describe("a recipient", () => {
  it("is shown by the end of the number, account or handle that is reached", () => {
    expect([momo, bank, wallet].map(maskedDestination)).toStrictEqual(["••••3456", "••••3344", "••••doe1"])
  })

  it("is never in a log or an answer by accident", () => {
    for (const party of [momo, bank, read({ ...account, msisdn: "+254700000001" }), wallet])
      expect(`${JSON.stringify(party)} ${JSON.stringify(Object.values(party).map(String))}`).not.toMatch(
        /772123456|11223344|Jane|700000001|janedoe/
      )
  })

  it("is reached in a wallet by a phone number, an e-mail address or a tag, and by nothing else", () => {
    for (const identifier of ["msisdn", "email", "tag"])
      expect(read({ _tag: "wallet", country: "UG", identifier, value: "x" })).toMatchObject({ identifier })
    expect(() => read({ _tag: "wallet", country: "UG", identifier: "iban", value: "x" })).toThrow()
  })

  it("is the same by the kind, the bank and the number alone", () => {
    const identities = [momo, bank, wallet].map((party) => Redacted.value(recipientIdentity(party)))
    expect(identities).toStrictEqual(["momo||+256772123456", "bank|KE:01|0011223344", "wallet||janedoe1"])
    const renamed = read({ ...account, accountName: "JANE D", msisdn: "+254700000001" })
    expect(Redacted.value(recipientIdentity(renamed))).toBe(identities[1])
    for (const other of [{ country: "UG" }, { bankCode: "02" }, { accountNumber: "0011223345" }])
      expect(Redacted.value(recipientIdentity(read({ ...account, msisdn: null, ...other })))).not.toBe(identities[1])
  })
})

describe("a recipient that was paid is remembered", () => {
  const owner = { id: Reference.make("00000000000000000000000001"), appId: AppId.make("acme"), mode: "live" } as const
  const kept = { ...owner, bankName: null, createdAt: NOON, lastUsedAt: NOON }

  it("by mobile money with its network", () => {
    expect(beneficiaryOf(owner, momo, "UGX", NOON)).toStrictEqual({
      ...kept,
      type: "momo",
      country: "UG",
      currency: "UGX",
      network: "MTN",
      bankCode: null,
      branchCode: null,
      accountName: null,
      maskedDestination: "••••3456"
    })
  })

  it("at a bank with the bank's code, the masked name, and the branch where one was named", () => {
    expect(beneficiaryOf(owner, read({ ...account, msisdn: null, branchCode: "007" }), "KES", NOON).branchCode).toBe("007")
    expect(beneficiaryOf(owner, bank, "KES", NOON)).toStrictEqual({
      ...kept,
      type: "bank",
      country: "KE",
      currency: "KES",
      network: null,
      bankCode: "01",
      branchCode: null,
      accountName: "J••• D••",
      maskedDestination: "••••3344"
    })
  })

  it("in a wallet with neither", () => {
    expect(beneficiaryOf(owner, wallet, "UGX", NOON)).toStrictEqual({
      ...kept,
      type: "wallet",
      country: "UG",
      currency: "UGX",
      network: null,
      bankCode: null,
      branchCode: null,
      accountName: null,
      maskedDestination: "••••doe1"
    })
  })
})
