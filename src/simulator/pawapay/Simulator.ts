import { Clock, Effect, Redacted } from "effect"
import { answering, bearerOf, lineOf, operationsOf, type Routes, routeOf } from "../Router.ts"
import type { SimulatedProvider, WireRequest } from "../SimulatedProvider.ts"
import { type Call, deliver, json, type PawapayAccount, PROVIDER, passFree, reason, refuse } from "./Call.ts"
import { callbackOf, publicKeys, signedHeaders, signingKey } from "./Callback.ts"
import { createDeposit, createPayout, status } from "./Payments.ts"
import { activeConf, availability, balances, predict } from "./Toolkit.ts"

const MOUNT = "/v2"

const routes: Routes<Call> = {
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

const operations = operationsOf(Object.values(routes))

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
    handler: (context) =>
      Effect.fnUntraced(
        function* (request: WireRequest) {
          const bearer = bearerOf(request)
          if (bearer === undefined) return rejected(401, "NO_AUTHENTICATION")
          const merchant = accounts.find(({ apiToken }) => Redacted.value(apiToken) === bearer)
          if (merchant === undefined) return rejected(403, "AUTHENTICATION_ERROR")
          const found = routeOf(routes, lineOf(MOUNT, request))
          if (found === undefined) return yield* refuse(404, "NOT_FOUND")
          return yield* answer(found, { context, merchant, request, signedBy, now: yield* Clock.currentTimeMillis })
        },
        Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
      )
  }
}

const rejected = (httpStatus: number, failureCode: string) => json(httpStatus, { status: "REJECTED", ...reason(failureCode) })

const answer = answering({ passGate: passFree, deliver })
