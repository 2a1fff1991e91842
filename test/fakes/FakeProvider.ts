import { Effect, Layer, Option, Redacted } from "effect"
import type { Currency } from "../../src/domain/Currency.ts"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import { type MinorUnits, minor } from "../../src/domain/Money.ts"
import type {
  Balance,
  PayableCountry,
  PayoutOutcome,
  Provider,
  QuoteOrder,
  QuoteRefused,
  StatusOutcome,
  StatusQuery
} from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"

/** What a test makes of a provider; it may change while the provider is in use. */
export interface Script {
  /** Refuses connections. */
  down: boolean
  fee: bigint
  /** What a recipient gets of 10,000; null: the same. */
  worth: bigint | null
  refusesQuotes: QuoteRefused["kind"] | null
  /** What sending and charging answer; `executed` is executed and accepted. */
  sending: "executed" | "executed in silence" | "never left" | "refused" | "garbage"
  holder: string | null
  countries: ReadonlyArray<PayableCountry>
  /** What every read waits for. */
  gate: Effect.Effect<void>
}

const silence = { _tag: "Unknown", reason: "timeout", note: "" } as const

/** A provider that keeps an account of what it executed and what it was called. Without `unable` it can do everything but exchange. */
export const fakeProvider = (
  name: string,
  wish: Partial<Script> = {},
  unable: ReadonlyArray<"payouts" | "collections" | "reference"> = []
) => {
  const script: Script = {
    down: false,
    fee: 1_000n,
    worth: null,
    refusesQuotes: null,
    sending: "executed",
    holder: "Jane Doe",
    countries: [],
    gate: Effect.void,
    ...wish
  }
  const executed: Array<string> = []
  const calls: Array<string> = []
  const called = (call: string) => Effect.sync(() => void calls.push(call))

  const move = Effect.fnUntraced(function* (call: string, reference: string): Effect.fn.Return<PayoutOutcome> {
    yield* called(call)
    if (script.down || script.sending === "never left") return { _tag: "NotSent", note: "connection refused" }
    if (script.sending === "refused") {
      const failure = { code: "provider_rejected", message: "no" } as const
      return { _tag: "Refused", providerReference: null, kind: "other", failure, note: "" }
    }
    executed.push(reference)
    if (script.sending === "executed in silence") return silence
    if (script.sending === "garbage") return { ...silence, reason: "bad_response" }
    const heard = { providerReference: `${name}-${reference}`, note: "" }
    return { _tag: "Accepted", ...heard, observedAmount: null, observedCurrency: null }
  })

  const fetchStatus = Effect.fnUntraced(function* ({ reference }: StatusQuery): Effect.fn.Return<StatusOutcome> {
    yield* called("ask")
    if (script.down) return { ...silence, reason: "unavailable" }
    if (!executed.includes(reference)) return { _tag: "NotFound", note: "" }
    return { _tag: "Succeeded", providerReference: `${name}-${reference}`, amount: null, currency: null, fee: null, note: "" }
  })

  const read = <A>(call: string, answer: () => A) =>
    called(call).pipe(
      Effect.andThen(Effect.suspend(() => script.gate)),
      Effect.andThen(Effect.suspend(() => (script.down ? Effect.fail(new ProviderError()) : Effect.succeed(answer()))))
    )

  const quote = ({ amount, destinationCurrency }: QuoteOrder) =>
    read("quote", () =>
      script.refusesQuotes === null ? priced(amount, destinationCurrency, script) : refused(script.refusesQuotes)
    )

  const balance: Balance = { currency: "UGX", available: minor(1_000_000n), pending: null }
  const provider = (mode: Provider["mode"]): Provider => ({
    name,
    mode,
    guarantees: {
      clientReference: "idempotent",
      lookup: "by_client_ref",
      webhookAuth: "none",
      quoteTtlMs: 60_000,
      notFoundGraceMs: 0
    },
    callbacks: { verify: () => Option.none() },
    ...(unable.includes("payouts") ? {} : { payouts: { quote, send: ({ reference }) => move("send", reference), fetchStatus } }),
    ...(unable.includes("collections")
      ? {}
      : {
          collections: {
            charge: ({ reference }) => move("charge", reference),
            sendCode: () => read("code", () => ({ pinId: `${name}-pin` })),
            fetchStatus
          }
        }),
    ...(unable.includes("reference")
      ? {}
      : {
          reference: {
            banks: (country: string) => read("banks", () => [{ code: `${name}-01`, name: `Bank of ${country}` }]),
            resolve: () => read("resolve", () => (script.holder === null ? "unresolvable" : Redacted.make(script.holder))),
            countries: read("countries", () => script.countries),
            balances: read("balances", () => [balance])
          }
        })
  })
  /** How often somebody looked for it. */
  const found = { times: 0 }
  return { name, script, executed, calls, found, provider }
}

export type FakeProvider = ReturnType<typeof fakeProvider>

const priced = (principal: MinorUnits, destinationCurrency: Currency, { fee, worth }: Script) => ({
  principal,
  fee: minor(fee),
  destinationAmount: worth === null ? principal : minor(worth),
  destinationCurrency,
  rate: null,
  expiresInMs: 60_000,
  token: ""
})

const refused = (kind: QuoteRefused["kind"]): QuoteRefused => ({ _tag: "QuoteRefused", kind, note: "" })

/** A registry of such providers, each with a live account. */
export const registryOf = (providers: ReadonlyArray<FakeProvider>) =>
  Layer.succeed(
    ProviderRegistry,
    ProviderRegistry.of({
      known: providers.map(({ name }) => name),
      find: (name, mode) =>
        Option.map(
          Option.fromUndefinedOr(mode === "live" ? providers.find((one) => one.name === name) : undefined),
          ({ found, provider }) => {
            found.times += 1
            return provider(mode)
          }
        ),
      byRouteKey: () => Option.none(),
      routeKey: () => ""
    })
  )
