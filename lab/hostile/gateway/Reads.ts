import { Effect, Exit } from "effect"
import type { ModeDifference, ReconciliationReport } from "../../../src/services/settlement/Reconciliation.ts"
import type { Random } from "../../../test/support/Random.ts"
import { callerOf } from "../../simulation/Client.ts"
import { pickOf } from "../Case.ts"
import type { Asked, HostileLine, Twist } from "../HostileLine.ts"
import { lineMutations, type Mutation } from "../LineMutations.ts"
import { repeatedRows, rowMutations, shiftingPages } from "../RowMutations.ts"
import type { Gateway } from "./Gateway.ts"
import { tenantOf } from "./Ground.ts"

// What is read of a provider and moves nothing. One bad row takes one row with it, and what is bad as a whole is read once it is good again.

interface Reading {
  readonly provider: string
  readonly gateway: Gateway
  /** Whose banks it pays; undefined where it pays none. */
  readonly bankCountry: string | undefined
  readonly random: Random
  /** A minute: the account's pace lets nobody read everything at once. */
  readonly pause: Effect.Effect<void>
  /** What becomes of requests that are no case's own. */
  readonly spoil: (twist: HostileLine["twist"]) => void
}

/** Countries, balances and banks as a tenant reads them. */
export const listFaults = Effect.fnUntraced(function* (reading: Reading) {
  const { bankCountry, gateway, provider, random } = reading
  const { reference } = gateway.services
  const caller = callerOf({ appId: tenantOf(0), mode: "live" })
  const lists: Readonly<Record<string, Effect.Effect<ReadonlyArray<object>, { readonly _tag: string }>>> = {
    countries: reference.countries(caller),
    balances: reference.balances(caller),
    ...(bankCountry === undefined ? {} : { banks: reference.banks(caller, bankCountry) })
  }
  const faults: Array<string> = []
  for (const [name, list] of Object.entries(lists)) {
    yield* reading.pause
    const honest = yield* answerOf(gateway, list)
    if (Exit.isFailure(honest)) {
      // Not every provider can tell.
      if (!/unsupported/.test(String(honest.cause)))
        faults.push(`${provider}, ${name}: an honest line is not read: ${honest.cause}`)
      continue
    }
    if (honest.value.length === 0) faults.push(`${provider}, ${name}: an honest line lists nothing`)
    const told = (how: string, fault: string) => faults.push(`${provider}, ${name}, ${how}: ${fault}`)
    const row = pickOf(random, rowMutations)
    for (const { name: how, twist, lost } of [
      { name: row.name, twist: once(row, random), lost: 1 },
      { name: repeatedRows.name, twist: always(repeatedRows, random), lost: 0 },
      { name: "pages that shift", twist: shiftingPages(random), lost: 1 }
    ]) {
      const read = yield* spoiled(reading, twist, list)
      if (Exit.isFailure(read)) {
        told(how, `it is not read: ${read.cause}`)
        continue
      }
      const { left, right } = apart(honest.value, read.value)
      if (left.length > lost || right.length > lost) told(how, `without ${left.join(", ")}, with ${right.join(", ")}`)
    }
    const bad = pickOf(random, wholeMutations)
    yield* spoiled(reading, always(bad, random), list)
    yield* reading.pause
    const again = yield* answerOf(gateway, list)
    const isSame = Exit.isSuccess(again) && apart(honest.value, again.value).left.length === 0
    if (!isSame) told(bad.name, "it is not read once the line is honest again")
  }
  return faults
})

/** A day's reconciliation over a line that spoils rows and shifts pages, against that over an honest one. */
export const dayFaults = Effect.fnUntraced(function* (reading: Reading, start: number) {
  const { gateway, provider, random } = reading
  const day = new Date(start).toISOString().slice(0, 10)
  const reconciled = gateway.services.reconciliation.reconcile(provider, start, day)
  const honest = yield* answerOf(gateway, reconciled)
  if (Exit.isFailure(honest)) return { faults: [`${provider}: ${day} is not reconciled over an honest line`], report: null }
  const faults: Array<string> = []
  const [unreadable] = rowMutations
  const row = pickOf(random, rowMutations)
  const rows = [
    { name: unreadable.name, twist: once(unreadable, random), lost: 1 },
    { name: row.name, twist: once(row, random, random.below(2)), lost: 1 }
  ]
  for (const { name, twist, lost } of [...rows, { name: "pages that shift", twist: shiftingPages(random), lost: 0 }]) {
    const read = yield* spoiled(reading, twist, reconciled)
    const told = (fault: string) => faults.push(`${provider}, ${day}, ${name}: ${fault}`)
    if (Exit.isFailure(read)) {
      told(`the day is not reconciled: ${read.cause}`)
      continue
    }
    const { left, right } = apart(namesIn(honest.value), namesIn(read.value))
    // The row itself, and whose it was.
    if (left.length > lost || right.length > 2 * lost) told(`without ${left.join(", ")}, with ${right.join(", ")}`)
  }
  return { faults, report: honest.value }
})

/** Of an answer as a whole. A provider that asks to wait is left alone for as long as it says. */
export const wholeMutations = lineMutations.filter(({ name }) => !/ (429|503)/.test(name))

const namesIn = ({ differences, known }: ReconciliationReport): ReadonlyArray<object> =>
  [...differences, ...known].map(({ kind, provider_reference, reference }: ModeDifference) => ({
    kind,
    provider_reference,
    reference
  }))

const answerOf = <A, E>({ work }: Gateway, read: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    let answer: Exit.Exit<A, E> = Exit.die("it never ends")
    yield* work(Effect.exit(read), (exit) => void (answer = exit))
    return answer
  })

const spoiled = <A, E>({ gateway, pause, spoil }: Reading, twist: HostileLine["twist"], read: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    yield* pause
    spoil(twist)
    const answer = yield* answerOf(gateway, read)
    spoil(null)
    return answer
  })

/** The first answer that it changes, or the one after so many. */
export const once = ({ change }: Mutation, random: Random, spared = 0): ((asked: Asked) => Twist | null) => {
  let left = spared + 1
  return () =>
    left === 0
      ? null
      : {
          change: (spoken) => {
            const made = left === 0 ? null : change(spoken, random)
            if (made === null) return spoken
            left -= 1
            return left === 0 ? made : spoken
          }
        }
}

export const always =
  ({ change }: Mutation, random: Random) =>
  (): Twist => ({ change: (spoken) => change(spoken, random) ?? spoken })

/** What only one of two lists has, each as often as it has it. */
const apart = (one: ReadonlyArray<object>, other: ReadonlyArray<object>) => {
  const [left, right] = [one.map(textOf), other.map(textOf)]
  const without = (all: ReadonlyArray<string>, gone: ReadonlyArray<string>) =>
    gone.reduce((rest, text) => (rest.includes(text) ? rest.toSpliced(rest.indexOf(text), 1) : rest), all)
  return { left: without(left, right), right: without(right, left) }
}

/** As it is, whenever it was asked. */
const textOf = (row: object): string =>
  JSON.stringify({ ...row, asOf: 0 }, (_, value) => (typeof value === "bigint" ? String(value) : value))

/** What the provider's own account moved otherwise than it is here, and the day's report is silent about. */
export const unreported = (
  { differences, known }: ReconciliationReport,
  contrary: ReadonlyArray<string>,
  paidByHand: number
): ReadonlyArray<string> => {
  const unknown = differences.filter(({ kind }) => kind === "missing_here").length
  const told = new Set([...differences, ...known].map(({ reference }) => reference))
  return [
    ...(unknown < paidByHand ? [`${unknown} of ${paidByHand} payments by hand are missing here`] : []),
    ...contrary.flatMap((reference) => (told.has(reference) ? [] : [`the day's report says nothing of ${reference}`]))
  ]
}
