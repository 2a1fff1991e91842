import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { Beneficiary } from "../../src/domain/Beneficiary.ts"
import { Corridor } from "../../src/domain/Corridor.ts"
import { DenylistEntry } from "../../src/domain/Denylist.ts"
import { Quote } from "../../src/domain/Exchange.ts"
import { Fact } from "../../src/domain/Fact.ts"
import { minor } from "../../src/domain/Money.ts"
import { Operator } from "../../src/domain/Operator.ts"
import { NextAction, Payment } from "../../src/domain/Payment.ts"
import { Proposal } from "../../src/domain/Proposal.ts"
import { Caller, Tenant } from "../../src/domain/Tenant.ts"
import { Transaction } from "../../src/domain/Transaction.ts"
import { cases } from "../support/ReviewCases.ts"
import { facts } from "../support/SampleFacts.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const id = "00000000000000000000000001"
const owner = { appId: "acme", mode: "live" } as const
const money = minor(5n)
const reviewed = {
  failedBy: "person",
  said: ["failed"],
  saidAtOpening: [],
  ruling: { outcome: "failed", known: ["failed"] }
} as const
const succeeded = {
  ...facts(1n).Succeeded,
  exchanged: { amount: money, currency: "KES", raw: "0.05" }
}
const sold = {
  currency: "UGX",
  amount: money,
  destinationCurrency: "KES",
  destinationAmount: money,
  rawDestinationAmount: "0.05",
  rate: "0.01"
}

/** A record of every kind with all that it can hold. */
const rows: ReadonlyArray<readonly [string, Schema.Decoder<unknown>, Readonly<Record<string, unknown>>]> = [
  ["payout", Transaction, { ...payout(), ...reviewed }],
  ["collection", Transaction, { ...collection(), ...reviewed }],
  ["exchange", Transaction, { ...cases["pending exchange"], ...reviewed }],
  [
    "quote",
    Quote,
    {
      id,
      ...owner,
      provider: "eversend",
      token: "t",
      ...sold,
      createdAt: NOON,
      expiresAt: NOON
    }
  ],
  [
    "beneficiary",
    Beneficiary,
    {
      id,
      ...owner,
      type: "bank",
      country: "KE",
      currency: "KES",
      network: null,
      bankCode: "01",
      branchCode: "007",
      bankName: null,
      accountName: "J•••",
      maskedDestination: "••••1234",
      createdAt: NOON,
      lastUsedAt: NOON
    }
  ],
  [
    "corridor",
    Corridor,
    {
      country: "KE",
      currency: "KES",
      direction: "payout",
      method: "momo",
      active: true,
      providers: ["eversend"],
      networks: ["MPESA"],
      minimum: money,
      maximum: null,
      customerAction: "none",
      requiresRedirectUrl: false,
      requiresMsisdn: true,
      preference: "order",
      requiresName: false,
      destinationCurrencies: ["KES"],
      availability: "degraded",
      inactiveReason: null,
      updatedAt: NOON
    }
  ],
  [
    "row of the denylist",
    DenylistEntry,
    {
      kind: "destination",
      party: null,
      masked: "••••1234",
      reason: "fraud",
      createdAt: NOON
    }
  ],
  ["person of the console", Operator, { name: "ann", role: "viewer", createdAt: NOON }],
  [
    "proposal",
    Proposal,
    {
      id,
      kind: "float credit",
      subject: "acme/live/1",
      details: { amount: "1" },
      proposedBy: "ann",
      proposedAt: NOON,
      status: "done",
      decidedBy: "bob",
      decidedAt: NOON,
      note: ""
    }
  ],
  [
    "tenant",
    Tenant,
    {
      appId: "acme",
      status: "active",
      capabilities: ["fx"],
      pinned: "eversend",
      repeatSales: false,
      createdAt: NOON
    }
  ],
  ["caller", Caller, { ...owner, keyId: "k", role: "tenant" }],
  [
    "payout",
    Payment,
    payout({
      needsReview: true,
      said: [],
      saidAtOpening: [],
      failedBy: "gateway",
      ruling: null
    })
  ],
  ["code to say", NextAction, { _tag: "otp", pinId: "V1", message: "say it", expiresAt: NOON }],
  [
    "page to pay on",
    NextAction,
    {
      _tag: "redirect",
      redirectUrl: "https://pay.example/1",
      message: "go",
      expiresAt: NOON
    }
  ],
  ...Object.values({ ...facts(1n), Succeeded: succeeded }).map((fact) => [`fact ${fact._tag}`, Fact, { ...fact }] as const)
]
const optional = new Set(["failedBy", "said", "saidAtOpening", "ruling", "exchanged"])

describe("a record of an earlier release", () => {
  it.each(rows)("is read with every member: a %s", (_, schema, record) => {
    const read = Schema.decodeUnknownSync(schema)
    expect(read(record)).toStrictEqual(record)
    for (const member of Object.keys(record)) {
      const { [member]: _gone, ...rest } = record
      if (optional.has(member)) expect(read(rest)).toStrictEqual(rest)
      else expect(() => read(rest), member).toThrow()
      expect(() => read({ ...record, [member]: Symbol("none") }), member).toThrow()
    }
  })

  it("is read with every member of its parts", () => {
    const read = Schema.decodeUnknownSync(Transaction)
    const parts = {
      failure: { code: "unknown", message: "no" },
      returned: { amount: money, at: NOON, reason: "closed" },
      ruling: { outcome: "failed", known: ["failed"] },
      reported: { amount: money, fee: money }
    }
    const said = { account: "f1", ofAnother: true, feeReturns: true }
    const record = { ...payout(), ...parts, ...said }
    expect(read(record)).toStrictEqual(record)
    for (const name of Object.keys(said)) expect(() => read({ ...record, [name]: false }), name).toThrow()
    for (const [name, part] of Object.entries<Readonly<Record<string, unknown>>>(parts))
      for (const member of Object.keys(part)) {
        const { [member]: _gone, ...rest } = part
        expect(() => read({ ...record, [name]: rest }), `${name}.${member}`).toThrow()
      }
    for (const member of Object.keys(succeeded.exchanged))
      expect(() =>
        Schema.decodeUnknownSync(Fact)({
          ...succeeded,
          exchanged: { ...succeeded.exchanged, [member]: undefined }
        })
      ).toThrow()
  })

  it.each(["momo", "bank", "wallet"])("is read whatever the kind of a recipient is: %s", (type) => {
    const [, , beneficiary] = rows.find(([name]) => name === "beneficiary") ?? []
    expect(Schema.decodeUnknownSync(Beneficiary)({ ...beneficiary, type })).toMatchObject({ type })
  })
})
