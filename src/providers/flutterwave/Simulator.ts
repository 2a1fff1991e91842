import { Clock, Effect, Redacted } from "effect"
import { json } from "../../domain/Json.ts"
import { CALLBACK_RETRIES } from "../simulation/Callbacks.ts"
import { type PlannedCallback, playOf } from "../simulation/Endings.ts"
import type { SimulatedTransaction } from "../simulation/Facts.ts"
import type { SimulatedProvider, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"
import { type Call, deliver, type FlutterwaveAccount, isSame, PROVIDER, passGate, refuse, type Stop } from "./SimulatorCall.ts"
import { chargeData, createCharge, visitPage } from "./SimulatorCharges.ts"
import { listBalances, listBanks, listBranches, oneBalance, resolveAccount } from "./SimulatorReference.ts"
import { listTransactions, listTransfers, verify, verifyByReference } from "./SimulatorTransactions.ts"
import { createTransfer, transferById, transferData, transferFee } from "./SimulatorTransfers.ts"

const MOUNT = "/v3"

interface Route {
  /** A group is the parameter. */
  readonly path: RegExp
  /** The name by which the control port chooses its ending; absent where a number in the call does. */
  readonly operation?: string
  readonly endpoint: (call: Call, parameter: string) => Effect.Effect<WireAnswer, Stop>
}

// The first that fits counts.
const routes: ReadonlyArray<Route> = [
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
  operations: [...new Set(routes.flatMap(({ operation }) => operation ?? []))],
  callback: (transaction, planned) => callback(accounts, transaction, planned),
  handler: (desk) => {
    const visited = new Set<string>()
    const claim = (id: string) => {
      if (visited.has(id)) return false
      visited.add(id)
      return true
    }
    return Effect.fnUntraced(
      function* (request: WireRequest) {
        const page = /^\/captcha\/verify\/(\d+)$/.exec(request.path)?.[1]
        if (page !== undefined && request.method === "GET") return yield* visitPage(desk, page, claim)
        const merchant = authenticated(accounts, request)
        if (merchant === undefined) return yield* refuse(401, "Authorization required")
        const now = yield* Clock.currentTimeMillis
        return yield* answer({ desk, merchant, request, now })
      },
      Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
    )
  }
})

const authenticated = (accounts: ReadonlyArray<FlutterwaveAccount>, request: WireRequest) => {
  const key = /^Bearer (\S+)$/i.exec(request.header("authorization") ?? "")?.[1] ?? ""
  return accounts.find(({ secretKey }) => isSame(Redacted.value(secretKey), key))
}

const answer = Effect.fnUntraced(function* (call: Call) {
  const path = call.request.path.replace(/\/$/, "")
  const own = path.startsWith(`${MOUNT}/`) ? `${call.request.method} ${path.slice(MOUNT.length)}` : ""
  for (const { endpoint, operation, path: pattern } of routes) {
    const found = pattern.exec(own)
    if (found === null) continue
    if (operation === undefined) return yield* endpoint(call, found[1] ?? "")
    const play = playOf("payout", call.desk.chosen(operation))
    yield* passGate(play)
    return deliver(play.answer, yield* endpoint(call, found[1] ?? ""))
  }
  return yield* refuse(404, "Not found")
})

const callback = (accounts: ReadonlyArray<FlutterwaveAccount>, transaction: SimulatedTransaction, planned: PlannedCallback) => {
  const secret = accounts.find(({ clientId }) => clientId === transaction.account)?.webhookSecretHash
  const genuine = planned.signature === "genuine" && secret !== undefined
  return {
    body: callbackBody(transaction, planned.says),
    headers: { "content-type": "application/json", "verif-hash": genuine ? Redacted.value(secret) : "a forger's guess" },
    retries: genuine ? CALLBACK_RETRIES : 0
  }
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
