import { constants, privateDecrypt } from "node:crypto"
import { expect, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { accountReferenceOf, conversationIdOf } from "../../../src/providers/daraja/Wire.ts"
import { processMemory } from "../../../src/providers/SharedMemory.ts"
import type { Adapter, RawCallback } from "../../../src/services/ports/Provider.ts"
import { collectionsOf, payoutsOf } from "../contract/Fixture.ts"
import { askOrder, chargeOrder, payoutOrder } from "../contract/Orders.ts"
import { answer, type Behaviour, reset, type Seen, stub } from "../ProviderStub.ts"
import { kenya, open, privateKey, settings } from "./Orders.ts"

// Answers and callbacks are those of Safaricom's documents, as they stand there.

const TOKEN = { "GET /oauth/v1/generate": [answer(200, { access_token: "Tq4x", expires_in: 3599 })] }
const CHARGE = "POST /mpesa/stkpush/v1/processrequest"
const ASK = "POST /mpesa/stkpushquery/v1/query"
const PAYOUT = "POST /mpesa/b2c/v3/paymentrequest"
const STATUS = "POST /mpesa/transactionstatus/v1/query"
const PULL = "POST /pulltransactions/v1/query"

const ID = "ws_CO_28112026142311254711002233"
/** The payer's number is in the identifier, and not in what is kept with the record. */
const HANDLE = expect.stringMatching(/^checkout-[0-9a-f]{32}$/)
const taken = answer(
  200,
  `{"MerchantRequestID":"81ce-4d02-b7aa-1","CheckoutRequestID":"${ID}","ResponseCode":"0","ResponseDescription":"Success. Request accepted for processing","CustomerMessage":"Success"}`
)
const asked = (code: string) =>
  answer(
    200,
    `{"ResponseCode":"0","ResponseDescription":"The service request has been accepted successfully","MerchantRequestID":"81ce","CheckoutRequestID":"${ID}","ResultCode":"${code}","ResultDesc":"Request cancelled by user"}`
  )
const error = (status: number, code: string) =>
  answer(status, `{"requestId":"7d10-4c6e-1","errorCode":"${code}","errorMessage":"Bad Request"}`)
const acknowledged = answer(
  200,
  '{"OriginatorConversationID":"5531-8830412-1","ConversationID":"AG_20261128_2010aa51c7e09f33","ResponseCode":"0","ResponseDescription":"Accept the service request successfully."}'
)
const paidPrompt = (id: string, amount = "125.00", number = "254711001234") =>
  `{"Body":{"stkCallback":{"MerchantRequestID":"81ce-1","CheckoutRequestID":"${id}","ResultCode":0,"ResultDesc":"The service request is processed successfully.","CallbackMetadata":{"Item":[
 {"Name":"Amount","Value":${amount}},{"Name":"MpesaReceiptNumber","Value":"TKS41Q7ZPD"},{"Name":"Balance"},{"Name":"TransactionDate","Value":20261128142355},{"Name":"PhoneNumber","Value":${number}}]}}}}`
/** What a question asked about stands here in its answer. */
const ASKED = "the identifier that was asked for"
const status = (word: string, amount = "780.00") =>
  `{"Result":{"ResultType":0,"ResultCode":0,"ResultDesc":"ok","OriginatorConversationID":"5531-8830412-1","ConversationID":"AG_20261128_2010aa51c7e09f33","TransactionID":"TKS000000",
"ResultParameters":{"ResultParameter":[{"Key":"DebitPartyName","Value":"3004411 - Shop"},{"Key":"CreditPartyName","Value":"254711001234 - ADA K"},{"Key":"DebitPartyCharges","Value":"Fee For B2C Payment|KES|11.00"},
{"Key":"OriginatorConversationID","Value":"${ASKED}"},
{"Key":"TransactionStatus","Value":"${word}"},{"Key":"Amount","Value":"${amount}"},{"Key":"ReceiptNo","Value":"TKS532NMUA"}]},"ReferenceData":{"ReferenceItem":{"Key":"Occasion"}}}}`
const failed = (code: string, id = "1") =>
  `{"Result":{"ResultType":0,"ResultCode":${code},"ResultDesc":"no","OriginatorConversationID":"${id}","ConversationID":"AG_20261128_2010aa51c7e09f33","TransactionID":"TKS532NMUA","ReferenceData":{"ReferenceItem":{"Key":"QueueTimeoutURL","Value":"x"}}}}`

const charged = { ...kenya, amount: minor(12_500n) }
const paid = { ...kenya, amount: minor(78_000n) }

const bodyOf = (seen: ReadonlyArray<Seen>, line: string): Record<string, unknown> =>
  JSON.parse(seen.findLast((one) => one.line.startsWith(line))?.body ?? "{}")

const callback = (address: unknown, body: string): RawCallback => ({
  method: "POST",
  path: new URL(String(address)).pathname,
  headers: {},
  body: Buffer.from(body)
})

/** As the gateway takes one. */
const take = Effect.fnUntraced(function* ({ callbacks }: Adapter, came: RawCallback) {
  const hint = callbacks.verify(came)
  if (Option.isSome(hint)) yield* callbacks.keep?.(came) ?? Effect.void
  return Option.getOrNull(hint)
})

/** A node before a stub of Safaricom; a question is answered, where `says` is given, before its acknowledgement arrives. */
const given = Effect.fnUntraced(function* (
  behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>,
  says: ReadonlyArray<string> = [],
  change: Parameters<typeof settings>[1] = {}
) {
  const memory = processMemory()
  const answers = [...says]
  const asking: Behaviour = (response, seen) => {
    const said = answers.shift()
    const acknowledge = () => acknowledged(response, seen)
    if (said === undefined) return acknowledge()
    const { OriginalConversationID, ResultURL } = JSON.parse(seen.body)
    void Effect.runPromise(take(node, callback(ResultURL, said.replace(ASKED, OriginalConversationID)))).then(acknowledge)
  }
  const server = yield* stub({ ...TOKEN, [STATUS]: [asking], ...behaviours })
  const node: Adapter = yield* open(settings(server.baseUrl, { timeoutMs: 500, ...change }), memory)
  return { memory, node, server, again: open(settings(server.baseUrl), memory) }
})

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

  it.live("whose answer is lost is found among the payments of the last 48 hours, however deep they are nested", () =>
    Effect.gen(function* () {
      const order = chargeOrder(charged, "1234")
      const rows: Behaviour = (response, seen) => {
        const bill = accountReferenceOf(order.reference)
        const row = `{"transactionId":"TKS41Q7ZPD","trxDate":"2026-11-27T10:13:00Z","msisdn":254711001234,"transactiontype":"c2b-pay-bill-debit","billreference":"${bill}","amount":"125.0","organizationname":"Shop"}`
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
        address.replace(/-[0-9a-f]{2}/, "-41")
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
