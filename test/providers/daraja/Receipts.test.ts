import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import type { SharedMemory } from "../../../src/providers/SharedMemory.ts"
import { collectionsOf } from "../contract/Fixture.ts"
import { chargeOrder } from "../contract/Orders.ts"
import { answer, type Behaviour, reset } from "../ProviderStub.ts"
import { overheard } from "../pawapay/Orders.ts"
import {
  ASK,
  asked,
  billed,
  bodyOf,
  CHARGE,
  callback,
  charged,
  confirmation,
  ID,
  PULL,
  paidPrompt,
  payment,
  type Says,
  take,
  taken
} from "./Bench.ts"
import { open, settings } from "./Orders.ts"

/** What Pull Transactions lists of a payment by the charge's own payer, after the charge was begun. */
const row = (bill: unknown, { receipt = "TKS41Q7ZPD", trxDate = "2026-11-28T11:23:55Z" } = {}) => ({
  transactionId: receipt,
  trxDate,
  msisdn: "254711001234",
  transactiontype: "c2b-pay-bill-debit",
  billreference: bill,
  amount: "125.0",
  organizationname: "Shop"
})

/** A charge whose answer is lost, and what is listed by Pull Transactions from then on. */
const lost = Effect.fnUntraced(function* (says: ReadonlyArray<Says>, behaviours = {}, pulls = false) {
  const rows: Array<object> = []
  const list: Behaviour = (response, seen) =>
    answer(200, { ResponseRefID: "1", ResponseCode: "1000", ResponseMessage: "Success", Response: [rows] })(response, seen)
  const bench = yield* billed(says, { [PULL]: [list], ...behaviours }, pulls)
  const question = yield* bench.charge()
  const { AccountReference: bill, CallBackURL } = bodyOf(bench.server.seen, CHARGE)
  return { ...bench, bill, question, report: callback(CallBackURL, paidPrompt(ID)), rows }
})

/** Another node, whose first writes to the memory of all nodes break. */
const broken = (
  { memory, server }: { readonly memory: SharedMemory; readonly server: { readonly baseUrl: string } },
  fails: number
) => {
  let left = fails
  const put: SharedMemory["put"] = (...given) => (left-- > 0 ? Effect.die("the database is down") : memory.put(...given))
  return open(settings(server.baseUrl), { ...memory, put })
}

const paidAnother = { _tag: "Unknown", note: "the receipt of a charge has paid another one, or was confirmed for another one" }

describe("a receipt", () => {
  it.live("pays one charge, though a lost one is found by it before the prompt that reports it is asked about", () =>
    Effect.gen(function* () {
      const { bill, charge, confirm, fetchStatus, node, question, server } = yield* lost([payment()], {
        [CHARGE]: [reset, taken],
        [ASK]: [asked("0")]
      })
      const prompted = yield* charge()
      yield* take(node, callback(bodyOf(server.seen, CHARGE)["CallBackURL"], paidPrompt(ID)))
      yield* confirm(confirmation(bill))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
      expect(yield* fetchStatus(prompted)).toMatchObject(paidAnother)
    })
  )

  it.live("that was confirmed for another charge does not pay the one whose prompt reports it, and the operator is told", () =>
    Effect.gen(function* () {
      const { confirm, fetchStatus, node, question, report } = yield* lost([], { [CHARGE]: [taken], [ASK]: [asked("0")] })
      yield* take(node, report)
      yield* confirm(confirmation("K7Q2M9XZ41AB"))
      const { errors, value } = yield* overheard(fetchStatus(question))
      expect(value).toMatchObject(paidAnother)
      expect(errors).toEqual([expect.stringContaining(paidAnother.note)])
    })
  )
})

describe("several payments that name a charge", () => {
  const SECOND = "TKS41Q7ZPE"
  /** The answers about the two receipts, in whatever order they are asked about. */
  const two = (second: string, first = payment()): ReadonlyArray<Says> => {
    const one = (receipt: string) => (receipt === SECOND ? second : first)
    return [one, one]
  }
  const confirmedTwice = Effect.fnUntraced(function* (says: ReadonlyArray<Says>) {
    const bench = yield* lost(says)
    for (const receipt of ["TKS41Q7ZPD", "TKS41Q7ZPD", SECOND]) yield* bench.confirm(confirmation(bench.bill, { receipt }))
    return yield* bench.fetchStatus(bench.question)
  })

  it.live.each<readonly [string, ReadonlyArray<Says>]>([
    ["is of another amount", two(payment("1.00", "254711001234 - ADA K", SECOND))],
    ["is of another payer", two(payment("125.00", "254722001234 - EVE", SECOND))],
    ["was not completed", two(payment("125.00", "254711001234 - ADA K", SECOND).replace("Completed", "Cancelled"))]
  ])("pay it by the one that is as it was asked, where the other one %s", ([, says]) =>
    Effect.gen(function* () {
      expect(yield* confirmedTwice(says)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD", amount: 12_500n })
    })
  )

  it.live("are a person's to tell apart where both are as it was asked: one is to be given back", () =>
    Effect.gen(function* () {
      const found = yield* confirmedTwice(two(payment("125.00", "254711001234 - ADA K", SECOND)))
      expect(found).toMatchObject({ _tag: "Unknown", note: expect.stringContaining("one of them is to be given back") })
    })
  )

  it.live("pay nothing as long as nothing is known of one of them", () =>
    Effect.gen(function* () {
      expect(yield* confirmedTwice(two(""))).toMatchObject({ _tag: "Unknown", reason: "timeout" })
    })
  )

  it.live("are kept up to four, and the operator is told of one more", () =>
    Effect.gen(function* () {
      const { bill, confirm } = yield* lost([])
      const receipts = ["A", "B", "C", "D", "D", "E"].map((last) => `TKS41Q7ZP${last}`)
      const counts: Array<number> = []
      for (const receipt of receipts) {
        const { errors } = yield* overheard(confirm(confirmation(bill, { receipt })))
        counts.push(errors.length)
      }
      expect(counts).toEqual([0, 0, 0, 0, 0, 1])
    })
  )
})

describe("a charge without its prompt", () => {
  const masked = payment("125.00", "2547*****234 - ADA K")

  it.live("is found by the list where the status of its confirmed payment masks its payer", () =>
    Effect.gen(function* () {
      const { bill, confirm, fetchStatus, question, rows } = yield* lost([masked, masked], {}, true)
      yield* confirm(confirmation(bill))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Unknown" })
      rows.push(row(bill))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
    })
  )

  it.live("is nobody's to pay twice: one payment that was confirmed and another one in the list are told", () =>
    Effect.gen(function* () {
      const { bill, confirm, fetchStatus, question, rows } = yield* lost([payment()], {}, true)
      yield* confirm(confirmation(bill))
      rows.push(row(bill, { receipt: "TKS41Q7ZPE" }))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
    })
  )

  it.live.each([false, true])(
    "is asked about by its receipt after confirmations and lists are forgotten; from the list: %j",
    (pulls) =>
      Effect.gen(function* () {
        const { bill, confirm, fetchStatus, memory, put, question, rows } = yield* lost(
          pulls ? [masked] : [payment(), masked],
          {},
          pulls
        )
        if (pulls) rows.push(row(bill))
        else yield* confirm(confirmation(bill))
        expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded" })
        rows.pop()
        // All that ends after three days.
        for (const name of put.filter((one) => /^daraja 605512 3004411 (?:payer|bill) /.test(one))) yield* memory.take(name)
        expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
      })
  )
})

describe("a write that breaks", () => {
  it.live("before a prompt keeps it from being sent: a payment whose answer is lost could not be found", () =>
    Effect.gen(function* () {
      const bench = yield* lost([])
      const prompts = () => bench.server.seen.filter(({ line }) => line.startsWith(CHARGE)).length
      const before = prompts()
      const node = yield* broken(bench, 1)
      const order = chargeOrder(charged, "1234")
      expect(yield* collectionsOf(node).charge(order)).toMatchObject({ _tag: "NotSent" })
      expect(prompts()).toBe(before)
    })
  )

  it.live("loses no confirmation that comes again", () =>
    Effect.gen(function* () {
      const bench = yield* lost([payment()])
      const { address, bill, fetchStatus, question } = bench
      const node = yield* broken(bench, 1)
      yield* Effect.exit(take(node, callback(address, confirmation(bill))))
      yield* take(node, callback(address, confirmation(bill)))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
    })
  )

  it.live("as a confirmation comes, keeps no charge from its own payment among those that are listed", () =>
    Effect.gen(function* () {
      const bench = yield* lost([], {}, true)
      const { address, bill, fetchStatus, question, rows } = bench
      rows.push(row(bill))
      yield* Effect.exit(take(yield* broken(bench, Number.POSITIVE_INFINITY), callback(address, confirmation(bill))))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
    })
  )

  it.live("as a charge is asked about, leaves the report of its payment to be asked about again", () =>
    Effect.gen(function* () {
      const bench = yield* lost([], { [ASK]: [asked("0")] })
      const { fetchStatus, node, question, report } = bench
      yield* take(node, report)
      yield* Effect.exit(collectionsOf(yield* broken(bench, Number.POSITIVE_INFINITY)).fetchStatus(question))
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
    })
  )
})
