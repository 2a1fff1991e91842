import { Schema } from "effect"
import { Direction } from "./Corridor.ts"
import { Currency } from "./Currency.ts"
import { Mode } from "./Ids.ts"
import type { Instant } from "./Instant.ts"
import { MinorUnits } from "./Money.ts"
import type { Caller } from "./Tenant.ts"
import { type LimitDirection, LimitWindow, type WindowUse, windowOf } from "./VelocityLimits.ts"

/** The windows of a limit, and additionally the hour and the day of one API key. */
export const CapWindow = Schema.Literals([...LimitWindow.literals, "key", "key_day"])
export type CapWindow = typeof CapWindow.Type

/**
 * How much of a currency a tenant may move in one direction in a window: in total, per number, or per key (contract LIM-29). An
 * operator sets it; a tenant without one has no such limit.
 */
export const AmountCap = Schema.Struct({
  mode: Mode,
  direction: Direction,
  window: CapWindow,
  currency: Currency,
  amount: MinorUnits
})
export type AmountCap = typeof AmountCap.Type

/** Whose amounts a cap sums up. */
export const CapSubject = Schema.Literals(["tenant", "destination", "key"])
export type CapSubject = typeof CapSubject.Type

/** For each window, whose amounts it sums up and how long it is. */
export const meanings = {
  hour: { of: "tenant", length: "hour" },
  day: { of: "tenant", length: "day" },
  destination: { of: "destination", length: "hour" },
  destination_day: { of: "destination", length: "day" },
  key: { of: "key", length: "hour" },
  key_day: { of: "key", length: "day" }
} as const satisfies Record<CapWindow, { readonly of: CapSubject; readonly length: "hour" | "day" }>

/** An amount that a transaction moves, without its fee. */
export interface MovedAmount {
  readonly currency: Currency
  readonly amount: bigint
}

/** The caps that apply to an amount of this currency, in the order in which they are checked. */
export const capsOn = (
  caps: ReadonlyArray<AmountCap>,
  { currency, direction, mode }: Pick<AmountCap, "mode" | "currency"> & { readonly direction: LimitDirection }
): ReadonlyArray<AmountCap> => {
  const own = caps.filter((cap) => cap.mode === mode && cap.direction === direction && cap.currency === currency)
  return CapWindow.literals.flatMap((window) => own.filter((cap) => cap.window === window))
}

/** All caps of a direction, in the order of their currencies. */
export const capsOf = (caps: ReadonlyArray<AmountCap>, mode: Mode, direction: LimitDirection): ReadonlyArray<AmountCap> =>
  Currency.literals.flatMap((currency) => capsOn(caps, { mode, direction, currency }))

/** The caller and the party of a transaction. `party` is the keyed HMAC of the payer's or recipient's number, in hex. */
interface CapUser {
  readonly caller: Caller
  readonly party: string
  readonly at: Instant
}

export const capWindowUse = (
  { amount: bound, currency, direction, mode, window }: AmountCap,
  user: CapUser,
  amount: bigint
): WindowUse => {
  const { length, of } = meanings[window]
  const subjects = { tenant: "", destination: user.party, key: user.caller.keyId }
  return {
    appId: user.caller.appId,
    mode,
    name: `${direction}:${window}:${currency}`,
    subject: subjects[of],
    ...windowOf(user.at, length),
    amount,
    bound,
    window: of === "destination" ? "destination" : length,
    cap: { of, currency }
  }
}
