import { Clock, Context, Effect, Option } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { type ChangesBounds, ChangesNotVerifiable, type LedgerDifference } from "../../services/ports/LedgerVerification.ts"
import {
  askedAgain,
  askedBySmall,
  askedOfChanges,
  type Changes,
  changesRead,
  isAskedOfChanges,
  isAskedOnce,
  valuesOf
} from "./LedgerChanges.ts"
import type { LedgerRule } from "./LedgerRule.ts"
import { type PositionFolds, SETTLED_AFTER_MS } from "./PositionFolds.ts"
import { joined, MAX_DIFFERENCES, unreadOf, type VerificationSteps } from "./VerificationSteps.ts"

/** How many changed records are checked at a time. */
export const ChangesSize = Context.Reference<number>("gateway/persistence/ChangesSize", { defaultValue: () => 2_000 })
/** The first interval to examine. The next one is twice as long after few changes, and half as long after many. */
const FIRST_STRETCH_MS = 600_000
const SHORTEST_STRETCH_MS = 1_000
const LITTLE = 5_000
const MUCH = 20_000
/** The sums behind positions are advanced by this much at a time. */
const FOLD_STRETCH_MS = 3_600_000

interface Parts {
  readonly folds: PositionFolds
  readonly steps: VerificationSteps
  readonly isDistributed: boolean
  readonly rules: ReadonlyArray<LedgerRule>
}

/**
 * Verifies what changed since a given time: positions against the stored sums, every written record by the rules, and the rules
 * that always apply to everything.
 */
export const changedVerification = (sql: SqlClient.SqlClient, { folds, isDistributed, rules, steps }: Parts) => {
  const { breaches, orUnread } = steps
  const ofChanges = rules.filter(isAskedOfChanges)
  const once = rules.filter(isAskedOnce)
  const rest = rules.filter((one) => !isAskedOfChanges(one) && !isAskedOnce(one))

  const base = Effect.gen(function* () {
    if (isDistributed)
      return yield* new ChangesNotVerifiable("changes alone cannot be checked on Citus: run gateway ledger verify --minutes")
    const marks = yield* folds.marks
    if (Option.isNone(marks))
      return yield* new ChangesNotVerifiable(
        "no verification of all was complete yet, which changes go on from: run gateway ledger verify"
      )
    return marks.value
  })

  const movedTo = Effect.fnUntraced(function* (from: Instant, to: Instant) {
    for (let at = from; at < to; ) {
      at = Math.min(at + FOLD_STRETCH_MS, to)
      yield* steps.write(folds.moveTo(at))
    }
  })

  const positions = steps.changes(
    Effect.gen(function* () {
      const marks = yield* folds.marks
      const foldedUpto = Option.isNone(marks) ? 0 : marks.value.foldedUpto
      return yield* Effect.forEach(rest, (one) => breaches(one, folds.ofAll(MAX_DIFFERENCES), [iso(foldedUpto)]))
    })
  )

  const askedOf = Effect.fnUntraced(function* (changes: Changes) {
    const found: Array<LedgerDifference> = []
    for (const one of ofChanges) {
      const statement = askedOfChanges(one, MAX_DIFFERENCES)
      const first = yield* breaches(one, statement, valuesOf(changes, statement))
      const again = first.length === 0 ? null : askedAgain(one, MAX_DIFFERENCES)
      if (again === null) found.push(...first)
      // The second query finds everything that the first found, except what only the first could not read.
      else found.push(...unreadOf(first), ...(yield* breaches(one, again, valuesOf(changes, again))))
    }
    return found
  })

  const checkStretch = Effect.fnUntraced(function* (from: Instant, to: Instant | null) {
    const { all, unread } = yield* changesRead(sql, steps, namesOf(ofChanges), { from, to })
    const size = yield* ChangesSize
    let found = unread
    for (let at = 0; at < all.length || at === 0; at += size) {
      const part = all.slice(at, at + size)
      const changes = { appIds: part.map(({ appId }) => appId), references: part.map(({ reference }) => reference), from, to }
      found = joined(found, yield* steps.changes(askedOf(changes)))
    }
    return { found, count: all.length }
  })

  return Effect.fn("LedgerVerification.verifyChanged")(function* ({ onStep, since: asked }: ChangesBounds) {
    const { checkedUpto, foldedUpto } = yield* base
    const startedAt = yield* Clock.currentTimeMillis
    const since = asked ?? checkedUpto
    const settled = startedAt - SETTLED_AFTER_MS
    const work = Effect.gen(function* () {
      const { unread } = yield* orUnread(namesOf(rest), movedTo(foldedUpto, settled))
      let differences: ReadonlyArray<LedgerDifference> = unread.length > 0 ? unread : (yield* positions).flat()
      for (const one of once)
        differences = joined(differences, yield* steps.changes(breaches(one, askedBySmall(one, MAX_DIFFERENCES), [])))
      let seen = 0
      let from = since
      let stretch = FIRST_STRETCH_MS
      for (let isLast = false; !isLast; ) {
        isLast = from + stretch >= startedAt
        const to = isLast ? null : from + stretch
        const { count, found } = yield* checkStretch(from, to)
        differences = joined(differences, found)
        seen += count
        if (differences.length === 0 && since <= checkedUpto) yield* folds.checkedTo(Math.min(to ?? settled, settled))
        yield* onStep({ since, seen, reached: to })
        from = to ?? startedAt
        if (count < LITTLE) stretch *= 2
        else if (count > MUCH) stretch = Math.max(SHORTEST_STRETCH_MS, stretch / 2)
      }
      const inOrder = rules.flatMap(({ rule }) => differences.filter((one) => one.rule === rule))
      return { ok: differences.length === 0, differences: inOrder, since, seen, reached: null, startedAt }
    })
    return yield* Effect.orDie(work)
  })
}

const namesOf = (rules: ReadonlyArray<LedgerRule>): ReadonlyArray<string> => rules.map(({ rule }) => rule)
