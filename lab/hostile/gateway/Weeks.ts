import { Context, Effect, Exit } from "effect"
import type { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Collection } from "../../../src/domain/Payment.ts"
import type { Resolution } from "../../../src/domain/Resolution.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import type { SimulatedTransaction } from "../../../src/simulator/Facts.ts"
import { collectionFee } from "../../../src/simulator/Fees.ts"
import type { Random } from "../../../test/support/Random.ts"
import { auditEntry } from "../../../test/support/TestDatabase.ts"
import type { Ready } from "../../simulation/Testbed.ts"
import { pickOf } from "../Case.ts"
import type { HostileLine } from "../HostileLine.ts"
import { rowMutations, shiftingPages } from "../RowMutations.ts"
import type { Case, Operation } from "./Case.ts"
import {
  type Claim,
  courses,
  disputesTold,
  hasLists,
  isNow,
  isShown,
  listed,
  listing,
  type Shown,
  type Standing,
  undone
} from "./Claims.ts"
import { type Gateway, rounds } from "./Gateway.ts"
import { tenantOf } from "./Ground.ts"
import type { Truth } from "./Judge.ts"
import type { Outside } from "./Outside.ts"
import { DAY, HOUR } from "./Plan.ts"
import { always, once, wholeMutations } from "./Reads.ts"
import { recordOf } from "./Requests.ts"

// The weeks after the payments: what succeeded is disputed and refunded, the gateway looks through the account as it always does, and a person rules
// on what it finds, who knows what the provider did. Nothing of it moves money by itself.

/** The ages at which the gateway looks, and what the lists are then. */
const LOOKS: ReadonlyArray<{ readonly ageMs: number; readonly line: "honest" | "shifting" | "a row" | "bad" }> = [
  { ageMs: 8 * DAY + HOUR, line: "honest" },
  { ageMs: 8 * DAY + 8 * HOUR, line: "shifting" },
  // A refund that is a row of its own is in the statement of its day.
  { ageMs: 9 * DAY + 9 * HOUR, line: "honest" },
  { ageMs: 14 * DAY + HOUR, line: "a row" },
  { ageMs: 20 * DAY + HOUR, line: "bad" },
  { ageMs: 20 * DAY + 3 * HOUR, line: "honest" },
  { ageMs: 30 * DAY + HOUR, line: "honest" },
  { ageMs: 45 * DAY + HOUR, line: "honest" },
  { ageMs: 46 * DAY + HOUR, line: "honest" }
]
/** From which age on it must have been heard, by whatever the account has. */
const HEARD_BY = { lists: 0, statement: 30 * DAY, questions: 45 * DAY } as const

interface Weeks {
  readonly ready: Ready
  readonly gateway: Gateway
  readonly outside: Outside
  readonly hasStatement: boolean
  /** Nothing of ours leads to a charge whose answer was lost. */
  readonly isUnaskable: boolean
  readonly cases: ReadonlyArray<Case>
  readonly truthOf: (reference: Reference) => Truth
  /** Goes on to the time at which the payments are so old. */
  readonly passTo: (ageMs: number) => Effect.Effect<void>
  readonly spoil: (twist: HostileLine["twist"]) => void
  readonly random: Random
}

/** A charge of which something became, or nothing, and what its person knows. */
interface Followed {
  readonly one: Case
  readonly operation: Operation
  readonly reference: Reference
  readonly claim: Claim | null
  /** The float of its tenant when it succeeded. */
  readonly before: bigint
  /** What the list showed when the person ruled on it, and what is booked of it. */
  ruledOn: Shown | null
  booked: bigint
}

/** How many charges were disputed or refunded, and what was wrong with what became of it here. */
export const weekFaults = Effect.fnUntraced(function* (weeks: Weeks) {
  const { gateway, hasStatement, outside, passTo } = weeks
  const by = hasLists(outside.name) ? "lists" : hasStatement ? "statement" : "questions"
  const all = yield* followed(weeks, by === "lists" ? courses : undone)
  const claims = all.flatMap(({ claim }) => (claim === null ? [] : [claim]))
  const faults: Array<string> = []
  let lastMs = 0
  for (const { ageMs, line } of LOOKS) {
    yield* passTo(ageMs)
    for (const claim of claims)
      if (isNow(claim, ageMs) === "taken" && isNow(claim, lastMs) !== "taken")
        yield* by === "questions" ? outside.turn(claim.charge) : outside.takeBack(claim.charge)
    const desk = listing(outside.name, claims, ageMs, line === "shifting")
    weeks.spoil(listed(desk, lineOf(line, weeks.random)))
    for (const callback of disputesTold(outside.name, claims, ageMs, weeks.random))
      yield* gateway.work(Effect.exit(gateway.services.ingress.receive(outside.name, "live", callback)), (exit) => {
        if (Exit.isFailure(exit)) faults.push(`an authentic callback about a dispute was refused: ${exit.cause}`)
      })
    yield* rounds(gateway.work, gateway.services.ingress.round)
    yield* gateway.work(gateway.services.clawbackSweep)
    yield* rounds(gateway.work, gateway.services.poller.round)
    weeks.spoil(null)
    const isHeard = line === "honest" && ageMs >= HEARD_BY[by]
    for (const each of all) faults.push(...(yield* faultsAt(weeks, each, { ageMs, isHeard, isSpoiled: line === "a row" })))
    lastMs = ageMs
  }
  return { claimed: claims.length, faults }
})

const lineOf = (line: (typeof LOOKS)[number]["line"], random: Random): HostileLine["twist"] =>
  ({
    honest: () => null,
    shifting: () => shiftingPages(random),
    "a row": () => once(pickOf(random, rowMutations), random),
    bad: () => always(pickOf(random, unreadable), random)
  })[line]()

/** Nobody can read a list of it: the look through the account has not been made. */
const unreadable = wholeMutations.filter(({ name }) => /a page|without a body/.test(name))

/** The charges that succeeded, as their provider has them, each with its course. */
const followed = Effect.fnUntraced(function* ({ cases, isUnaskable, outside, ready, truthOf }: Weeks, played: typeof undone) {
  const all: Array<Followed> = []
  // One of each tenant: its float shows what became of it.
  for (const one of cases)
    for (const operation of one.operations.slice(0, 1)) {
      const { reference } = operation
      const record = yield* recordOf(ready, operation)
      if (reference === undefined || !isPaid(record) || record.provider !== outside.name) continue
      const { executions } = truthOf(reference)
      const [charge] = outside.transactions(reference)
      // Whoever turned it, or sent it back, did something of his own.
      if (charge === undefined || charge.status !== "successful" || one.plan.turnsAfterMs !== null || executions.length !== 1)
        continue
      // Nothing but its payment ever led to it, which is listed for two days.
      const isUnnamed = isUnaskable && record.providerReference === null
      const course = isUnnamed ? null : (played[all.length % played.length] ?? null)
      const claim = course === null ? null : { course, charge, amount: charge.amount }
      const before = yield* floatOf(ready, one, charge)
      all.push({ one, operation, reference, claim, before, ruledOn: null, booked: 0n })
    }
  return all
})

const isPaid = (record: Effect.Success<ReturnType<typeof recordOf>>): record is Collection =>
  record?.kind === "collection" && record.status === "successful" && !record.needsReview

const floatOf = (ready: Ready, { number }: Case, { currency }: SimulatedTransaction) =>
  Effect.map(Context.get(ready, FloatLedger).positions(tenantOf(number), "live"), (positions) =>
    positions
      .filter((position) => position.currency === currency)
      .reduce((sum, { available, receivable = 0n, reserved }) => sum + available + reserved - receivable, 0n)
  )

interface Look {
  readonly ageMs: number
  /** Whatever its list shows has to be known. */
  readonly isHeard: boolean
  /** A row may say what is not so. */
  readonly isSpoiled: boolean
}

const faultsAt = Effect.fnUntraced(function* (weeks: Weeks, each: Followed, { ageMs, isHeard, isSpoiled }: Look) {
  const { claim, one, operation, reference } = each
  const name = `${one.plan.name}, ${claim === null ? "undisputed" : claim.course.name}, on day ${Math.floor(ageMs / DAY)}`
  const record = yield* recordOf(weeks.ready, operation)
  if (record?.kind !== "collection") return [`${name}: it is not recorded`]
  const shown = claim === null ? null : isShown(claim, ageMs)
  // What is over without a loss, and what is booked already, needs nobody; but what is won after all does.
  const isNews = shown !== null && shown !== each.ruledOn && (shown === "kept") === each.booked > 0n
  const mayBeNews = isNews || (isSpoiled && shown !== null)
  if (record.needsReview && !mayBeNews) return [`${name}: nothing for a person to decide`]
  if (!record.needsReview && isNews && isHeard) return [`${name}: nobody was told that it is ${shown}`]
  const faults: Array<string> = []
  const unruled = yield* floatOf(weeks.ready, one, claimedOf(weeks, each))
  if (unruled !== each.before - each.booked) faults.push(`${name}: the float is ${unruled} before anybody ruled`)
  if (record.needsReview && claim !== null) {
    each.ruledOn = shown
    const ruling = rulingOf(claim, isNow(claim, ageMs), each.booked > 0n)
    each.booked = ruling.booked
    faults.push(...(yield* ruled(weeks, { operation, reference, ruling })).map((fault) => `${name}: ${fault}`))
  }
  const [float, right] = [yield* floatOf(weeks.ready, one, claimedOf(weeks, each)), each.before - each.booked]
  return float === right ? faults : [...faults, `${name}: the float is ${float}, and ${right} is right`]
})

const claimedOf = ({ outside }: Weeks, { claim, reference }: Followed): SimulatedTransaction => {
  const charge = claim?.charge ?? outside.transactions(reference)[0]
  if (charge === undefined) throw new Error(`${reference} is not there any more`)
  return charge
}

/** What somebody who sees the provider's own pages says, and what it takes from the tenant. */
const rulingOf = ({ amount, course }: Claim, is: Standing | null, isBooked: boolean) => {
  const [part, fee] = [amount / course.share, collectionFee(amount)]
  if (is !== "taken" && isBooked) return { outcome: "successful", amount: minor(amount), fee: minor(fee), booked: 0n } as const
  if (is !== "taken") return { outcome: "successful", amount: null, fee: null, booked: 0n } as const
  if (course.share === 1n) return { outcome: "failed", amount: null, fee: null, booked: amount - fee } as const
  return { outcome: "successful", amount: minor(amount - part), fee: minor(fee), booked: part } as const
}

interface Ruled extends Pick<Followed, "operation" | "reference"> {
  readonly ruling: Pick<Resolution, "outcome" | "amount" | "fee">
}

const ruled = Effect.fnUntraced(function* ({ gateway }: Weeks, { operation, reference, ruling }: Ruled) {
  const { amount, fee, outcome } = ruling
  const resolution: Resolution = { outcome, amount, fee, evidence: "the provider's own pages" }
  const faults: Array<string> = []
  yield* gateway.work(Effect.exit(gateway.services.review.resolve(reference, resolution, auditEntry())), (exit) => {
    if (Exit.isFailure(exit)) faults.push(`a person could not rule: ${exit.cause}`)
    else operation.commits.push({ at: exit.value.updatedAt, record: exit.value })
  })
  return faults
})
