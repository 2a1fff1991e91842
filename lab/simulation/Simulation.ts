import { Cause, Clock, Context, Effect, Option, Random, References } from "effect"
import { TestClock } from "effect/testing"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { Transactions } from "../../src/services/ports/Transactions.ts"
import { seeded } from "../../test/support/Random.ts"
import { Swaps } from "./Accounts.ts"
import { TENANTS } from "./Client.ts"
import { isDeclared } from "./Declared.ts"
import { CAP, CREDIT, POSITIONS, START, settingOf } from "./Fixtures.ts"
import { judge, judgeRestored } from "./Judge.ts"
import { ledgerDifferences } from "./LedgerCheck.ts"
import { MOVERS } from "./Movers.ts"
import { isRestored, restoredSetting, restoring } from "./Restores.ts"
import type { Position, Stored } from "./Seen.ts"
import { Story } from "./Story.ts"
import type { Ready, Setting, Testbed } from "./Testbed.ts"
import { isUnsteady, offAtMost } from "./Unsteady.ts"

export interface Outcome {
  readonly faults: ReadonlyArray<string>
  readonly operations: number
  readonly crashes: number
  /** How often the database's clock jumped. */
  readonly jumps: number
  readonly movements: number
  readonly reviewed: number
  /** Every choice, answer and event, without random names: the same seed and steps give the same text. */
  readonly story: string
}

const DAY = 24 * 3_600_000
/** Stories begin this far apart. */
const APART_MS = 60 * DAY
/** As many as there are until the year has more digits than PostgreSQL reads. */
const BEGINNINGS = 45_000

/** One run: the same seed and number of steps plays the same story. */
export const simulate = (seed: number, steps: number, testbed: Testbed): Effect.Effect<Outcome> => {
  const start = START + (1 + (seed % BEGINNINGS)) * APART_MS
  const play = Effect.gen(function* () {
    const movers = isDeclared(seed) ? testbed.declared : MOVERS
    const setting = isRestored(seed) ? restoredSetting(seeded(seed)) : settingOf(seeded(seed), movers)
    yield* testbed.clear(setting)
    const story = new Story(seed, testbed, { ...setting, movers }, start)
    yield* story.stage.begin
    const swaps = new Swaps(seed, story)
    const between = isRestored(seed) ? restoring(story, testbed, steps) : () => Effect.void
    for (let step = 0; step < steps; step++) {
      yield* between(step)
      yield* story.stage.databaseClockMayJump
      yield* story.stage.machineMaySleep
      yield* Effect.andThen(swaps.one, story.step)
    }
    yield* swaps.over
    yield* story.stage.machines.wake
    yield* story.end
    return yield* outcomeOf(story, setting, testbed.ports[0])
  })
  return TestClock.setTime(start).pipe(
    Effect.andThen(Clock.Clock),
    Effect.flatMap((clock) => Effect.provideService(play, Clock.Clock, testbed.clockAfter(clock))),
    Effect.catchCause((cause) => Effect.succeed(broken(cause))),
    Effect.provide(TestClock.layer()),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Random.withSeed(`simulation ${seed}`)
  )
}

const broken = (cause: Cause.Cause<unknown>): Outcome => {
  const faults = [`the story broke: ${Cause.pretty(cause)}`]
  return { faults, operations: 0, crashes: 0, jumps: 0, movements: 0, reviewed: 0, story: "" }
}

const outcomeOf = Effect.fnUntraced(function* (story: Story, setting: Setting, ports: Ready): Effect.fn.Return<Outcome> {
  const { codeRequests, endpoint, reviewed, told, world } = story
  const { commits, crashes, jumps, log, openings, placings } = story.stage
  const records = new Map<string, Stored>()
  for (const { reference } of told) {
    if (reference === undefined) continue
    const found = yield* Context.get(ports, Transactions).byReference(Reference.make(reference))
    if (Option.isNone(found)) continue
    const { transaction } = found.value
    const { completedAt, createdAt, needsReview, status } = transaction
    const provider = transaction.kind === "exchange" ? "" : transaction.provider
    const returned = transaction.kind === "payout" && transaction.returned !== null
    const end = commits.find((one) => one.reference === reference && one.completedAt === completedAt)
    // What a person rules is decided and committed at the same moment.
    const endedAt = completedAt === null ? null : (end?.at ?? completedAt)
    records.set(reference, { status, needsReview, returned, provider, createdAt, endedAt })
  }
  const positions = new Map<string, Position>()
  for (const { appId, mode } of POSITIONS)
    for (const own of yield* Context.get(ports, FloatLedger).positions(AppId.make(appId), mode)) {
      const { available, collected, currency, owed, paidOut, providerFees: fees, reserved } = own
      // What was taken back after it was paid out is owed by the tenant: the part of its receivable that its float does not cover.
      positions.set(`${appId}/${mode}/${currency}`, {
        available: available - (owed ?? 0n),
        reserved,
        collected,
        paidOut,
        fees
      })
    }
  const differences = yield* ledgerDifferences(ports)
  const decide = isRestored(story.seed) ? judgeRestored : judge
  const faults = decide({
    credits: new Map(POSITIONS.map(({ name }) => [name, CREDIT])),
    offAtMostMs: offAtMost(story.seed),
    caps: new Map([[`${TENANTS[1]}/live`, CAP]]),
    ceiling: setting.ceiling,
    needsCode: setting.customerAction === "otp",
    told,
    codeRequests,
    wrongCodes: world.codes.wrong,
    unrefusedCodes: world.codes.unrefused,
    movements: world.movements,
    strays: world.accounts.strays,
    placings,
    arrived: world.arrived,
    openings,
    freezes: story.events?.freezes ?? [],
    commits,
    events: endpoint.events,
    records,
    positions,
    // Records of clocks that were further apart than `ledger verify` grants say so.
    ledger: differences
      .filter(({ found }) => !isUnsteady(story.seed) || found !== "it was completed before it was made")
      .map((difference) => JSON.stringify(difference))
  })
  const ends = [
    ...[...positions].map(([name, own]) => `${name} ${Object.values(own).join(" ")}`),
    ...[...records].map(([reference, { status }]) => `${reference} ${status}`)
  ]
  return {
    faults,
    operations: told.length,
    crashes,
    jumps,
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
