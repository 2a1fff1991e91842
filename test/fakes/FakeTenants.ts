import { Effect, Option, Redacted } from "effect"
import type { AmountCap } from "../../src/domain/AmountCaps.ts"
import type { Corridor, CorridorKey } from "../../src/domain/Corridor.ts"
import { AppId } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Sender } from "../../src/domain/Sender.ts"
import { Capability, type Tenant } from "../../src/domain/Tenant.ts"
import { TooLate } from "../../src/runtime/TooLate.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { Denylist } from "../../src/services/ports/Denylist.ts"
import { Screening } from "../../src/services/ports/Screening.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { fake } from "./Fake.ts"

/** An active tenant with every capability; a test overrides only what it is about. */
export const tenantNamed = (name: string, overrides: Partial<Tenant> = {}): Tenant => ({
  appId: AppId.make(name),
  status: "active",
  capabilities: Capability.literals,
  pinned: null,
  repeatSales: false,
  createdAt: 0,
  ...overrides
})

/** Tenants in memory. Keys are not expected. */
export const fakeTenants = (...tenants: ReadonlyArray<Tenant>) => {
  const byName = new Map(tenants.map((tenant) => [tenant.appId, tenant]))
  const find = (appId: AppId) => Effect.sync(() => Option.fromUndefinedOr(byName.get(appId)))
  const change = (appId: AppId, to: Partial<Tenant>) =>
    Effect.map(find(appId), (found) =>
      Option.map(found, (tenant) => {
        const changed = { ...tenant, ...to }
        byName.set(appId, changed)
        return changed
      })
    )
  const senders = new Map<AppId, Sender>()
  return fake(Tenants, {
    find,
    sender: (appId) => Effect.sync(() => senders.get(appId) ?? null),
    setSender: (appId, sender) =>
      Effect.sync(() => {
        if (sender === null) senders.delete(appId)
        else senders.set(appId, sender)
        return byName.has(appId)
      }),
    list: Effect.sync(() => [...byName.values()].sort((one, other) => (one.appId < other.appId ? -1 : 1))),
    pinned: (appId) => Effect.sync(() => byName.get(appId)?.pinned ?? null),
    repeatSales: (appId) => Effect.sync(() => byName.get(appId)?.repeatSales ?? false),
    setStatus: (appId, status) => change(appId, { status }),
    pin: (appId, pinned) => change(appId, { pinned }),
    setRepeatSales: (appId, repeatSales) => change(appId, { repeatSales })
  })
}

/** Mobile money in Uganda, open to every amount. */
export const corridorTo = (providers: ReadonlyArray<string>, overrides: Partial<Corridor> = {}): Corridor => ({
  country: "UG",
  currency: "UGX",
  direction: "payout",
  method: "momo",
  active: true,
  providers,
  networks: ["MTN", "AIRTEL"],
  minimum: minor(500n),
  maximum: null,
  customerAction: "none",
  requiresRedirectUrl: false,
  requiresMsisdn: true,
  preference: "order",
  requiresName: false,
  destinationCurrencies: ["UGX"],
  availability: "operational",
  inactiveReason: null,
  updatedAt: 0,
  ...overrides
})

/** Corridors in memory; what is put is seen at once. */
export const fakeCorridors = (corridors: ReadonlyArray<Corridor>, late: "none" | "lists" | "all" = "none") => {
  const answered = <A>(isLate: boolean, answer: () => A) =>
    isLate ? Effect.die(new TooLate("the corridors")) : Effect.sync(answer)
  const nameOf = ({ country, currency, direction, method }: CorridorKey) => `${country} ${currency} ${direction} ${method}`
  const byName = new Map(corridors.map((corridor) => [nameOf(corridor), corridor]))
  return fake(Corridors, {
    list: answered(late !== "none", () => [...byName].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row)),
    find: (key) => answered(late === "all", () => Option.fromUndefinedOr(byName.get(nameOf(key)))),
    put: (corridor) =>
      Effect.sync(() => {
        byName.set(nameOf(corridor), corridor)
        return true
      })
  })
}

/** VelocityLimits where every tenant has the defaults and these caps, and no provider account has a ceiling. The fake ledger counts. */
export const fakeVelocityLimits = (caps: Effect.Effect<ReadonlyArray<AmountCap>> = Effect.succeed([])) =>
  fake(VelocityLimits, {
    own: () => Effect.succeed([]),
    caps: () => caps,
    used: (windows) => Effect.succeed(windows.map((window) => ({ ...window, used: window.bound }))),
    ceiling: () => Effect.succeed(Option.none()),
    giveBackCeiling: () => Effect.void
  })

/** Screening that denies these numbers and names, and nobody else. */
export const fakeScreening = (...denied: ReadonlyArray<string>) =>
  fake(Screening, {
    check: ({ names, numbers }) =>
      Effect.sync(() =>
        [...names, ...numbers.map(({ value }) => value)].some((one) => denied.includes(Redacted.value(one))) ? "denied" : "clear"
      )
  })

/** Denylist of these values, whatever their kind. Operators' changes are not expected. */
export const fakeDenylist = (...denied: ReadonlyArray<string>) =>
  fake(Denylist, {
    matches: (parties) =>
      Effect.sync(() => {
        const found = parties.filter(({ values }) => values.some(({ value }) => denied.includes(Redacted.value(value))))
        return new Set(found.map(({ kind }) => kind))
      })
  })
