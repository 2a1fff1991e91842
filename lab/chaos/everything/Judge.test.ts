import { describe, expect, it } from "vitest"
import { wayOf } from "./Accounts.ts"
import type { Execution, Movement } from "./Books.ts"
import { type Evidence, judge } from "./Judge.ts"
import type { Operation } from "./Load.ts"
import { passed } from "./Operators.ts"
import { type Difference, explained } from "./Reconciled.ts"

const key = { app_id: "all-eversend", key_id: "k", api_key: "a", signing_secret: "s" }
const holder = {
  name: "all-eversend-live",
  appId: "all-eversend",
  mode: "live",
  provider: "eversend",
  way: wayOf("eversend"),
  currencies: ["GHS", "UGX"],
  key
} as const

const operation = (change: Partial<Operation>): Operation => ({
  holder,
  kind: "payout",
  currency: "GHS",
  ending: "",
  amount: 1000,
  key: "k-1",
  body: {},
  code: "right",
  attempts: 1,
  begun: 10,
  created: 20,
  reference: "R1",
  settled: "accepted",
  error: undefined,
  faults: [],
  ...change
})
const movement = (change: Partial<Movement>): Movement => ({
  provider: "eversend",
  account: "simulated-live",
  id: "P1",
  reference: "R1",
  kind: "payout",
  status: "successful",
  returned: false,
  ending: "ordinary",
  currency: "GHS",
  amount: 1000,
  fee: 500,
  firstFee: 500,
  destinationCurrency: "GHS",
  destinationAmount: 1000,
  ...change
})
const execution = (change: Partial<Execution>): Execution => ({
  provider: "eversend",
  direction: "payout",
  id: "P1",
  reference: "R1",
  amount: 1000,
  currency: "GHS",
  ...change
})

interface Story {
  readonly operation?: Partial<Operation>
  readonly movement?: Partial<Movement>
  readonly executions?: ReadonlyArray<Partial<Execution>>
  readonly record?: Readonly<Record<string, unknown>>
  readonly floats?: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly events?: ReadonlyArray<string>
  readonly newest?: string
}

const float = (available: number, more: Readonly<Record<string, number>> = {}) => ({
  available_minor: available,
  reserved_minor: 0,
  collected_minor: 0,
  paid_out_minor: 0,
  provider_fees_minor: 0,
  ...more
})
const paid = float(98_500, { paid_out_minor: 1000, provider_fees_minor: 500 })

const evidence = (story: Story): Evidence => {
  const one = operation(story.operation ?? {})
  const executions = (story.executions ?? [{}]).map(execution)
  const all = { movements: [movement(story.movement ?? {})], executions }
  return {
    operations: [one],
    books: {
      of: (reference) => (reference === "R1" ? all : { movements: [], executions: [] }),
      references: () => executions.map(({ reference }) => reference)
    },
    records: new Map([["R1", story.record ?? { status: "successful" }]]),
    floats: new Map(Object.entries(story.floats ?? { "all-eversend-live GHS": paid })),
    credit: 100_000,
    heard: {
      faults: [],
      types: () => new Set(story.events ?? ["payout.successful"]),
      newest: () => ({ status: story.newest ?? "successful" })
    }
  }
}

const atFlutterwave = { ...holder, name: "all-flutterwave-live", appId: "all-flutterwave", provider: "flutterwave" } as const
const backBeforeAnybodyAsked = {
  operation: { holder: atFlutterwave },
  movement: { provider: "flutterwave", returned: true },
  executions: [{ provider: "flutterwave" }, { provider: "flutterwave", direction: "return" }],
  record: { status: "failed" },
  events: ["payout.failed"],
  newest: "failed",
  floats: { "all-flutterwave-live GHS": float(100_000) }
} satisfies Story

const ruledFailed = {
  ...backBeforeAnybodyAsked,
  record: { status: "successful", returned: { amount_minor: 1500 } },
  events: ["payout.successful"],
  newest: "successful",
  floats: { "all-flutterwave-live GHS": float(100_000, { paid_out_minor: 1000, provider_fees_minor: 500 }) }
} satisfies Story

const ruledBack = {
  operation: { holder: atFlutterwave, kind: "collection" },
  movement: { provider: "flutterwave", kind: "collection", returned: true },
  executions: [{ provider: "flutterwave", direction: "collection" }],
  record: { status: "successful", reversed: { amount_minor: 985 } },
  events: ["collection.successful"],
  floats: { "all-flutterwave-live GHS": float(100_000) }
} satisfies Story

const faultsOf = (story: Story) => {
  const { doubled, floats, invented, lost, webhooks } = judge(evidence(story))
  return { doubled, floats, invented, lost, webhooks }
}
const none = { doubled: [], floats: [], invented: [], lost: [], webhooks: [] }

const exchange = {
  operation: { kind: "exchange" },
  movement: { kind: "exchange", fee: 0, firstFee: 0, destinationCurrency: "UGX", destinationAmount: 7000 },
  executions: [{ direction: "exchange" }],
  events: ["fx.successful"],
  floats: { "all-eversend-live GHS": float(99_000), "all-eversend-live UGX": float(107_000) }
} satisfies Story
const smaller = {
  operation: { kind: "collection" },
  movement: { kind: "collection", ending: "0014", amount: 900, fee: 14, firstFee: 15 },
  executions: [{ direction: "collection", amount: 900 }],
  events: ["collection.successful"],
  floats: { "all-eversend-live GHS": float(100_886, { collected_minor: 900, provider_fees_minor: 14 }) }
} satisfies Story

describe("the judge finds no fault in", () => {
  it.each<readonly [name: string, story: Story]>([
    ["a payout that was executed once", {}],
    ["one that cost more than it was quoted to cost: the excess is the gateway's", { movement: { fee: 700 } }],
    [
      "one that came back",
      {
        movement: { returned: true },
        executions: [{}, { direction: "return" }],
        floats: { "all-eversend-live GHS": float(99_500, { paid_out_minor: 1000, provider_fees_minor: 500 }) }
      }
    ],
    [
      "one that came back with its fee",
      {
        movement: { returned: true, feeReturns: true },
        executions: [{}, { direction: "return" }],
        floats: { "all-eversend-live GHS": float(100_000, { paid_out_minor: 1000, provider_fees_minor: 500 }) }
      }
    ],
    ["a charge that was taken back, and that a person ruled so", ruledBack],
    ["one that came back before anybody asked, at a provider that says failed then", backBeforeAnybodyAsked],
    ["one that came back after somebody had asked, there, and that a person ruled to have failed", ruledFailed],
    [
      "one of which nobody knows",
      {
        executions: [],
        record: { status: "pending", fees_minor: 500 },
        floats: { "all-eversend-live GHS": float(98_500, { reserved_minor: 1500 }) }
      }
    ],
    ["an exchange", exchange],
    ["a charge of which less was paid", smaller]
  ])("%s", (_, story) => expect(faultsOf(story)).toEqual(none))
})

describe("the judge finds", () => {
  it.each<readonly [name: string, of: keyof typeof none, story: Story, says: string]>([
    ["money that was sent and is refused here", "lost", { record: { status: "failed" } }, "executed, and failed here"],
    [
      "what failed there and keeps its float here",
      "lost",
      { movement: { status: "failed" }, executions: [], record: { status: "pending", fees_minor: 500 } },
      "failed there, and pending here"
    ],
    ["a key without an answer", "lost", { operation: { settled: undefined } }, "never answered"],
    ["a payout that was sent twice", "doubled", { executions: [{}, { id: "P2" }] }, "executed 2 times"],
    ["a success without money", "invented", { executions: [] }, "never executed"],
    ["what nobody asked for", "invented", { executions: [{}, { reference: "R9" }] }, "no tenant asked"],
    ["another amount", "invented", { executions: [{ amount: 1001 }] }, "1001 GHS was executed"],
    ["another provider", "invented", { executions: [{ provider: "paystack" }] }, "executed at paystack"],
    ["the account of the other mode", "invented", { movement: { account: "simulated-test" } }, "simulated-test"],
    ["two references of one key", "invented", { operation: { faults: ["two references"] } }, "two references"],
    ["a fee that was not charged", "floats", { movement: { fee: 400, firstFee: 400 } }, "available is 98500, not 98600"],
    [
      "a failure that returned less than it held",
      "floats",
      { ...backBeforeAnybodyAsked, floats: { "all-flutterwave-live GHS": float(99_500) } },
      "available is 99500, not 100000"
    ],
    [
      "a return that was booked without a ruling",
      "floats",
      { ...ruledFailed, record: { status: "successful", returned: null } },
      "available is 100000, not 98500"
    ],
    [
      "a delivery that is refused here, at a provider that says failed of what came back",
      "lost",
      { ...backBeforeAnybodyAsked, movement: { provider: "flutterwave" } },
      "executed, and failed here"
    ],
    [
      "a reversal of a charge that nobody took back",
      "floats",
      { ...ruledBack, movement: { ...ruledBack.movement, returned: false } },
      "collected is 0, not 1000"
    ],
    ["a return that was not booked", "floats", { movement: { returned: true } }, "available is 98500, not 99500"],
    [
      "an exchange that brought another sum",
      "floats",
      { ...exchange, movement: { ...exchange.movement, destinationAmount: 7001 } },
      "available is 107000, not 107001"
    ],
    ["a smaller charge credited in full", "floats", { ...smaller, movement: { ...smaller.movement, amount: 1000 } }, "collected"],
    ["an end that was not told", "webhooks", { events: [] }, "payout.successful was never delivered"],
    ["a newest event that says less", "webhooks", { newest: "pending" }, "does not say successful"]
  ])("%s", (_, of, story, says) => expect(faultsOf(story)[of].join("\n")).toContain(says))
})

it("what was first sent behind a closed gate and made there is found; what was sent before, or made after, is not", () => {
  const gate = { name: "it was frozen", from: 100, to: 200, forbids: ({ kind }: Operation) => kind === "payout" }
  const made = (begun: number, created: number | undefined) => passed([gate], [operation({ begun, created })])
  expect(made(110, 150)).toEqual(["R1: k-1 was made while it was frozen"])
  for (const [begun, created] of [
    [90, 150],
    [110, 210],
    [110, undefined]
  ] as const)
    expect(made(begun, created)).toEqual([])
  expect(passed([gate], [operation({ begun: 110, created: 150, kind: "collection" })])).toEqual([])
})

it("a difference is explained by an ending that makes it, and by nothing else", () => {
  const asked = new Map([["R1", operation({})]])
  const pending = difference({ kind: "missing_there", reference: "R1", ours: "pending 1000 GHS", theirs: "absent" })
  const of = (executions: ReadonlyArray<Execution>) => () => ({ movements: [], executions })
  expect(explained([pending], asked, of([])).because).toEqual({ "nobody can prove that it was not executed": 1 })
  expect(explained([pending], asked, of([execution({})])).unexplained).toHaveLength(1)
  expect(explained([{ ...pending, reference: "R2" }], asked, of([])).unexplained).toHaveLength(1)
  expect(explained([{ ...pending, kind: "doubled" }], asked, of([])).unexplained).toHaveLength(1)
})

const difference = (change: Partial<Difference>): Difference => ({
  provider: "pawapay",
  mode: "live",
  kind: "missing_here",
  direction: "payout",
  reference: null,
  ours: null,
  theirs: null,
  ...change
})
const atPawapay = { ...holder, name: "all-pawapay-live", appId: "all-pawapay", provider: "pawapay" } as const

it("a refund that names no deposit is explained by a deposit of its amount that was taken back, and each by one of its own", () => {
  const asked = new Map([["R1", operation({ holder: atPawapay, kind: "collection" })]])
  const back = (change: Partial<Movement>) => () => ({
    movements: [movement({ provider: "pawapay", kind: "collection", returned: true, ...change })],
    executions: []
  })
  const refund = difference({ theirs: "debited 1000 GHS" })
  const count = (all: ReadonlyArray<Difference>, change: Partial<Movement> = {}) => {
    const { because, unexplained } = explained(all, asked, back(change))
    return [because["the provider refunded it, and its row names no deposit"] ?? 0, unexplained.length]
  }
  expect(count([refund])).toEqual([1, 0])
  expect(count([refund, refund])).toEqual([1, 1])
  expect(count([refund], { returned: false })).toEqual([0, 1])
  for (const other of [{ mode: "test" }, { provider: "eversend" }, { theirs: "debited 999 GHS" }, { direction: "collection" }])
    expect(count([{ ...refund, ...other }])).toEqual([0, 1])
})

it("a correction that names a payout of ours is explained by that payout's return, in full, where its wire has no word for it", () => {
  const correction = difference({ direction: "collection", reference: "R1", theirs: "successful 1000 GHS" })
  const because = (change: Partial<Movement>, theirs = correction.theirs) =>
    Object.keys(
      explained([{ ...correction, theirs }], new Map([["R1", operation({ holder: atPawapay })]]), () => ({
        movements: [movement({ provider: "pawapay", returned: true, ...change })],
        executions: []
      })).because
    )
  expect(because({})).toEqual(["the provider took it back, and its wire does not say so"])
  expect(because({}, "successful 999 GHS")).toEqual([])
  expect(because({ returned: false })).toEqual([])
})
