import { isLoopback, type Rule, rate } from "../ConfigRules.ts"
import type { RateLimit } from "../services/ports/RateLimits.ts"
import type { Pace } from "./Pace.ts"

/** Shares of an account's pace, in tenths. They leave a fifth to polls, and free reads cannot delay payments. */
const OF_TEN = { money: 4, quote: 3, other: 1 }
/** Looking up a mobile-money holder takes two consecutive calls. */
const LEAST_BURST = { money: 1, quote: 1, other: 2 }

/** A practically unlimited bucket. It can still be closed when a provider asks us to stop calling. */
const WITHOUT_BOUND: RateLimit = { count: 10_000, windowMs: 1_000, burst: 10_000 }

interface PaceReader {
  readonly own: <A>(part: string, rule: Rule<A>) => A | null
  /** The prefix of the account's settings. */
  readonly settings: string
  readonly mistakes: Array<string>
}

/** `PACE` limits all calls of the account, `PACE_MONEY`, `PACE_QUOTE`, `PACE_STATUS` and `PACE_OTHER` a kind each. */
export const paceOf = (
  { pace }: { readonly pace: RateLimit },
  { baseUrl }: { readonly baseUrl: string },
  { mistakes, own, settings }: PaceReader
): Pace | null => {
  const set = own("PACE", rate)
  const kinds = {
    money: own("PACE_MONEY", rate),
    quote: own("PACE_QUOTE", rate),
    status: own("PACE_STATUS", rate),
    other: own("PACE_OTHER", rate)
  }
  const isSimulated = baseUrl === "" || isLoopback(baseUrl)
  if (isSimulated && set === null && Object.values(kinds).every((one) => one === null)) return null
  const all = set === "off" ? WITHOUT_BOUND : (set ?? pace)
  for (const [kind, limit] of Object.entries(kinds))
    if (limit !== null && limit !== "off" && perMs(limit) > perMs(all))
      mistakes.push(
        `${settings}_PACE_${kind.toUpperCase()} is faster than ${settings}_PACE, which bounds all calls of the account`
      )
  const part = (kind: keyof typeof OF_TEN) => (set === "off" ? "off" : shareOf(all, kind))
  return {
    all,
    money: kinds.money ?? part("money"),
    quote: kinds.quote ?? part("quote"),
    status: kinds.status ?? "off",
    other: kinds.other ?? part("other")
  }
}

const perMs = ({ count, windowMs }: RateLimit): number => count / windowMs

const shareOf = ({ burst, count, windowMs }: RateLimit, kind: keyof typeof OF_TEN): RateLimit => ({
  count: (count * OF_TEN[kind]) / 10,
  windowMs,
  burst: Math.max(LEAST_BURST[kind], Math.floor((burst * OF_TEN[kind]) / 10))
})
