import { Context, Effect, Option } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Mode } from "../../domain/Ids.ts"
import { type PinnedProvider, pinnedFirst, routedProviders } from "../../domain/Routing.ts"
import { type Caller, Capability } from "../../domain/Tenant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Corridors } from "../ports/Corridors.ts"
import type { Provider } from "../ports/Provider.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { ProviderSwitches, switchedOff } from "../ports/ProviderSwitches.ts"
import { Tenants } from "../ports/Tenants.ts"
import { Routes } from "../routing/Routes.ts"

export type UnsupportedReason = "not_permitted" | "provider_not_supported" | "refund_orchestration_not_implemented"

/** One capability of a tenant (contract CAP-1, CAP-2). */
export interface CapabilityRow {
  readonly capability: Capability
  readonly provider: string
  readonly supported: boolean
  readonly reason?: UnsupportedReason
  /** At least one active corridor refuses this tenant's payouts until an operator has set the payer. */
  readonly requires_sender?: true
}

/** The capabilities of a tenant, and the provider of each. */
export class Capabilities extends Context.Service<
  Capabilities,
  {
    /** Always one row per capability, in their order; needs no grant. */
    readonly rows: (caller: Caller) => Effect.Effect<ReadonlyArray<CapabilityRow>>
  }
>()("gateway/services/Capabilities") {
  static readonly layer = layerOf(Capabilities)(function* () {
    const tenants = yield* Tenants
    const corridors = yield* Corridors
    const registry = yield* ProviderRegistry
    const payoutRoutes = yield* Routes
    const switches = yield* ProviderSwitches

    const rows = Effect.fn("Capabilities.rows")(function* (caller: Caller) {
      const tenant = yield* tenants.find(caller.appId)
      const routes = yield* corridors.list
      const granted = caller.role === "admin" || Option.isNone(tenant) ? [] : tenant.value.capabilities
      const pin = yield* tenants.pinned(caller.appId)
      const active = routes.filter((row) => row.active)
      const out = switchedOff(yield* switches.list)
      const lacking = (yield* Effect.filter(active, (row) => payoutRoutes.lacksSender(caller, row))).length > 0
      return Capability.literals.map((capability): CapabilityRow => {
        const { provider, offered } = routedTo(capability, routes, { pin, mode: caller.mode, out })
        const reason = reasonOf(capability, granted.includes(capability), offered)
        const row = { capability, provider, supported: reason === undefined, ...(reason === undefined ? {} : { reason }) }
        return capability === "payouts" && lacking ? { ...row, requires_sender: true } : row
      })
    })

    const routedTo = (capability: Capability, routes: ReadonlyArray<Corridor>, { mode, out, pin }: Outlook) => {
      const { by, offers } = offerings[capability]
      // A capability without corridors is served by any provider that has it.
      const names = by === null ? pinnedFirst(registry.known, pin) : routedProviders(routes.filter(by), pin)
      const able = names.find((name) => !out.has(name) && Option.exists(registry.find(name, mode), offers))
      return { provider: able ?? names[0] ?? "", offered: able !== undefined }
    }

    return { rows }
  })
}

/** The caller's circumstances at this moment. */
interface Outlook {
  readonly pin: PinnedProvider
  readonly mode: Mode
  /** Switched off by an operator. */
  readonly out: ReadonlySet<string>
}

/** For each capability: the corridor rows that lead to it (null: none do), and the test whether a provider has it. */
const offerings: Readonly<
  Record<Capability, { readonly by: ((row: Corridor) => boolean) | null; readonly offers: (provider: Provider) => boolean }>
> = {
  collections: { by: ({ direction }) => direction === "collection", offers: ({ collections }) => collections !== undefined },
  payouts: { by: ({ direction }) => direction === "payout", offers: ({ payouts }) => payouts !== undefined },
  refunds: { by: ({ direction }) => direction === "collection", offers: () => false },
  fx: { by: null, offers: ({ exchange }) => exchange !== undefined },
  balances: { by: () => true, offers: ({ reference }) => reference?.balances !== undefined },
  reference_data: {
    by: ({ direction }) => direction === "payout",
    offers: ({ reference }) => reference?.banks !== undefined && reference.countries !== undefined
  },
  bank_resolution: {
    by: ({ direction, method }) => direction === "payout" && method === "bank",
    offers: ({ reference }) => reference?.resolve !== undefined
  }
}

const reasonOf = (capability: Capability, isGranted: boolean, isOffered: boolean): UnsupportedReason | undefined => {
  // Refunds are not implemented, whatever the grants and routes.
  if (capability === "refunds") return "refund_orchestration_not_implemented"
  if (!isGranted) return "not_permitted"
  return isOffered ? undefined : "provider_not_supported"
}
