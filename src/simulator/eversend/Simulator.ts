import { createHmac } from "node:crypto"
import { Clock, Effect, Option, Redacted, Schema } from "effect"
import { onceOnly } from "../Answers.ts"
import { signedCallback } from "../Callbacks.ts"
import { type PlannedCallback, playOf } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { answering, bearerOf, lineOf, operationsOf, type Routes, routeOf } from "../Router.ts"
import type { SimulatedProvider, SimulatorContext, WireRequest } from "../SimulatedProvider.ts"
import { type Call, type Duplicates, deliver, type EversendAccount, PROVIDER, passGate, plain, refuse } from "./Call.ts"
import { checkout, collectionFees, createCollection, sendCode } from "./Collections.ts"
import { createExchange, quoteExchange } from "./Exchanges.ts"
import { createPayout } from "./Payouts.ts"
import { quotePayout } from "./Quotation.ts"
import { banks, countries, resolveBank, resolveWallet, wallets } from "./Reference.ts"
import { issueToken, peekToken, readToken } from "./Tokens.ts"
import { decimal, transactionById, transactions } from "./Transactions.ts"

interface Options {
  readonly accounts: ReadonlyArray<EversendAccount>
  /** Eversend does not document what a second use of a transactionRef does. */
  readonly duplicates: Duplicates
}

const MOUNT = "/v1"

const routes: Routes<Call> = {
  "POST /collections/fees": { operation: "collection_fees", endpoint: collectionFees },
  "POST /collections/otp": { operation: "otp", endpoint: sendCode },
  "POST /collections/momo": { endpoint: createCollection },
  "POST /payouts/quotation": { operation: "quotation", endpoint: quotePayout },
  "POST /payouts": { endpoint: createPayout },
  "GET /payouts/countries": { operation: "countries", endpoint: countries },
  "GET /payouts/banks/*": { operation: "banks", endpoint: (_, country) => banks(country) },
  "POST /beneficiaries/accounts/banks": { endpoint: resolveBank },
  "POST /beneficiaries/accounts/eversend": { endpoint: resolveWallet },
  "GET /wallets": { operation: "wallets", endpoint: wallets },
  "POST /exchanges/quotation": { operation: "exchange_quotation", endpoint: quoteExchange },
  "POST /exchanges": { endpoint: createExchange },
  "GET /transactions": { operation: "transactions", endpoint: transactions },
  "GET /transactions/*": { operation: "transactions", endpoint: transactionById }
}

const operations = ["token", "exchange", ...operationsOf(Object.values(routes))]

/** Eversend as its wire shows it (README.md beside this file). */
export const eversendSimulator = ({ accounts, duplicates }: Options): SimulatedProvider => ({
  name: PROVIDER,
  mount: MOUNT,
  accounts,
  operations,
  callback: (transaction, planned) => callback(accounts, transaction, planned),
  handler: (context) => {
    const claim = onceOnly()
    return Effect.fnUntraced(
      function* (request: WireRequest) {
        const page = /^\/checkout\/([A-Z0-9]+)$/.exec(request.path)?.[1]
        if (page !== undefined && request.method === "GET") return yield* checkout(context, page, claim)
        const now = yield* Clock.currentTimeMillis
        const line = lineOf(MOUNT, request)
        if (line === "GET /auth/token") return yield* token(accounts, context, request, now)
        const merchant = authenticated(accounts, request, now)
        if (merchant === undefined) return yield* refuse(401, "Invalid token")
        const found = routeOf(routes, line)
        if (found === undefined) return yield* refuse(404, "Not found")
        return yield* answer(found, { context, merchant, request, now, claim, duplicates })
      },
      Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
    )
  }
})

const answer = answering({ passGate, deliver })

const BearerToken = Schema.Struct({ clientId: Schema.String })

const token = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<EversendAccount>,
  context: SimulatorContext,
  request: WireRequest,
  now: number
) {
  const play = playOf("payout", context.chosen("token"))
  yield* passGate(play)
  const merchant = accounts.find(({ clientId }) => clientId === request.header("clientId"))
  if (merchant === undefined || Redacted.value(merchant.clientSecret) !== request.header("clientSecret")) {
    return yield* refuse(401, "Invalid client credentials")
  }
  const bearer = issueToken("bearer", merchant.clientSecret, { clientId: merchant.clientId }, now)
  return deliver(play.answer, plain({ status: 200, token: bearer }))
})

const authenticated = (accounts: ReadonlyArray<EversendAccount>, request: WireRequest, now: number) => {
  const bearer = bearerOf(request) ?? ""
  const claimed = Option.getOrUndefined(peekToken(BearerToken, bearer))?.clientId
  const merchant = accounts.find(({ clientId }) => clientId === claimed)
  if (merchant === undefined) return undefined
  return Option.isSome(readToken("bearer", merchant.clientSecret, BearerToken, bearer, now)) ? merchant : undefined
}

const callback = (accounts: ReadonlyArray<EversendAccount>, transaction: SimulatedTransaction, planned: PlannedCallback) => {
  const body = callbackBody(transaction, planned.says)
  const secret = accounts.find(({ clientId }) => clientId === transaction.account)?.webhookSecret
  return signedCallback(secret, planned, body, (key) => ({
    "x-eversend-signature": createHmac("sha512", key).update(body).digest("hex")
  }))
}

// White space that no serializer would produce, so that only a check over the bytes as sent can hold.
const callbackBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"]): string => {
  const { amount, currency, id, kind, reference, returned } = transaction
  const word = { successful: "success", failed: "failed", pending: "pending" }[says]
  const subject = kind === "exchange" ? "transaction" : kind
  const sum = kind === "payout" ? JSON.stringify(decimal(amount, currency)) : decimal(amount, currency)
  return `{ "type" :${JSON.stringify(`${subject}.${returned ? "refunded" : word}`)},\n\t"data":  {"transactionRef": ${JSON.stringify(reference)} ,"transactionId":${JSON.stringify(id)}, "amount" : ${sum},"currency":"${currency}",\n "status": "${says}" } }\n`
}
