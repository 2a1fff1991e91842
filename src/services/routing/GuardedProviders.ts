import { Effect, Exit } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Fact } from "../../domain/Fact.ts"
import { passOver } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import type { Provider } from "../ports/Provider.ts"
import { readsThrough } from "../ports/ProviderReads.ts"
import { decorateProviders, ProviderRegistry } from "../ports/ProviderRegistry.ts"
import type { CallVerdict, Operation } from "./CircuitStates.ts"
import { Circuits } from "./Circuits.ts"

type NotSent = Extract<Fact, { readonly _tag: "NotSent" }>

/**
 * Wraps a registry: quotes, calls that move money, codes, holder lookups and reference reads go through circuits. Everything
 * else, above all polls (`fetchStatus`), always goes through.
 */
export const guardedProviders = layerOf(ProviderRegistry)(function* () {
  return decorateProviders(yield* ProviderRegistry, guard(yield* Circuits))
})

const guard =
  (circuits: Circuits["Service"]) =>
  (provider: Provider): Provider => {
    const line = (operation: Operation) => ({ provider: provider.name, mode: provider.mode, operation })
    const read = <A>(operation: Operation, call: Effect.Effect<A, ProviderError>): Effect.Effect<A, ProviderError> =>
      circuits.through(line(operation), { call, verdict: ofRead, instead: operation === "quote" ? unpriced : unreadable })
    const unpriced = Effect.andThen(passOver(provider.name, "circuit_open", "quotes"), unreadable)
    const guardMove = <Order, Outcome extends { readonly _tag: string }>(
      operation: Operation,
      move: (order: Order) => Effect.Effect<Outcome | NotSent>
    ) => {
      const instead: Effect.Effect<Outcome | NotSent> = Effect.succeed(circuitOpen)
      return (order: Order) => circuits.through(line(operation), { call: move(order), verdict: ofMove, instead })
    }
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
          send: guardMove("send", payouts.send)
        }
      }),
      ...(collections && {
        collections: {
          ...collections,
          charge: guardMove("charge", collections.charge),
          ...(sendCode && {
            sendCode: (source) =>
              circuits.through(line("charge"), { call: sendCode(source), verdict: ofCode, instead: unreadable })
          })
        }
      }),
      ...(exchange && {
        exchange: {
          ...exchange,
          quote: (order) => read("exchange", exchange.quote(order)),
          execute: guardMove("exchange", exchange.execute)
        }
      }),
      ...(reference && {
        reference: readsThrough(reference, (name, ask) => read(name === "resolve" ? "resolve" : "reads", ask))
      })
    }
  }

const unreadable = Effect.suspend(() => Effect.fail(new ProviderError({})))

const circuitOpen: NotSent = { _tag: "NotSent", note: "circuit open" }

/** A read does not say whether the request left or the response was lost. */
const ofRead = (exit: Exit.Exit<unknown, ProviderError>): CallVerdict =>
  Exit.isFailure(exit) && !Exit.hasInterrupts(exit) ? "failed" : "answered"

const ofCode = (exit: Exit.Exit<{ readonly pinId: string } | "unknown", ProviderError>): CallVerdict =>
  Exit.isSuccess(exit) && exit.value === "unknown" ? "failed" : ofRead(exit)

const ofMove = (exit: Exit.Exit<{ readonly _tag: string; readonly reason?: string }>): CallVerdict => {
  if (Exit.isFailure(exit)) return "answered"
  if (exit.value._tag === "NotSent") return "unreachable"
  // A response that cannot be parsed came from a provider that responds.
  return exit.value._tag === "Unknown" && exit.value.reason !== "bad_response" ? "failed" : "answered"
}
