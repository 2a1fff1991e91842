import { Context, Effect } from "effect"

/**
 * The purpose of a call to a provider: to move money, to prepare a money call (a price, a token), to poll a status, or a free read. Each
 * has its part of an account's pace.
 */
export type CallKind = "money" | "quote" | "status" | "other"

export const CallKind = Context.Reference<CallKind>("gateway/runtime/CallKind", { defaultValue: () => "other" })

/** A call was turned away, by our own pace or by the provider. */
export interface TurnedAway {
  readonly retryAfterMs: number
  /** Between two calls of its kind. */
  readonly intervalMs: number
}

interface Turn {
  /** Whether a call waits for its turn as long as its time allows. Otherwise it waits shortly, because the caller can retry. */
  readonly isPatient: boolean
  away: TurnedAway | null
}

const CallTurn = Context.Reference<Turn | null>("gateway/runtime/CallTurn", { defaultValue: () => null })

export const isPatient: Effect.Effect<boolean> = Effect.map(CallTurn, (turn) => turn?.isPatient ?? true)

/** Reported to the caller of `withTurn`. */
export const tellTurnedAway = (away: TurnedAway): Effect.Effect<void> =>
  Effect.map(CallTurn, (turn) => {
    if (turn !== null) turn.away = away
  })

/** Whether a call within `withTurn` was turned away. */
export const wasTurnedAway: Effect.Effect<boolean> = Effect.map(CallTurn, (turn) => turn !== null && turn.away !== null)

/** Runs calls, and says beside their end whether one of them was turned away; null where none was. */
export const withTurn = <A, E, R>(call: Effect.Effect<A, E, R>, isPatient: boolean) =>
  Effect.gen(function* () {
    const turn: Turn = { isPatient, away: null }
    const exit = yield* Effect.exit(Effect.provideService(call, CallTurn, turn))
    return { exit, away: turn.away }
  })
