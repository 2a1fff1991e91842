import { type CallOptions, type Connection, connection, type GatewayOptions } from "./Connection.ts"
import type { Operations } from "./Schema.ts"
import { collections, exchanges, payouts, transactions, walk } from "./Transactions.ts"

export type { Retries } from "./Attempts.ts"
export type { CallOptions, GatewayOptions } from "./Connection.ts"
export {
  type AmbiguousError,
  type ErrorClass,
  GatewayError,
  isGatewayError,
  type RetriableError,
  type TerminalError
} from "./Errors.ts"
export { verbatim } from "./Json.ts"
export type { RunItem, RunOptions, RunProgress, RunReport, RunRow, RunStatus } from "./Run.ts"
export { type RunEntry, RunError, type RunStore } from "./RunJournal.ts"
export type { RunPlan } from "./RunPlan.ts"
export type * as Schema from "./Schema.ts"
export type { Key } from "./Signing.ts"
export type { MoneyOptions, WaitOptions } from "./Transactions.ts"
export { verifyWebhook, WebhookError } from "./Webhook.ts"

/** A client of the gateway for one key. Every call rejects with a `GatewayError` and nothing else, but for your own signal's reason. */
export class Gateway {
  readonly payouts: ReturnType<typeof payouts>
  readonly collections: ReturnType<typeof collections>
  readonly exchanges: ReturnType<typeof exchanges>
  readonly transactions: ReturnType<typeof transactions>
  readonly reference: ReturnType<typeof reference>
  readonly beneficiaries: ReturnType<typeof beneficiaries>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly account: ReturnType<typeof account>

  constructor(options: GatewayOptions) {
    const call = connection(options)
    this.payouts = payouts(call, { ...options.key, origin: new URL(options.url).origin })
    this.collections = collections(call)
    this.exchanges = exchanges(call)
    this.transactions = transactions(call)
    this.reference = reference(call)
    this.beneficiaries = beneficiaries(call, options.key.app_id)
    this.webhooks = webhooks(call)
    this.account = account(call)
  }
}

type QueryOf<Name extends keyof Operations> = Operations[Name] extends { readonly query: infer Q } ? Omit<Q, "cursor"> : never

const account = (call: Connection) => ({
  /** Your float, one position a currency. */
  float: ({ signal }: CallOptions = {}) => call("GET /v1/float", { signal }),
  /** Every entry of your float in one currency, the oldest first, page after page. */
  entries: (query: QueryOf<"GET /v1/float/entries">, { signal }: CallOptions = {}) =>
    walk((cursor) => call("GET /v1/float/entries", { query: { ...query, cursor }, signal })),
  /** One page of the statement, with its opening and its closing. */
  statement: (query: Operations["GET /v1/float/entries"]["query"], { signal }: CallOptions = {}) =>
    call("GET /v1/float/entries", { query, signal }),
  /** The amounts below which `float.low` tells you of a float, and whether it is. */
  alerts: ({ signal }: CallOptions = {}) => call("GET /v1/float/alerts", { signal }),
  /** Sets one, or with `below_minor` null ends it. */
  setAlert: (body: Operations["PUT /v1/float/alerts"]["body"], { signal }: CallOptions = {}) =>
    call("PUT /v1/float/alerts", { body, signal }),
  /** The providers' wallets, which all tenants share. */
  balances: ({ signal }: CallOptions = {}) => call("GET /v1/balances", { signal }),
  /** What you may do. */
  capabilities: ({ signal }: CallOptions = {}) => call("GET /v1/capabilities", { signal }),
  /** Each limit and cap that holds for you, with what is used of it now. */
  limits: ({ signal }: CallOptions = {}) => call("GET /v1/limits", { signal }),
  health: ({ signal }: CallOptions = {}) => call("GET /health/detail", { signal })
})

const reference = (call: Connection) => ({
  banks: (country: string, { signal }: CallOptions = {}) =>
    call("GET /v1/reference/banks/{country}", { params: { country }, signal }),
  /** Of a bank, where the corridor says `requires_branch`. */
  branches: (country: string, bank_code: string, { signal }: CallOptions = {}) =>
    call("GET /v1/reference/banks/{country}/{bank_code}/branches", { params: { country, bank_code }, signal }),
  resolveBankAccount: (body: Operations["POST /v1/reference/resolve-bank-account"]["body"], { signal }: CallOptions = {}) =>
    call("POST /v1/reference/resolve-bank-account", { body, signal }),
  /** Which routes exist. Look at `active`. */
  corridors: ({ signal }: CallOptions = {}) => call("GET /v1/reference/corridors", { signal }),
  countries: ({ signal }: CallOptions = {}) => call("GET /v1/reference/countries", { signal })
})

const beneficiaries = (call: Connection, appId: string) => ({
  list: (query: QueryOf<"GET /v1/beneficiaries"> = {}, { signal }: CallOptions = {}) =>
    walk((cursor) => call("GET /v1/beneficiaries", { query: { ...query, cursor }, signal })),
  get: (id: string, { signal }: CallOptions = {}) => call("GET /v1/beneficiaries/{id}", { params: { id }, signal }),
  /** Removes every saved recipient of yours, of both modes, for good. */
  purge: ({ signal }: CallOptions = {}) => call("DELETE /v1/beneficiaries", { headers: { "X-Confirm-Purge": appId }, signal })
})

const webhooks = (call: Connection) => ({
  endpoint: ({ signal }: CallOptions = {}) => call("GET /v1/webhooks/endpoint", { signal }),
  /** Replaces the whole endpoint. The secret is in the answer when the endpoint is created, and never again. */
  setEndpoint: (body: Operations["PUT /v1/webhooks/endpoint"]["body"], { signal }: CallOptions = {}) =>
    call("PUT /v1/webhooks/endpoint", { body, signal }),
  removeEndpoint: ({ signal }: CallOptions = {}) => call("DELETE /v1/webhooks/endpoint", { signal }),
  /** The old secret signs as well for 24 hours. */
  rotateSecret: ({ signal }: CallOptions = {}) => call("POST /v1/webhooks/endpoint/rotate-secret", { signal }),
  sendTest: ({ signal }: CallOptions = {}) => call("POST /v1/webhooks/endpoint/test", { signal }),
  /** All of your endpoints, `default` first, which the calls above are about. There are at most five. */
  endpoints: ({ signal }: CallOptions = {}) => call("GET /v1/webhooks/endpoints", { signal }),
  endpointNamed: (name: string, { signal }: CallOptions = {}) =>
    call("GET /v1/webhooks/endpoints/{name}", { params: { name }, signal }),
  /** Creates the endpoint of this name, or replaces the whole of it. */
  setEndpointNamed: (name: string, body: Operations["PUT /v1/webhooks/endpoints/{name}"]["body"], { signal }: CallOptions = {}) =>
    call("PUT /v1/webhooks/endpoints/{name}", { params: { name }, body, signal }),
  removeEndpointNamed: (name: string, { signal }: CallOptions = {}) =>
    call("DELETE /v1/webhooks/endpoints/{name}", { params: { name }, signal }),
  rotateSecretOf: (name: string, { signal }: CallOptions = {}) =>
    call("POST /v1/webhooks/endpoints/{name}/rotate-secret", { params: { name }, signal }),
  sendTestTo: (name: string, { signal }: CallOptions = {}) =>
    call("POST /v1/webhooks/endpoints/{name}/test", { params: { name }, signal }),
  deliveries: (query: QueryOf<"GET /v1/webhooks/deliveries"> = {}, { signal }: CallOptions = {}) =>
    walk((cursor) => call("GET /v1/webhooks/deliveries", { query: { ...query, cursor }, signal })),
  /** Every event of yours, the oldest first, page after page, whether or not an endpoint wanted it. */
  events: (query: QueryOf<"GET /v1/events"> = {}, { signal }: CallOptions = {}) =>
    walk((cursor) => call("GET /v1/events", { query: { ...query, cursor }, signal })),
  redeliver: (id: string, { signal }: CallOptions = {}) =>
    call("POST /v1/webhooks/deliveries/{id}/redeliver", { params: { id }, signal }),
  /** Sends every event since a moment again to one endpoint, `default` where the body names none; go on from `resume_since` where it is not null. */
  recover: (body: Operations["POST /v1/webhooks/recover"]["body"], { signal }: CallOptions = {}) =>
    call("POST /v1/webhooks/recover", { body, signal })
})
