import { createHmac } from "node:crypto"
import { Clock, Effect, Option, Redacted, Result, Schema } from "effect"
import { isCurrency } from "../../../src/domain/Currency.ts"
import { iso } from "../../../src/domain/Instant.ts"
import { fromDecimal, toDecimal } from "../../../src/domain/Money.ts"
import { CALLBACK_RETRIES } from "../../../src/providers/simulation/Callbacks.ts"
import { endingOf, type PlannedCallback, playOf } from "../../../src/providers/simulation/Endings.ts"
import type { SimulatedTransaction } from "../../../src/providers/simulation/Facts.ts"
import { collectionFee, payoutFee } from "../../../src/providers/simulation/Fees.ts"
import type { Desk, SimulatedProvider, WireRequest } from "../../../src/providers/simulation/SimulatedProvider.ts"
import { deliver, gateAnswer, json, refusal } from "./SimulatorAnswers.ts"
import { type Movement, MovementRequest } from "./Wire.ts"

export interface SixthAccount {
  /** The simulator's own name for it: at Tumbuka Pay the key is the account. */
  readonly clientId: string
  readonly apiKey: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
}

interface Call {
  readonly desk: Desk
  readonly account: string
  readonly request: WireRequest
  readonly now: number
}

type Kind = "payout" | "collection"

const PROVIDER = "sixth"
const MOUNT = "/v1"
const kinds: Readonly<Record<string, Kind>> = { transfers: "payout", charges: "collection" }
const currencies: Readonly<Record<string, string>> = { UG: "UGX", KE: "KES" }

/** Tumbuka Pay as README.md beside this file describes it. */
export const sixthSimulator = (accounts: ReadonlyArray<SixthAccount>): SimulatedProvider => ({
  name: PROVIDER,
  mount: MOUNT,
  accounts: accounts.map(({ clientId }) => ({ clientId })),
  operations: ["lookup", "statement"],
  callback: (transaction, planned) => callback(accounts, transaction, planned),
  handler: (desk) => {
    // Taken before it is written down, so that two at once are not both the first.
    const taken = new Set<string>()
    const claim = (key: string) => !taken.has(key) && taken.add(key) === taken
    return Effect.fnUntraced(function* (request: WireRequest) {
      const own = accounts.find(({ apiKey }) => Redacted.value(apiKey) === request.header("x-api-key"))
      if (own === undefined) return refusal(401, "unauthorized")
      const call: Call = { desk, account: own.clientId, request, now: yield* Clock.currentTimeMillis }
      const [, name = "", reference] = /^\/v1\/(transfers|charges|statement)(?:\/(\w+))?$/.exec(request.path) ?? []
      const kind = kinds[name]
      if (kind !== undefined && reference === undefined && request.method === "POST") return yield* create(call, kind, claim)
      const operation = kind === undefined ? "statement" : "lookup"
      if (name === "" || request.method !== "GET") return refusal(404, "no_such_address")
      const play = playOf("payout", desk.chosen(operation))
      return gateAnswer(play.gate) ?? deliver(play.answer, kind === undefined ? statement(call) : found(call, kind, reference))
    })
  }
})

const decodeRequest = Schema.decodeUnknownOption(Schema.fromJsonString(MovementRequest))

/** POST /transfers, POST /charges */
const create = Effect.fnUntraced(function* (call: Call, kind: Kind, claim: (key: string) => boolean) {
  const { account, desk, now } = call
  const asked = Option.getOrUndefined(decodeRequest(call.request.body))
  const currency = asked?.currency
  if (asked === undefined || !isCurrency(currency) || currencies[asked.country] !== currency)
    return refusal(400, "invalid_request")
  const amount = Result.getOrUndefined(fromDecimal(asked.amount, currency))
  if (amount === undefined || amount === 0n || !/^\d{8,15}$/.test(asked.msisdn)) return refusal(400, "invalid_request")
  const ending = endingOf(asked.msisdn)
  const play = playOf(kind, ending)
  const fee = kind === "payout" ? payoutFee(currency, "momo", amount) : collectionFee(amount)
  const stopped = gateAnswer(play.gate)
  if (stopped !== undefined) return stopped
  if (kind === "payout" && amount + fee > desk.account.balance(PROVIDER, account, currency)) return refusal(422, "wallet_empty")
  if (of(call, kind, asked.client_ref) !== undefined || !claim(`${account}/${kind}/${asked.client_ref}`))
    return refusal(409, "duplicate_client_ref")
  const transaction: SimulatedTransaction = {
    provider: PROVIDER,
    account,
    id: `tp_${now}${desk.account.sequence()}`,
    reference: asked.client_ref,
    kind,
    status: "pending",
    awaitsPayer: false,
    returned: false,
    ending,
    currency,
    amount,
    fee,
    destinationCurrency: currency,
    destinationAmount: amount,
    reason: null,
    createdAt: now,
    updatedAt: now,
    detail: {}
  }
  return deliver(yield* desk.accept(transaction), json(201, movement(transaction)))
})

const of = ({ account, desk }: Call, kind: Kind, reference: string) =>
  desk.account.byReference(PROVIDER, account, reference).find((one) => one.kind === kind)

/** GET /transfers/{client_ref}, GET /charges/{client_ref} */
const found = (call: Call, kind: Kind, reference = "") => {
  const transaction = of(call, kind, reference)
  return transaction === undefined ? refusal(404, "not_found") : json(200, movement(transaction))
}

/** GET /statement?day=2026-01-31 */
const statement = ({ account, desk, request }: Call) => {
  const day = request.query.get("day") ?? ""
  const listed = (kind: Kind) =>
    desk.account
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
  const key = planned.signature === "genuine" && secret !== undefined ? Redacted.value(secret) : "a forger's guess"
  const body = JSON.stringify(movement(transaction, planned.says), null, 1)
  return {
    body,
    headers: { "content-type": "application/json", "x-tumbuka-signature": createHmac("sha256", key).update(body).digest("hex") },
    retries: planned.signature === "genuine" ? CALLBACK_RETRIES : 0
  }
}
