import { Context, Effect, type Redacted, type Scope } from "effect"
import type { Currency } from "../../../src/domain/Currency.ts"
import { AppId } from "../../../src/domain/Ids.ts"
import { credit } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import { defaultCapabilities } from "../../../src/domain/Tenant.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import type { Abilities, Way } from "../../../test/providers/contract/Orders.ts"
import { auditEntry } from "../../../test/support/TestDatabase.ts"
import { START } from "../../simulation/Fixtures.ts"
import { makeTestbed, type Ready, type Testbed } from "../../simulation/Testbed.ts"
import { oneOfEach } from "./Plan.ts"

/** Cases that seeds choose and that are played at the same time: each has a tenant of its own, so that each has a float of its own. */
export const AT_ONCE = 20
/** Beside them, for the stories. */
const STORIES_AT_MOST = 12
/** What each tenant begins with, in each currency that its case needs. */
export const CREDIT = 10_000_000n

export const tenantOf = (number: number): AppId => AppId.make(`case-${number}`)

export const openGround = (url: Redacted.Redacted): Effect.Effect<Testbed, never, Scope.Scope> => makeTestbed(url, insertTenants)

const insertTenants = Effect.fnUntraced(function* (ports: Ready) {
  const row = { status: "active", capabilities: [...defaultCapabilities, "balances"], pinned: null, createdAt: START } as const
  const tenants = Array.from({ length: AT_ONCE + STORIES_AT_MOST }, (_, number) => tenantOf(number))
  for (const appId of tenants) yield* Context.get(ports, Tenants).create({ ...row, appId }, auditEntry())
})

/** Gives the tenant of a case its float. */
export const fund = (ports: Ready, number: number, currencies: ReadonlyArray<Currency>): Effect.Effect<void> =>
  Effect.forEach(
    currencies,
    (currency) => {
      const amount = minor(CREDIT)
      const position = { appId: tenantOf(number), currency, amount, mode: "live", direction: "credit", at: START } as const
      const entry = { externalId: `float ${currency}`, note: "", entry: credit(currency, amount), audit: auditEntry() }
      return Context.get(ports, FloatLedger).adjust({ ...position, ...entry })
    },
    { discard: true }
  )

/** The corridors that a provider serves lead to it, and from there to another one. */
export const leadingTo = (providers: ReadonlyArray<string>, { charges, payouts }: Abilities): ReadonlyArray<string> => [
  ...groups(payouts).map((ways) => corridorRow(providers, "payout", ways)),
  ...groups(oneOfEach(charges)).map((ways) => corridorRow(providers, "collection", ways))
]

const groups = (ways: ReadonlyArray<Way>): ReadonlyArray<ReadonlyArray<Way>> => {
  const of = new Map<string, Array<Way>>()
  for (const way of ways) {
    const key = `${way.country} ${way.currency} ${way.method}`
    of.set(key, [...(of.get(key) ?? []), way])
  }
  return [...of.values()]
}

const corridorRow = (providers: ReadonlyArray<string>, direction: "payout" | "collection", ways: ReadonlyArray<Way>): string => {
  const [first] = ways
  if (first === undefined) return ""
  const { country, currency, method, redirect } = first
  const networks = ways.flatMap((way) => {
    const party = way.party("1234")
    return party._tag === "momo" ? [party.network] : []
  })
  const [action, key] = [redirect ? "redirect" : "handset_pin", `'${country}', '${currency}', '${direction}', '${method}'`]
  return `DELETE FROM corridors WHERE (country, currency, direction, method) = (${key});
    INSERT INTO corridors (country, currency, direction, method, active, networks, customer_action, requires_redirect_url, requires_msisdn,
      destination_currencies, availability, updated_at, providers)
    VALUES (${key}, true, '{${[...new Set(networks)].join(",")}}', '${action}', ${redirect}, false, '{${currency}}', 'operational', now(), '{${providers.join(",")}}');`
}
