import { Effect } from "effect"
import { PaymentRequest, TransferRequest } from "../../providers/mtn/Wire.ts"
import { create, newDigits, onceById } from "../Call.ts"
import { callbackAddress } from "../Callbacks.ts"
import { endingOf, type Play, playOf } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { collectionFee, payoutFee } from "../Fees.ts"
import { failsAtOnce } from "../Movements.ts"
import { decimalOr } from "../Responses.ts"
import { productBalance } from "./Reference.ts"
import { accepted, type Call, decodeBody, refuse } from "./Responses.ts"
import { callbackOf, kinds } from "./Transactions.ts"

const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** POST /collection/v1_0/requesttopay, POST /disbursement/v1_0/transfer */
export const createPayment = Effect.fnUntraced(function* (call: Call) {
  const { merchant } = call
  const { currency, environment } = merchant.country
  const id = call.request.header("x-reference-id") ?? ""
  if (!UUID_4.test(id)) return yield* refuse(400, "BAD_REQUEST", "X-Reference-Id must be a UUID of version 4")
  yield* checkCallback(call)
  const { party, request } = yield* decodePayment(call)
  if (request.currency !== currency) return yield* refuse(500, "INVALID_CURRENCY", `Currency not supported in ${environment}`)
  const invalid = refuse(400, "BAD_REQUEST", "amount is not valid")
  const amount = yield* decimalOr(request.amount, currency, invalid)
  if (amount === 0n) return yield* invalid
  if ([request.payerMessage, request.payeeNote].some(isNoNote)) return yield* refuse(400, "BAD_REQUEST", "message is not valid")

  const kind = kinds[merchant.product]
  const ending = endingOf(party)
  const fee = kind === "payout" ? payoutFee(currency, "momo", amount) : collectionFee(amount)
  const isShort = kind === "payout" && amount + fee > productBalance(call)
  const reason = failureOf(playOf(kind, ending), kind, isShort)
  const payment = {
    id,
    reference: request.externalId ?? null,
    kind,
    ...failsAtOnce(reason, callbackOf),
    ending,
    currency,
    amount,
    fee,
    once: onceById(call, id, refuse(409, "RESOURCE_ALREADY_EXIST", "Duplicated reference id. Creation of resource failed.")),
    detail: {
      partyId: party,
      payerMessage: request.payerMessage ?? null,
      payeeNote: request.payeeNote ?? null,
      financialTransactionId: newDigits(call),
      reason
    }
  } as const
  return yield* create(call, payment, () => accepted)
})

/** Special characters are refused: beside letters and digits, only these are known to be accepted. */
const isNoNote = (note: string | undefined): boolean => note !== undefined && !/^[A-Za-z0-9 .-]*$/.test(note)

const decodePayment = Effect.fnUntraced(function* ({ merchant, request }: Call) {
  if (merchant.product === "collection") {
    const body = yield* decodeBody(PaymentRequest, request)
    return { request: body, party: body.payer.partyId }
  }
  const body = yield* decodeBody(TransferRequest, request)
  return { request: body, party: body.payee.partyId }
})

/** The reason of a payment that MTN accepts first and fails immediately afterwards. */
const failureOf = ({ gate }: Play, kind: SimulatedTransaction["kind"], isShort: boolean): string | null => {
  if (gate === "pool_short" || isShort) return "NOT_ENOUGH_FUNDS"
  if (gate !== "no_account") return null
  return kind === "payout" ? "PAYEE_NOT_FOUND" : "PAYER_NOT_FOUND"
}

/** The host must be the registered one; callbacks go to the address that the control port was given. */
const checkCallback = Effect.fnUntraced(function* ({ context, merchant, provider, request }: Call) {
  const wanted = request.header("x-callback-url")
  const registered = context.account.note(callbackAddress(provider, merchant.clientId))
  if (wanted === undefined || registered === undefined) return
  if (!URL.canParse(wanted) || new URL(wanted).hostname !== new URL(registered).hostname) {
    return yield* refuse(500, "INVALID_CALLBACK_URL_HOST", "Callback URL with different host name then configured for API user.")
  }
})
