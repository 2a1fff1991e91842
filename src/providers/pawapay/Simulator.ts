import { Clock, Effect, Redacted } from "effect"
import { playOf } from "../simulation/Endings.ts"
import type { SimulatedProvider, WireAnswer, WireRequest } from "../simulation/SimulatedProvider.ts"
import { type Call, deliver, json, type PawapayAccount, PROVIDER, passGate, reason, refuse, type Stop } from "./SimulatorCall.ts"
import { callbackOf, publicKeys, signedHeaders, signingKey } from "./SimulatorCallback.ts"
import { createDeposit, createPayout, status } from "./SimulatorPayments.ts"
import { activeConf, availability, balances, predict } from "./SimulatorToolkit.ts"

const MOUNT = "/v2"

type Endpoint = (call: Call, parameter: string) => Effect.Effect<WireAnswer, Stop>

interface Route {
  /** The name by which the control port chooses its ending; absent where a number in the call does. */
  readonly operation?: string
  readonly endpoint: Endpoint
}

// A trailing `*` is one path segment.
const routes: Readonly<Record<string, Route>> = {
  "POST /deposits": { endpoint: createDeposit },
  "POST /payouts": { endpoint: createPayout },
  "GET /deposits/*": { operation: "deposit_status", endpoint: status("collection") },
  "GET /payouts/*": { operation: "payout_status", endpoint: status("payout") },
  "GET /wallet-balances": { operation: "wallet_balances", endpoint: balances },
  "GET /active-conf": { operation: "active_conf", endpoint: activeConf },
  "GET /availability": { operation: "availability", endpoint: availability },
  "POST /predict-provider": { operation: "predict_provider", endpoint: predict },
  "GET /public-key/http": {
    operation: "public_key",
    endpoint: ({ signedBy }) => Effect.sync(() => json(200, publicKeys(signedBy)))
  }
}

const operations = Object.values(routes).flatMap(({ operation }) => operation ?? [])

/** pawaPay as its wire shows it (README.md beside this file). */
export const pawapaySimulator = (accounts: ReadonlyArray<PawapayAccount>): SimulatedProvider => {
  const signedBy = signingKey(accounts)
  return {
    name: PROVIDER,
    mount: MOUNT,
    accounts,
    operations,
    callback: callbackOf,
    sign: (callback, _account, url, now) => signedHeaders(callback, signedBy, url, now),
    handler: (desk) =>
      Effect.fnUntraced(
        function* (request: WireRequest) {
          const bearer = /^Bearer (\S+)$/i.exec(request.header("authorization") ?? "")?.[1]
          if (bearer === undefined) return rejected(401, "NO_AUTHENTICATION")
          const merchant = accounts.find(({ apiToken }) => Redacted.value(apiToken) === bearer)
          if (merchant === undefined) return rejected(403, "AUTHENTICATION_ERROR")
          const found = routeOf(request.method, request.path.replace(/\/$/, ""))
          if (found === undefined) return yield* refuse(404, "NOT_FOUND")
          return yield* answer(found, { desk, merchant, request, signedBy, now: yield* Clock.currentTimeMillis })
        },
        Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
      )
  }
}

const rejected = (httpStatus: number, failureCode: string) => json(httpStatus, { status: "REJECTED", ...reason(failureCode) })

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
  // These move nothing: whatever would refuse a payment is an error of theirs.
  if (play.gate === "refused" || play.gate === "pool_short" || play.gate === "no_account")
    return yield* refuse(400, "INVALID_INPUT")
  yield* passGate(play, { member: "payoutId", id: "" })
  return deliver(play.answer, yield* endpoint(call, found.parameter))
})
