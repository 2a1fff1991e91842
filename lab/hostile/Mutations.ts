import type { Random } from "../../test/support/Random.ts"
import type { Spoken } from "./HostileLine.ts"
import { lineMutations, type Mutation } from "./LineMutations.ts"

// How real answers differ from those that a document shows. Nothing here knows a provider: what has to be in a provider's own form was
// taken from its honest answers before.

export type Members = Record<string, unknown>

/** One member of an answer, wherever it stands. */
export interface Place {
  readonly owner: Members
  readonly name: string
  readonly value: unknown
}

export const ofJson =
  (change: (root: unknown, random: Random) => unknown) =>
  (spoken: Spoken, random: Random): Spoken | null => {
    const root = parsed(spoken.body)
    if (root === undefined) return null
    const made = change(root, random)
    return made === undefined ? null : { ...spoken, body: Buffer.from(typeof made === "string" ? made : JSON.stringify(made)) }
  }

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch {
    return undefined
  }
}

export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const placesIn = (value: unknown): ReadonlyArray<Place> =>
  Array.isArray(value)
    ? value.flatMap(placesIn)
    : isMembers(value)
      ? Object.entries(value).flatMap(([name, one]) => [{ owner: value, name, value: one }, ...placesIn(one)])
      : []

/** Changes one member that fits, chosen at random. */
const oneMember = (fits: (place: Place) => boolean, change: (place: Place, random: Random) => void) =>
  ofJson((root, random) => {
    const [first, ...others] = placesIn(root).filter(fits)
    if (first === undefined) return undefined
    change(random.pick([first, ...others]), random)
    return root
  })

const everyMember = (fits: (place: Place) => boolean, change: (place: Place) => void) =>
  ofJson((root) => {
    const places = placesIn(root).filter(fits)
    if (places.length === 0) return undefined
    places.forEach(change)
    return root
  })

const put = ({ name, owner }: Place, value: unknown): void => void (owner[name] = value)

/** A word of a vocabulary: short, of letters. */
const isWord = ({ name, value }: Place): boolean =>
  /status|state|event|standing/i.test(name) && typeof value === "string" && /^[a-z][a-z_-]*$/i.test(value)
const isNumber = ({ value }: Place): boolean => typeof value === "number"
const isNumeral = ({ value }: Place): boolean => typeof value === "string" && /^(0|[1-9]\d{0,14})(\.\d{1,6})?$/.test(value)
const isFraction = ({ value }: Place): boolean => typeof value === "number" && !Number.isInteger(value)
const any = () => true

const otherCase = (word: string, random: Random): string =>
  random.pick([word.toUpperCase(), word.toLowerCase(), word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()])

const renamed = (name: string): string =>
  name.includes("_")
    ? name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
    : /[A-Z]/.test(name)
      ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      : `${name}_v2`

const words: ReadonlyArray<Mutation> = [
  {
    name: "a status word in another case",
    isTolerable: false,
    change: oneMember(isWord, (place, random) => put(place, otherCase(String(place.value), random)))
  },
  {
    name: "a status word that nobody knows",
    isTolerable: false,
    change: oneMember(isWord, (place, random) =>
      put(place, random.pick(["SETTLING_V2", "in-review", "partially_completed", "?"]))
    )
  },
  { name: "an empty status word", isTolerable: false, change: oneMember(isWord, (place) => put(place, "")) },
  { name: "a status that is a number", isTolerable: false, change: oneMember(isWord, (place) => put(place, 200)) },
  {
    name: "a status that is an object",
    isTolerable: false,
    change: oneMember(isWord, (place) => put(place, { code: place.value }))
  }
]

const members: ReadonlyArray<Mutation> = [
  { name: "a member that is absent", isTolerable: false, change: oneMember(any, ({ name, owner }) => delete owner[name]) },
  { name: "a member that is null", isTolerable: false, change: oneMember(any, (place) => put(place, null)) },
  { name: "a member that is empty", isTolerable: false, change: oneMember(any, (place) => put(place, "")) },
  {
    name: "a member under another name",
    isTolerable: false,
    change: oneMember(any, ({ name, owner, value }) => {
      delete owner[name]
      owner[renamed(name)] = value
    })
  },
  {
    name: "a value in a list",
    isTolerable: false,
    change: oneMember(any, (place) => put(place, [place.value]))
  },
  {
    name: "members that nobody knows",
    isTolerable: true,
    change: ofJson((root) => (isMembers(root) ? { api_version: "9", ...root, links: { self: null }, warnings: [] } : undefined))
  },
  {
    name: "members with the names of an object's own",
    isTolerable: true,
    change: ofJson((root) =>
      isMembers(root)
        ? JSON.stringify(root).replace(/}$/, ',"__proto__":{"status":"x"},"constructor":null,"toString":1}')
        : undefined
    )
  }
]

const numbers: ReadonlyArray<Mutation> = [
  { name: "numbers as text", isTolerable: true, change: everyMember(isNumber, (place) => put(place, String(place.value))) },
  { name: "text as numbers", isTolerable: false, change: everyMember(isNumeral, (place) => put(place, Number(place.value))) },
  {
    name: "the noise of floating point",
    isTolerable: true,
    // 19.71 is said as 19.709999999999997.
    change: everyMember(isFraction, (place) => put(place, Number(place.value) * (1 - 2 ** -52)))
  },
  {
    name: "more digits than the currency has",
    isTolerable: true,
    change: ofJson((root) => JSON.stringify(root).replace(/:(\d+\.\d+)([,}])/g, ":$10000$2"))
  }
]

const lists: ReadonlyArray<Mutation> = [
  {
    name: "a list whose rows are repeated",
    isTolerable: true,
    change: everyMember(
      ({ value }) => Array.isArray(value) && value.length > 0,
      (place) => put(place, Array.isArray(place.value) ? [...place.value, ...place.value] : place.value)
    )
  },
  {
    name: "a list with a row that is null",
    isTolerable: false,
    change: everyMember(
      ({ value }) => Array.isArray(value),
      (place) => put(place, Array.isArray(place.value) ? [null, ...place.value] : place.value)
    )
  }
]

/** A list as it is before a movement shows in it. */
export const withoutRows = everyMember(
  ({ value }) => Array.isArray(value) && value.length > 0,
  (place) => put(place, [])
)

const inWords = everyMember(
  ({ value }) => typeof value === "string" && value.includes(" "),
  (place) => put(place, "read ECONNRESET")
)

/** A refusal in the provider's own form, in the words of its plumbing. */
export const inOtherWords = (refusal: Spoken): Mutation => ({
  name: `a refusal of its own (${refusal.status}) in other words`,
  isTolerable: false,
  change: (_, random) => inWords(refusal, random)
})

/** A refusal in the provider's own form, in its own words or in those of its plumbing. */
export const refusedWith = (refusal: Spoken): ReadonlyArray<Mutation> => [
  { name: `a refusal of its own (${refusal.status})`, isTolerable: false, change: () => refusal },
  inOtherWords(refusal)
]

export const mutations: ReadonlyArray<Mutation> = [...words, ...members, ...numbers, ...lists, ...lineMutations]
