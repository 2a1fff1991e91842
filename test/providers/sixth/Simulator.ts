import { Effect, Redacted } from "effect"
import { isCurrency } from "../../../src/domain/Currency.ts"
import type { Mode } from "../../../src/domain/Ids.ts"
import { iso } from "../../../src/domain/Instant.ts"
import { toDecimal } from "../../../src/domain/Money.ts"
import { byReference, create, type Merchant, type MerchantCall, newDigits, ownTransactions } from "../../../src/simulator/Call.ts"
import { hmacHeader, ownerOf, signedCallback } from "../../../src/simulator/Callbacks.ts"
import { endingOf, type PlannedCallback } from "../../../src/simulator/Endings.ts"
import type { SimulatedTransaction } from "../../../src/simulator/Facts.ts"
import { collectionFee, payoutFee, simulatedPayoutFees } from "../../../src/simulator/Fees.ts"
import { decimalOr, decodedOr, type ErrorResponses, exactBody, response, Stop } from "../../../src/simulator/Responses.ts"
import type { SimulatedResponse } from "../../../src/simulator/SimulatedProvider.ts"
import { bySecret, simulatedWire, type WireEndpoints } from "../../../src/simulator/SimulatedWire.ts"
import { knownSimulator, namesBySecret } from "../../../src/simulator/SimulatorModule.ts"
import { sixthProvider } from "./Settings.ts"
import { type Movement, MovementRequest } from "./Wire.ts"

const apiKeyOf = (mode: Mode): string => `simulated-${mode}-key`
const nameOf = namesBySecret("account", apiKeyOf)

export const simulatedSixth = knownSimulator({
  provider: sixthProvider,
  account: (mode, reach) => ({
    ...reach,
    apiKey: Redacted.make(apiKeyOf(mode)),
    webhookSecret: Redacted.make(`simulated-${mode}-webhook-secret`),
    fees: simulatedPayoutFees
  }),
  accountName: ({ apiKey }) => nameOf(apiKey),
  simulator: (accounts) => sixthSimulator(accounts.map((account) => ({ ...account, clientId: nameOf(account.apiKey) })))
})

/** At Tumbuka Pay the key is the account. */
interface SixthAccount extends Merchant {
  readonly apiKey: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
}

type Call = MerchantCall<SixthAccount>
type PaymentKind = "payout" | "collection"

const json = (status: number, body: object): SimulatedResponse => response(status, "application/json", JSON.stringify(body))
const refuse = (status: number, code: string): Stop => new Stop({ response: json(status, { error: { code } }) })

const walletEmpty = refuse(422, "wallet_empty")
const errors: ErrorResponses = {
  refused: refuse(422, "declined").response,
  pool_short: walletEmpty.response,
  no_account: refuse(422, "unknown_number").response,
  unavailable: refuse(503, "unavailable").response,
  broken: refuse(500, "internal").response
}

const currencies: Readonly<Record<string, string>> = { UG: "UGX", KE: "KES" }

/** POST /transfers, POST /charges */
const createMovement = (kind: PaymentKind) =>
  Effect.fnUntraced(function* (call: Call) {
    const invalid = refuse(400, "invalid_request")
    const request = yield* decodedOr(MovementRequest, exactBody(call.request), () => invalid)
    const { client_ref, country, currency, msisdn } = request
    if (!isCurrency(currency) || currencies[country] !== currency) return yield* invalid
    const amount = yield* decimalOr(request.amount, currency, invalid)
    if (amount === 0n || !/^\d{8,15}$/.test(msisdn)) return yield* invalid
    const order = {
      id: `tp_${newDigits(call)}`,
      reference: client_ref,
      kind,
      ending: endingOf(msisdn),
      currency,
      amount,
      fee: kind === "payout" ? payoutFee(currency, "momo", amount) : collectionFee(amount),
      ...(kind === "payout" ? { short: walletEmpty } : {}),
      once: {
        key: `${call.merchant.clientId}/${kind}/${client_ref}`,
        isUsed: byReference(call, kind, client_ref).length > 0,
        refusal: refuse(409, "duplicate_client_ref")
      }
    }
    return yield* create(call, order, (transaction) => json(201, movement(transaction)))
  })

/** GET /transfers/{client_ref}, GET /charges/{client_ref} */
const findMovement = (kind: PaymentKind) =>
  Effect.fnUntraced(function* (call: Call, reference: string) {
    const [transaction] = byReference(call, kind, reference)
    return transaction === undefined ? yield* refuse(404, "not_found") : json(200, movement(transaction))
  })

/** GET /statement?day=2026-01-31 */
const statement = (call: Call) => {
  const day = call.request.query.get("day") ?? ""
  const listed = (kind: PaymentKind) =>
    ownTransactions(call, kind)
      .filter(({ createdAt }) => iso(createdAt).startsWith(`${day}T`))
      .map((one) => movement(one))
  return Effect.succeed(json(200, { transfers: listed("payout"), charges: listed("collection") }))
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

const routes: WireEndpoints<Call> = {
  "POST /transfers": { endpoint: createMovement("payout") },
  "GET /transfers/*": { operation: "lookup", endpoint: findMovement("payout") },
  "POST /charges": { endpoint: createMovement("collection") },
  "GET /charges/*": { operation: "lookup", endpoint: findMovement("collection") },
  "GET /statement": { operation: "statement", endpoint: statement }
}

/** Tumbuka Pay as README.md beside this file describes it. */
const sixthSimulator = (accounts: ReadonlyArray<SixthAccount>) =>
  simulatedWire<SixthAccount>({
    name: "sixth",
    mount: "/v1",
    accounts,
    errors,
    tooMany: refuse(429, "too_many_requests").response,
    routes,
    authenticate: bySecret(accounts, {
      given: (request) => request.header("x-api-key"),
      secretOf: ({ apiKey }) => apiKey,
      unknown: refuse(401, "unauthorized")
    }),
    unknownAddress: refuse(404, "no_such_address"),
    callback: (transaction, planned) =>
      signedCallback({
        secret: ownerOf(accounts, transaction)?.webhookSecret,
        planned,
        body: JSON.stringify(movement(transaction, planned.says), null, 1),
        headers: hmacHeader("x-tumbuka-signature", "sha256")
      })
  })
