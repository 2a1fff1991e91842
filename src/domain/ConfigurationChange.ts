import type { Corridor, CorridorKey } from "./Corridor.ts"
import type { AppId } from "./Ids.ts"
import type { Instant } from "./Instant.ts"
import { may, type OperatorRole, type Permission } from "./Operator.ts"

/** The switches of a whole provider. */
export const providerKinds = ["provider off", "provider on"] as const
/** Changes to where money goes, and to who may move it. */
export const configurationKinds = [
  "corridor set",
  "tenant freeze",
  "tenant unfreeze",
  "tenant pin",
  "tenant unpin",
  ...providerKinds
] as const
type ConfigurationKind = (typeof configurationKinds)[number]

/** A change by a person who looked at the state first. It is made only if that state is still the same. */
export type ConfigurationChange =
  | {
      readonly kind: "corridor set"
      readonly key: CorridorKey
      /** In the order in which they are tried. */
      readonly providers: ReadonlyArray<string>
      readonly active: boolean
      /** The `updatedAt` of the row that the person looked at. */
      readonly seen: Instant
    }
  | { readonly kind: "tenant freeze" | "tenant unfreeze"; readonly appId: AppId }
  /** `seen` is the pin that the person looked at. */
  | { readonly kind: "tenant pin"; readonly appId: AppId; readonly provider: string; readonly seen: string | null }
  | { readonly kind: "tenant unpin"; readonly appId: AppId; readonly seen: string }
  /** `seen` is when the switch that the person looked at had last been changed; null where it never was. */
  | { readonly kind: (typeof providerKinds)[number]; readonly provider: string; readonly seen: Instant | null }

export const subjectOf = (change: ConfigurationChange): string => {
  if (change.kind === "corridor set") return corridorName(change.key)
  return "appId" in change ? change.appId : providerSubject(change.provider)
}

const PROVIDER = "provider/"
/** The prefix distinguishes a provider from a tenant of the same name. */
export const providerSubject = (provider: string): string => `${PROVIDER}${provider}`
export const providerIn = (subject: string): string => subject.slice(PROVIDER.length)

const isOfProvider = (kind: string): boolean => providerKinds.some((one) => one === kind)

export const corridorName = ({ country, currency, direction, method }: CorridorKey): string =>
  `${country}/${currency}/${direction}/${method}`

/**
 * Whether a person of this role may make the change alone. A person with `configure` may, as on the command line, with two
 * exceptions. Unfreezing a tenant always takes two people: it was frozen for a reason, such as stolen keys. So does switching a
 * whole provider, which affects every tenant.
 */
export const isMadeAlone = (kind: ConfigurationKind, role: OperatorRole): boolean =>
  kind !== "tenant unfreeze" && !isOfProvider(kind) && may(role, "configure")

/** The permission that a proposal's second person needs. A switch of a whole provider ranks highest: for an administrator. */
export const approvalPermission = (kind: string): Permission => (isOfProvider(kind) ? "configure" : "approve")

/** The row after the change. Tenants read the reason of a closed corridor. */
export const corridorAfter = (
  row: Corridor,
  { active, providers }: Pick<Corridor, "active" | "providers">,
  reason: string,
  at: Instant
): Corridor => ({
  ...row,
  active,
  providers,
  inactiveReason: active ? null : row.active ? reason : row.inactiveReason,
  // Always later than before, whatever the clock says: another person compares it with what they looked at.
  updatedAt: Math.max(at, row.updatedAt + 1)
})

/** Why the row would be invalid, in one line; null where it is valid. A provider that it already had may stay. */
export const corridorMistake = (next: Corridor, before: Corridor, known: ReadonlyArray<string>): string | null => {
  if (next.providers.length === 0) return "a corridor needs a provider: close it where none is to serve it"
  if (new Set(next.providers).size < next.providers.length) return "a provider is named twice"
  const unknown = next.providers.find((name) => !before.providers.includes(name) && !known.includes(name))
  if (unknown !== undefined) return `there is no provider ${unknown}: the providers are ${known.join(", ")}`
  if (next.minimum !== null && next.maximum !== null && next.minimum > next.maximum)
    return "the minimum is larger than the maximum: change one of them"
  return null
}
