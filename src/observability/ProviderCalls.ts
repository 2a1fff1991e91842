import { Cause, Clock, Effect, Exit, Layer, Metric, Option } from "effect"
import { type CallTime, callTimesText } from "../domain/CallTimes.ts"
import type { Mode } from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import { withOwnCalls } from "../runtime/CallTrail.ts"
import { wasTurnedAway } from "../runtime/CallTurn.ts"
import { labelledMetric } from "../runtime/LabelledMetric.ts"
import { annotateTraced, inSpan } from "../runtime/Tracing.ts"
import { Policy } from "../services/ports/Policy.ts"
import type { Provider } from "../services/ports/Provider.ts"
import { readsThrough } from "../services/ports/ProviderReads.ts"
import { decorateProviders, ProviderRegistry, registeredAccounts } from "../services/ports/ProviderRegistry.ts"
import { annotations } from "./Attributes.ts"
import { walletRefusals } from "./FinalOutcomes.ts"

// Labels are tags and providers' names: bounded sets, and nothing that belongs to a tenant or a person.

// Not an interface: that would be open to further members, and so would not be a set of labels.
type Call = { readonly provider: string; readonly mode: Mode; readonly call: string }
type EndedCall = Call & { readonly outcome: string }

const providerCalls = labelledMetric((attributes: EndedCall) =>
  Metric.counter("gateway_provider_calls_total", {
    description: "Calls to providers, by how they ended.",
    incremental: true,
    attributes
  })
)
const providerFailures = labelledMetric((attributes: Call) =>
  Metric.counter("gateway_provider_calls_failed_total", {
    description:
      "Calls to providers of which nothing came: no answer, nothing sent, or an answer that says that it failed there. A call that was turned away is none of them.",
    incremental: true,
    attributes
  })
)
const MS_PER_SECOND = 1000

/** The outcomes of a failed call. */
const FAILED: ReadonlyArray<string> = ["Unknown", "NotSent", "provider_error"]
/** The outcome of a call turned away because the account was busy: a 429, or our own pace. It is no failure of the provider. */
const TURNED_AWAY = "TurnedAway"
/** Calls that move money, and those that must succeed before money can move. */
const watchedCalls = [
  "quote",
  "send",
  "charge",
  "send_code",
  "quote_exchange",
  "exchange",
  "ask_payout",
  "ask_collection",
  "ask_exchange",
  "resolve"
] as const

/** Wraps any registry: each call to a provider is counted and timed, and gets a span and a log line. */
export const observedProviders = Layer.effect(
  ProviderRegistry,
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const { providerTimeoutMs } = yield* Policy
    const accounts = registeredAccounts(registry)
    // An alert does not see a counter that first appears with its first increment.
    for (const account of accounts) {
      yield* walletRefusals(account, 0)
      for (const call of watchedCalls) {
        for (const outcome of FAILED) yield* providerCalls({ ...account, call, outcome }, 0)
        yield* providerFailures({ ...account, call }, 0)
      }
    }
    return decorateProviders(registry, observeCalls(callSeconds(providerTimeoutMs)))
  })
)

/** The boundaries around the provider's time limit distinguish slow answers from missing ones. */
const callSeconds = (limitMs: number) => {
  const limit = limitMs / MS_PER_SECOND
  const boundaries = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, ...[0.9, 1, 1.1].map((share) => share * limit)]
  return labelledMetric((attributes: Omit<Call, "mode">) =>
    Metric.histogram("gateway_provider_call_duration_seconds", {
      description: "How long calls to providers took.",
      boundaries: [...new Set(boundaries)].sort((one, other) => one - other),
      attributes
    })
  )
}

/** How a call ended: a fact's tag, and the provider's status word or code. */
interface End {
  readonly outcome: string
  readonly note?: string
}

/** The facts about a call that are known before it ends. */
interface Observation {
  /** The order or the query that it is for. */
  readonly about: object
  readonly calls: ReadonlyArray<CallTime>
  readonly startedAt: Instant
}

const observeCalls =
  (seconds: ReturnType<typeof callSeconds>) =>
  (provider: Provider): Provider => {
    const { mode, name } = provider
    /** Counts and times a call that has ended, and writes its log line. A call of which nothing is known is only timed. */
    const report = Effect.fnUntraced(function* (call: string, end: End | null, { about, calls, startedAt }: Observation) {
      const durationMs = (yield* Clock.currentTimeMillis) - startedAt
      yield* seconds({ provider: name, call }, durationMs / MS_PER_SECOND)
      if (end === null) return
      const { note = "", outcome } = end
      const isFailed = FAILED.includes(outcome)
      const isTurnedAway = isFailed && (yield* wasTurnedAway)
      yield* providerCalls({ provider: name, mode, call, outcome: isTurnedAway ? TURNED_AWAY : outcome }, 1)
      if (isFailed && !isTurnedAway) yield* providerFailures({ provider: name, mode, call }, 1)
      yield* Effect.annotateLogs(Effect.logInfo("provider call"), {
        ...annotations({ provider: name, mode, operation: call, fact: outcome, duration_ms: durationMs }),
        ...(note === "" ? {} : { note }),
        ...(calls.length === 0 ? {} : { calls: callTimesText(calls) }),
        ...referenceIn(about)
      })
      yield* annotateTraced(() => ({ "gateway.outcome": outcome, ...(note === "" ? {} : { note }) }))
    })
    const observed = <A, E>(
      call: string,
      about: object,
      calling: Effect.Effect<A, E>,
      endOf: (exit: Exit.Exit<A, E>) => End | null
    ): Effect.Effect<A, E> =>
      withOwnCalls((calls) =>
        inSpan(`provider ${call}`, { attributes: { provider: name } })(
          Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
            Effect.onExit(calling, (exit) => report(call, endOf(exit), { about, calls, startedAt }))
          )
        )
      )
    const tagged =
      <Order extends object, Fact extends { readonly _tag: string; readonly note?: string }>(
        call: string,
        ask: (order: Order) => Effect.Effect<Fact>
      ) =>
      (order: Order) =>
        observed(call, order, ask(order), (exit) => (Exit.isSuccess(exit) ? factEnd(exit.value) : null))
    /** A call that fails where it was not answered. */
    const read = <A, E extends { readonly _tag: string }>(
      call: string,
      ask: Effect.Effect<A, E>,
      about: object = {}
    ): Effect.Effect<A, E> => observed(call, about, ask, readEnd)
    const { collections, exchange, payouts, reference } = provider
    const sendCode = collections?.sendCode
    const holder = payouts?.holder
    return {
      ...provider,
      ...(payouts && {
        payouts: {
          ...payouts,
          ...(holder && { holder: (recipient) => read("holder", holder(recipient)) }),
          quote: (order) => read("quote", payouts.quote(order)),
          send: tagged("send", payouts.send),
          fetchStatus: tagged("ask_payout", payouts.fetchStatus)
        }
      }),
      ...(exchange && {
        exchange: {
          quote: (order) => read("quote_exchange", exchange.quote(order)),
          execute: tagged("exchange", exchange.execute),
          fetchStatus: tagged("ask_exchange", exchange.fetchStatus)
        }
      }),
      ...(collections && {
        collections: {
          ...collections,
          charge: tagged("charge", collections.charge),
          fetchStatus: tagged("ask_collection", collections.fetchStatus),
          ...(sendCode && { sendCode: (source) => read("send_code", sendCode(source)) })
        }
      }),
      ...(reference && { reference: readsThrough(reference, read) })
    }
  }

const factEnd = ({ _tag, note = "" }: { readonly _tag: string; readonly note?: string }): End => ({ outcome: _tag, note })

/** Null where the caller went away, or the program has a bug: nothing is known about the call then. */
const readEnd = (exit: Exit.Exit<unknown, { readonly _tag: string }>): End | null =>
  Exit.match(exit, {
    onSuccess: (answer) => ({ outcome: outcomeOf(answer) }),
    onFailure: (cause) =>
      Option.match(Cause.findErrorOption(cause), { onNone: () => null, onSome: ({ _tag }) => ({ outcome: _tag }) })
  })

/** An order names the payment that it is for, as does a query about one. */
const referenceIn = (about: object): { readonly reference?: string } =>
  "reference" in about && typeof about.reference === "string" ? { reference: about.reference } : {}

const outcomeOf = (answer: unknown): string => {
  if (answer === "unknown") return "Unknown"
  return typeof answer === "object" && answer !== null && "_tag" in answer && answer._tag === "QuoteRefused"
    ? answer._tag
    : "Answered"
}
