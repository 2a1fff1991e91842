import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import { collectionsOf } from "../contract/Fixture.ts"
import { askOrder, chargeOrder } from "../contract/Orders.ts"
import { reset } from "../ProviderStub.ts"
import { bodyOf, CHARGE, callback, charged, given, STATUS, status, take } from "./Bench.ts"
import { open, settings } from "./Orders.ts"

describe("a prompt, by the confirmations of its paybill,", () => {
  const HOOK = "https://pay.example.ke/webhooks/daraja/KEY"
  const confirmation = (bill: unknown, shortcode = "605512") =>
    `{"TransactionType":"Pay Bill","TransID":"TKS41Q7ZPD","TransTime":"20261128142355","TransAmount":"125.00","BusinessShortCode":"${shortcode}","BillRefNumber":"${bill}","InvoiceNumber":"","OrgAccountBalance":"61340.00","ThirdPartyTransID":"","MSISDN":"2547*****233","FirstName":"ADA"}`
  const payment = (amount = "125.00") =>
    status("Completed", amount)
      .replace("TKS532NMUA", "TKS41Q7ZPD")
      .replace("254711001234 - ADA K", "605512 - Shop")
      .replace("3004411 - Shop", "254711001234 - ADA K")
  const BEFORE = Date.UTC(2026, 10, 28, 11, 23, 50)
  const billed = Effect.fnUntraced(function* (says: ReadonlyArray<string>) {
    const bench = yield* given({ [CHARGE]: [reset] }, says, { pulls: false })
    const charge = Effect.fnUntraced(function* () {
      const order = chargeOrder(charged, "1234")
      yield* collectionsOf(bench.node).charge(order)
      yield* take(bench.node, callback(HOOK, confirmation(bodyOf(bench.server.seen, CHARGE)["AccountReference"])))
      return { ...(yield* askOrder(charged, order.reference)), party: Redacted.make("••••1234"), sentAt: BEFORE }
    })
    return { ...bench, charge }
  })

  it.live("whose answer is lost is found by the paybill's confirmation, and only once its receipt was asked for", () =>
    Effect.gen(function* () {
      const { charge, node, server } = yield* billed([payment()])
      const unnamed = yield* askOrder(charged, chargeOrder(charged, "1234").reference)
      expect(yield* collectionsOf(node).fetchStatus(unnamed)).toMatchObject({
        _tag: "Unknown",
        note: "its answer was lost, and nothing has named it since"
      })
      const found = yield* Effect.flatMap(charge(), collectionsOf(node).fetchStatus)
      expect(found).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD", amount: 12_500n, fee: 188n })
      expect(bodyOf(server.seen, STATUS)).toMatchObject({ TransactionID: "TKS41Q7ZPD", PartyA: "605512", IdentifierType: "4" })
    })
  )

  it.live("is not paid by a payment of another amount, payer, payee or time, nor by one that has paid another charge", () =>
    Effect.gen(function* () {
      const { charge, node } = yield* billed([
        payment("124.00"),
        payment().replace("605512 - Shop", "700700 - Other"),
        payment(),
        payment(),
        payment()
      ])
      const question = yield* charge()
      const { fetchStatus } = collectionsOf(node)
      expect(yield* fetchStatus({ ...question, sentAt: BEFORE + 3_600_000 })).toMatchObject({
        note: "its answer was lost, and nothing has named it since"
      })
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Unknown" })
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Unknown" })
      expect(yield* fetchStatus({ ...question, party: Redacted.make("••••9999") })).toMatchObject({ _tag: "Unknown" })
      expect(yield* fetchStatus(question)).toMatchObject({ _tag: "Succeeded" })
      expect(yield* Effect.flatMap(charge(), fetchStatus)).toMatchObject({ _tag: "Unknown" })
    })
  )

  it.effect.each(["254711002233", "INVOICE 8121", "K7Q2M9XZ41A", "K7Q2M9XZ41ABC", ""])(
    "leaves nothing of a confirmation that names what is none of ours: %j",
    (bill) =>
      Effect.gen(function* () {
        const { memory, node } = yield* given({})
        const put: Array<string> = []
        const watched = yield* open(settings("http://127.0.0.1:9"), {
          ...memory,
          put: (name, ...rest) =>
            Effect.andThen(
              Effect.sync(() => put.push(name)),
              memory.put(name, ...rest)
            )
        })
        expect(yield* take(node, callback(HOOK, confirmation(bill)))).toBeNull()
        expect(yield* take(watched, callback(HOOK, confirmation("K7Q2M9XZ41AB", "700700")))).toBeNull()
        expect(put).toEqual([])
        expect(yield* take(watched, callback(HOOK, confirmation("K7Q2M9XZ41AB")))).toMatchObject({ isAnswer: true })
        expect(put).toEqual([expect.stringMatching(/^daraja 605512 3004411 bill [0-9a-f]{32}$/)])
      })
  )
})
