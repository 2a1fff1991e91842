import { Context, Effect, Option, Schema } from "effect"
import {
  type ConfigurationChange,
  configurationKinds,
  corridorAfter,
  corridorMistake,
  isMadeAlone,
  providerIn,
  subjectOf
} from "../../domain/ConfigurationChange.ts"
import { type Corridor, type CorridorKey, Country, Direction, Method } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { AppId } from "../../domain/Ids.ts"
import { consoleActor, type OperatorRole } from "../../domain/Operator.ts"
import type { Proposal } from "../../domain/Proposal.ts"
import type { Tenant } from "../../domain/Tenant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { type AuditBy, type AuditEntry, AuditLog } from "../ports/AuditLog.ts"
import { Corridors } from "../ports/Corridors.ts"
import { NotCarriedOut } from "../ports/Proposals.ts"
import { ProviderRegistry } from "../ports/ProviderRegistry.ts"
import { type ProviderSwitch, ProviderSwitches, switchOf } from "../ports/ProviderSwitches.ts"
import { Tenants } from "../ports/Tenants.ts"
import { type Acting, makeProposing, NotDecided } from "./Deciding.ts"

interface ConfigurationWish {
  readonly change: ConfigurationChange
  readonly note: string
}

/**
 * Changes of corridors, tenants and providers' switches from the console. An operator whose role may make such a change alone
 * (`isMadeAlone`) makes it at once; any other operator proposes it, and another person approves it (`Approvals`). A change
 * applies only to the state that the operator saw.
 */
export class ConfigurationApprovals extends Context.Service<
  ConfigurationApprovals,
  {
    /** Makes the change, or opens a proposal. Refused when impossible, without effect, or when the state has changed since. */
    readonly change: (
      wish: ConfigurationWish,
      acting: Acting,
      role: OperatorRole
    ) => Effect.Effect<"changed" | "proposed", NotDecided>
    /** Makes the proposed change. Refused when the state is not the one that its proposer saw. */
    readonly carryOut: (proposal: Proposal, by: AuditBy) => Effect.Effect<void, NotCarriedOut>
  }
>()("gateway/services/approvals/ConfigurationApprovals") {
  static readonly layer = layerOf(ConfigurationApprovals)(function* () {
    const corridors = yield* Corridors
    const tenants = yield* Tenants
    const auditLog = yield* AuditLog
    const registry = yield* ProviderRegistry
    const switches = yield* ProviderSwitches
    const propose = yield* makeProposing

    /** The row before and after the change. */
    const corridorStep = Effect.fnUntraced(function* ({ change, note, at }: CorridorWish) {
      const found = yield* corridors.find(change.key)
      if (Option.isNone(found)) return yield* new NotDecided("There is no such corridor.")
      const before = found.value
      if (before.updatedAt !== change.seen) return yield* new NotDecided(STALE)
      const next = corridorAfter(before, change, note, at)
      const mistake = corridorMistake(next, before, registry.known)
      if (mistake !== null) return yield* new NotDecided(mistake)
      if (isSameRoute(before, next)) return yield* new NotDecided("Nothing would change.")
      return { before, next }
    })

    const tenantNow = Effect.fnUntraced(function* (change: TenantWish) {
      const found = yield* tenants.find(change.appId)
      if (Option.isNone(found)) return yield* new NotDecided(`There is no tenant ${change.appId}.`)
      const tenant = found.value
      if (!isAsSeen(tenant, change)) return yield* new NotDecided(STALE)
      if (change.kind === "tenant pin" && !registry.known.includes(change.provider))
        return yield* new NotDecided(`There is no provider ${change.provider}.`)
      if (change.kind === "tenant pin" && change.provider === tenant.pinned) return yield* new NotDecided("Nothing would change.")
      return tenant
    })

    /** The switch after the change. */
    const switchStep = Effect.fnUntraced(function* (change: ProviderWish, reason: string, at: number) {
      const { kind, provider, seen } = change
      if (!registry.known.includes(provider)) return yield* new NotDecided(`There is no provider ${provider}.`)
      const before = switchOf(yield* switches.list, provider)
      if ((before?.changedAt ?? null) !== seen) return yield* new NotDecided(STALE)
      const isOff = kind === "provider off"
      if ((before?.isOff ?? false) === isOff) return yield* new NotDecided("Nothing would change.")
      // Later than the previous change, whatever the clock says.
      return { provider, isOff, reason, changedAt: Math.max(at, (seen ?? 0) + 1) } satisfies ProviderSwitch
    })

    /** The change as the second person and the audit log see it. */
    const detailsOf = Effect.fnUntraced(function* ({ change, note, sequence }: SeenWish, at: number) {
      if ("appId" in change) {
        const tenant = yield* tenantNow(change)
        return { ...tenantDetails(change, tenant), seen: String(sequence), note }
      }
      if (change.kind !== "corridor set") {
        const { isOff } = yield* switchStep(change, note, at)
        return { switch_now: isOff ? "on" : "off", seen: String(change.seen ?? NEVER), note }
      }
      const { before, next } = yield* corridorStep({ change, note, at })
      return { ...corridorDetails(before, next), seen: String(change.seen), note }
    })

    const make = Effect.fnUntraced(function* ({ change, note, sequence }: SeenWish, by: AuditBy) {
      const entry = (details: AuditEntry["details"]): AuditEntry => ({
        at: by.at,
        actor: by.actor,
        action: change.kind,
        subject: subjectOf(change),
        details: { ...details, reason: note, ...by.details }
      })
      if (change.kind === "corridor set") {
        const { before, next } = yield* corridorStep({ change, note, at: by.at })
        const isPut = yield* corridors.put(next, entry(changedIn(before, next)), change.seen)
        return isPut ? undefined : yield* new NotDecided(STALE)
      }
      if (!("appId" in change)) {
        const isSet = yield* switches.set(yield* switchStep(change, note, by.at), entry({}), change.seen)
        return isSet ? undefined : yield* new NotDecided(STALE)
      }
      yield* tenantNow(change)
      const changed = yield* setTenant(change, sequence, entry)
      if (Option.isNone(changed)) return yield* new NotDecided(STALE)
    })

    const setTenant = (change: TenantWish, sequence: bigint, entry: (details: AuditEntry["details"]) => AuditEntry) => {
      const { appId } = change
      switch (change.kind) {
        case "tenant freeze":
          return tenants.setStatus(appId, "frozen", entry({}), { state: "active", sequence })
        case "tenant unfreeze":
          return tenants.setStatus(appId, "active", entry({}), { state: "frozen", sequence })
        case "tenant pin": {
          const { provider, seen } = change
          return tenants.pin(appId, provider, entry({ provider }), { state: seen, sequence })
        }
        case "tenant unpin":
          return tenants.pin(appId, null, entry({}), { state: change.seen, sequence })
      }
    }

    const change = Effect.fn("ConfigurationApprovals.change")(function* (
      wish: ConfigurationWish,
      acting: Acting,
      role: OperatorRole
    ) {
      const { at, by } = acting
      const { kind } = wish.change
      // Read before the state: anything changed after this row was not seen.
      const { sequence } = yield* auditLog.head
      const seen = { ...wish, sequence }
      if (isMadeAlone(kind, role)) {
        yield* make(seen, { at, actor: consoleActor(by) })
        return "changed"
      }
      const details = yield* detailsOf(seen, at)
      const subject = subjectOf(wish.change)
      const waitsAlready = `A change of ${subject} waits already for a second person.`
      yield* propose({ kind, subject, details, audit: { action: `${kind} propose`, details }, waitsAlready }, acting)
      return "proposed"
    })

    const carryOut = Effect.fn("ConfigurationApprovals.carryOut")(function* (proposal: Proposal, by: AuditBy) {
      const wish = yield* wishOf(proposal)
      yield* make(wish, by).pipe(Effect.catchTag("NotDecided", ({ message }) => new NotCarriedOut(message)))
    })

    return { change, carryOut }
  })
}

export const isOfConfiguration = (proposal: Pick<Proposal, "kind">): boolean =>
  configurationKinds.some((kind) => kind === proposal.kind)

const STALE = "It was changed since you looked at it: nothing was done. Look at it as it is now."

interface CorridorWish {
  readonly change: Extract<ConfigurationChange, { readonly kind: "corridor set" }>
  readonly note: string
  readonly at: number
}
type TenantWish = Extract<ConfigurationChange, { readonly appId: AppId }>
type ProviderWish = Extract<ConfigurationChange, { readonly provider: string; readonly seen: number | null }>

/** With the last audit row before the tenant was read. A corridor has its own time of change. */
interface SeenWish extends ConfigurationWish {
  readonly sequence: bigint
}

const isAsSeen = ({ pinned, status }: Tenant, change: TenantWish): boolean => {
  switch (change.kind) {
    case "tenant freeze":
      return status === "active"
    case "tenant unfreeze":
      return status === "frozen"
    default:
      return pinned === change.seen
  }
}

const orderText = (providers: ReadonlyArray<string>): string => providers.join(",")

const isSameRoute = (before: Corridor, next: Corridor): boolean =>
  before.active === next.active && orderText(before.providers) === orderText(next.providers)

/** As in the command's audit row: only the changed values. */
const changedIn = (before: Corridor, { active, providers }: Corridor): AuditEntry["details"] => ({
  ...(before.active === active ? {} : { active: String(active) }),
  ...(orderText(before.providers) === orderText(providers) ? {} : { provider: orderText(providers) })
})

const corridorDetails = (before: Corridor, { active, providers }: Corridor): AuditEntry["details"] => ({
  open_now: String(before.active),
  open_then: String(active),
  providers_now: orderText(before.providers),
  providers_then: orderText(providers)
})

const NOT_PINNED = "none"

const tenantDetails = (change: TenantWish, { pinned, status }: Tenant): AuditEntry["details"] => {
  if (change.kind === "tenant freeze" || change.kind === "tenant unfreeze") return { status_now: status }
  return { pinned_now: pinned ?? NOT_PINNED, pinned_then: change.kind === "tenant pin" ? change.provider : NOT_PINNED }
}

const CorridorDetails = Schema.Struct({
  open_then: Schema.Literals(["true", "false"]),
  providers_then: Schema.String,
  seen: Schema.FiniteFromString,
  note: Schema.String
})
const TenantDetails = Schema.Struct({
  pinned_now: Schema.optionalKey(Schema.String),
  pinned_then: Schema.optionalKey(Schema.String),
  seen: Schema.BigIntFromString,
  note: Schema.String
})
/** For a switch that was never set. */
const NEVER = -1
const SwitchDetails = Schema.Struct({ seen: Schema.FiniteFromString, note: Schema.String })
const Key = Schema.Tuple([Country, Currency, Direction, Method])

const wishOf = ({ details, kind, subject }: Proposal): Effect.Effect<SeenWish> =>
  Effect.gen(function* () {
    if (kind === "corridor set") {
      const [country, currency, direction, method] = yield* Schema.decodeUnknownEffect(Key)(subject.split("/"))
      const key: CorridorKey = { country, currency, direction, method }
      const written = yield* Schema.decodeUnknownEffect(CorridorDetails)(details)
      const { note, open_then: open, providers_then: providers, seen } = written
      return { change: { kind, key, providers: providers.split(","), active: open === "true", seen }, note, sequence: 0n }
    }
    if (kind === "provider off" || kind === "provider on") {
      const { note, seen } = yield* Schema.decodeUnknownEffect(SwitchDetails)(details)
      return { change: { kind, provider: providerIn(subject), seen: seen === NEVER ? null : seen }, note, sequence: 0n }
    }
    const { note, seen: sequence, ...pins } = yield* Schema.decodeUnknownEffect(TenantDetails)(details)
    const appId = yield* Schema.decodeUnknownEffect(AppId)(subject)
    const seen = pins.pinned_now === NOT_PINNED ? null : (pins.pinned_now ?? null)
    return { change: tenantChange(kind, { appId, seen, provider: pins.pinned_then ?? "" }), note, sequence }
  }).pipe(Effect.catchTag("SchemaError", Effect.die))

const tenantChange = (
  kind: Proposal["kind"],
  { appId, provider, seen }: { readonly appId: AppId; readonly provider: string; readonly seen: string | null }
): ConfigurationChange => {
  switch (kind) {
    case "tenant freeze":
    case "tenant unfreeze":
      return { kind, appId }
    case "tenant pin":
      return { kind, appId, provider, seen }
    default:
      return { kind: "tenant unpin", appId, seen: seen ?? "" }
  }
}
