import { Effect } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { TransferRequest } from "../../providers/flutterwave/Wire.ts"
import { type Ending, endingOf, playOf } from "../Endings.ts"
import { begun, type SimulatedTransaction } from "../Facts.ts"
import { type PayoutMethod, payoutFee } from "../Fees.ts"
import { type Call, decodeBody, deliver, iso, moneyOf, newId, number, PROVIDER, passGate, refuse, success } from "./Call.ts"
import { banks, momoBanks } from "./Catalogue.ts"

type Request = typeof TransferRequest.Type

const SHORT = "DISBURSE FAILED: Insufficient funds in customer wallet"
const NAMELESS = "beneficiary_name is required"
const NOBODY = "DISBURSE FAILED: Unable to obtain user details"
const REVERSED = "DISBURSE FAILED: Transfer was reversed by the beneficiary's bank"
const UNDELIVERED = "DISBURSE FAILED: A fatal error occured while proccesing your request."

/** Taken, and then failed. */
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

const flat = (currency: Currency, fee: bigint) => ({ fee_type: "value", fee: number(fee, currency) })

/** POST /transfers: taken before anything is looked at; a wallet that is too small and a recipient who is nobody are told later. */
export const createTransfer = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(TransferRequest, call.request)
  const { amount, currency } = yield* moneyOf(request.amount, request.currency)
  if ((request.debit_currency ?? currency) !== currency) return yield* refuse(400, "Unable to fetch rates at the moment")
  if (!/^[\w-]{1,100}$/.test(request.reference)) return yield* refuse(400, "reference is invalid")
  const { bankName, method } = yield* bankOf(request, currency)
  const earlier = call.context.account.byReference(PROVIDER, call.merchant.clientId, request.reference)
  if (earlier.some(({ kind }) => kind === "payout")) return yield* refuse(400, "Payout with this ref already exists")

  const chosen = endingOf(request.account_number)
  const play = playOf("payout", chosen)
  if (play.gate !== "no_account") yield* passGate(play)
  const fee = payoutFee(currency, method, amount)
  const short =
    play.gate === "pool_short" || amount + fee > call.context.account.balance(PROVIDER, call.merchant.clientId, currency)
  const nameless = method === "momo" && !request.beneficiary_name
  const failure = short ? SHORT : nameless ? NAMELESS : play.gate === "no_account" ? NOBODY : null
  const transfer = begun(call.now, {
    provider: PROVIDER,
    account: call.merchant.clientId,
    id: newId(call),
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
  })
  const manner = yield* call.context.accept(transfer)
  return deliver(manner, success("Transfer Queued Successfully", { ...transferData(transfer), status: "NEW" }))
})

/** GET /transfers/{id} */
export const transferById = Effect.fnUntraced(function* ({ context, merchant }: Call, id: string) {
  const transfer = context.account.transaction(PROVIDER, id)
  if (transfer === undefined || transfer.account !== merchant.clientId || transfer.kind !== "payout")
    return yield* refuse(400, "No transfer was found for this id")
  return success("Transfer fetched", transferData(transfer))
})

const bankOf = Effect.fnUntraced(function* (request: Request, currency: Currency) {
  const { account_bank: code, account_number: account, destination_branch_code: branch } = request
  if (!/^[A-Za-z0-9]{4,34}$/.test(account)) return yield* refuse(400, "account_number is invalid")
  if (code === "flutterwave") return { method: "wallet", bankName: "wallet" } as const
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

const statuses = { pending: "PENDING", successful: "SUCCESSFUL", failed: "FAILED" } as const

/** One transfer. What came back after it was delivered is FAILED: v3 has no other word for it. */
export const transferData = (transfer: SimulatedTransaction, says: keyof typeof statuses = transfer.status) => {
  const { amount, currency, detail, fee, returned } = transfer
  const status = returned ? "FAILED" : statuses[says]
  const complete = { PENDING: "", SUCCESSFUL: "Transaction was successful", FAILED: returned ? REVERSED : detail.failsWith }
  return {
    id: Number(transfer.id),
    account_number: detail.accountNumber,
    bank_code: detail.bankCode,
    full_name: detail.fullName,
    created_at: iso(transfer.createdAt),
    currency,
    debit_currency: currency,
    amount: number(amount, currency),
    fee: number(fee, currency),
    status,
    reference: transfer.reference,
    meta: null,
    narration: detail.narration,
    approver: null,
    complete_message: complete[status],
    requires_approval: 0,
    is_approved: 1,
    bank_name: detail.bankName
  }
}
