import { Context, Effect } from "effect"
import type { AppId } from "../domain/Ids.ts"
import { elapsed } from "./Timer.ts"

/** The purpose of a call: to move money, to prepare that (a price, a token), to poll, or a free read. Each has its share. */
export type CallKind = "money" | "quote" | "status" | "other"

export const CallKind = Context.Reference<CallKind>("gateway/runtime/CallKind", { defaultValue: () => "other" })

/** A call was turned away, by our own rate limit or by the provider. */
export interface TurnedAway {
  readonly retryAfterMs: number
  /** The interval between two calls of its kind. */
  readonly intervalMs: number
}

export interface Turn {
  /** Whether a call waits for its turn as long as its time limit allows, or only briefly, because the caller can retry. */
  readonly isPatient: boolean
  away: TurnedAway | null
  /** Whether one of its calls was held back by the gateway itself, which says nothing about the provider. */
  isHeldBack: boolean
  /** How long its calls have waited for the account's rate limit, without the wait that is still going on. */
  waitedMs: number
  /** Since when a call waits for its turn, by the monotonic clock; null where none does. */
  waitsSince: number | null
}

export const makeTurn = (isPatient: boolean): Turn => ({
  isPatient,
  away: null,
  isHeldBack: false,
  waitedMs: 0,
  waitsSince: null
})

/** How much of the time until now, by the monotonic clock, our own rate limit kept everything from being sent to the provider. */
export const waitedMs = ({ waitedMs, waitsSince }: Turn, now: number): number =>
  waitedMs + (waitsSince === null ? 0 : now - waitsSince)

const CallTurn = Context.Reference<Turn | null>("gateway/runtime/CallTurn", { defaultValue: () => null })

export const isPatient: Effect.Effect<boolean> = Effect.map(CallTurn, (turn) => turn?.isPatient ?? true)

/** A wait for the account's rate limit. The caller of `inTurn` then knows that the provider did not cause it. */
export const asWait = <A, E, R>(wait: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(CallTurn, (turn) => {
    if (turn === null) return wait
    const begin = Effect.map(elapsed, (now) => {
      turn.waitsSince = now
    })
    const end = Effect.map(elapsed, (now) => {
      turn.waitedMs = waitedMs(turn, now)
      turn.waitsSince = null
    })
    return Effect.andThen(begin, Effect.ensuring(wait, end))
  })

/** Reported to the caller of `withTurn`. */
export const tellTurnedAway = (away: TurnedAway): Effect.Effect<void> =>
  Effect.map(CallTurn, (turn) => {
    if (turn !== null) turn.away = away
  })

/** Reported for a call that must not leave (`ProviderCall.heldBack`). */
export const tellHeldBack: Effect.Effect<void> = Effect.map(CallTurn, (turn) => {
  if (turn !== null) turn.isHeldBack = true
})

/** Whether a call within `withTurn` was turned away. */
export const wasTurnedAway: Effect.Effect<boolean> = Effect.map(CallTurn, (turn) => turn !== null && turn.away !== null)

/** The money call that a request was let through for, as long as it has not begun. */
export const MoneyTurn = Context.Reference<{ forget: () => void } | null>("gateway/runtime/MoneyTurn", {
  defaultValue: () => null
})

/** A request that ends without its money call gives its turn back, so that a refused request delays no other. */
export const withMoneyTurn = <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const turn = { forget: () => {} }
    return Effect.ensuring(
      Effect.provideService(request, MoneyTurn, turn),
      Effect.sync(() => turn.forget())
    )
  })

/** Runs calls that are not worth waiting for: if no turn is free soon, they are turned away. */
export const withShortWait = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(withTurn(call, false), ({ away, exit }) => (away === null ? exit : Effect.andThen(tellTurnedAway(away), exit)))

/** Runs calls, and returns with their exit whether one of them was turned away; null where none was. */
export const withTurn = <A, E, R>(call: Effect.Effect<A, E, R>, isPatient: boolean) =>
  Effect.suspend(() => {
    const turn = makeTurn(isPatient)
    return Effect.map(Effect.exit(inTurn(call, turn)), (exit) => ({ exit, away: turn.away }))
  })

/** Runs calls in a turn that the caller can inspect, also meanwhile. */
export const inTurn = <A, E, R>(call: Effect.Effect<A, E, R>, turn: Turn): Effect.Effect<A, E, R> =>
  Effect.provideService(call, CallTurn, turn)

/** The tenant whose request the current fiber works for; null for the gateway's own work. */
export const ActingTenant = Context.Reference<AppId | null>("gateway/runtime/ActingTenant", { defaultValue: () => null })
