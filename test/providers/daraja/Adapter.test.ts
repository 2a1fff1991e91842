import { constants, privateDecrypt } from "node:crypto"
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { accountReferenceOf, conversationIdOf } from "../../../src/providers/daraja/Wire.ts"
import type { Adapter } from "../../../src/services/ports/Provider.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, chargeOrder, payoutOrder } from "../contract/Orders.ts"
import { answer, type Behaviour, reset } from "../ProviderStub.ts"
import {
  ASK,
  ASKED,
  acknowledged,
  asked,
  bodyOf,
  CHARGE,
  callback,
  charged,
  error,
  failed,
  given,
  HANDLE,
  ID,
  PAYOUT,
  PULL,
  paid,
  paidPrompt,
  STATUS,
  status,
  take,
  taken
} from "./Bench.ts"
import { open, privateKey, settings } from "./Orders.ts"

describe("a prompt", () => {
  it.effect(
    "is sent as the documents have it: whole shillings, East Africa's time, a password of that moment, an address of its own",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.UTC(2026, 10, 28, 11, 23, 10))
        const { node, server } = yield* given({ [CHARGE]: [taken] })
        const order = chargeOrder(charged, "1234")
        expect(yield* collectionsOf(node).charge(order)).toMatchObject({ _tag: "Accepted", providerReference: HANDLE })
        const body = bodyOf(server.seen, CHARGE)
        expect(body).toMatchObject({
          BusinessShortCode: "605512",
          Timestamp: "20261128142310",
          Password: Buffer.from("605512passkey20261128142310").toString("base64"),
          TransactionType: "CustomerPayBillOnline",
          Amount: 125,
          PartyA: "254711001234",
          PartyB: "605512",
          PhoneNumber: "254711001234",
          AccountReference: expect.stringMatching(/^[0-9A-Z]{12}$/),
          TransactionDesc: body["AccountReference"]
        })
        expect(String(body["CallBackURL"])).toMatch(
          /^https:\/\/pay\.example\.ke\/webhooks\/daraja\/KEY\/charge-[0-9a-f]{52}-[0-9a-f]{32}$/
        )
      })
  )

  it.effect("to a till names its head office and the till", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({ [CHARGE]: [taken] }, [], { till: "881122" })
      yield* collectionsOf(node).charge(chargeOrder(charged, "1234"))
      expect(bodyOf(server.seen, CHARGE)).toMatchObject({
        TransactionType: "CustomerBuyGoodsOnline",
        BusinessShortCode: "605512",
        PartyB: "881122"
      })
    })
  )

  it.effect.each([401, 404])("that is acknowledged under %i is not sent again, whatever else is said beside it", (status) =>
    Effect.gen(function* () {
      const said = { ResponseCode: "0", CheckoutRequestID: ID, errorCode: "404.001.03" }
      const { node, server } = yield* given({ [CHARGE]: [answer(status, said)] })
      yield* collectionsOf(node).charge(chargeOrder(charged, "1234"))
      expect(server.seen.filter(({ line }) => line.startsWith(CHARGE))).toHaveLength(1)
    })
  )

  it.effect("for a part of a shilling, or another network, is refused before anything is sent", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({})
      const { charge } = collectionsOf(node)
      expect(yield* charge(chargeOrder({ ...charged, amount: minor(12_501n) }, "1234"))).toMatchObject({
        _tag: "Refused",
        kind: "limit"
      })
      const order = chargeOrder(charged, "1234")
      expect(yield* charge({ ...order, source: { ...order.source, network: "AIRTEL" } })).toMatchObject({
        _tag: "Refused",
        kind: "config"
      })
      expect(server.seen).toEqual([])
    })
  )

  it.live("whose answer is lost is asked for by the identifier that its own address was given, on whichever node", () =>
    Effect.gen(function* () {
      const { again, node, server } = yield* given({
        [CHARGE]: [reset],
        [ASK]: [asked("0")],
        [PULL]: [answer(200, { ResponseCode: "1001" })]
      })
      const order = chargeOrder(charged, "1234")
      expect(yield* collectionsOf(node).charge(order)).toMatchObject({ _tag: "Unknown" })
      const ask = (of: Adapter) => Effect.flatMap(askOrder(charged, order.reference), collectionsOf(of).fetchStatus)
      // The list of what was paid has nothing of it, which proves nothing.
      expect(yield* ask(node)).toMatchObject({ _tag: "NotFound" })
      const address = bodyOf(server.seen, CHARGE)["CallBackURL"]
      expect(yield* take(node, callback(address, paidPrompt(ID)))).toEqual({
        reference: order.reference,
        providerReference: null,
        says: "successful"
      })
      expect(yield* ask(yield* again)).toMatchObject({
        _tag: "Succeeded",
        providerReference: HANDLE,
        receipt: "TKS41Q7ZPD",
        amount: 12_500n,
        fee: 188n
      })
    })
  )

  it.live("whose answer is lost is found by what came under the keys that the account had before", () =>
    Effect.gen(function* () {
      const { memory, node, server } = yield* given({ [CHARGE]: [reset], [ASK]: [asked("0")], [PULL]: [answer(200, {})] })
      const order = chargeOrder(charged, "1234")
      yield* collectionsOf(node).charge(order)
      yield* take(node, callback(bodyOf(server.seen, CHARGE)["CallBackURL"], paidPrompt(ID)))
      const changed = { consumerKey: "new", consumerSecret: Redacted.make("new"), passkey: Redacted.make("new") }
      const after = yield* open(settings(server.baseUrl, changed), memory)
      const found = yield* Effect.flatMap(askOrder(charged, order.reference), collectionsOf(after).fetchStatus)
      expect(found).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD" })
    })
  )

  it.live("whose answer is lost is asked for by its report's identifier, long after the report is forgotten", () =>
    Effect.gen(function* () {
      const bench = yield* given({
        [CHARGE]: [reset],
        [ASK]: [asked("0")],
        [PULL]: [answer(200, { ResponseCode: "1001" })]
      })
      const { memory, node, server } = bench
      const order = chargeOrder(charged, "1234")
      yield* collectionsOf(node).charge(order)
      yield* take(node, callback(bodyOf(server.seen, CHARGE)["CallBackURL"], paidPrompt(ID)))
      const question = yield* askOrder(charged, order.reference)
      expect(yield* collectionsOf(node).fetchStatus(question)).toMatchObject({ _tag: "Succeeded" })
      const get: typeof memory.get = (name) => (name.includes(" charge ") ? Effect.succeedNone : memory.get(name))
      const later = yield* open(settings(server.baseUrl), { ...memory, get })
      const weeks = { ...question, providerReference: "checkout-1" }
      expect(yield* collectionsOf(later).fetchStatus(weeks)).toMatchObject({ _tag: "Succeeded" })
      expect(bodyOf(server.seen, ASK)["CheckoutRequestID"]).toBe(ID)
    })
  )

  it.live("is asked for by the identifier that is sealed, and is known by a name for it", () =>
    Effect.gen(function* () {
      const { again, node, server } = yield* given({ [CHARGE]: [taken], [ASK]: [asked("0")] })
      const order = chargeOrder(charged, "1234")
      const accepted = yield* collectionsOf(node).charge(order)
      const handle = "providerReference" in accepted ? accepted.providerReference : null
      const question = yield* askOrder(charged, order.reference, handle)
      const found = yield* Effect.flatMap(again, (other) => collectionsOf(other).fetchStatus(question))
      expect(found).toMatchObject({ _tag: "Succeeded", providerReference: handle })
      expect(bodyOf(server.seen, ASK)["CheckoutRequestID"]).toBe(ID)
      expect(JSON.stringify([accepted, handle])).not.toContain("254711")
    })
  )

  it.live("whose answer is lost takes no report of another amount, payer or charge, nor a failure", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({
        [CHARGE]: [taken, reset],
        [ASK]: [asked("0")],
        [PULL]: [answer(200, { ResponseCode: "1001" })]
      })
      yield* collectionsOf(node).charge(chargeOrder(charged, "1234"))
      const order = chargeOrder(charged, "1234")
      yield* collectionsOf(node).charge(order)
      const address = bodyOf(server.seen, CHARGE)["CallBackURL"]
      const question = { ...(yield* askOrder(charged, order.reference)), party: Redacted.make("••••1234") }
      const own = ID.replace("ws_CO_28", "ws_CO_29")
      const reports = [
        paidPrompt(own, "1.00"),
        paidPrompt(own, "125.00", "254711009999"),
        paidPrompt(own).replace('{"Name":"PhoneNumber","Value":254711001234}', '{"Name":"Balance"}'),
        paidPrompt(own).replace('"ResultCode":0', '"ResultCode":1032'),
        paidPrompt(ID)
      ]
      for (const report of reports) {
        yield* take(node, callback(address, report))
        expect(yield* collectionsOf(node).fetchStatus(question)).toMatchObject({ _tag: "NotFound" })
      }
      expect(server.seen.filter(({ line }) => line.startsWith(ASK))).toEqual([])
    })
  )

  it.live("whose answer is lost is found among the payments of the last 48 hours, however deep they are nested", () =>
    Effect.gen(function* () {
      const order = chargeOrder(charged, "1234")
      const rows: Behaviour = (response, seen) => {
        const bill = accountReferenceOf(order.reference)
        const row = `{"transactionId":"TKS41Q7ZPD","trxDate":"${new Date().toISOString()}","msisdn":254711001234,"transactiontype":"c2b-pay-bill-debit","billreference":"${bill}","amount":"125.0","organizationname":"Shop"}`
        answer(
          200,
          `{"ResponseRefID":"1","ResponseCode":"1000","ResponseMessage":"Success","Response":[[{"transactionId":"X"},${row}]]}`
        )(response, seen)
      }
      const { node, server } = yield* given({ [CHARGE]: [reset], [PULL]: [rows] })
      yield* collectionsOf(node).charge(order)
      const found = yield* Effect.flatMap(askOrder(charged, order.reference), collectionsOf(node).fetchStatus)
      expect(found).toMatchObject({ _tag: "Succeeded", receipt: "TKS41Q7ZPD", amount: 12_500n, fee: 188n })
      expect(bodyOf(server.seen, PULL)).toMatchObject({ ShortCode: "605512", OffSetValue: "0" })
    })
  )
})

describe("a payout", () => {
  it.live("is sent with the initiator's password under Safaricom's certificate, and its status says what it cost", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({ [PAYOUT]: [acknowledged] }, [status("Completed")])
      const order = yield* payoutOrder(payoutsOf(node), paid, "1234")
      const { send, fetchStatus } = payoutsOf(node)
      const sent = yield* send(order)
      const body = bodyOf(server.seen, PAYOUT)
      expect(sent).toMatchObject({ _tag: "Accepted", providerReference: body["OriginatorConversationID"] })
      expect(body).toMatchObject({
        OriginatorConversationID: expect.stringMatching(/^[0-9A-Z]{25}$/),
        InitiatorName: "gwapi",
        CommandID: "BusinessPayment",
        Amount: 780,
        PartyA: "3004411",
        PartyB: "254711001234",
        Remarks: order.reference
      })
      const credential = Buffer.from(String(body["SecurityCredential"]), "base64")
      expect(privateDecrypt({ key: privateKey, padding: constants.RSA_PKCS1_PADDING }, credential).toString()).toBe("pa#ss")
      expect(yield* Effect.flatMap(askOrder(paid, order.reference), fetchStatus)).toMatchObject({
        _tag: "Succeeded",
        amount: 78_000n,
        fee: 1_100n,
        receipt: "TKS532NMUA"
      })
      expect(bodyOf(server.seen, STATUS)).toMatchObject({
        CommandID: "TransactionStatusQuery",
        OriginalConversationID: body["OriginatorConversationID"],
        PartyA: "3004411"
      })
    })
  )

  it.live("whose identifier is used already is what its status says, and never sent again", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({ [PAYOUT]: [error(500, "500.002.1001")] }, [status("Initiated")])
      const order = yield* payoutOrder(payoutsOf(node), paid, "1234")
      expect(yield* payoutsOf(node).send(order)).toMatchObject({ _tag: "Accepted" })
      expect(server.seen.filter(({ line }) => line.startsWith(PAYOUT))).toHaveLength(1)
    })
  )

  it.live("is no failure by a result alone, nor by an error to a question, nor by both: only its status is one", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({ [PAYOUT]: [acknowledged] }, [
        failed('"R000002"'),
        failed('"R000002"'),
        status("Declined")
      ])
      const order = yield* payoutOrder(payoutsOf(node), paid, "1234")
      yield* payoutsOf(node).send(order)
      const ask = Effect.flatMap(askOrder(paid, order.reference), payoutsOf(node).fetchStatus)
      expect(yield* ask).toMatchObject({ _tag: "NotFound" })
      const address = bodyOf(server.seen, PAYOUT)["ResultURL"]
      const said = failed("1", conversationIdOf(order.reference))
      expect(yield* take(node, callback(address, said))).toMatchObject({ reference: order.reference, says: "failed" })
      expect(yield* ask).toMatchObject({ _tag: "NotFound" })
      expect(yield* ask).toMatchObject({ _tag: "Refused", kind: "pool" })
    })
  )

  it.live("is unknown while the answer to a question has not come, and the next question takes the late one", () =>
    Effect.gen(function* () {
      const { again, node, server } = yield* given({ [PAYOUT]: [acknowledged] })
      const order = yield* payoutOrder(payoutsOf(node), paid, "1234")
      yield* payoutsOf(node).send(order)
      const ask = (of: Adapter) => Effect.flatMap(askOrder(paid, order.reference), payoutsOf(of).fetchStatus)
      expect(yield* ask(node)).toMatchObject({ _tag: "Unknown", reason: "timeout" })
      const { ResultURL } = bodyOf(server.seen, STATUS)
      expect(
        yield* take(node, callback(ResultURL, status("Completed").replace(ASKED, conversationIdOf(order.reference))))
      ).toMatchObject({ isAnswer: true })
      expect(yield* ask(yield* again)).toMatchObject({ _tag: "Succeeded" })
      expect(server.seen.filter(({ line }) => line.startsWith(STATUS))).toHaveLength(1)
    })
  )
})

describe("the answer to a question", () => {
  it.live("is none that comes to the address of another one, or names another ConversationID, or none", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({ [PAYOUT]: [acknowledged] })
      const order = yield* payoutOrder(payoutsOf(node), paid, "1234")
      yield* payoutsOf(node).send(order)
      const ask = Effect.flatMap(askOrder(paid, order.reference), payoutsOf(node).fetchStatus)
      const genuine = status("Completed").replace(ASKED, conversationIdOf(order.reference))
      const addressOf = () => bodyOf(server.seen, STATUS)["ResultURL"]
      yield* ask
      const first = addressOf()
      for (const forged of [
        genuine.replace("AG_20261128_2010aa51c7e09f33", "AG_1"),
        genuine.replace('"ConversationID":"AG_20261128_2010aa51c7e09f33",', "")
      ]) {
        yield* take(node, callback(addressOf(), forged))
        expect(yield* ask).toMatchObject({ _tag: "Unknown", reason: "timeout" })
      }
      expect(addressOf()).not.toBe(first)
      yield* take(node, callback(first, genuine))
      expect(yield* ask).toMatchObject({ _tag: "Unknown", reason: "timeout" })
      yield* take(node, callback(addressOf(), genuine))
      expect(yield* ask).toMatchObject({ _tag: "Succeeded" })
    })
  )

  it.live("is none to a question that was acknowledged without a ConversationID", () =>
    Effect.gen(function* () {
      const { node } = yield* given({ [PAYOUT]: [acknowledged], [STATUS]: [answer(200, { ResponseCode: "0" })] })
      const order = yield* payoutOrder(payoutsOf(node), paid, "1234")
      const ask = Effect.flatMap(askOrder(paid, order.reference), payoutsOf(node).fetchStatus)
      expect(yield* ask).toMatchObject({ _tag: "Unknown" })
    })
  )
})

describe("an address of ours", () => {
  it.live("takes nothing at one that was not made here, or was made for something else", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({ [CHARGE]: [taken], [PAYOUT]: [acknowledged] })
      yield* collectionsOf(node).charge(chargeOrder(charged, "1234"))
      const address = String(bodyOf(server.seen, CHARGE)["CallBackURL"])
      const forged = [
        address.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
        address.replace("charge-", "payout-"),
        address.replace("charge-", "other-"),
        address.replace(/-[0-9a-f]{2}/, (first) => (first === "-41" ? "-42" : "-41"))
      ]
      for (const one of forged) expect(yield* take(node, callback(one, paidPrompt(ID)))).toBeNull()
      expect(yield* take(node, callback(address, "{}"))).toBeNull()
      expect(yield* take(node, callback(address, paidPrompt(ID)))).not.toBeNull()
    })
  )

  it.live("of a request that lay in a queue for too long only makes the gateway ask", () =>
    Effect.gen(function* () {
      const { node, server } = yield* given({ [PAYOUT]: [acknowledged] })
      const order = yield* payoutOrder(payoutsOf(node), paid, "1234")
      yield* payoutsOf(node).send(order)
      const { QueueTimeOutURL, ...echo } = bodyOf(server.seen, PAYOUT)
      const hint = yield* take(node, callback(QueueTimeOutURL, JSON.stringify(echo)))
      expect(hint).toEqual({ reference: order.reference, providerReference: null })
    })
  )
})
