import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import {
  Account,
  collect,
  correct,
  coveringReceivable,
  credit,
  debit,
  type Entry,
  exchange,
  FloatPosition,
  Phase,
  Posting,
  release,
  reserve,
  returnFunds,
  settle,
  slotByPhase
} from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import { linesOf } from "../support/EntryLines.ts"

const entries: ReadonlyArray<readonly [what: string, entry: () => Entry, Phase, ReadonlyArray<string>]> = [
  ["a credit", () => credit("UGX", minor(500n)), "credit", ["UGX available 500", "UGX credited -500"]],
  ["a debit", () => debit("UGX", minor(500n)), "debit", ["UGX available -500", "UGX debited 500"]],
  ["a reservation", () => reserve("UGX", minor(11_000n)), "reserve", ["UGX available -11000", "UGX reserved 11000"]],
  ["a release", () => release("UGX", minor(11_000n)), "release", ["UGX reserved -11000", "UGX available 11000"]],
  [
    "a payout with the fee that was held",
    () => settle("UGX", minor(10_000n), minor(1_000n), minor(1_000n)),
    "settle",
    ["UGX reserved -11000", "UGX paid_out 10000", "UGX provider_fees 1000"]
  ],
  [
    "a payout with a lower fee: the rest of the hold returns to the float",
    () => settle("UGX", minor(10_000n), minor(1_000n), minor(700n)),
    "settle",
    ["UGX reserved -11000", "UGX paid_out 10000", "UGX provider_fees 700", "UGX available 300"]
  ],
  [
    "a payout with a higher fee: the tenant pays what was held, the gateway bears the rest",
    () => settle("UGX", minor(10_000n), minor(1_000n), minor(1_200n)),
    "settle",
    ["UGX reserved -11000", "UGX paid_out 10000", "UGX provider_fees 1000", "UGX drift 200", "UGX pool -200"]
  ],
  [
    "a payout without a fee",
    () => settle("UGX", minor(10_000n), minor(0n), minor(0n)),
    "settle",
    ["UGX reserved -10000", "UGX paid_out 10000"]
  ],
  [
    "an exchange, which balances in each of its two currencies",
    () => exchange("UGX", minor(50_000n), "KES", minor(174_324n)),
    "exchange",
    ["UGX reserved -50000", "UGX fx_out 50000", "KES available 174324", "KES fx_in -174324"]
  ],
  [
    "a collection, credited without its fee",
    () => collect("UGX", minor(50_000n), minor(750n)),
    "collect",
    ["UGX available 49250", "UGX collected -50000", "UGX provider_fees 750"]
  ],
  [
    "a collection that its fee takes whole",
    () => collect("UGX", minor(750n), minor(750n)),
    "collect",
    ["UGX collected -750", "UGX provider_fees 750"]
  ],
  [
    "a return without the fee",
    () => returnFunds("UGX", minor(10_000n), minor(0n)),
    "return",
    ["UGX available 10000", "UGX returned -10000"]
  ],
  [
    "a return with the fee",
    () => returnFunds("UGX", minor(10_000n), minor(1_000n)),
    "return",
    ["UGX available 11000", "UGX returned -11000"]
  ],
  [
    "a correction of what was paid out, its fee and what the provider took beyond it",
    () => correct("UGX", { paidOut: 10_000n, fees: 1_000n, drift: 200n }),
    "correct",
    ["UGX available -11000", "UGX paid_out 10000", "UGX provider_fees 1000", "UGX drift 200", "UGX pool -200"]
  ],
  [
    "a correction of what was collected and its fee",
    () => correct("UGX", { collected: -50_000n, fees: -750n }),
    "correct",
    ["UGX available -49250", "UGX collected 50000", "UGX provider_fees -750"]
  ],
  [
    "a correction of what was returned",
    () => correct("UGX", { returned: 7_000n, fees: 0n }),
    "correct",
    ["UGX available 7000", "UGX returned -7000"]
  ],
  ["a correction that changes nothing", () => correct("UGX", { fees: 0n }), "correct", []]
]

describe("an entry of the ledger", () => {
  it.each(entries)("%s", (_, entry, phase, lines) => {
    expect([entry().phase, linesOf(entry())]).toStrictEqual([phase, lines])
  })

  it.each(entries)("balances: %s", (_, entry) => {
    const sums = new Map<string, bigint>()
    for (const { amount, currency } of entry().postings) sums.set(currency, (sums.get(currency) ?? 0n) + amount)
    expect([...sums.values()].filter((sum) => sum !== 0n)).toStrictEqual([])
  })

  it.each(entries)("is read back as it was written: %s", (_, entry) => {
    const { phase, postings } = entry()
    expect(Schema.decodeUnknownSync(Phase)(phase)).toBe(phase)
    expect(Schema.decodeUnknownSync(Schema.Array(Posting))(postings)).toStrictEqual(postings)
  })

  it("takes one of four slots of its record, so that money is opened, closed, returned and corrected once each", () => {
    expect(slotByPhase).toStrictEqual({
      credit: "open",
      debit: "open",
      reserve: "open",
      collect: "close",
      settle: "close",
      release: "close",
      exchange: "close",
      return: "return",
      correct: "correction"
    })
  })

  it("has no other account and no other phase than these", () => {
    const accounts =
      "available reserved collected paid_out provider_fees credited debited fx_in fx_out returned receivable drift pool"
    expect(Account.literals.join(" ")).toBe(accounts)
    expect(Phase.literals).toStrictEqual(Object.keys(slotByPhase))
    const posted = (line: object) => Result.isSuccess(Schema.decodeUnknownResult(Posting)(line))
    expect(posted({ currency: "UGX", account: "available", amount: 1n })).toBe(true)
    expect(posted({ currency: "UGX", account: "savings", amount: 1n })).toBe(false)
    expect(posted({ currency: "XXX", account: "available", amount: 1n })).toBe(false)
    expect(posted({ currency: "UGX", account: "available", amount: 1 })).toBe(false)
  })
})

describe("an entry against what the tenant has", () => {
  const held = (available: bigint, receivable: bigint) => () => ({ available, receivable })

  it.each([
    ["the float covers a debit", () => debit("UGX", minor(500n)), held(501n, 0n), ["UGX available -500", "UGX debited 500"]],
    [
      "a debit may take the last of it",
      () => debit("UGX", minor(500n)),
      held(500n, 0n),
      ["UGX available -500", "UGX debited 500"]
    ],
    [
      "what the float cannot cover is owed",
      () => debit("UGX", minor(500n)),
      held(499n, 0n),
      ["UGX available -499", "UGX receivable -1", "UGX debited 500"]
    ],
    [
      "all of it is owed where there is no float",
      () => debit("UGX", minor(500n)),
      held(0n, 70n),
      ["UGX receivable -500", "UGX debited 500"]
    ],
    [
      "who owes nothing gets all of a credit",
      () => credit("UGX", minor(500n)),
      held(0n, 0n),
      ["UGX available 500", "UGX credited -500"]
    ],
    [
      "a credit pays what is owed first",
      () => credit("UGX", minor(500n)),
      held(30n, 70n),
      ["UGX available 430", "UGX receivable 70", "UGX credited -500"]
    ],
    [
      "a credit may go to the debt whole",
      () => credit("UGX", minor(500n)),
      held(0n, 500n),
      ["UGX receivable 500", "UGX credited -500"]
    ],
    [
      "a credit pays no more than it is",
      () => credit("UGX", minor(500n)),
      held(0n, 501n),
      ["UGX receivable 500", "UGX credited -500"]
    ],
    [
      "what was reserved is no debt",
      () => settle("UGX", minor(500n), minor(0n), minor(0n)),
      held(0n, 70n),
      ["UGX reserved -500", "UGX paid_out 500"]
    ]
  ])("%s", (_, entry, position, lines) => {
    const posted = coveringReceivable(entry(), position)
    expect([posted.phase, linesOf(posted)]).toStrictEqual([entry().phase, lines])
  })

  it("the two sides of an exchange each meet the position in their own currency", () => {
    const entry = exchange("UGX", minor(50_000n), "KES", minor(1_000n))
    const owing = (currency: string) => ({ available: 0n, receivable: currency === "KES" ? 400n : 9n })
    expect(linesOf(coveringReceivable(entry, owing))).toStrictEqual([
      "UGX reserved -50000",
      "UGX fx_out 50000",
      "KES available 600",
      "KES receivable 400",
      "KES fx_in -1000"
    ])
  })
})

describe("a float position", () => {
  const position = {
    currency: "UGX",
    available: minor(1n),
    reserved: minor(2n),
    collected: minor(3n),
    paidOut: minor(4n),
    providerFees: minor(5n)
  } as const

  it.each([
    ["of a tenant that owes nothing", position],
    ["of a tenant that owes something", { ...position, receivable: minor(6n) }]
  ])("%s is read back as it was written", (_, one) => {
    expect(Schema.decodeUnknownSync(FloatPosition)(one)).toStrictEqual(one)
  })

  it.each(["available", "reserved", "collected", "paidOut", "providerFees", "receivable"])(
    "never has less than nothing %s",
    (part) => {
      expect(Result.isFailure(Schema.decodeUnknownResult(FloatPosition)({ ...position, [part]: -1n }))).toBe(true)
    }
  )
})
