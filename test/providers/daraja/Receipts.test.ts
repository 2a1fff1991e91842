import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import type { SharedMemory } from "../../../src/providers/SharedMemory.ts"
import { collectionsOf } from "../contract/Fixture.ts"
import { answer, type Behaviour, reset } from "../ProviderStub.ts"
import { overheard } from "../pawapay/Orders.ts"
import {
  ASK,
  asked,
  billed,
  bodyOf,
  CHARGE,
  callback,
  confirmation,
  ID,
  PULL,
  paidPrompt,
  payment,
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
const lost = Effect.fnUntraced(function* (says: ReadonlyArray<string>, behaviours = {}, pulls = false) {
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

describe("a write that breaks", () => {
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
