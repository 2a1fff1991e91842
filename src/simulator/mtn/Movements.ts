import { Effect, Result } from "effect"
import { fromDecimal } from "../../domain/Money.ts"
import { PaymentRequest, type Product, TransferRequest } from "../../providers/mtn/Wire.ts"
import { callbackAddress } from "../Callbacks.ts"
import { endingOf, type Play, playOf } from "../Endings.ts"
import { begun, type Fact, type SimulatedTransaction } from "../Facts.ts"
import { collectionFee, payoutFee } from "../Fees.ts"
import { balanceOf } from "./Balance.ts"
import { type Call, decodeBody, deliver, json, PROVIDER, passGate, refuse, taken } from "./Call.ts"
import { callbackOf, statusBody } from "./Status.ts"

const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

export const kinds = { collection: "collection", disbursement: "payout" } as const satisfies Record<
  Product,
  SimulatedTransaction["kind"]
>

/** POST of a movement. */
export const createMovement = Effect.fnUntraced(function* (call: Call) {
  const { context, merchant, now, product } = call
  const { environment, currency } = merchant.country
  const id = call.request.header("x-reference-id") ?? ""
  if (!UUID_4.test(id)) return yield* refuse(400, "BAD_REQUEST", "X-Reference-Id must be a UUID of version 4")
  yield* checkCallback(call)
  const { party, request } = yield* asked(call)
  if (request.currency !== currency) return yield* refuse(500, "INVALID_CURRENCY", `Currency not supported in ${environment}`)
  const amount = fromDecimal(request.amount, currency)
  if (Result.isFailure(amount) || amount.success === 0n) return yield* refuse(400, "BAD_REQUEST", "amount is not valid")

  const kind = kinds[product]
  const ending = endingOf(party)
  const play = playOf(kind, ending)
  yield* passGate(play)
  if (context.account.transaction(PROVIDER, id) !== undefined || !call.claim(id)) {
    return yield* refuse(409, "RESOURCE_ALREADY_EXIST", "Duplicated reference id. Creation of resource failed.")
  }
  const fee = kind === "payout" ? payoutFee(currency, "momo", amount.success) : collectionFee(amount.success)
  const isShort = kind === "payout" && amount.success + fee > balanceOf(call)
  const reason = failing(play, kind, isShort)
  const transaction = begun(now, {
    provider: PROVIDER,
    account: merchant.account,
    id,
    reference: request.externalId ?? null,
    kind,
    status: reason === null ? "pending" : "failed",
    ending,
    currency,
    amount: amount.success,
    fee,
    reason,
    detail: {
      partyId: party,
      payerMessage: request.payerMessage ?? null,
      payeeNote: request.payeeNote ?? null,
      financialTransactionId: `${now}${context.account.sequence()}`,
      reason
    }
  })
  const manner = yield* context.accept(transaction, reason === null ? [] : [toldFailure(transaction)])
  return deliver(manner, taken)
})

const asked = Effect.fnUntraced(function* ({ product, request }: Call) {
  if (product === "collection") {
    const body = yield* decodeBody(PaymentRequest, request)
    return { request: body, party: body.payer.partyId }
  }
  const body = yield* decodeBody(TransferRequest, request)
  return { request: body, party: body.payee.partyId }
})

/** What MTN takes first and fails at once. */
const failing = ({ gate }: Play, kind: SimulatedTransaction["kind"], isShort: boolean): string | null => {
  if (gate === "pool_short" || isShort) return "NOT_ENOUGH_FUNDS"
  if (gate !== "no_account") return null
  return kind === "payout" ? "PAYEE_NOT_FOUND" : "PAYER_NOT_FOUND"
}

/** Long enough that the answer is heard first. */
const TOLD_AFTER_MS = 300

const toldFailure = (transaction: SimulatedTransaction): Fact => ({
  fact: "job",
  job: {
    id: `${PROVIDER}/${transaction.id}/callbacks`,
    at: transaction.createdAt + TOLD_AFTER_MS,
    provider: PROVIDER,
    account: transaction.account,
    work: { kind: "callbacks", attempt: 0, callbacks: [callbackOf(transaction, { says: "failed", signature: "genuine" })] }
  }
})

/** The host must be the one that was registered; callbacks go to the address that the control port was told. */
const checkCallback = Effect.fnUntraced(function* ({ context, merchant, request }: Call) {
  const wanted = request.header("x-callback-url")
  const registered = context.account.note(callbackAddress(PROVIDER, merchant.account))
  if (wanted === undefined || registered === undefined) return
  if (!URL.canParse(wanted) || new URL(wanted).hostname !== new URL(registered).hostname) {
    return yield* refuse(500, "INVALID_CALLBACK_URL_HOST", "Callback URL with different host name then configured for API user.")
  }
})

/** GET of a movement. */
export const readMovement = Effect.fnUntraced(function* ({ context, merchant, product }: Call, id: string) {
  const transaction = context.account.transaction(PROVIDER, id)
  const isOwn = transaction?.account === merchant.account && transaction.kind === kinds[product]
  if (transaction === undefined || !isOwn) {
    return yield* refuse(404, "RESOURCE_NOT_FOUND", "Requested resource was not found.")
  }
  return json(200, statusBody(transaction))
})
