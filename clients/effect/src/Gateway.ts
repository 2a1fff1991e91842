import { Config, Context, Duration, Effect, Layer, Redacted, Schedule, Stream } from "effect"
import * as Client from "../../typescript/src/Gateway.ts"
import { AmbiguousError, failureOf, type GatewayFailure, RetriableError, TerminalError, WebhookRefused } from "./Errors.ts"

export { AmbiguousError, type GatewayFailure, RetriableError, TerminalError, WebhookRefused }

type Parameters1<Method> = Method extends (one: infer One, ...others: never) => unknown ? One : never
type Key = Pick<Client.MoneyOptions, "idempotencyKey">
type Wait<Record> = Omit<Client.WaitOptions<Record>, "signal">

/** Interrupting the effect stops the call. Whether money moved is then found by its key. */
const run = <A>(call: (options: Client.CallOptions) => Promise<A>): Effect.Effect<A, GatewayFailure> =>
  Effect.tryPromise({ try: (signal) => call({ signal }), catch: failureOf })

const walk = <A>(list: (options: Client.CallOptions) => AsyncIterable<A>): Stream.Stream<A, GatewayFailure> =>
  Stream.suspend(() => Stream.fromAsyncIterable(list({}), failureOf))

const payouts = ({ payouts }: Client.Gateway) => ({
  create: (body: Client.Schema.CreatePayoutRequest, key: Key) => run((options) => payouts.create(body, { ...key, ...options })),
  quote: (body: Client.Schema.PayoutQuoteRequest) => run((options) => payouts.quote(body, options)),
  quotes: (body: Client.Schema.PayoutQuotesRequest) => run((options) => payouts.quotes(body, options)),
  get: (reference: string) => run((options) => payouts.get(reference, options)),
  waitFor: (reference: string, wait: Wait<Client.Schema.Payout> = {}) =>
    run((options) => payouts.waitFor(reference, { ...wait, ...options }))
})

const collections = ({ collections }: Client.Gateway) => ({
  create: (body: Client.Schema.CreateCollectionRequest, key: Key) =>
    run((options) => collections.create(body, { ...key, ...options })),
  authorize: (reference: string, body: Client.Schema.AuthorizeCollectionRequest, key: Key) =>
    run((options) => collections.authorize(reference, body, { ...key, ...options })),
  sendCode: (body: Client.Schema.SendCodeRequest) => run((options) => collections.sendCode(body, options)),
  get: (reference: string) => run((options) => collections.get(reference, options)),
  waitFor: (reference: string, wait: Wait<Client.Schema.Collection> = {}) =>
    run((options) => collections.waitFor(reference, { ...wait, ...options }))
})

const exchanges = ({ exchanges }: Client.Gateway) => ({
  quote: (body: Client.Schema.ExchangeQuoteRequest) => run((options) => exchanges.quote(body, options)),
  create: (body: Client.Schema.CreateExchangeRequest, key: Key) =>
    run((options) => exchanges.create(body, { ...key, ...options })),
  get: (reference: string) => run((options) => exchanges.get(reference, options)),
  list: (query?: Parameters1<typeof exchanges.list>) => walk((options) => exchanges.list(query, options)),
  page: (query: Parameters1<typeof exchanges.page>) => run((options) => exchanges.page(query, options)),
  waitFor: (reference: string, wait: Wait<Client.Schema.Exchange> = {}) =>
    run((options) => exchanges.waitFor(reference, { ...wait, ...options }))
})

const reads = ({ account, beneficiaries, reference, transactions }: Client.Gateway) => ({
  transactions: {
    get: (id: string) => run((options) => transactions.get(id, options)),
    list: (query?: Parameters1<typeof transactions.list>) => walk((options) => transactions.list(query, options)),
    page: (query: Parameters1<typeof transactions.page>) => run((options) => transactions.page(query, options)),
    search: (body: Parameters1<typeof transactions.search>) => walk((options) => transactions.search(body, options))
  },
  account: {
    float: run(account.float),
    entries: (query: Parameters1<typeof account.entries>) => walk((options) => account.entries(query, options)),
    statement: (query: Parameters1<typeof account.statement>) => run((options) => account.statement(query, options)),
    alerts: run(account.alerts),
    setAlert: (body: Client.Schema.FloatAlertRequest) => run((options) => account.setAlert(body, options)),
    balances: run(account.balances),
    capabilities: run(account.capabilities),
    limits: run(account.limits),
    health: run(account.health)
  },
  reference: {
    banks: (country: string) => run((options) => reference.banks(country, options)),
    branches: (country: string, bankCode: string) => run((options) => reference.branches(country, bankCode, options)),
    resolveBankAccount: (body: Client.Schema.ResolveBankAccountRequest) =>
      run((options) => reference.resolveBankAccount(body, options)),
    corridors: run(reference.corridors),
    countries: run(reference.countries)
  },
  beneficiaries: {
    list: (query?: Parameters1<typeof beneficiaries.list>) => walk((options) => beneficiaries.list(query, options)),
    get: (id: string) => run((options) => beneficiaries.get(id, options)),
    purge: run(beneficiaries.purge)
  }
})

const webhooks = ({ webhooks }: Client.Gateway) => ({
  endpoint: run(webhooks.endpoint),
  setEndpoint: (body: Client.Schema.WebhookEndpointRequest) => run((options) => webhooks.setEndpoint(body, options)),
  removeEndpoint: run(webhooks.removeEndpoint),
  rotateSecret: run(webhooks.rotateSecret),
  sendTest: run(webhooks.sendTest),
  endpoints: run(webhooks.endpoints),
  endpointNamed: (name: string) => run((options) => webhooks.endpointNamed(name, options)),
  setEndpointNamed: (name: string, body: Client.Schema.WebhookEndpointRequest) =>
    run((options) => webhooks.setEndpointNamed(name, body, options)),
  removeEndpointNamed: (name: string) => run((options) => webhooks.removeEndpointNamed(name, options)),
  rotateSecretOf: (name: string) => run((options) => webhooks.rotateSecretOf(name, options)),
  sendTestTo: (name: string) => run((options) => webhooks.sendTestTo(name, options)),
  deliveries: (query?: Parameters1<typeof webhooks.deliveries>) => walk((options) => webhooks.deliveries(query, options)),
  events: (query?: Parameters1<typeof webhooks.events>) => walk((options) => webhooks.events(query, options)),
  redeliver: (id: string) => run((options) => webhooks.redeliver(id, options)),
  recover: (body: Client.Schema.RecoverEventsRequest) => run((options) => webhooks.recover(body, options))
})

const make = (options: Client.GatewayOptions) => {
  const client = new Client.Gateway(options)
  return {
    payouts: payouts(client),
    collections: collections(client),
    exchanges: exchanges(client),
    ...reads(client),
    webhooks: webhooks(client)
  }
}

/** Without the parser's own message, which shows what it could not read. */
const keyIn = (json: string): Client.Key => {
  try {
    return JSON.parse(json)
  } catch {
    throw new TypeError("GATEWAY_KEY is not what `gateway key issue --json` prints")
  }
}

/** The gateway for one key. The client beneath repeats what it may by itself; see its page. */
export class Gateway extends Context.Service<Gateway, ReturnType<typeof make>>()("payment-gateway/Gateway") {
  static readonly layer = (options: Client.GatewayOptions): Layer.Layer<Gateway> =>
    Layer.effect(
      Gateway,
      Effect.sync(() => make(options))
    )

  /** From `GATEWAY_URL` and `GATEWAY_KEY`, which is what `gateway key issue --json` prints. */
  static readonly layerConfig: Layer.Layer<Gateway, Config.ConfigError> = Layer.unwrap(
    Effect.gen(function* () {
      const url = yield* Config.String("GATEWAY_URL")
      const key = yield* Config.Redacted("GATEWAY_KEY")
      return Gateway.layer({ url, key: keyIn(Redacted.value(key)) })
    })
  )
}

/** The event of a delivery, once its signature is right. */
export const verifyWebhook = (
  delivery: Parameters1<typeof Client.verifyWebhook>
): Effect.Effect<Client.Schema.Event, WebhookRefused> =>
  Effect.tryPromise({
    try: () => Client.verifyWebhook(delivery),
    catch: (error) => {
      if (error instanceof Client.WebhookError) return new WebhookRefused({ problem: error.problem })
      throw error
    }
  })

/** A retry would be refused again, or would place a second charge. */
const neverRetried = new Set(["otp_incorrect", "duplicate_charge_in_flight"])

/**
 * For `Effect.retry` around a question or a call with a key, when its own attempts are used up: what is retriable or ambiguous is sent again
 * with the same key, up to 20 times, from a second to five minutes apart and never sooner than the gateway says. Nothing terminal is repeated.
 */
export const retrySchedule = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("5 minutes")]).pipe(
  Schedule.jittered,
  Schedule.upTo({ times: 20 }),
  Schedule.setInputType<GatewayFailure>(),
  Schedule.while(({ input }) => input._tag !== "TerminalError" && !neverRetried.has(input.error.code)),
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.succeed(Duration.max(duration, Duration.seconds(input.error.retryAfterSeconds ?? 0)))
  )
)
