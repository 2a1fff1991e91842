import { Context, Effect, Redacted } from "effect"
import { AppId } from "../../src/domain/Ids.ts"
import { credit } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import { defaultCapabilities } from "../../src/domain/Tenant.ts"
import { DEFAULT_ENDPOINT } from "../../src/domain/WebhookEndpoint.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { VelocityLimits } from "../../src/services/ports/VelocityLimits.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import type { Random } from "../../test/support/Random.ts"
import { auditEntry } from "../../test/support/TestDatabase.ts"
import { CEILING_AT_MOST, MODES, TENANTS } from "./Client.ts"
import { MOVERS, type Mover } from "./Movers.ts"
import type { Ready, Setting } from "./Testbed.ts"

/** The float that each tenant begins with in each mode. */
export const CREDIT = 100_000n
/** Payouts of tenant two in an hour of live time, and its charges of one payer. */
export const CAP = 2
export const START = 1_795_248_000_000
export const POSITIONS = TENANTS.flatMap((appId) => MODES.map((mode) => ({ appId, mode, name: `${appId}/${mode}/UGX` })))

/** Tenants with float, limits and endpoints. */
export const insertFixtures = Effect.fnUntraced(function* (ports: Ready) {
  for (const name of TENANTS) {
    const row = { appId: AppId.make(name), status: "active" as const, capabilities: defaultCapabilities, pinned: null }
    yield* Context.get(ports, Tenants).create({ ...row, createdAt: START }, auditEntry())
  }
  for (const one of POSITIONS) {
    const { mode } = one
    const appId = AppId.make(one.appId)
    const amount = minor(CREDIT)
    const money = { appId, mode, currency: "UGX", direction: "credit", amount, externalId: `float ${mode}`, note: "" } as const
    yield* Context.get(ports, FloatLedger).adjust({ ...money, at: START, entry: credit("UGX", amount), audit: auditEntry() })
    const secret = Redacted.make(`whsec_${Buffer.alloc(32, 1).toString("base64")}`)
    const wish = {
      appId,
      mode,
      name: DEFAULT_ENDPOINT,
      url: `https://${appId}.example/`,
      events: everyEvent,
      enabled: true
    } as const
    yield* Context.get(ports, WebhookEndpoints).put({ ...wish, secret, rotatesUntil: null, at: START, change: auditEntry() })
  }
  for (const limit of [
    { direction: "payout", window: "hour" },
    { direction: "collection", window: "destination" }
  ] as const)
    yield* Context.get(ports, VelocityLimits).set(AppId.make(TENANTS[1]), { mode: "live", ...limit, count: CAP }, auditEntry())
})

/** What payers do; saying a code has the most ways to go wrong. */
const ACTIONS = ["handset_pin", "otp", "otp", "redirect"] as const

/** Corridors in an order that the seed chooses, with payers who do what it chooses. */
export const settingOf = (random: Random, movers: ReadonlyArray<Mover> = MOVERS): Setting => {
  const payouts = order(random, movers)
  const collections = order(random, movers)
  const onPages = movers.some(({ declared, name }) => declared?.hasPages === true && collections.includes(name))
  const chosen = random.pick(ACTIONS)
  const customerAction = onPages ? "redirect" : chosen
  const ceiling = random.chance(0.25)
    ? { provider: payouts[0] ?? "", amount: CEILING_AT_MOST - BigInt(random.below(30_000)) }
    : null
  return { payouts, collections, customerAction, ceiling }
}

/** Two or three of them. */
const order = (random: Random, movers: ReadonlyArray<Mover>): ReadonlyArray<string> => {
  const shuffled: Array<string> = []
  for (const { name } of movers) shuffled.splice(random.below(shuffled.length + 1), 0, name)
  return shuffled.slice(0, 2 + random.below(2))
}

const everyEvent = [
  "collection.successful",
  "collection.failed",
  "collection.expired",
  "payout.successful",
  "payout.failed",
  "payout.returned",
  "fx.successful",
  "fx.failed"
] as const
