import type { Random } from "../../test/support/Random.ts"
import type { Asked, Spoken, Twist } from "./HostileLine.ts"
import type { Mutation } from "./LineMutations.ts"
import { isMembers, type Members, ofJson, placesIn } from "./Mutations.ts"

// How the lists of a provider differ from what its documents show: one row of hundreds, or the pages between which the list shifts.

type Rows = ReadonlyArray<unknown>

type ChangeRows = (rows: Rows, random: Random) => Rows

/** Changes the longest list of an answer that has rows with members, or the rows of a file. */
const inRows = (change: ChangeRows): Mutation["change"] => {
  const inJson = inJsonRows(change)
  return (spoken, random) =>
    spoken.headers["content-type"]?.startsWith("text/csv") === true ? inFile(change, spoken, random) : inJson(spoken, random)
}

/** Of values without commas, each a member by the name in the header. */
const inFile = (change: ChangeRows, spoken: Spoken, random: Random): Spoken | null => {
  const [header = "", ...lines] = spoken.body.toString("utf8").trimEnd().split(/\r?\n/)
  if (lines.length === 0) return null
  const names = header.split(",")
  const read = (line: string) => Object.fromEntries(line.split(",").map((cell, index) => [names[index] ?? "", cell]))
  const write = (row: unknown) => (isMembers(row) ? names.map((name) => String(row[name] ?? "")).join(",") : String(row ?? ""))
  const rows = change(lines.map(read), random)
  return { ...spoken, body: Buffer.from([header, ...rows.map(write), ""].join("\r\n")) }
}

const inJsonRows = (change: ChangeRows) =>
  ofJson((root, random) => {
    const whole: Members = { root }
    const lists = [{ owner: whole, name: "root", value: root }, ...placesIn(root)].flatMap(({ name, owner, value }) =>
      Array.isArray(value) && value.some(isMembers) ? [{ owner, name, rows: value }] : []
    )
    const [longest] = lists.toSorted((one, other) => other.rows.length - one.rows.length)
    if (longest === undefined) return undefined
    longest.owner[longest.name] = change(longest.rows, random)
    return whole.root
  })

const spoiled =
  (spoil: (row: Members, random: Random) => unknown) =>
  (rows: Rows, random: Random): Rows => {
    const at = random.below(rows.length)
    return rows.map((row, index) => (index === at && isMembers(row) ? spoil({ ...row }, random) : row))
  }

/** One member of it, chosen at random, has another value. */
const otherwise = (value: (before: unknown) => unknown) => (row: Members, random: Random) => {
  const [first = "", ...others] = Object.keys(row)
  const name = random.pick([first, ...others])
  return { ...row, [name]: value(row[name]) }
}

const withoutOne = (row: Members, random: Random) => {
  const [first = "", ...others] = Object.keys(row)
  const { [random.pick([first, ...others])]: _gone, ...left } = row
  return left
}

const rowMutation = (name: string, spoil: (row: Members, random: Random) => unknown): Mutation => ({
  name,
  isTolerable: false,
  change: inRows(spoiled(spoil))
})

/** One row is not as the others are. The first leaves nothing of it that anybody could read. */
export const rowMutations: readonly [Mutation, ...ReadonlyArray<Mutation>] = [
  rowMutation("a row that is null", () => null),
  rowMutation("a row that is a number", () => 7),
  rowMutation("a row without members", () => ({})),
  rowMutation("a row without one of its members", withoutOne),
  rowMutation(
    "a row with a member that is null",
    otherwise(() => null)
  ),
  rowMutation(
    "a row with a value in a list",
    otherwise((value) => [value])
  ),
  rowMutation(
    "a row with a word that nobody knows",
    otherwise(() => "SETTLING_V2")
  )
]

/** The provider lists a movement, or another row, twice. */
export const repeatedRows: Mutation = {
  name: "rows that are repeated",
  isTolerable: true,
  change: inRows((rows) => [...rows, ...rows])
}

const pageOf = (path: string): number => Number(/[?&]page=(\d+)/.exec(path)?.[1] ?? 1)

/**
 * While a list is read for the first time it grows by a row: the second page begins with the last row of the first, and a row that was there goes to
 * the next page, which nobody reads.
 */
export const shiftingPages = (random: Random): ((asked: Asked) => Twist | null) => {
  const lastOf = new Map<string, unknown>()
  const shifted = new Set<string>()
  return ({ path }) => {
    const [list = "", page] = [path.replace(/\?.*$/, ""), pageOf(path)]
    const shift = inRows((rows) => {
      const last = lastOf.get(list)
      if (page === 1) lastOf.set(list, rows.at(-1))
      if (page !== 2 || last === undefined || shifted.has(list)) return rows
      shifted.add(list)
      return [last, ...rows.slice(0, -1)]
    })
    return { change: (spoken: Spoken) => shift(spoken, random) ?? spoken }
  }
}
