import { Effect } from "effect"
import type { Random } from "../../test/support/Random.ts"
import type { Operation } from "./Client.ts"
import { isDeclared } from "./Declared.ts"
import { executedOf, type Movement } from "./Movement.ts"
import { MOVERS } from "./Movers.ts"
import type { Seen } from "./Seen.ts"
import type { Story } from "./Story.ts"
import type { Setting, Testbed } from "./Testbed.ts"
import { isUnsteady } from "./Unsteady.ts"

/**
 * In stories of these seeds the database is lost once and restored from a backup; both nodes die with it. Money moves at one provider, which
 * promises to take a reference once; tenants repeat all that they sent since the backup.
 */
export const RESTORED_FROM = 3_000_000

export const isRestored = (seed: number): boolean => seed >= RESTORED_FROM && !isUnsteady(seed) && !isDeclared(seed)

/** Where the next provider of a corridor got what another one had before, it would be a new payment: docs/operations/durability.md says what is done then. */
export const restoredSetting = (random: Random): Setting => {
  const promising = MOVERS.filter(({ guarantees }) => guarantees.clientReference !== "none").map(({ name }) => name)
  const [first = "", ...others] = promising
  const one = [random.pick([first, ...others])]
  return { payouts: one, collections: one, customerAction: "handset_pin", ceiling: null }
}

/** Its tenant repeats it, and what was answered or told before binds nobody: what had failed before may succeed. */
const isForgotten = ({ answers, askedAt }: Operation, since: number): boolean =>
  askedAt >= since || answers.some(({ answeredAt }) => answeredAt >= since)

/** Backed up after a quarter of the steps, lost after two thirds. */
export const restoring = (story: Story, testbed: Testbed, steps: number) => {
  let [backedUpAt, heard] = [Number.POSITIVE_INFINITY, 0]
  const backUp = Effect.suspend(() => {
    backedUpAt = story.stage.now
    heard = story.endpoint.events.length
    return testbed.backUp
  })
  const lose = Effect.gen(function* () {
    for (const { node } of story.stage.processes) yield* node.kill
    yield* testbed.restore
    // The nodes are started once the provider answers: a repeat that does not reach it fails as never sent.
    story.world.calm = true
    story.world.arrived.clear()
    yield* story.stage.raiseTheDead
    for (const one of story.told.filter((one) => isForgotten(one, backedUpAt))) {
      one.answers.splice(0)
      one.settled = undefined
    }
    story.endpoint.events.splice(heard)
  })
  return (step: number): Effect.Effect<void> => {
    if (step === Math.floor(steps / 4)) return backUp
    return step === Math.floor((steps * 2) / 3) ? lose : Effect.void
  }
}

/**
 * A repeat that is refused for good before it comes to the provider, for want of float or by a cap, says nothing of the first one: operators
 * find that in the provider's account, and book it. Where the first one's answer was lost, too, nobody was told its reference. The same of one
 * that fails because it never left: its process died or slept before the call.
 */
export const leftToOperators = ({ arrived, movements, records, told }: Seen): ReadonlySet<string> =>
  new Set(
    told.flatMap(({ amount, kind, mode, reference, settled }) => {
      const record = reference === undefined ? undefined : records.get(reference)
      const neverLeft = reference !== undefined && record?.status === "failed" && !arrived.has(reference)
      if (!neverLeft && (settled !== "refused" || record !== undefined)) return []
      const isOfIt = (moved: Movement) => moved.kind === kind && moved.mode === mode && moved.amount === amount
      // Its reference was told before the loss, and its repeat made no record.
      if (reference !== undefined) return neverLeft && executedOf(movements, reference).length === 0 ? [] : [reference]
      const moved = movements.filter(isOfIt).map((one) => one.reference)
      return moved.filter((one) => !records.has(one) && executedOf(movements, one).length > 0)
    })
  )
