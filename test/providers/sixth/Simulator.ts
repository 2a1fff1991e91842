import { createHmac } from "node:crypto"
import { Clock, Effect, Redacted, Result } from "effect"
import { isCurrency } from "../../../src/domain/Currency.ts"
import { iso } from "../../../src/domain/Instant.ts"
import { fromDecimal, toDecimal } from "../../../src/domain/Money.ts"
import { decodedOr, exactBody, onceOnly } from "../../../src/simulator/Answers.ts"
import { signedCallback } from "../../../src/simulator/Callbacks.ts"
import { endingOf, type PlannedCallback, playOf } from "../../../src/simulator/Endings.ts"
import { begun, type SimulatedTransaction } from "../../../src/simulator/Facts.ts"
import { collectionFee, payoutFee } from "../../../src/simulator/Fees.ts"
import { answering, lineOf, operationsOf, type Routes, routeOf } from "../../../src/simulator/Router.ts"
import type { SimulatedProvider, SimulatorContext, WireRequest } from "../../../src/simulator/SimulatedProvider.ts"
import { deliver, json, passGate, refuse } from "./SimulatorAnswers.ts"
import { type Movement, MovementRequest } from "./Wire.ts"

export interface SixthAccount {
  /** The simulator's own name for it: at Tumbuka Pay the key is the account. */
  readonly clientId: string
  readonly apiKey: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
}

interface Call {
  readonly context: SimulatorContext
  readonly account: string
  readonly request: WireRequest
  readonly now: number
  readonly claim: (key: string) => boolean
}

type Kind = "payout" | "collection"

const PROVIDER = "sixth"
const MOUNT = "/v1"
const currencies: Readonly<Record<string, string>> = { UG: "UGX", KE: "KES" }

/** Tumbuka Pay as README.md beside this file describes it. */
export const sixthSimulator = (accounts: ReadonlyArray<SixthAccount>): SimulatedProvider => ({
  name: PROVIDER,
  mount: MOUNT,
  accounts: accounts.map(({ clientId }) => ({ clientId })),
  operations: operationsOf(Object.values(routes)),
  callback: (transaction, planned) => callback(accounts, transaction, planned),
  handler: (context) => {
    // Taken before it is written down, so that two at once are not both the first.
    const claim = onceOnly()
    return Effect.fnUntraced(
      function* (request: WireRequest) {
        const own = accounts.find(({ apiKey }) => Redacted.value(apiKey) === request.header("x-api-key"))
        if (own === undefined) return yield* refuse(401, "unauthorized")
        const found = routeOf(routes, lineOf(MOUNT, request))
        if (found === undefined) return yield* refuse(404, "no_such_address")
        return yield* answer(found, { context, account: own.clientId, request, now: yield* Clock.currentTimeMillis, claim })
      },
      Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
    )
  }
})

const answer = answering({ passGate, deliver })

/** POST /transfers, POST /charges */
const create = Effect.fnUntraced(function* (call: Call, kind: Kind) {
  const { account, context, now, request } = call
  const asked = yield* decodedOr(MovementRequest, exactBody(request), () => refuse(400, "invalid_request"))
  const { client_ref, country, currency, msisdn } = asked
  if (!isCurrency(currency) || currencies[country] !== currency) return yield* refuse(400, "invalid_request")
  const amount = Result.getOrUndefined(fromDecimal(asked.amount, currency))
  if (amount === undefined || amount === 0n || !/^\d{8,15}$/.test(msisdn)) return yield* refuse(400, "invalid_request")
  const ending = endingOf(msisdn)
  const fee = kind === "payout" ? payoutFee(currency, "momo", amount) : collectionFee(amount)
  yield* passGate(playOf(kind, ending))
  if (kind === "payout" && amount + fee > context.account.balance(PROVIDER, account, currency))
    return yield* refuse(422, "wallet_empty")
  if (of(call, kind, client_ref) !== undefined || !call.claim(`${account}/${kind}/${client_ref}`))
    return yield* refuse(409, "duplicate_client_ref")
  const id = `tp_${now}${context.account.sequence()}`
  const own = { provider: PROVIDER, account, id, reference: client_ref, kind, ending, currency, amount, fee }
  const transaction = begun(now, own)
  return deliver(yield* context.accept(transaction), json(201, movement(transaction)))
})

const of = ({ account, context }: Call, kind: Kind, reference: string) =>
  context.account.byReference(PROVIDER, account, reference).find((one) => one.kind === kind)

/** GET /transfers/{client_ref}, GET /charges/{client_ref} */
const found = Effect.fnUntraced(function* (call: Call, kind: Kind, reference: string) {
  const transaction = of(call, kind, reference)
  return transaction === undefined ? yield* refuse(404, "not_found") : json(200, movement(transaction))
})

/** GET /statement?day=2026-01-31 */
const statement = ({ account, context, request }: Call) => {
  const day = request.query.get("day") ?? ""
  const listed = (kind: Kind) =>
    context.account
      .transactions(PROVIDER, account)
      .filter((one) => one.kind === kind && iso(one.createdAt).startsWith(`${day}T`))
      .map((one) => movement(one))
  return json(200, { transfers: listed("payout"), charges: listed("collection") })
}

const statuses = { pending: "pending", successful: "succeeded", failed: "failed" } as const

const movement = (transaction: SimulatedTransaction, says: PlannedCallback["says"] = transaction.status): Movement => ({
  id: transaction.id,
  client_ref: transaction.reference ?? "",
  status: transaction.returned ? "returned" : statuses[says],
  amount: toDecimal(transaction.amount, transaction.currency),
  currency: transaction.currency,
  fee: toDecimal(transaction.fee, transaction.currency),
  failure: says === "failed" ? (transaction.kind === "payout" ? "not_delivered" : "declined") : null,
  created_at: iso(transaction.createdAt),
  updated_at: iso(transaction.updatedAt)
})

const callback = (accounts: ReadonlyArray<SixthAccount>, transaction: SimulatedTransaction, planned: PlannedCallback) => {
  const secret = accounts.find(({ clientId }) => clientId === transaction.account)?.webhookSecret
  const body = JSON.stringify(movement(transaction, planned.says), null, 1)
  return signedCallback(secret, planned, body, (key) => ({
    "x-tumbuka-signature": createHmac("sha256", key).update(body).digest("hex")
  }))
}

const routes: Routes<Call> = {
  "POST /transfers": { endpoint: (call) => create(call, "payout") },
  "GET /transfers/*": { operation: "lookup", endpoint: (call, reference) => found(call, "payout", reference) },
  "POST /charges": { endpoint: (call) => create(call, "collection") },
  "GET /charges/*": { operation: "lookup", endpoint: (call, reference) => found(call, "collection", reference) },
  "GET /statement": { operation: "statement", endpoint: (call) => Effect.succeed(statement(call)) }
}
