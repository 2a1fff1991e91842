import { createHash } from "node:crypto"
import { Effect, Option, Result, Schema } from "effect"
import { type Currency, isCurrency } from "../../domain/Currency.ts"
import { iso } from "../../domain/Instant.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import { fromSubunits } from "../../providers/paystack/Amounts.ts"
import * as Wire from "../../providers/paystack/Wire.ts"
import { create, newDigits } from "../Call.ts"
import { endingOf, playOf } from "../Endings.ts"
import { payoutFee } from "../Fees.ts"
import { payableBank } from "./Catalogue.ts"
import { type Call, decodeBody, refuse, refusePlainly, shortBalance, success } from "./Responses.ts"
import { accountReference, findBy, transferOf } from "./Transactions.ts"

const Recipient = Schema.fromJsonString(Wire.RecipientRequest)
type Recipient = typeof Recipient.Type
const writeRecipient = Schema.encodeSync(Recipient)
const readRecipient = Schema.decodeUnknownOption(Recipient)
const recipientKey = ({ merchant, provider }: Call, code: string) => `${provider}/${merchant.clientId}/recipient/${code}`

/** The recipient types whose accounts are at a bank of the same type. */
const standardCurrency: Readonly<Record<string, string>> = { nuban: "NGN", ghipss: "GHS", kepss: "KES" }

/** POST /transferrecipient: the same account is the same recipient. Moves nothing. */
export const createRecipient = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.RecipientRequest, call.request)
  const { account_number, bank_code, currency = standardCurrency[request.type] ?? "", name, type } = request
  if (name.trim() === "") return yield* refuse(400, "Recipient name is required", "missing_params")
  if (!isCurrency(currency)) return yield* refuse(400, "Currency is not supported", "unsupported_currency")
  const bank = payableBank(currency, type, bank_code)
  if (bank === undefined) return yield* refuse(400, "Invalid bank code", "invalid_bank_code")
  const shape = type === "mobile_money" ? /^0\d{9}$/ : /^\d{6,20}$/
  if (!shape.test(account_number)) return yield* refuse(400, "Account number is invalid", "invalid_account_number")
  const play = playOf("payout", endingOf(account_number))
  if (play.gate === "no_account")
    return yield* refuse(400, "Could not resolve account name. Check parameters or try again.", "invalid_account_number")

  const identity = [call.merchant.clientId, type, currency, bank_code, account_number].join("/")
  const code = `RCP_${createHash("sha256").update(identity).digest("hex").slice(0, 15)}`
  const key = recipientKey(call, code)
  if (call.context.account.note(key) === undefined)
    yield* call.context.account.commit([{ fact: "note", key, value: writeRecipient({ ...request, currency }) }])
  const created = {
    active: true,
    createdAt: iso(call.now),
    currency,
    id: 25_753_454,
    name,
    recipient_code: code,
    type,
    updatedAt: iso(call.now),
    is_deleted: false,
    details: { authorization_code: null, account_number, account_name: null, bank_code, bank_name: bank.name }
  }
  return success("Transfer recipient created successfully", created, undefined, 201)
})

const REFERENCE = /^[a-z0-9_-]{16,50}$/

/** POST /transfer: debited when it is accepted. */
export const createTransfer = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.TransferRequest, call.request)
  const { amount, currency, recipient } = yield* checkRequest(call, request)
  const numeric = newDigits(call)
  const reference = request.reference ?? `transfer-${numeric}`
  if (!REFERENCE.test(reference)) return yield* refuse(400, "reference is 16 to 50 characters of a-z, 0-9, _ and -")
  const duplicate = refusePlainly(400, "Please provide a unique reference. Reference already exists on a transfer")
  if (findBy(call, "payout", reference) !== undefined) return yield* duplicate

  return yield* create(
    call,
    {
      id: `TRF_${numeric}`,
      reference: accountReference(reference),
      kind: "payout",
      ending: endingOf(recipient.account_number),
      currency,
      amount,
      fee: payoutFee(currency, recipient.type === "mobile_money" ? "momo" : "bank", amount),
      short: shortBalance,
      once: { key: `transfer/${call.merchant.clientId}/${reference}`, refusal: duplicate },
      detail: {
        reference,
        numeric,
        recipient: request.recipient,
        accountNumber: recipient.account_number,
        reason: request.reason ?? null
      }
    },
    (transfer) => success("Transfer has been queued", transferOf(transfer))
  )
})

interface Checked {
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly recipient: Recipient
}

const checkRequest = Effect.fnUntraced(function* (call: Call, request: typeof Wire.TransferRequest.Type) {
  const recipient = Option.getOrUndefined(readRecipient(call.context.account.note(recipientKey(call, request.recipient))))
  if (recipient === undefined) return yield* refuse(400, "Recipient specified is invalid", "invalid_transfer_recipient")
  const { currency = recipient.currency } = request
  if (!isCurrency(currency) || currency !== recipient.currency) return yield* refuse(400, "Currency is not the recipient's")
  const amount = fromSubunits(request.amount, currency)
  if (Result.isFailure(amount)) return yield* refusePlainly(400, "Invalid amount passed.")
  return { amount: amount.success, currency, recipient } satisfies Checked
})
