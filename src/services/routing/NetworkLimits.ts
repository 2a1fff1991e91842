import { Effect, Redacted } from "effect"
import { type Availability, type Corridor, worse } from "../../domain/Corridor.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { AmountAboveMaximum, AmountBelowMinimum, invalid } from "../../domain/errors/Terminal.ts"
import { larger, type MinorUnits, smaller, ZERO } from "../../domain/Money.ts"
import type { Destination } from "../../domain/Party.ts"
import type { NetworkLimits, ReadNetworkLimits } from "../ports/Provider.ts"

interface Limited {
  readonly limits?: ReadNetworkLimits
}

/**
 * Refuses an amount outside the account's present limits for this network, before anything is recorded or sent. A network that
 * is closed or slow is a ProviderError: the payment may be retried, and the next provider may accept it at once. When a
 * provider does not answer, its last known limits apply.
 */
export const requireWithinNetworkLimits = Effect.fnUntraced(function* (
  { limits: read }: Limited,
  party: Destination,
  { currency, method }: Pick<Corridor, "currency" | "method">,
  amount: MinorUnits
) {
  const limits = read === undefined || party._tag !== "momo" ? undefined : yield* read(party, currency)
  if (limits === undefined) return
  const { availability, maximum, minimum, step } = limits
  if (availability !== "operational") return yield* new ProviderError({})
  if (minimum !== null && amount < minimum) return yield* new AmountBelowMinimum({ minimum_minor: minimum, method })
  if (maximum !== null && amount > maximum) return yield* new AmountAboveMaximum({ maximum_minor: maximum, scope: "corridor" })
  if (amount % step !== ZERO) {
    const message = `must be a multiple of ${step}: the network takes no smaller part`
    return yield* invalid("amount_minor", message)
  }
})

/** The next provider may accept an amount outside these limits, because they belong to an account, not to the recipient. */
export const isOfNetworkLimits = ({ _tag }: { readonly _tag: string }): boolean =>
  _tag === "amount_below_minimum" || _tag === "amount_above_maximum" || _tag === "validation_failed"

/** A provider's limits for each of a row's networks; empty when it reports none. */
export const limitsByNetwork = (
  { limits: read }: Limited,
  { country, currency, method, networks }: Corridor
): Effect.Effect<ReadonlyArray<NetworkLimits>> =>
  read === undefined || method !== "momo"
    ? Effect.succeed([])
    : Effect.map(
        Effect.forEach(networks, (network) => read({ _tag: "momo", msisdn: Redacted.make(""), network, country }, currency), {
          concurrency: "unbounded"
        }),
        (limits) => limits.filter((one) => one !== undefined)
      )

/** A provider's availability from its networks': down when all are, degraded when any is not operational. */
export const availabilityByNetwork = (networks: ReadonlyArray<NetworkLimits>): Availability => {
  const all = networks.map(({ availability }) => availability)
  if (all.length > 0 && all.every((one) => one === "down")) return "down"
  return all.reduce(worse, "operational") === "operational" ? "operational" : "degraded"
}

/** The row's limits, narrowed to what at least one network accepts. `tried`: the limits of each provider to try. */
export const narrowed = (
  { maximum, minimum }: Pick<Corridor, "minimum" | "maximum">,
  tried: ReadonlyArray<ReadonlyArray<NetworkLimits>>
): Pick<Corridor, "minimum" | "maximum"> => {
  if (tried.length === 0 || tried.some((networks) => networks.length === 0)) return { minimum, maximum }
  const all = tried.flat()
  const least = widest(
    all.map((one) => one.minimum),
    smaller
  )
  const most = widest(
    all.map((one) => one.maximum),
    larger
  )
  return {
    minimum: minimum !== null && least !== null ? larger(minimum, least) : (minimum ?? least),
    maximum: maximum !== null && most !== null ? smaller(maximum, most) : (maximum ?? most)
  }
}

/** Null when one of them is unbounded. */
const widest = (
  bounds: ReadonlyArray<MinorUnits | null>,
  wider: (a: MinorUnits, b: MinorUnits) => MinorUnits
): MinorUnits | null => bounds.reduce((a, b) => (a === null || b === null ? null : wider(a, b)))
