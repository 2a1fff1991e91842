import { Effect, Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { TransferRequest } from "../../providers/flutterwave/Wire.ts"
import { plainNumber } from "../../providers/WireNumber.ts"
import { balanceOf, byReference, create, newDigits } from "../Call.ts"
import { type Ending, endingOf, playOf } from "../Endings.ts"
import { type PayoutMethod, payoutFee } from "../Fees.ts"
import { passGate } from "../Responses.ts"
import { banks, momoBanks } from "./Catalogue.ts"
import { type Call, decodeBody, errors, moneyOf, refuse, success } from "./Responses.ts"
import { transferData } from "./Transactions.ts"

type Request = typeof TransferRequest.Type

const SHORT = "DISBURSE FAILED: Insufficient funds in customer wallet"
const NAMELESS = "beneficiary_name is required"
const NOBODY = "DISBURSE FAILED: Unable to obtain user details"
const UNDELIVERED = "DISBURSE FAILED: A fatal error occured while proccesing your request."

/** Accepted, and then failed. */
const FAILS_LATER: Ending = "0002"

const methods: Readonly<Record<string, PayoutMethod>> = { account: "bank", mobilemoney: "momo", barter: "wallet" }

/** GET /transfers/fee?amount&currency&type */
export const transferFee = Effect.fnUntraced(function* ({ request: { query } }: Call) {
  const { amount, currency } = yield* moneyOf(query.get("amount") ?? "", query.get("currency") ?? "")
  const method = methods[query.get("type") ?? "account"]
  if (method === undefined) return yield* refuse(400, "type is invalid")
  const isShare = currency === "KES" && method === "bank"
  const fee = isShare ? { fee_type: "percentage", fee: 1 } : flat(currency, payoutFee(currency, method, amount))
  return success("Transfer fee fetched", [{ currency, ...fee }])
})

const flat = (currency: Currency, fee: bigint) => ({ fee_type: "value", fee: plainNumber(fee, currency) })

/** POST /transfers: accepted before anything is checked; a wallet that is too small and an unknown recipient are reported later. */
export const createTransfer = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(TransferRequest, call.request)
  const { amount, currency } = yield* moneyOf(request.amount, request.currency)
  if ((request.debit_currency ?? currency) !== currency) return yield* refuse(400, "Unable to fetch rates at the moment")
  if (!/^[\w-]{1,100}$/.test(request.reference)) return yield* refuse(400, "reference is invalid")
  const { bankName, method } = yield* bankOf(request, currency)
  if (currency === "KES" && method !== "wallet" && !isSenderTold(request.meta))
    return yield* refuse(400, "sender details are required")
  if (byReference(call, "payout", request.reference).length > 0) return yield* refuse(400, "Payout with this ref already exists")

  const chosen = endingOf(request.account_number)
  const { gate } = playOf("payout", chosen)
  // The gate is passed here, because a failure that is reported later replaces the chosen ending.
  yield* passGate({ ...errors, no_account: undefined }, { gate })
  const fee = payoutFee(currency, method, amount)
  const short = gate === "pool_short" || amount + fee > balanceOf(call, currency)
  const nameless = method === "momo" && !request.beneficiary_name
  const failure = short ? SHORT : nameless ? NAMELESS : gate === "no_account" ? NOBODY : null
  const transfer = {
    id: newDigits(call),
    reference: request.reference,
    kind: "payout",
    ending: failure === null ? chosen : FAILS_LATER,
    currency,
    amount,
    fee,
    detail: {
      accountNumber: request.account_number,
      bankCode: request.account_bank,
      bankName,
      fullName: request.beneficiary_name ?? "N/A",
      narration: request.narration ?? null,
      failsWith: failure ?? UNDELIVERED
    }
  } as const
  return yield* create(call, transfer, (created) =>
    success("Transfer Queued Successfully", { ...transferData(created), status: "NEW" })
  )
})

const isSenderTold = Schema.is(
  Schema.NonEmptyArray(
    Schema.Struct({ sender: Schema.NonEmptyString, sender_country: Schema.NonEmptyString, mobile_number: Schema.NonEmptyString })
  )
)

const bankOf = Effect.fnUntraced(function* (request: Request, currency: Currency) {
  const { account_bank: code, account_number: account, destination_branch_code: branch } = request
  if (!/^[A-Za-z0-9]{4,34}$/.test(account)) return yield* refuse(400, "account_number is invalid")
  if (code === "flutterwave") {
    if (!request.narration) return yield* refuse(400, "narration is required")
    return { method: "wallet", bankName: "wallet" } as const
  }
  if (momoBanks[currency]?.includes(code) === true) {
    if (!/^\d{8,15}$/.test(account)) return yield* refuse(400, "account_number is invalid")
    return { method: "momo", bankName: "N/A" } as const
  }
  const bank = banks.find((one) => one.code === code && one.currency === currency)
  if (bank === undefined) return yield* refuse(400, "account_bank is invalid")
  if (bank.branches.length > 0 && !bank.branches.includes(branch ?? ""))
    return yield* refuse(400, "destination_branch_code is required")
  return { method: "bank", bankName: bank.name } as const
})
