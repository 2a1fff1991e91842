import type { FinalAnswer, History, Look, Position } from "./History.ts"

// Held against a recorded history, without a rule of the gateway's. What each check proves, and what it does not, is said in
// docs/reliability/chaos.md under "Isolation".

export const anomalies = (history: History): ReadonlyArray<string> => [
  ...backward(history),
  ...ambiguousVersions(history),
  ...closings(history),
  ...answersOfKeys(history),
  ...unbalanced(history),
  ...shrinking(history)
]

const CLOSED = ["successful", "failed", "expired"]

/** Something that was known of an object from a time on, and a look at it that began later and must not show less. */
interface Known {
  readonly object: string
  readonly value: number
  readonly from: number
}

interface Shown {
  readonly object: string
  readonly value: number
  readonly begun: number
}

/** What shows less than was known before it began: an event at the instant of the beginning comes after it. */
const behind = (known: ReadonlyArray<Known>, shown: ReadonlyArray<Shown>) => {
  const waiting = known.toSorted((one, other) => one.from - other.from)
  const most = new Map<string, number>()
  let next = 0
  return shown
    .toSorted((one, other) => one.begun - other.begun)
    .flatMap((look) => {
      for (let one = waiting[next]; one !== undefined && one.from < look.begun; one = waiting[++next])
        most.set(one.object, Math.max(one.value, most.get(one.object) ?? one.value))
      const before = most.get(look.object)
      return before !== undefined && look.value < before ? [{ ...look, before }] : []
    })
}

/** A version that a client was shown, in a read, in the answer to its request or by an event, is the least that any later read shows. */
const backward = ({ answers, looks, plainKeys, told }: History): ReadonlyArray<string> => {
  const known = [
    ...looks.map(({ ended, reference, version }) => ({ object: reference, value: version, from: ended })),
    ...told.map(({ at, reference, version }) => ({ object: reference, value: version, from: at })),
    ...answers.flatMap(({ ended, key, reference, version }) =>
      reference === undefined || version === undefined || !plainKeys.has(key)
        ? []
        : [{ object: reference, value: version, from: ended }]
    )
  ]
  const shown = looks.map(({ begun, reference, version }) => ({ object: reference, value: version, begun }))
  return behind(known, shown).map(
    ({ before, object, value }) => `${object}: a read showed version ${value} after version ${before} was known`
  )
}

/** A version has one content. */
const ambiguousVersions = ({ looks }: History): ReadonlyArray<string> => {
  const first = new Map<string, string>()
  return looks.flatMap(({ reference, text, version }) => {
    const name = `${reference} version ${version}`
    const before = first.get(name) ?? text
    first.set(name, before)
    return before === text ? [] : [`${name}: two reads show it differently`]
  })
}

/** The least version in which each record was seen with one of these statuses. */
const firstAs = (seen: ReadonlyArray<Pick<Look, "reference" | "status" | "version">>, statuses: ReadonlyArray<string>) => {
  const first = new Map<string, { readonly version: number; readonly status: string }>()
  for (const { reference, status, version } of seen) {
    const before = first.get(reference)
    if (statuses.includes(status) && (before === undefined || version < before.version)) first.set(reference, { version, status })
  }
  return first
}

/**
 * A record closes once: no later version has another status, no two clients were told of different ends, and the end has one event. A charge that
 * has expired may still be confirmed as paid.
 */
const closings = ({ looks, told }: History): ReadonlyArray<string> => {
  const seen = [...looks, ...told]
  const [closed, expired] = [firstAs(seen, ["successful", "failed"]), firstAs(seen, ["expired"])]
  const reopened = seen.flatMap(({ reference, status, version }) => {
    const [end, late] = [closed.get(reference), expired.get(reference)]
    const against = [
      ...(end !== undefined && version >= end.version && status !== end.status ? [end] : []),
      ...(late !== undefined && version >= late.version && !["expired", "successful"].includes(status) ? [late] : [])
    ]
    return against.map((one) => `${reference}: ${one.status} in version ${one.version}, and ${status} in version ${version}`)
  })
  const events = new Map<string, string>()
  const doubled = told.flatMap(({ id, reference, status, type }) => {
    if (!CLOSED.includes(status) || !type.endsWith(`.${status}`)) return []
    const end = `${reference} ${status === "expired" ? "expired" : "closed"}`
    const before = events.get(end) ?? id
    events.set(end, before)
    return before === id ? [] : [`${reference}: two events close it, ${before} and ${id}`]
  })
  return [...new Set([...reopened, ...doubled])]
}

/** A key has one final answer; where an earlier answer was ambiguous or lost, it may show the record as it is by then, and no older. */
const answersOfKeys = ({ answers, plainKeys }: History): ReadonlyArray<string> => {
  const first = new Map<string, FinalAnswer>()
  const troubles = answers
    .toSorted((one, other) => one.ended - other.ended)
    .flatMap((answer) => {
      const { key, reference, status, text } = answer
      const before = first.get(key) ?? answer
      first.set(key, before)
      if (before.status !== status) return [`${key}: answered ${before.status}, and later ${status}`]
      if (before.reference !== reference) return [`${key}: answered with two references`]
      return plainKeys.has(key) && before.text !== text ? [`${key}: two final answers with different bytes`] : []
    })
  const older = behind(
    answers.flatMap(({ ended, key, version }) => (version === undefined ? [] : [{ object: key, value: version, from: ended }])),
    answers.flatMap(({ begun, key, version }) => (version === undefined ? [] : [{ object: key, value: version, begun }]))
  )
  return [...troubles, ...older.map(({ before, object, value }) => `${object}: answered version ${before}, and later ${value}`)]
}

const member = ({ members }: Position, name: string): number => members[`${name}_minor`] ?? 0

/** What came back of payouts that had been successful: no member of the position, and all that is left to explain what is there. */
const returnedOf = (position: Position, credit: number): number => {
  const { available, collected, fees, paid, reserved } = {
    available: member(position, "available"),
    reserved: member(position, "reserved"),
    collected: member(position, "collected"),
    paid: member(position, "paid_out"),
    fees: member(position, "provider_fees")
  }
  return available + reserved - (credit + collected - paid - fees)
}

/** Each read of a float is of one moment: nothing is below zero, and what is there is what came in less what went out. */
const unbalanced = ({ credit, positions, returned }: History): ReadonlyArray<string> =>
  positions.flatMap((position) => {
    const { appId } = position
    const below = ["available", "reserved"].filter((name) => member(position, name) < 0)
    const unexplained = returnedOf(position, credit)
    const most = returned.get(appId) ?? 0
    return [
      ...below.map((name) => `${appId}: ${name} is ${member(position, name)}`),
      ...(unexplained >= 0 && unexplained <= most ? [] : [`${appId}: ${unexplained} is there that nobody paid or returned`])
    ]
  })

/** What was paid stays paid, and what came back stays: a later read shows no smaller total. */
const shrinking = ({ credit, positions }: History): ReadonlyArray<string> => {
  const totals: Readonly<Record<string, (position: Position) => number>> = {
    collected: (position) => member(position, "collected"),
    "paid out": (position) => member(position, "paid_out"),
    fees: (position) => member(position, "provider_fees"),
    returned: (position) => returnedOf(position, credit)
  }
  return Object.entries(totals).flatMap(([name, total]) => {
    const all = positions.map((one) => ({ object: one.appId, value: total(one), from: one.ended, begun: one.begun }))
    return behind(all, all).map(({ before, object, value }) => `${object}: ${name} was ${before}, and later ${value}`)
  })
}
