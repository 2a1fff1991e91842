import { Schema } from "effect"
import { AppId, Mode } from "./Ids.ts"
import { Instant } from "./Instant.ts"

/** The capabilities that a tenant can be granted (contract CAP-1), in the order in which they are always shown. */
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
  /** The provider that serves the tenant wherever a corridor has it; null where the corridors alone decide. */
  pinned: Schema.NullOr(Schema.String),
  /** A number may be charged again right after a successful charge: for this tenant that is another sale. */
  repeatSales: Schema.Boolean,
  createdAt: Instant
})
export type Tenant = typeof Tenant.Type
/** A new tenant is not pinned, and makes no repeat sales. */
export type NewTenant = Omit<Tenant, "pinned" | "repeatSales">

/** A reader only reads its tenant's records. An admin key is an operator's: it reads every tenant's and changes nothing. */
export const Role = Schema.Literals(["tenant", "reader", "admin"])
export type Role = typeof Role.Type

/** The signer of a request. Only the key decides the mode; nothing in the request can. */
export const Caller = Schema.Struct({ appId: AppId, keyId: Schema.String, mode: Mode, role: Role })
export type Caller = typeof Caller.Type

/** A key's label for people, and where it may be used from. */
export const KeyTerms = Schema.Struct({
  /** Empty where it has none. */
  label: Schema.String,
  /** Each is an `AddressRange`; empty means from anywhere. */
  addresses: Schema.Array(Schema.String)
})
export type KeyTerms = typeof KeyTerms.Type

export const MAX_LABEL = 64

export const noTerms: KeyTerms = { label: "", addresses: [] }

/**
 * The purpose of the hash of an API key. The previous release knows neither readers nor addresses. A key with such a limit has
 * a purpose of its own, so that the previous release treats it as a wrong key.
 */
export const apiKeyPurpose = (role: Role, { addresses }: Pick<KeyTerms, "addresses">): string =>
  role === "reader" || addresses.length > 0 ? "limited_api_key" : "api_key"
