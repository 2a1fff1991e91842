import { Context, Effect, Option } from "effect"
import { type Corridor, type CorridorKey, networkOf } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import { RateLimited } from "../../domain/errors/Retriable.ts"
import {
  AmountAboveMaximum,
  AmountBelowMinimum,
  CapabilityNotAllowed,
  CorridorUnsupported,
  invalid,
  TenantFrozen
} from "../../domain/errors/Terminal.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Caller, Capability } from "../../domain/Tenant.ts"
import { beginCandidates } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { whereTooLate } from "../../runtime/TooLate.ts"
import { Corridors } from "../ports/Corridors.ts"
import type { FreshClaim } from "../ports/Idempotency.ts"
import { Policy } from "../ports/Policy.ts"
import { Tenants } from "../ports/Tenants.ts"

/** Refuses a request whose reads come too late as retriable (contract ERR-1). Only for work before its record is opened. */
export const shedWhereTooLate = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | RateLimited, R> =>
  whereTooLate(effect, (cause) =>
    Effect.andThen(
      Effect.logWarning("a request was refused because its reads came too late", cause),
      Effect.fail(new RateLimited({ scope: "server", retry_after_seconds: 1 }))
    )
  )

/** The refusals that come before any provider is called, in the contract's order (contract ERR-10). */
export class Admission extends Context.Service<
  Admission,
  {
    /** 403 unless the tenant has the capability. An admin key never moves money. */
    readonly requireCapability: (caller: Caller, capability: Capability) => Effect.Effect<void, CapabilityNotAllowed>
    /** 403 unless the tenant has the capability and is not frozen. */
    readonly requireMoneyCapability: (
      caller: Caller,
      capability: Capability,
      /** The tenant as it was read when the request arrived; read here when absent. */
      arrived?: FreshClaim["tenant"]
    ) => Effect.Effect<void, CapabilityNotAllowed | TenantFrozen>
    /** 422 unless the corridor exists and is active. */
    readonly corridor: (key: CorridorKey) => Effect.Effect<Corridor, CorridorUnsupported>
    /** 422 above test mode's hard ceiling, which applies to the sent amount without its fee. Live mode has no ceiling. */
    readonly requireUnderTestCeiling: (
      caller: Caller,
      amount: MinorUnits,
      currency: Currency
    ) => Effect.Effect<void, AmountAboveMaximum>
  }
>()("gateway/services/Admission") {
  static readonly layer = layerOf(Admission)(function* () {
    const tenants = yield* Tenants
    const corridors = yield* Corridors
    const policy = yield* Policy

    const tenantWith = Effect.fnUntraced(function* (caller: Caller, capability: Capability, arrived?: FreshClaim["tenant"]) {
      const tenant = arrived ?? Option.getOrNull(yield* tenants.find(caller.appId))
      if (caller.role === "admin" || tenant === null || !tenant.capabilities.includes(capability)) {
        return yield* new CapabilityNotAllowed({ capability })
      }
      return tenant
    })

    return {
      requireCapability: (caller, capability) => Effect.asVoid(tenantWith(caller, capability)),

      requireMoneyCapability: Effect.fnUntraced(function* (caller, capability, arrived?) {
        const tenant = yield* tenantWith(caller, capability, arrived)
        if (tenant.status === "frozen") return yield* new TenantFrozen({})
      }),

      corridor: Effect.fnUntraced(function* (key) {
        const row = yield* corridors.find(key)
        if (Option.isSome(row) && row.value.active) return row.value
        if (Option.isSome(row)) yield* beginCandidates(row.value.providers, "corridor_off")
        return yield* new CorridorUnsupported(key)
      }),

      requireUnderTestCeiling: Effect.fnUntraced(function* (caller, amount, currency) {
        const ceiling = policy.testCeilings[currency]
        if (caller.mode === "test" && amount > ceiling)
          return yield* new AmountAboveMaximum({ maximum_minor: ceiling, scope: "test_mode" })
      })
    }
  })
}

/** 422 outside the corridor's own limits, which apply to the sent amount. */
export const requireWithinCorridorBounds = Effect.fnUntraced(function* (corridor: Corridor, amount: MinorUnits) {
  if (corridor.minimum !== null && amount < corridor.minimum) {
    return yield* new AmountBelowMinimum({ minimum_minor: corridor.minimum, method: corridor.method })
  }
  if (corridor.maximum !== null && amount > corridor.maximum) {
    return yield* new AmountAboveMaximum({ maximum_minor: corridor.maximum, scope: "corridor" })
  }
})

/** 422 unless the corridor lists the network. Returns the network's own code. */
export const requireNetwork = Effect.fnUntraced(function* (corridor: Corridor, country: string, network: string, path: string) {
  const code = networkOf(corridor, country, network)
  if (code === undefined) return yield* invalid(path, `must be one of ${corridor.networks.join(", ")}`)
  return code
})

/** 422 when the row requires a redirect URL and there is none: after the provider's page the payer has to be sent somewhere. */
export const requireRedirectUrl = Effect.fnUntraced(function* (corridor: Corridor, redirectUrl: string | null) {
  if (corridor.requiresRedirectUrl && redirectUrl === null)
    return yield* invalid("redirect_url", "is required here: where the payer goes on afterwards")
})
