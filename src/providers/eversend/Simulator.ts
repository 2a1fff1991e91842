import { createHmac } from "node:crypto"
import { Clock, Effect, Option, Redacted, Schema } from "effect"
import { CALLBACK_RETRIES } from "../simulation/Callbacks.ts"
import { type PlannedCallback, playOf } from "../simulation/Endings.ts"
import type { SimulatedTransaction } from "../simulation/Facts.ts"
import type { Desk, SimulatedProvider, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"
import {
  type Call,
  type Duplicates,
  deliver,
  type EversendAccount,
  PROVIDER,
  passGate,
  plain,
  refuse,
  type Stop
} from "./SimulatorCall.ts"
import { checkout, collectionFees, createCollection, sendCode } from "./SimulatorCollections.ts"
import { createExchange, quoteExchange } from "./SimulatorExchanges.ts"
import { createPayout } from "./SimulatorPayouts.ts"
import { quotePayout } from "./SimulatorQuotation.ts"
import { banks, countries, resolveBank, resolveWallet, wallets } from "./SimulatorReference.ts"
import { issueToken, peekToken, readToken } from "./SimulatorTokens.ts"
import { decimal, transactionById, transactions } from "./SimulatorTransactions.ts"

interface Options {
  readonly accounts: ReadonlyArray<EversendAccount>
  /** Eversend does not document what a second use of a transactionRef does. */
  readonly duplicates: Duplicates
}

const MOUNT = "/v1"

type Endpoint = (call: Call, parameter: string) => Effect.Effect<WireAnswer, Stop>

interface Route {
  /** The name by which the control port chooses its ending; absent where a number in the call does. */
  readonly operation?: string
  readonly endpoint: Endpoint
}

// A trailing `*` is one path segment.
const routes: Readonly<Record<string, Route>> = {
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

const operations = ["token", "exchange", ...new Set(Object.values(routes).flatMap(({ operation }) => operation ?? []))]

/** Eversend as its wire shows it (README.md beside this file). */
export const eversendSimulator = ({ accounts, duplicates }: Options): SimulatedProvider => ({
  name: PROVIDER,
  mount: MOUNT,
  accounts,
  operations,
  callback: (transaction, planned) => callback(accounts, transaction, planned),
  handler: (desk) => {
    const claimed = new Set<string>()
    const claim = (key: string) => {
      if (claimed.has(key)) return false
      claimed.add(key)
      return true
    }
    return Effect.fnUntraced(
      function* (request: WireRequest) {
        const page = /^\/checkout\/([A-Z0-9]+)$/.exec(request.path)?.[1]
        if (page !== undefined && request.method === "GET") return yield* checkout(desk, page, claim)
        const now = yield* Clock.currentTimeMillis
        const path = request.path.replace(/\/$/, "")
        if (request.method === "GET" && path === `${MOUNT}/auth/token`) return yield* token(accounts, desk, request, now)
        const merchant = authenticated(accounts, request, now)
        if (merchant === undefined) return yield* refuse(401, "Invalid token")
        const found = routeOf(request.method, path)
        if (found === undefined) return yield* refuse(404, "Not found")
        return yield* answer(found, { desk, merchant, request, now, claim, duplicates })
      },
      Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
    )
  }
})

const routeOf = (method: string, path: string) => {
  if (!path.startsWith(`${MOUNT}/`)) return undefined
  const own = `${method} ${path.slice(MOUNT.length)}`
  const exact = routes[own]
  if (exact !== undefined) return { route: exact, parameter: "" }
  const cut = own.lastIndexOf("/") + 1
  const route = routes[`${own.slice(0, cut)}*`]
  return route === undefined ? undefined : { route, parameter: own.slice(cut) }
}

const answer = Effect.fnUntraced(function* (found: { readonly route: Route; readonly parameter: string }, call: Call) {
  const { endpoint, operation } = found.route
  if (operation === undefined) return yield* endpoint(call, found.parameter)
  const play = playOf("payout", call.desk.chosen(operation))
  yield* passGate(play)
  return deliver(play.answer, yield* endpoint(call, found.parameter))
})

const BearerToken = Schema.Struct({ clientId: Schema.String })

const token = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<EversendAccount>,
  desk: Desk,
  request: WireRequest,
  now: number
) {
  const play = playOf("payout", desk.chosen("token"))
  yield* passGate(play)
  const merchant = accounts.find(({ clientId }) => clientId === request.header("clientId"))
  if (merchant === undefined || Redacted.value(merchant.clientSecret) !== request.header("clientSecret")) {
    return yield* refuse(401, "Invalid client credentials")
  }
  const bearer = issueToken("bearer", merchant.clientSecret, { clientId: merchant.clientId }, now)
  return deliver(play.answer, plain({ status: 200, token: bearer }))
})

const authenticated = (accounts: ReadonlyArray<EversendAccount>, request: WireRequest, now: number) => {
  const bearer = /^Bearer (\S+)$/i.exec(request.header("authorization") ?? "")?.[1] ?? ""
  const claimed = Option.getOrUndefined(peekToken(BearerToken, bearer))?.clientId
  const merchant = accounts.find(({ clientId }) => clientId === claimed)
  if (merchant === undefined) return undefined
  return Option.isSome(readToken("bearer", merchant.clientSecret, BearerToken, bearer, now)) ? merchant : undefined
}

const callback = (accounts: ReadonlyArray<EversendAccount>, transaction: SimulatedTransaction, planned: PlannedCallback) => {
  const body = callbackBody(transaction, planned.says)
  const secret = accounts.find(({ clientId }) => clientId === transaction.account)?.webhookSecret
  const genuine = planned.signature === "genuine" && secret !== undefined
  const signature = createHmac("sha512", genuine ? Redacted.value(secret) : "a forger's guess")
    .update(body)
    .digest("hex")
  return {
    body,
    headers: { "content-type": "application/json", "x-eversend-signature": signature },
    retries: genuine ? CALLBACK_RETRIES : 0
  }
}

// White space that no serializer would produce, so that only a check over the bytes as sent can hold.
const callbackBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"]): string => {
  const { amount, currency, id, kind, reference, returned } = transaction
  const word = { successful: "success", failed: "failed", pending: "pending" }[says]
  const subject = kind === "exchange" ? "transaction" : kind
  const sum = kind === "payout" ? JSON.stringify(decimal(amount, currency)) : decimal(amount, currency)
  return `{ "type" :${JSON.stringify(`${subject}.${returned ? "refunded" : word}`)},\n\t"data":  {"transactionRef": ${JSON.stringify(reference)} ,"transactionId":${JSON.stringify(id)}, "amount" : ${sum},"currency":"${currency}",\n "status": "${says}" } }\n`
}
