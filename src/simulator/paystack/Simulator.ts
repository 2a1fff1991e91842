import { createHmac } from "node:crypto"
import { Clock, Effect, Redacted } from "effect"
import { json } from "../../domain/Json.ts"
import { onceOnly } from "../Answers.ts"
import { signedCallback } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { answering, bearerOf, lineOf, operationsOf, type Routes, routeOf } from "../Router.ts"
import type { SimulatedProvider, WireRequest } from "../SimulatedProvider.ts"
import { type Call, deliver, type PaystackAccount, PROVIDER, passGate, refuse, refusePlainly } from "./Call.ts"
import { checkCharge, createCharge, payPage, submitOtp } from "./Charges.ts"
import { balance, listBanks, listCountries, resolveBank } from "./Reference.ts"
import { chargeOf, listCharges, listTransfers, transferOf, verifyCharge, verifyTransfer } from "./Transactions.ts"
import { createRecipient, createTransfer } from "./Transfers.ts"

const routes: Routes<Call> = {
  "POST /charge": { endpoint: createCharge },
  "POST /charge/submit_otp": { endpoint: submitOtp },
  "GET /charge/*": { operation: "charge_check", endpoint: checkCharge },
  "GET /transaction": { operation: "transactions", endpoint: listCharges },
  "GET /transaction/verify/*": { operation: "transaction_verify", endpoint: verifyCharge },
  "POST /transferrecipient": { operation: "recipient", endpoint: createRecipient },
  "POST /transfer": { endpoint: createTransfer },
  "GET /transfer": { operation: "transfers", endpoint: listTransfers },
  "GET /transfer/verify/*": { operation: "transfer_verify", endpoint: verifyTransfer },
  "GET /balance": { operation: "balance", endpoint: balance },
  "GET /bank": { operation: "banks", endpoint: listBanks },
  "GET /bank/resolve": { endpoint: resolveBank },
  "GET /country": { operation: "countries", endpoint: listCountries }
}

const operations = operationsOf(Object.values(routes))

/** Paystack as its wire shows it (README.md beside this file). */
export const paystackSimulator = (accounts: ReadonlyArray<PaystackAccount>): SimulatedProvider => ({
  name: PROVIDER,
  mount: "",
  accounts,
  operations,
  callback: (transaction, planned) => callback(accounts, transaction, planned),
  handler: (context) => {
    const claim = onceOnly()
    return Effect.fnUntraced(
      function* (request: WireRequest) {
        const page = /^\/pay\/(\d+)\/?$/.exec(request.path)?.[1]
        if (page !== undefined && request.method === "GET") return yield* payPage(context, page, claim)
        const now = yield* Clock.currentTimeMillis
        const merchant = authenticated(accounts, request)
        if (merchant === undefined) return yield* refuse(401, "Invalid key", "invalid_Key")
        const found = routeOf(routes, lineOf("", request))
        if (found === undefined) return yield* refusePlainly(404, "Unknown address")
        return yield* answer(found, { context, merchant, request, now, claim })
      },
      Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
    )
  }
})

const answer = answering({ passGate, deliver })

const authenticated = (accounts: ReadonlyArray<PaystackAccount>, request: WireRequest) => {
  const bearer = bearerOf(request)
  return accounts.find(({ secretKey }) => Redacted.value(secretKey) === bearer)
}

const callback = (accounts: ReadonlyArray<PaystackAccount>, transaction: SimulatedTransaction, planned: PlannedCallback) => {
  const body = callbackBody(transaction, planned.says)
  const secret = accounts.find(({ clientId }) => clientId === transaction.account)?.secretKey
  return signedCallback(secret, planned, body, (key) => ({
    "x-paystack-signature": createHmac("sha512", key).update(body).digest("hex")
  }))
}

const words = { successful: "success", failed: "failed", pending: "pending" } as const

// White space that no serializer would produce, so that only a check over the bytes as sent can hold.
const callbackBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"]): string => {
  const { kind, returned } = transaction
  const word = words[says]
  if (kind === "payout")
    return written(`transfer.${returned ? "reversed" : word}`, { ...transferOf(transaction), ...stated(transaction, word) })
  const charge = chargeOf(transaction, transaction.updatedAt)
  if (!returned) return written(`charge.${word}`, { ...charge, status: word })
  const { amount, currency, reference } = charge
  return written("refund.processed", { status: "processed", transaction_reference: reference, amount, currency })
}

const stated = ({ returned }: SimulatedTransaction, word: string): object => (returned ? {} : { status: word })

const written = (event: string, data: object): string => `{ "event" :${JSON.stringify(event)},\n\t"data":  ${json(data)} \n}\n`
