import { Option } from "effect"
import { isReference } from "./Ids.ts"
import { parseBoth } from "./Json.ts"

// Requests to providers and their responses are stored for operators without personal data. Numbers keep their last four
// digits; names and addresses keep a few characters. Secrets are removed.

/** The longest text that is stored, in bytes of UTF-8. */
export const LONGEST_RAW_BYTES = 16 * 1024
/** The number of characters of one text that are examined. */
const LONGEST_READ = 4 * LONGEST_RAW_BYTES
const REMOVED = "[removed]"
const CUT = "…[cut]"

const SECRET =
  /(^|_)(pin|otp|cvv|cvc|jwt)(_|$)|pin_?id|one_?time|token|secret|passw|passcode|signature|authori[sz]|api_?key|private|credential|session/i
const PERSON =
  /(first|last|middle|full|given|family|account|customer|holder|owner|recipient|beneficiary|payer|user|sender|public)_?names?$|^names?$|e_?mail|^tag$|external_?id|handle|address|birth/i
const ACCOUNT = /phone|msisdn|mobile|account_?(number|no)$|account$|iban|card|pan$/i
/** A URL can be a bearer credential. */
const LINK = /url$/i
/** Members whose numbers are money or counts, not personal data. */
const FIGURE = /amount|fees?$|charge|balance|total|rate|price|minimum|maximum|limit|status|code/i

/** In a group, so that `split` keeps the match. */
const INSTANT = /(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)/
/** Providers' answers contain many. */
const WHOLE_INSTANT = new RegExp(`^${INSTANT.source}$`)
/** Seven digits or more, whatever separators people put between them. */
const NUMBER = /[+(]{0,2}\d(?:[ ().-]{0,2}\d){6,}/g
// Both begin at the start of a word, so that a long word is scanned once and not from each of its letters.
const EMAIL = /(?<![^\s"'<>,;:@])[^\s"'<>,;:@]+@[^\s"'<>,;:@]+/g
/** In a text that is not JSON: a name and the value assigned to it. */
const ASSIGNED = /(?<![\w-])([A-Za-z][\w-]*)(["']?\s*[:=]\s*["']?)([^\s"'&,;<>}]+)/g

/** A text without either of these has neither a number nor an address to mask. */
const SUSPECT = /\d(?:[ ().-]{0,2}\d){6}|@/

/** The number of characters that a mask shows. */
const VISIBLE = 4

/**
 * "••••1234": the last four characters, and never more than half of the text. For an e-mail address, those of the part before
 * the "@": the end of a domain identifies no person, and more of the domain would reveal the employer.
 */
export const maskedNumber = (value: string): string => {
  const at = value.indexOf("@")
  const kept = Array.from(at > 0 ? value.slice(0, at) : value)
  return `••••${kept.slice(kept.length - Math.min(VISIBLE, Math.floor(kept.length / 2))).join("")}`
}

/** "J••• D••": the first letter of each word (contract BEN-2). */
export const maskedName = (name: string): string =>
  name
    .trim()
    .split(/\s+/)
    .map((word) => {
      const [first = "", ...more] = Array.from(word)
      return `${first}${"•".repeat(Math.max(more.length, 1))}`
    })
    .join(" ")

/** A text for people, with its numbers and e-mail addresses masked. */
export const maskedText = (text: string): string => {
  if (!SUSPECT.test(text) || WHOLE_INSTANT.test(text)) return text
  return text
    .replace(EMAIL, maskedNumber)
    .split(INSTANT)
    .map((part, at) => (at % 2 === 0 ? part.replace(NUMBER, lastDigits) : part))
    .join("")
}

const lastDigits = (number: string): string => `••••${number.replace(/\D/g, "").slice(-4)}`

/** One money call in the form that may be stored. Personal data in the request is also masked wherever the response repeats it. */
export const maskedProviderCall = (request: string, response: string | null) => {
  const known = new Set<string>()
  const links = new Set<string>()
  const kept = maskedPayload(request, { known, links, repeated: (text) => text })
  const persons = [...known].sort((a, b) => b.length - a.length)
  const repeated = (text: string): string =>
    persons.reduce(
      (rest, person) =>
        // A match is rare, and building a pattern costs more than searching.
        rest.toUpperCase().includes(person.toUpperCase())
          ? rest.replace(new RegExp(escaped(person), "gi"), () => maskedNumber(person))
          : rest,
      text
    )
  return {
    request: bounded(kept),
    response: response === null ? null : bounded(maskedPayload(withoutLinks(response, links), { known, links, repeated }))
  }
}

/** Links are removed before masking, which would split them. */
const withoutLinks = (text: string, links: ReadonlySet<string>): string =>
  [...links].reduce((rest, link) => rest.replaceAll(link, REMOVED).replaceAll(link.replaceAll("/", "\\/"), REMOVED), text)

interface Persons {
  /** The personal values found so far; masking the payload adds to them. */
  readonly known: Set<string>
  /** The URLs among the members: complete, and removed wherever they are repeated. */
  readonly links: Set<string>
  /** A text with the values known from the request masked. */
  readonly repeated: (text: string) => string
}

const maskedPayload = (given: string, persons: Persons): string => {
  // PostgreSQL cannot store a NUL.
  const text = given.slice(0, LONGEST_READ).replaceAll("\u0000", "")
  return Option.getOrElse(maskedJson(text, persons), () => persons.repeated(plainText(text)))
}

/** None for a text that is not JSON, or is nested too deeply to walk. */
const maskedJson = Option.liftThrowable((text: string, persons: Persons): string => {
  const { exact, tree } = parseBoth(text)
  return written(tree, exact, kindOf(""), persons)
})

/** The JSON of a masked value. `exact` is the same value, member for member, with each number as it was written. */
const written = (value: unknown, exact: unknown, kind: MemberKind, persons: Persons): string => {
  if (value === null) return "null"
  if (kind.isSecret) return JSON.stringify(REMOVED)
  if (kind.isLink) {
    if (typeof value === "string" && /^https?:\/\/./i.test(value)) persons.links.add(value)
    return JSON.stringify(REMOVED)
  }
  if (typeof value === "string") return JSON.stringify(persons.repeated(maskedString(value, kind, persons.known)))
  if (typeof value === "number") return maskedFigure(String(exact), kind, persons)
  if (typeof value !== "object") return JSON.stringify(value)
  const exactly: ReadonlyArray<unknown> = Object.values(exact ?? {})
  if (Array.isArray(value)) return `[${value.map((item, at) => written(item, exactly[at], kind, persons)).join(",")}]`
  const members = Object.entries(value).map(([name, member], at) => {
    const ofMember = { ...kindOf(meantBy(name, value)), shown: kindOf(name).shown }
    const own = isSentence(name, value, kind) ? { ...ofMember, isSecret: true } : ofMember
    return `${JSON.stringify(persons.repeated(own.shown))}:${written(member, exactly[at], own, persons)}`
  })
  return `{${members.join(",")}}`
}

/** In a list of key-value pairs, the `Key` gives the meaning of the `Value`. */
const meantBy = (name: string, beside: object): string =>
  name === "Value" && "Key" in beside && typeof beside.Key === "string" ? beside.Key : name

/** A provider's message for people: it contains names, and our balance, in no form that could be masked. */
const isSentence = (name: string, beside: object, { shown }: MemberKind): boolean =>
  name === "message" && ("response_code" in beside || "result_code" in beside || shown === "transaction")

const maskedFigure = (literal: string, kind: MemberKind, { repeated }: Persons): string => {
  const text = kind.isFigure ? literal : repeated(maskedText(literal))
  return text === literal ? literal : JSON.stringify(text)
}

const maskedString = (text: string, kind: MemberKind, known: Set<string>): string => {
  if (kind.isAccount && !/^[A-Z]{2,3}$/.test(text)) return maskedNumber(text)
  if (kind.isPerson) {
    if (text.length >= SHORTEST_PERSON) known.add(text)
    return maskedNumber(text)
  }
  return isOurReference(text) || (kind.isFigure && /^-?\d+(\.\d+)?$/.test(text)) ? text : maskedText(text)
}

/** A reference is random and may contain seven digits in a row, but has many letters; an IBAN of its length has two. */
const isOurReference = (text: string): boolean => isReference(text) && text.replace(/\d/g, "").length >= FEWEST_LETTERS
const FEWEST_LETTERS = 8

/** A shorter word occurs inside too many other words. */
const SHORTEST_PERSON = 4

const plainText = (text: string): string =>
  maskedText(
    text.replace(ASSIGNED, (whole, name: string, between: string, value: string) => {
      const { isAccount, isLink, isPerson, isSecret } = kindOf(name)
      if (isSecret || isLink) return `${name}${between}${REMOVED}`
      return isPerson || isAccount ? `${name}${between}${maskedNumber(value)}` : whole
    })
  )

interface MemberKind {
  readonly shown: string
  readonly isSecret: boolean
  readonly isLink: boolean
  readonly isAccount: boolean
  readonly isPerson: boolean
  readonly isFigure: boolean
}

/** Providers use few member names, again and again. */
const NAMES_KEPT = 1000
const kinds = new Map<string, MemberKind>()

const kindOf = (name: string): MemberKind => {
  const known = kinds.get(name)
  if (known !== undefined) return known
  const key = snake(name)
  const kind = {
    shown: maskedText(name),
    isSecret: SECRET.test(key),
    isLink: LINK.test(key),
    isAccount: ACCOUNT.test(key),
    isPerson: PERSON.test(key),
    isFigure: FIGURE.test(key)
  }
  if (kinds.size < NAMES_KEPT && name.length <= LONGEST_NAME) kinds.set(name, kind)
  return kind
}
const LONGEST_NAME = 64

const snake = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/[- ]/g, "_")

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** The longest UTF-8 encoding of one UTF-16 unit, in bytes. */
const LONGEST_CHARACTER_BYTES = 3

/** PostgreSQL cannot store half a character. */
const bounded = (text: string): string => {
  const whole = text.toWellFormed()
  if (whole.length * LONGEST_CHARACTER_BYTES <= LONGEST_RAW_BYTES) return whole
  const bytes = new TextEncoder().encode(whole)
  if (bytes.length <= LONGEST_RAW_BYTES) return whole
  // The rest of a character that the cut divides is dropped.
  const room = LONGEST_RAW_BYTES - new TextEncoder().encode(CUT).length
  return `${new TextDecoder().decode(bytes.subarray(0, room)).replace(/\uFFFD$/, "")}${CUT}`
}
