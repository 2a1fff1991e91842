import { Schema } from "effect"
import { AppId, Mode } from "./Ids.ts"
import { Instant } from "./Instant.ts"

/** What a tenant can be granted (contract CAP-1), in the order in which they are always shown. */
export const Capability = Schema.Literals([
  "collections",
  "payouts",
  "refunds",
  "fx",
  "balances",
  "reference_data",
  "bank_resolution"
]).annotate({
  identifier: "CapabilityName",
  description: "Something that a tenant can be granted"
})
export type Capability = typeof Capability.Type

/** Capabilities in the order in which they are always shown. */
export const sortedCapabilities = (capabilities: ReadonlyArray<Capability>): ReadonlyArray<Capability> =>
  Capability.literals.filter((capability) => capabilities.includes(capability))

/** What a new tenant may do. */
export const defaultCapabilities = [
  "collections",
  "payouts",
  "fx",
  "reference_data",
  "bank_resolution"
] as const satisfies ReadonlyArray<Capability>

export const TenantStatus = Schema.Literals(["active", "frozen"])

export const Tenant = Schema.Struct({
  appId: AppId,
  status: TenantStatus,
  capabilities: Schema.Array(Capability),
  /** The one provider that it goes to wherever a corridor has it; null where the corridors alone decide. */
  pinned: Schema.NullOr(Schema.String),
  /** A number may be charged again right after a charge of it succeeded: that is another sale of this tenant's. */
  repeatSales: Schema.Boolean,
  createdAt: Instant
})
export type Tenant = typeof Tenant.Type
/** Nobody is pinned, or makes repeat sales, from the beginning. */
export type NewTenant = Omit<Tenant, "pinned" | "repeatSales">

export const Role = Schema.Literals(["tenant", "admin"])
export type Role = typeof Role.Type

/** Who signed a request: the key decides the mode, nothing in the request can. */
export const Caller = Schema.Struct({ appId: AppId, keyId: Schema.String, mode: Mode, role: Role })
export type Caller = typeof Caller.Type
