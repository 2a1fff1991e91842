import { Clock, Effect, Redacted } from "effect"
import { json } from "../../domain/Json.ts"
import { onceOnly } from "../Answers.ts"
import { signedCallback } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { answering, bearerOf, lineOf, operationsOf, type Route } from "../Router.ts"
import type { SimulatedProvider, WireRequest } from "../SimulatedProvider.ts"
import { type Call, deliver, type FlutterwaveAccount, isSame, PROVIDER, passGate, refuse } from "./Call.ts"
import { chargeData, createCharge, visitPage } from "./Charges.ts"
import { listBalances, listBanks, listBranches, oneBalance, resolveAccount } from "./Reference.ts"
import { listTransactions, listTransfers, verify, verifyByReference } from "./Transactions.ts"
import { createTransfer, transferById, transferData, transferFee } from "./Transfers.ts"

const MOUNT = "/v3"

interface PatternRoute extends Route<Call> {
  /** A group is the parameter. */
  readonly path: RegExp
}

// The first that fits counts.
const routes: ReadonlyArray<PatternRoute> = [
  { path: /^POST \/charges$/, endpoint: createCharge },
  { path: /^GET \/transactions\/verify_by_reference$/, operation: "verify", endpoint: verifyByReference },
  { path: /^GET \/transactions\/(\d+)\/verify$/, operation: "verify", endpoint: verify },
  { path: /^GET \/transactions$/, operation: "transactions", endpoint: listTransactions },
  { path: /^POST \/transfers$/, endpoint: createTransfer },
  { path: /^GET \/transfers$/, operation: "transfers", endpoint: listTransfers },
  { path: /^GET \/transfers\/fee$/, operation: "fee", endpoint: transferFee },
  { path: /^GET \/transfers\/(\d+)$/, operation: "transfers", endpoint: transferById },
  { path: /^GET \/banks\/([A-Z]{2})$/, operation: "banks", endpoint: listBanks },
  { path: /^GET \/banks\/(\d+)\/branches$/, operation: "branches", endpoint: listBranches },
  { path: /^POST \/accounts\/resolve$/, endpoint: resolveAccount },
  { path: /^GET \/balances$/, operation: "balances", endpoint: listBalances },
  { path: /^GET \/balances\/([A-Z]{3})$/, operation: "balances", endpoint: oneBalance }
]

/** Flutterwave as its v3 wire shows it (README.md beside this file). */
export const flutterwaveSimulator = ({
  accounts
}: {
  readonly accounts: ReadonlyArray<FlutterwaveAccount>
}): SimulatedProvider => ({
  name: PROVIDER,
  mount: MOUNT,
  accounts,
  operations: operationsOf(routes),
  callback: (transaction, planned) => callback(accounts, transaction, planned),
  handler: (context) => {
    const claim = onceOnly()
    return Effect.fnUntraced(
      function* (request: WireRequest) {
        const page = /^\/captcha\/verify\/(\d+)$/.exec(request.path)?.[1]
        if (page !== undefined && request.method === "GET") return yield* visitPage(context, page, claim)
        const merchant = authenticated(accounts, request)
        if (merchant === undefined) return yield* refuse(401, "Authorization required")
        const now = yield* Clock.currentTimeMillis
        const found = routeOf(lineOf(MOUNT, request))
        if (found === undefined) return yield* refuse(404, "Not found")
        return yield* answer(found, { context, merchant, request, now })
      },
      Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
    )
  }
})

const authenticated = (accounts: ReadonlyArray<FlutterwaveAccount>, request: WireRequest) => {
  const key = bearerOf(request) ?? ""
  return accounts.find(({ secretKey }) => isSame(Redacted.value(secretKey), key))
}

const answer = answering({ passGate, deliver })

const routeOf = (line: string) => {
  for (const route of routes) {
    const found = route.path.exec(line)
    if (found !== null) return { route, parameter: found[1] ?? "" }
  }
  return undefined
}

const callback = (accounts: ReadonlyArray<FlutterwaveAccount>, transaction: SimulatedTransaction, planned: PlannedCallback) => {
  const secret = accounts.find(({ clientId }) => clientId === transaction.account)?.webhookSecretHash
  const body = callbackBody(transaction, planned.says)
  return signedCallback(secret, planned, body, (hash) => ({ "verif-hash": hash }))
}

// White space that no serializer would produce, as everywhere in the simulator.
const callbackBody = (transaction: SimulatedTransaction, says: PlannedCallback["says"]): string => {
  if (transaction.kind === "payout") {
    const { full_name: fullname, ...data } = transferData(transaction, says)
    return `{ "event" : "transfer.completed",\n\t"event.type":"Transfer" ,"data":  ${json({ ...data, fullname })} }\n`
  }
  const data = chargeData(transaction, says)
  const type = `${String(transaction.detail.paymentType).toUpperCase()}_TRANSACTION`
  return `{ "event" : "charge.completed",\n\t"data":  ${json(data)} ,"event.type":"${type}" }\n`
}
