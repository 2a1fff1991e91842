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
 * Refuses an amount that the account does not take for this network now, as its provider says, before anything is recorded or sent. A
 * network that is closed or slow is a ProviderError: the payment may be repeated, and the next provider may take it at once. For a provider
 * that does not answer, its last limits hold.
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

/** One after another may take what is outside the limits of the one before: they are of an account, and not of the recipient. */
export const isOfNetworkLimits = ({ _tag }: { readonly _tag: string }): boolean =>
  _tag === "amount_below_minimum" || _tag === "amount_above_maximum" || _tag === "validation_failed"

/** The limits of one provider for each of a row's networks; empty where it gives none. */
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

/** Of a provider by its networks: down where all are, and as long as one is not as it should be, degraded. */
export const availabilityByNetwork = (networks: ReadonlyArray<NetworkLimits>): Availability => {
  const all = networks.map(({ availability }) => availability)
  if (all.length > 0 && all.every((one) => one === "down")) return "down"
  return all.reduce(worse, "operational") === "operational" ? "operational" : "degraded"
}

/** The row's limits, narrowed to what at least one network of a provider takes. `tried` has the limits of each provider that is tried. */
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

/** Null where one of them has no bound. */
const widest = (
  bounds: ReadonlyArray<MinorUnits | null>,
  wider: (a: MinorUnits, b: MinorUnits) => MinorUnits
): MinorUnits | null => bounds.reduce((a, b) => (a === null || b === null ? null : wider(a, b)))
