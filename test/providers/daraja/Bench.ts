import { expect } from "@effect/vitest"
import { Effect, Option } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { processMemory } from "../../../src/providers/SharedMemory.ts"
import type { Adapter, RawCallback } from "../../../src/services/ports/Provider.ts"
import { answer, type Behaviour, type Seen, stub } from "../ProviderStub.ts"
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

/** A node before a stub of Safaricom; a question is answered, where `says` is given, before its acknowledgement arrives. */
export const given = Effect.fnUntraced(function* (
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
