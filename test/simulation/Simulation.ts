import { Cause, Context, Effect, Option, Random, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { credit } from "../../src/domain/Ledger.ts"
import { minor } from "../../src/domain/Money.ts"
import { defaultCapabilities } from "../../src/domain/Tenant.ts"
import { Corridors } from "../../src/services/ports/Corridors.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { LedgerAudit } from "../../src/services/ports/LedgerAudit.ts"
import { Limits } from "../../src/services/ports/Limits.ts"
import { Tenants } from "../../src/services/ports/Tenants.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { auditEntry } from "../support/GivenDatabase.ts"
import { seeded } from "../support/Random.ts"
import { MODES, TENANTS } from "./Client.ts"
import type { Ground, Ready } from "./Ground.ts"
import { judge, type Position, type Stored } from "./Judge.ts"
import { Story } from "./Story.ts"

export interface Outcome {
  readonly faults: ReadonlyArray<string>
  readonly operations: number
  readonly crashes: number
  readonly movements: number
  readonly reviewed: number
  /** Every choice, answer and event, without random names: the same seed and steps give the same text. */
  readonly story: string
}

const CREDIT = 100_000n
/** Payouts of tenant two in an hour of live time. */
const CAP = 2
const START = 1_795_248_000_000
const DAY = 24 * 3_600_000
/** Stories begin this far apart, so that no cache of a port remembers the one before. */
const APART_MS = 60 * DAY
const BEGINNINGS = 3_000
/** Longer than a port remembers a tenant's limits. */
const SETTLED_MS = 2_000

const names = TENANTS.flatMap((appId) => MODES.map((mode) => ({ appId, mode, name: `${appId}/${mode}/UGX` })))

/** One run: the same seed and number of steps plays the same story. */
export const simulate = (seed: number, steps: number, ground: Ground): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const start = START + (seed % BEGINNINGS) * APART_MS
    yield* TestClock.setTime(start)
    yield* ground.clear
    yield* furnish(ground.ports[0], seed, start)
    yield* TestClock.setTime(start + SETTLED_MS)
    const story = new Story(seed, ground, start + SETTLED_MS)
    yield* story.begin
    for (let step = 0; step < steps; step++) yield* story.step
    yield* story.end
    return yield* outcomeOf(story, ground.ports[0])
  }).pipe(
    Effect.catchCause((cause) => Effect.succeed(broken(cause))),
    Effect.provide(TestClock.layer()),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Random.withSeed(`simulation ${seed}`)
  )

const broken = (cause: Cause.Cause<unknown>): Outcome => {
  const faults = [`the story broke: ${Cause.pretty(cause)}`]
  return { faults, operations: 0, crashes: 0, movements: 0, reviewed: 0, story: "" }
}

/** Tenants with float, limits and endpoints, and corridors in an order that the seed chooses. */
const furnish = Effect.fnUntraced(function* (ports: Ready, seed: number, at: number) {
  const corridors = Context.get(ports, Corridors)
  const random = seeded(seed)
  for (const row of (yield* corridors.list).filter(({ country, method }) => country === "UG" && method === "momo")) {
    const providers = random.chance(0.5) ? (["alpha", "beta"] as const) : (["beta", "alpha"] as const)
    yield* corridors.put({ ...row, providers }, auditEntry())
  }
  for (const name of TENANTS) {
    const row = { appId: AppId.make(name), status: "active" as const, capabilities: defaultCapabilities, pinned: null }
    yield* Context.get(ports, Tenants).create({ ...row, createdAt: at }, auditEntry())
  }
  for (const one of names) {
    const { mode } = one
    const appId = AppId.make(one.appId)
    const amount = minor(CREDIT)
    const money = { appId, mode, currency: "UGX", direction: "credit", amount, externalId: `float ${mode}`, note: "" } as const
    yield* Context.get(ports, FloatLedger).adjust({ ...money, at, entry: credit("UGX", amount), audit: auditEntry() })
    const secret = Redacted.make(`whsec_${Buffer.alloc(32, 1).toString("base64")}`)
    const wish = { appId, mode, url: `https://${appId}.example/`, events: everyEvent, enabled: true } as const
    yield* Context.get(ports, WebhookEndpoints).put(wish, secret, null, at, auditEntry())
  }
  const limit = { mode: "live", direction: "payout", window: "hour", count: CAP } as const
  yield* Context.get(ports, Limits).set(AppId.make(TENANTS[1]), limit, auditEntry())
})

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

const outcomeOf = Effect.fnUntraced(function* (story: Story, ports: Ready): Effect.fn.Return<Outcome> {
  const { crashes, endpoint, log, reviewed, told, world } = story
  const records = new Map<string, Stored>()
  for (const { reference } of told) {
    if (reference === undefined) continue
    const found = yield* Context.get(ports, Transactions).byReference(Reference.make(reference))
    if (Option.isNone(found)) continue
    const { transaction } = found.value
    const { createdAt, needsReview, status } = transaction
    const returned = transaction.kind === "payout" && transaction.returned !== null
    records.set(reference, { status, needsReview, returned, createdAt })
  }
  const positions = new Map<string, Position>()
  for (const { appId, mode } of names)
    for (const own of yield* Context.get(ports, FloatLedger).positions(AppId.make(appId), mode)) {
      const { available, collected, currency, paidOut, providerFees: fees, reserved } = own
      positions.set(`${appId}/${mode}/${currency}`, { available, reserved, collected, paidOut, fees })
    }
  const report = yield* Context.get(ports, LedgerAudit).verify
  const faults = judge({
    credits: new Map(names.map(({ name }) => [name, CREDIT])),
    caps: new Map([[`${TENANTS[1]}/live`, CAP]]),
    told,
    movements: world.movements,
    events: endpoint.events,
    records,
    positions,
    ledger: report.differences.map((difference) => JSON.stringify(difference))
  })
  const ends = [
    ...[...positions].map(([name, own]) => `${name} ${Object.values(own).join(" ")}`),
    ...[...records].map(([reference, { status }]) => `${reference} ${status}`)
  ]
  return {
    faults,
    operations: told.length,
    crashes,
    movements: world.movements.length,
    reviewed,
    story: withoutNames([...log, ...ends].join("\n"))
  }
})

/** References are random: each is named by the place in which it was first seen. */
const withoutNames = (text: string): string => {
  const seen = new Map<string, string>()
  return text.replace(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, (name) => {
    const known = seen.get(name) ?? `#${seen.size}`
    seen.set(name, known)
    return known
  })
}
