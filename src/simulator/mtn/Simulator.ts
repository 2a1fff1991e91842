import { Clock, Effect, Redacted } from "effect"
import type { MtnSettings } from "../../providers/mtn/Client.ts"
import { type Product, products } from "../../providers/mtn/Wire.ts"
import { onceOnly } from "../Answers.ts"
import { endingOf, playOf } from "../Endings.ts"
import { answering, bearerOf, type Route } from "../Router.ts"
import type { SimulatedProvider, SimulatorContext, WireRequest } from "../SimulatedProvider.ts"
import { balance } from "./Balance.ts"
import { type Call, deliver, json, type Merchant, PROVIDER, passGate, refuse, turnAway } from "./Call.ts"
import { createMovement, readMovement } from "./Movements.ts"
import { callbackOf } from "./Status.ts"
import { issueToken, isTokenOf, TOKEN_LIFE } from "./Tokens.ts"

type Account = Pick<MtnSettings, "countries">

interface Options {
  readonly accounts: ReadonlyArray<Account>
}

/** An account is one for the simulator, whatever countries it covers. */
export const accountNameOf = ({ countries }: Account): string => countries[0]?.userId ?? ""

/** MTN as its wire shows it (README.md beside this file). */
export const mtnSimulator = ({ accounts }: Options): SimulatedProvider => {
  const merchants = accounts.flatMap((account) =>
    account.countries.map((country): Merchant => ({ account: accountNameOf(account), country }))
  )
  return {
    name: PROVIDER,
    mount: "",
    accounts: accounts.map((account) => ({ clientId: accountNameOf(account) })),
    operations: ["token", "status", "balance"],
    callback: callbackOf,
    handler: (context) => {
      const claim = onceOnly()
      return Effect.fnUntraced(
        function* (request: WireRequest) {
          const { product, route } = yield* addressed(request)
          const subscribed = merchants.filter(({ country }) => isSubscribed(country, product, request))
          if (subscribed.length === 0) {
            return yield* turnAway(401, "Access denied due to invalid subscription key. Make sure to provide a valid key.")
          }
          const now = yield* Clock.currentTimeMillis
          if (route.operation === "token") return yield* token(context, subscribed, product, request, now)
          const merchant = yield* authenticated(subscribed, product, request, now)
          return yield* answer({ route, parameter: "" }, { context, merchant, product, request, now, claim })
        },
        Effect.catchTag("Stop", (stop) => Effect.succeed(stop.answer))
      )
    }
  }
}

const addressed = Effect.fnUntraced(function* ({ method, path }: WireRequest) {
  const [, product, rest = ""] = /^\/(collection|disbursement)\/(.*?)\/?$/.exec(path) ?? []
  const route = product === "collection" || product === "disbursement" ? routeOf(method, product, rest) : undefined
  if (route === undefined || (product !== "collection" && product !== "disbursement")) {
    return yield* turnAway(404, "Resource not found")
  }
  return { product, route } as const
})

const routeOf = (method: string, product: Product, rest: string): Route<Call> | undefined => {
  const movement = `v1_0/${products[product]}`
  if (method === "POST" && rest === "token") return { operation: "token", endpoint: () => turnAway(404, "Resource not found") }
  if (method === "POST" && rest === movement) return { endpoint: createMovement }
  if (method !== "GET") return undefined
  if (rest === "v1_0/account/balance") return { operation: "balance", endpoint: (call) => Effect.succeed(balance(call)) }
  const [, id] = /^([\w-]+)$/.exec(rest.startsWith(`${movement}/`) ? rest.slice(movement.length + 1) : "") ?? []
  if (id !== undefined) return { operation: "status", endpoint: (call) => readMovement(call, id) }
  const [, number] = /^v1_0\/accountholder\/msisdn\/(\d{8,15})\/active$/i.exec(rest) ?? []
  return number === undefined ? undefined : { endpoint: () => activeHolder(number) }
}

const answer = answering({ passGate, deliver })

/** GET /{product}/v1_0/accountholder/msisdn/{number}/active */
const activeHolder = Effect.fnUntraced(function* (number: string) {
  const play = playOf("payout", endingOf(number))
  if (play.gate === "unavailable") yield* passGate(play)
  return json(200, { result: play.gate !== "no_account" })
})

const isSubscribed = ({ subscriptionKeys }: Merchant["country"], product: Product, { header }: WireRequest): boolean =>
  Redacted.value(subscriptionKeys[product]) === header("ocp-apim-subscription-key")

/** POST /{product}/token/ */
const token = Effect.fnUntraced(function* (
  context: SimulatorContext,
  merchants: ReadonlyArray<Merchant>,
  product: Product,
  request: WireRequest,
  now: number
) {
  const play = playOf("payout", context.chosen("token"))
  yield* passGate(play)
  const given = /^Basic (\S+)$/i.exec(request.header("authorization") ?? "")?.[1] ?? ""
  const credentials = Buffer.from(given, "base64").toString("utf8")
  const merchant = merchants.find(({ country }) => `${country.userId}:${Redacted.value(country.apiKey)}` === credentials)
  if (merchant === undefined) return yield* refuse(401, "login_failed", "invalid credentials")
  const access_token = issueToken(merchant.country, product, now)
  return deliver(play.answer, json(200, { access_token, token_type: "access_token", expires_in: TOKEN_LIFE }))
})

const authenticated = Effect.fnUntraced(function* (
  merchants: ReadonlyArray<Merchant>,
  product: Product,
  request: WireRequest,
  now: number
) {
  const bearer = bearerOf(request) ?? ""
  const own = merchants.filter(({ country }) => isTokenOf(country, product, bearer, now))
  if (own.length === 0) return yield* turnAway(401, "Unauthorized. Access token is invalid or has expired.")
  const environment = request.header("x-target-environment")
  const merchant = own.find(({ country }) => country.environment === environment)
  if (merchant === undefined) {
    return yield* refuse(500, "NOT_ALLOWED_TARGET_ENVIRONMENT", "Access to target environment is forbidden.")
  }
  return merchant
})
