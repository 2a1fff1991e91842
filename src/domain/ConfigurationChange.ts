import type { Corridor, CorridorKey } from "./Corridor.ts"
import type { AppId } from "./Ids.ts"
import type { Instant } from "./Instant.ts"
import { may, type OperatorRole, type Permission } from "./Operator.ts"

/** Switches of a whole provider. */
export const providerKinds = ["provider off", "provider on"] as const
/** Changes of where money goes, and of who may move it. */
export const configurationKinds = [
  "corridor set",
  "tenant freeze",
  "tenant unfreeze",
  "tenant pin",
  "tenant unpin",
  ...providerKinds
] as const
export type ConfigurationKind = (typeof configurationKinds)[number]

/** A change by a person who looked at the state before it: made only while that state is the same. */
export type ConfigurationChange =
  | {
      readonly kind: "corridor set"
      readonly key: CorridorKey
      /** In the order in which they are tried. */
      readonly providers: ReadonlyArray<string>
      readonly active: boolean
      /** When the row that was looked at had last been changed. */
      readonly seen: Instant
    }
  | { readonly kind: "tenant freeze" | "tenant unfreeze"; readonly appId: AppId }
  /** `seen`: the pin that was looked at. */
  | { readonly kind: "tenant pin"; readonly appId: AppId; readonly provider: string; readonly seen: string | null }
  | { readonly kind: "tenant unpin"; readonly appId: AppId; readonly seen: string }
  /** `seen`: when the switch that was looked at had last been changed; null where it never was. */
  | { readonly kind: (typeof providerKinds)[number]; readonly provider: string; readonly seen: Instant | null }

export const subjectOf = (change: ConfigurationChange): string => {
  if (change.kind === "corridor set") return corridorName(change.key)
  return "appId" in change ? change.appId : providerSubject(change.provider)
}

const PROVIDER = "provider/"
/** A tenant may have the name of a provider. */
export const providerSubject = (provider: string): string => `${PROVIDER}${provider}`
export const providerIn = (subject: string): string => subject.slice(PROVIDER.length)

const isOfProvider = (kind: string): boolean => providerKinds.some((one) => one === kind)

export const corridorName = ({ country, currency, direction, method }: CorridorKey): string =>
  `${country}/${currency}/${direction}/${method}`

/**
 * Whether a person of this role makes it alone. Who configures does, as on the command line; but nobody lets a frozen tenant move money again alone: it was
 * frozen for a reason, such as stolen keys. And nobody switches a whole provider alone, which concerns every tenant.
 */
export const isMadeAlone = (kind: ConfigurationKind, role: OperatorRole): boolean =>
  kind !== "tenant unfreeze" && !isOfProvider(kind) && may(role, "configure")

/** The permission of a proposal's second person. A whole provider is above the rank of every other switch: an administrator approves it. */
export const approvalPermission = (kind: string): Permission => (isOfProvider(kind) ? "configure" : "approve")

/** The row as it would be. The reason of a closed one is read by tenants. */
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
  // Later than the one before, whatever a clock says: it is what another person looked at.
  updatedAt: Math.max(at, row.updatedAt + 1)
})

/** Why a row cannot be so, in one line; null where it can. A provider that it had before stays, whether it is still known or not. */
export const corridorMistake = (next: Corridor, before: Corridor, known: ReadonlyArray<string>): string | null => {
  if (next.providers.length === 0) return "a corridor needs a provider: close it where none is to serve it"
  if (new Set(next.providers).size < next.providers.length) return "a provider is named twice"
  const unknown = next.providers.find((name) => !before.providers.includes(name) && !known.includes(name))
  if (unknown !== undefined) return `there is no provider ${unknown}: the providers are ${known.join(", ")}`
  if (next.minimum !== null && next.maximum !== null && next.minimum > next.maximum)
    return "the minimum is larger than the maximum: change one of them"
  return null
}
