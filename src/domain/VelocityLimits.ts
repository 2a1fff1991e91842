import { Schema } from "effect"
import { Direction } from "./Corridor.ts"
import type { Currency } from "./Currency.ts"
import type { Mode } from "./Ids.ts"
import type { Instant } from "./Instant.ts"

/**
 * The scope of a velocity cap: all of a tenant's transactions in an hour or a day, or those to (or from) one number in an hour or a day.
 */
export const LimitWindow = Schema.Literals(["hour", "day", "destination", "destination_day"])
export type LimitWindow = typeof LimitWindow.Type

const HOUR_MS = 3_600_000
const milliseconds = { hour: HOUR_MS, day: 24 * HOUR_MS } as const
type WindowLength = keyof typeof milliseconds

const lengths = { hour: "hour", day: "day", destination: "hour", destination_day: "day" } as const satisfies Record<
  LimitWindow,
  WindowLength
>

/** The subject of a cap: money in either direction, or codes that are texted to payers. */
export const LimitDirection = Schema.Literals([...Direction.literals, "code"])
export type LimitDirection = typeof LimitDirection.Type

/** The windows that a direction is counted in. The codes of one number are counted separately, per ten minutes. */
export const windowsOf = (direction: LimitDirection): ReadonlyArray<LimitWindow> =>
  direction === "code" ? ["hour", "day"] : LimitWindow.literals

type Counts = { readonly [W in LimitWindow]?: number }

/**
 * The limits of a tenant without its own (contract LIM-9). A missing window is not limited. A live charge costs us nothing, and
 * each is a prompt on a person's handset. The limit is what a medium-sized shop needs, so that a stolen key cannot prompt a
 * whole country. A larger merchant is given its own limit.
 */
const defaultLimits: { readonly [M in Mode]: { readonly [D in LimitDirection]: Counts } } = {
  live: {
    payout: { hour: 600, day: 5_000, destination: 20, destination_day: 100 },
    collection: { hour: 1_200, day: 10_000, destination: 10, destination_day: 30 },
    code: { hour: 600, day: 5_000 }
  },
  test: {
    payout: { hour: 60, day: 200, destination: 20, destination_day: 100 },
    collection: { hour: 60, day: 200, destination: 10, destination_day: 30 },
    code: { hour: 60, day: 200 }
  }
}

/** One tenant's own limit. */
export interface VelocityLimit {
  readonly mode: Mode
  readonly direction: LimitDirection
  readonly window: LimitWindow
  readonly count: number
}

/** The limits that apply, the tenant's own instead of the defaults, in the order in which they are checked. */
export const effectiveLimits = (
  mode: Mode,
  direction: LimitDirection,
  own: ReadonlyArray<VelocityLimit>
): ReadonlyArray<VelocityLimit> =>
  windowsOf(direction).flatMap((window) => {
    const override = own.find((limit) => limit.mode === mode && limit.direction === direction && limit.window === window)
    const count = override?.count ?? defaultLimits[mode][direction][window]
    return count === undefined ? [] : [{ mode, direction, window, count }]
  })

/** The use of one window by one transaction: `amount` more of it, up to `bound` in total. */
export interface WindowUse {
  /** Empty where the window is shared by all tenants. */
  readonly appId: string
  readonly mode: Mode
  readonly name: string
  /** The keyed HMAC of a number in hex; empty where the window is the tenant's own. */
  readonly subject: string
  readonly startsAt: Instant
  readonly endsAt: Instant
  readonly amount: bigint
  readonly bound: bigint
  /** How a refusal names it; null for a provider account's ceiling. */
  readonly window: "hour" | "day" | "destination" | null
  /** For a cap on amounts: whose amounts, and in which currency. */
  readonly cap?: { readonly of: "tenant" | "destination" | "key"; readonly currency: Currency }
}

/** A window, and how much of it was used when it was read. The figure may be outdated, so it is only used to refuse early. */
export interface UsedWindow extends WindowUse {
  readonly used: bigint
}

/** Windows are UTC hours and days. */
export const windowOf = (at: Instant, length: WindowLength) => windowAround(at, milliseconds[length])

const windowAround = (at: Instant, lengthMs: number) => {
  const startsAt = Math.floor(at / lengthMs) * lengthMs
  return { startsAt, endsAt: startsAt + lengthMs }
}

/** `subject` is the keyed HMAC of the payer's or recipient's number, in hex. */
export const windowUse = (
  appId: string,
  { count, direction, mode, window }: VelocityLimit,
  subject: string,
  at: Instant
): WindowUse => {
  const own = window === "hour" || window === "day"
  return {
    appId,
    mode,
    name: `${direction}:${window}`,
    subject: own ? "" : subject,
    ...windowOf(at, lengths[window]),
    amount: 1n,
    bound: BigInt(count),
    window: own ? window : "destination"
  }
}

/** The same windows at another time: a transaction counts where it is recorded, however late that is after its request. */
export const windowsAt = (windows: ReadonlyArray<WindowUse>, at: Instant): ReadonlyArray<WindowUse> =>
  windows.map((window) => ({ ...window, ...windowAround(at, window.endsAt - window.startsAt) }))

/** The share of one payout in a provider account's ceiling, in minor units of its currency, fees included. */
interface CeilingUse {
  readonly provider: string
  readonly mode: Mode
  readonly currency: string
  readonly amount: bigint
  /** The ceiling of the whole UTC day. */
  readonly bound: bigint
}

export const ceilingWindowUse = ({ amount, bound, currency, mode, provider }: CeilingUse, at: Instant): WindowUse => ({
  appId: "",
  mode,
  name: `ceiling:${provider}:${currency}`,
  subject: "",
  ...windowOf(at, "day"),
  amount,
  bound,
  window: null
})

export const retryAfterSeconds = (counter: WindowUse, now: Instant): number =>
  Math.max(1, Math.ceil((counter.endsAt - now) / 1000))
