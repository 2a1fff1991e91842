import { expect } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { processMemory, type SharedMemory } from "../../../src/providers/SharedMemory.ts"
import type { Adapter, RawCallback } from "../../../src/services/ports/Provider.ts"
import { collectionsOf } from "../contract/Fixture.ts"
import { askOrder, chargeOrder } from "../contract/Orders.ts"
import { answer, type Behaviour, reset, type Seen, stub } from "../ProviderStub.ts"
import { kenya, open, settings } from "./Orders.ts"

// Answers and callbacks are those of Safaricom's documents, as they stand there.

export const TOKEN = { "GET /oauth/v1/generate": [answer(200, { access_token: "Tq4x", expires_in: 3599 })] }
export const CHARGE = "POST /mpesa/stkpush/v1/processrequest"
export const ASK = "POST /mpesa/stkpushquery/v1/query"
export const PAYOUT = "POST /mpesa/b2c/v3/paymentrequest"
export const STATUS = "POST /mpesa/transactionstatus/v1/query"
export const PULL = "POST /pulltransactions/v1/query"
export const REGISTER = "POST /mpesa/c2b/v2/registerurl"

export const ID = "ws_CO_28112026142311254711002233"
/** The payer's number is in the identifier, and not in what is kept with the record. */
export const HANDLE = expect.stringMatching(/^checkout-[0-9a-f]{32}$/)
export const taken = answer(
  200,
  `{"MerchantRequestID":"81ce-4d02-b7aa-1","CheckoutRequestID":"${ID}","ResponseCode":"0","ResponseDescription":"Success. Request accepted for processing","CustomerMessage":"Success"}`
)
export const asked = (code: string) =>
  answer(
    200,
    `{"ResponseCode":"0","ResponseDescription":"The service request has been accepted successfully","MerchantRequestID":"81ce","CheckoutRequestID":"${ID}","ResultCode":"${code}","ResultDesc":"Request cancelled by user"}`
  )
export const error = (status: number, code: string) =>
  answer(status, `{"requestId":"7d10-4c6e-1","errorCode":"${code}","errorMessage":"Bad Request"}`)
export const acknowledged = answer(
  200,
  '{"OriginatorConversationID":"5531-8830412-1","ConversationID":"AG_20261128_2010aa51c7e09f33","ResponseCode":"0","ResponseDescription":"Accept the service request successfully."}'
)
export const paidPrompt = (id: string, amount = "125.00", number = "254711001234") =>
  `{"Body":{"stkCallback":{"MerchantRequestID":"81ce-1","CheckoutRequestID":"${id}","ResultCode":0,"ResultDesc":"The service request is processed successfully.","CallbackMetadata":{"Item":[
 {"Name":"Amount","Value":${amount}},{"Name":"MpesaReceiptNumber","Value":"TKS41Q7ZPD"},{"Name":"Balance"},{"Name":"TransactionDate","Value":20261128142355},{"Name":"PhoneNumber","Value":${number}}]}}}}`
/** What a question asked about stands here in its answer. */
export const ASKED = "the identifier that was asked for"
export const status = (word: string, amount = "780.00") =>
  `{"Result":{"ResultType":0,"ResultCode":0,"ResultDesc":"ok","OriginatorConversationID":"5531-8830412-1","ConversationID":"AG_20261128_2010aa51c7e09f33","TransactionID":"TKS000000",
"ResultParameters":{"ResultParameter":[{"Key":"DebitPartyName","Value":"3004411 - Shop"},{"Key":"CreditPartyName","Value":"254711001234 - ADA K"},{"Key":"DebitPartyCharges","Value":"Fee For B2C Payment|KES|11.00"},
{"Key":"OriginatorConversationID","Value":"${ASKED}"},{"Key":"InitiatedTime","Value":20261128142355},{"Key":"FinalisedTime","Value":20261128142355},
{"Key":"TransactionStatus","Value":"${word}"},{"Key":"Amount","Value":"${amount}"},{"Key":"ReceiptNo","Value":"TKS532NMUA"}]},"ReferenceData":{"ReferenceItem":{"Key":"Occasion"}}}}`
export const failed = (code: string, id = "1") =>
  `{"Result":{"ResultType":0,"ResultCode":${code},"ResultDesc":"no","OriginatorConversationID":"${id}","ConversationID":"AG_20261128_2010aa51c7e09f33","TransactionID":"TKS532NMUA","ReferenceData":{"ReferenceItem":{"Key":"QueueTimeoutURL","Value":"x"}}}}`

export const charged = { ...kenya, amount: minor(12_500n) }
export const paid = { ...kenya, amount: minor(78_000n) }

export const bodyOf = (seen: ReadonlyArray<Seen>, line: string): Record<string, unknown> =>
  JSON.parse(seen.findLast((one) => one.line.startsWith(line))?.body ?? "{}")

export const callback = (address: unknown, body: string): RawCallback => ({
  method: "POST",
  path: new URL(String(address)).pathname,
  headers: {},
  body: Buffer.from(body)
})

/** As the gateway takes one. */
export const take = Effect.fnUntraced(function* ({ callbacks }: Adapter, came: RawCallback) {
  const hint = callbacks.verify(came)
  if (Option.isSome(hint)) yield* callbacks.keep?.(came) ?? Effect.void
  return Option.getOrNull(hint)
})

/** The same memory, and the names that are written there from now on. */
export const watching = (memory: SharedMemory): { readonly put: Array<string>; readonly shared: SharedMemory } => {
  const put: Array<string> = []
  const noting =
    <A extends ReadonlyArray<unknown>, B>(write: (name: string, ...rest: A) => Effect.Effect<B>) =>
    (name: string, ...rest: A) =>
      Effect.andThen(
        Effect.sync(() => put.push(name)),
        write(name, ...rest)
      )
  return { put, shared: { ...memory, put: noting(memory.put), claim: noting(memory.claim) } }
}

/** The answer to a question, or that to one about a receipt; none where it is empty. */
export type Says = string | ((receipt: string) => string)

/** A node before a stub of Safaricom; a question is answered, where `says` is given, before its acknowledgement arrives. */
export const given = Effect.fnUntraced(function* (
  behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>,
  says: ReadonlyArray<Says> = [],
  change: Parameters<typeof settings>[1] = {}
) {
  const { put, shared: memory } = watching(processMemory())
  const answers = [...says]
  const asking: Behaviour = (response, seen) => {
    const { OriginalConversationID, ResultURL, TransactionID } = JSON.parse(seen.body)
    const next = answers.shift() ?? ""
    const said = typeof next === "string" ? next : next(TransactionID)
    const acknowledge = () => acknowledged(response, seen)
    if (said === "") return acknowledge()
    void Effect.runPromise(take(node, callback(ResultURL, said.replace(ASKED, OriginalConversationID)))).then(acknowledge)
  }
  const server = yield* stub({ ...TOKEN, [STATUS]: [asking], ...behaviours })
  const node: Adapter = yield* open(settings(server.baseUrl, { timeoutMs: 500, ...change }), memory)
  return { memory, put, node, server, again: open(settings(server.baseUrl), memory) }
})

/** Before the time of every payment here. */
const BEFORE = Date.UTC(2026, 10, 28, 11, 23, 50)

export const confirmation = (bill: unknown, { receipt = "TKS41Q7ZPD", shortcode = "605512" } = {}) =>
  `{"TransactionType":"Pay Bill","TransID":"${receipt}","TransTime":"20261128142355","TransAmount":"125.00","BusinessShortCode":"${shortcode}","BillRefNumber":"${bill}","InvoiceNumber":"","OrgAccountBalance":"61340.00","ThirdPartyTransID":"","MSISDN":"2547*****233","FirstName":"ADA"}`
/** The answer to a question about a payment to the paybill. */
export const payment = (amount = "125.00", payer = "254711001234 - ADA K", receipt = "TKS41Q7ZPD") =>
  status("Completed", amount)
    .replace("TKS532NMUA", receipt)
    .replace("254711001234 - ADA K", "605512 - Shop")
    .replace("3004411 - Shop", payer)

/** Charges whose answers are lost, and where a paybill's confirmations go. */
export const billed = Effect.fnUntraced(function* (says: ReadonlyArray<Says>, behaviours = {}, pulls = false) {
  const bench = yield* given({ [CHARGE]: [reset], ...behaviours }, says, { pulls })
  const address = bench.node.callbacks.registration?.addresses["ConfirmationURL"]
  const confirm = (body: string) => take(bench.node, callback(address, body))
  const charge = Effect.fnUntraced(function* () {
    const order = chargeOrder(charged, "1234")
    yield* collectionsOf(bench.node).charge(order)
    return { ...(yield* askOrder(charged, order.reference)), party: Redacted.make("••••1234"), sentAt: BEFORE }
  })
  const confirmed = Effect.fnUntraced(function* () {
    const question = yield* charge()
    yield* confirm(confirmation(bodyOf(bench.server.seen, CHARGE)["AccountReference"]))
    return question
  })
  return { ...bench, address, charge, confirm, confirmed, fetchStatus: collectionsOf(bench.node).fetchStatus }
})
