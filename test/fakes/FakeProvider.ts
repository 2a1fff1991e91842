import { Effect, Layer, Option, Redacted } from "effect"
import type { Currency } from "../../src/domain/Currency.ts"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import { type MinorUnits, minor, ZERO } from "../../src/domain/Money.ts"
import type { MomoParty } from "../../src/domain/Party.ts"
import type {
  MobileHolder,
  NetworkLimits,
  PayoutOutcome,
  Provider,
  QuoteOrder,
  QuoteRefused,
  StatusOutcome,
  StatusQuery
} from "../../src/services/ports/Provider.ts"
import type { Balance, PayableCountry } from "../../src/services/ports/ProviderReads.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { unexpected } from "./Fake.ts"

/** What a test makes of a provider; it may change while the provider is in use. */
export interface Script {
  /** Refuses connections. */
  down: boolean
  fee: bigint
  /** What a recipient gets of 10,000; null: the same. */
  worth: bigint | null
  refusesQuotes: QuoteRefused["kind"] | null
  /**
   * What becomes of a payout or a charge. All but "refused" and "never sent" are executed: "paid" says so at once, "accepted" when its
   * status is asked for, "silent" answers nothing and "unreadable" what nobody can read.
   */
  sending: "accepted" | "paid" | "silent" | "unreadable" | "refused" | "never sent"
  /** What every status query is answered; null: the truth. */
  status: StatusOutcome | null
  holder: string | null
  /** Whether it can look up the holder of a bank account at all. */
  resolves: boolean
  /** Whose numbers of mobile money are. "unread" and "late": no answer, or none in time; null: the provider does not know before it pays. */
  mobileHolder: MobileHolder | "unread" | "late" | null
  /** The branches of its banks, one of which a payout names; null where it names none. */
  branches: ReadonlyArray<string> | null
  /** What its account takes for every network; null where it lists no limits. */
  limits: NetworkLimits | null
  /** The networks whose numbers it pays and charges; null: every network. */
  networks: ReadonlyArray<string> | null
  /** How long its pace would hold a money call back. */
  heldMs: number
  /** Its payouts have to say who pays. */
  needsSender: boolean
  countries: ReadonlyArray<PayableCountry>
  /** What every read waits for. */
  gate: Effect.Effect<void>
  /** What a payout's or a charge's call waits for. */
  moneyGate: Effect.Effect<void>
}

const silence = { _tag: "Unknown", reason: "timeout", note: "" } as const

/**
 * A provider in memory, with a live and a test account; another one of the same name has others, and knows nothing of what this one did. It pays, collects and answers questions as its `script` says, which a test may
 * change meanwhile; `calls` and `executed` are what it was asked and what it did, in order. It exchanges nothing and sends no callbacks.
 */
export const fakeProvider = (
  name: string,
  wish: Partial<Script> = {},
  unable: ReadonlyArray<"payouts" | "collections" | "reference"> = [],
  account = `the account at ${name}`
) => {
  const script: Script = {
    down: false,
    fee: 1_000n,
    worth: null,
    refusesQuotes: null,
    sending: "accepted",
    status: null,
    holder: "Jane Doe",
    resolves: true,
    mobileHolder: null,
    branches: null,
    limits: null,
    networks: null,
    heldMs: 0,
    needsSender: false,
    countries: [],
    gate: Effect.void,
    moneyGate: Effect.void,
    ...wish
  }
  const executed: Array<string> = []
  const calls: Array<string> = []
  /** The names of those who pay, as it was told them. */
  const senders: Array<string> = []
  const called = (call: string) => Effect.sync(() => void calls.push(call))

  const move = Effect.fnUntraced(function* (call: string, reference: string): Effect.fn.Return<PayoutOutcome> {
    yield* called(call)
    yield* script.moneyGate
    if (script.down || script.sending === "never sent") return { _tag: "NotSent", note: "connection refused" }
    if (script.sending === "refused") {
      const failure = { code: "provider_rejected", message: "no" } as const
      return { _tag: "Refused", providerReference: null, kind: "other", failure, note: "" }
    }
    executed.push(reference)
    if (script.sending === "silent") return silence
    if (script.sending === "unreadable") return { ...silence, reason: "bad_response" }
    const heard = { providerReference: `${name}-${reference}`, note: "" }
    if (script.sending === "paid")
      return { _tag: "Succeeded", ...heard, amount: null, currency: null, fee: call === "charge" ? ZERO : null }
    return { _tag: "Accepted", ...heard, observedAmount: null, observedCurrency: null }
  })

  const fetchStatus = Effect.fnUntraced(function* ({ charge, reference }: StatusQuery): Effect.fn.Return<StatusOutcome> {
    yield* called("ask")
    if (script.down) return { ...silence, reason: "unavailable" }
    if (script.status !== null) return script.status
    if (!executed.includes(reference)) return { _tag: "NotFound", note: "" }
    const fee = charge === undefined ? null : ZERO
    return { _tag: "Succeeded", providerReference: `${name}-${reference}`, amount: null, currency: null, fee, note: "" }
  })

  const read = <A>(call: string, answer: () => A) =>
    called(call).pipe(
      Effect.andThen(Effect.suspend(() => script.gate)),
      Effect.andThen(Effect.suspend(() => (script.down ? Effect.fail(new ProviderError({})) : Effect.succeed(answer()))))
    )

  const mobileHolder = Effect.fnUntraced(function* () {
    yield* called("holder")
    if (script.mobileHolder === "unread") return yield* new ProviderError({})
    return script.mobileHolder === "late" ? yield* Effect.never : (script.mobileHolder ?? { name: null })
  })
  const limits = () => Effect.sync(() => script.limits ?? undefined)
  const reachesNetwork = ({ network }: MomoParty) => script.networks?.includes(network) ?? true
  const quote = ({ amount, destinationCurrency }: QuoteOrder) =>
    read("quote", () =>
      script.refusesQuotes === null ? priced(amount, destinationCurrency, script) : refused(script.refusesQuotes)
    )

  const balance: Balance = { currency: "UGX", available: minor(1_000_000n), pending: null }
  const inMode = (mode: Provider["mode"]): Provider => ({
    name,
    mode,
    fingerprints: () => [account],
    moneyHeldMs: () => Effect.sync(() => script.heldMs),
    guarantees: {
      clientReference: "idempotent",
      lookup: "by_client_ref",
      callbackAuth: "none",
      quoteTtlMs: 60_000,
      notFoundGraceMs: 0,
      ...(script.branches === null ? {} : { bankBranchCountries: ["UG"] }),
      ...(script.resolves ? {} : { bankAccountCountries: [] })
    },
    callbacks: { verify: (callback) => unexpected(`the provider ${name}, callbacks.verify`, [callback]) },
    ...(unable.includes("payouts")
      ? {}
      : {
          payouts: {
            ...(script.needsSender ? { sender: () => "needed" as const } : {}),
            limits,
            reachesNetwork,
            ...(script.mobileHolder === null ? {} : { holder: mobileHolder }),
            quote,
            send: ({ reference, sender }) => {
              if (sender) senders.push(Redacted.value(sender.name))
              return move("send", reference)
            },
            fetchStatus
          }
        }),
    ...(unable.includes("collections")
      ? {}
      : {
          collections: {
            limits,
            reachesNetwork,
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
            branches: () => read("branches", () => (script.branches ?? []).map((code) => ({ code, name: `Branch ${code}` }))),
            resolve: () => read("resolve", () => (script.holder === null ? "unresolvable" : Redacted.make(script.holder))),
            countries: read("countries", () => script.countries),
            balances: read("balances", () => [balance])
          }
        })
  })
  const modes = { live: inMode("live"), test: inMode("test") }
  /** The same one each time, as a registry gives it. */
  const provider = (mode: Provider["mode"]): Provider => modes[mode]
  /** How often somebody looked for it. */
  const found = { times: 0 }
  return { name, script, executed, calls, senders, found, provider }
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

/**
 * A registry of such providers, each with a live account only; of two with one name the second is the account before. Callbacks are not
 * expected.
 */
export const fakeProviderRegistry = (providers: ReadonlyArray<FakeProvider>, claimed: ReadonlyArray<string> = []) =>
  Layer.succeed(
    ProviderRegistry,
    ProviderRegistry.of({
      known: [...new Set(providers.map(({ name }) => name))],
      accounts: (name, mode) =>
        mode === "live" ? providers.filter((one) => one.name === name).map(({ provider }) => provider(mode)) : [],
      claimed: () => claimed,
      find: (name, mode) =>
        Option.map(
          Option.fromUndefinedOr(mode === "live" ? providers.find((one) => one.name === name) : undefined),
          ({ found, provider }) => {
            found.times += 1
            return provider(mode)
          }
        ),
      byRouteKey: (...args) => unexpected("ProviderRegistry.byRouteKey", args),
      routeKey: (...args) => unexpected("ProviderRegistry.routeKey", args),
      keptRouteKeys: () => []
    })
  )
