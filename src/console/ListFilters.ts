import { Option, Result, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import type { CorridorKey } from "../domain/Corridor.ts"
import { Currency, isCurrency } from "../domain/Currency.ts"
import { AppId, Mode } from "../domain/Ids.ts"
import { type Instant, instantOf, LAST_INSTANT } from "../domain/Instant.ts"
import { choice, field, link, section } from "./Elements.ts"
import { amountOf, notAnAmount } from "./TypedText.ts"

// The filters of a list are query parameters, so that the list can be shared and bookmarked. None of them is a person's number.

/** One filter. `read` returns the value of the input, or its error as one sentence; `input` shows the text that was entered. */
export interface Filter<A> {
  readonly name: string
  readonly read: (text: string, asked: URLSearchParams) => Result.Result<A, string>
  readonly input: (text: string) => ComponentChild
}

/** Reads the filters of one address: the values without an error, null where nothing was entered. */
export const readingOf = (asked: URLSearchParams) => {
  const mistakes = new Set<string>()
  return {
    mistakes,
    value: <A>({ name, read }: Filter<A>): A | null => {
      const text = asked.get(name)?.trim() ?? ""
      if (text === "") return null
      return Result.match(read(text, asked), {
        onSuccess: (value) => value,
        onFailure: (mistake) => {
          mistakes.add(mistake)
          return null
        }
      })
    }
  }
}

/** One word of a fixed list; `texts` gives the label of each. */
export const oneOf = <A extends string>(
  name: string,
  label: string,
  all: ReadonlyArray<A>,
  texts: Readonly<Record<string, string>> = {}
): Filter<A> => ({
  name,
  read: (text) =>
    Result.fromNullishOr(
      all.find((one) => one === text),
      () => `${label}: one of ${all.join(", ")}.`
    ),
  input: (text) => {
    const options = all.map((one) => [one, texts[one] ?? one.replaceAll("_", " ")] as const)
    // A word in the address that is none of them stays in the field, with its error above.
    const unknown = text === "" || all.some((one) => one === text) ? [] : [[text, text] as const]
    return choice(name, label, [["", "any"], ...options, ...unknown], text)
  }
})

export const written = (name: string, label: string, form: RegExp, mistake: string): Filter<string> => ({
  name,
  read: (text) => (form.test(text) ? Result.succeed(text) : Result.fail(mistake)),
  input: (text) => field({ name, label, value: text, maxLength: 100 })
})

const isTenant = Schema.is(AppId)
export const tenantFilter: Filter<AppId> = {
  name: "app",
  read: (text) => (isTenant(text) ? Result.succeed(text) : Result.fail("A tenant has 1 to 40 characters of a-z, 0-9, _ and -.")),
  input: (text) => field({ name: "app", label: "Tenant", value: text, maxLength: 40 })
}

export const modeFilter: Filter<Mode> = oneOf("mode", "Mode", Mode.literals)

export const providerFilter = (known: ReadonlyArray<string>): Filter<string> => oneOf("provider", "Provider", known)

/** The rows of a list on a page: with its filters folded it is no longer than three screens of a desktop. */
export const ROWS_SHOWN = 25

/** A whole corridor, or only its first fields, from the country on. */
interface CorridorPart {
  readonly country: string
  readonly currency?: string
  readonly method?: string
}
const CORRIDOR = /^([A-Z]{2})(?:\/([A-Z]{3})(?:\/([a-z_]{2,20}))?)?$/
export const corridorFilter: Filter<CorridorPart> = {
  name: "corridor",
  read: (text) => {
    const [, country, currency, method] = CORRIDOR.exec(text) ?? []
    return country === undefined
      ? Result.fail("A corridor is written as UG, UG/UGX or UG/UGX/momo.")
      : Result.succeed({
          country,
          ...(currency === undefined ? {} : { currency }),
          ...(method === undefined ? {} : { method })
        })
  },
  input: (text) => field({ name: "corridor", label: "Corridor, as UG or UG/UGX/momo", value: text, maxLength: 30 })
}

export const corridorText = ({ country, currency, method }: CorridorKey): string => `${country}/${currency}/${method}`
export const isOn = (part: CorridorPart, key: CorridorKey): boolean =>
  `${corridorText(key)}/`.startsWith(
    `${[part.country, part.currency, part.method].filter((one) => one !== undefined).join("/")}/`
  )

export const currencyFilter: Filter<Currency> = oneOf("currency", "Currency", Currency.literals)

/** An amount in the currency that is chosen beside it. */
const amount = (name: string, label: string): Filter<bigint> => ({
  name,
  read: (text, asked) => {
    const currency = asked.get("currency")
    if (!isCurrency(currency)) return Result.fail("An amount needs its currency.")
    return Result.fromNullishOr(amountOf(text, currency), () => notAnAmount(currency))
  },
  input: (text) => field({ name, label, value: text, maxLength: 30 })
})
export const amountFilters = { from: amount("least", "Amount from"), to: amount("most", "Amount up to") }

/** A moment, which is in UTC on every page. */
const moment = (name: string, label: string): Filter<Instant> => ({
  name,
  read: (text) =>
    Result.fromOption(
      Option.filter(instantOf(momentText(text)), (at) => at >= 0),
      () => `${label}: a day and a time of UTC, as 2026-01-31T12:00.`
    ),
  // The browser's own field shows nothing for a text that is no time.
  input: (text) =>
    field({ name, label, value: text, type: text === "" || /^\d{4}-\d{2}-\d{2}T[\d:.]+$/.test(text) ? "datetime-local" : "text" })
})
export const timeFilters = (what: string) => ({
  from: moment("from", `${what} from (UTC)`),
  to: moment("to", `${what} before (UTC)`)
})

/** A browser's field for a time sends neither seconds nor a zone. */
const momentText = (text: string): string => {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00Z`
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(text) ? `${text}:00Z` : text.endsWith("Z") ? text : `${text}Z`
}

type Filters = ReadonlyArray<Filter<unknown>>

/** The query parameters that are these filters, for links that keep them. */
export const keptOf = (filters: Filters, asked: URLSearchParams): URLSearchParams =>
  new URLSearchParams(
    filters.flatMap(({ name }) => {
      const text = asked.get(name)?.trim() ?? ""
      return text === "" ? [] : [[name, text]]
    })
  )

export const mistakesOf = (mistakes: Iterable<string>): ComponentChild =>
  [...mistakes].map((mistake) => h("p", { class: "warning", role: "alert" }, mistake))

/** The inputs with what was entered. */
export const inputsOf = (filters: Filters, asked: URLSearchParams): ComponentChild =>
  filters.map(({ input, name }) => input(asked.get(name)?.trim() ?? ""))

interface FilterForm {
  /** The page of the list. */
  readonly to: string
  readonly filters: Filters
  readonly asked: URLSearchParams
  readonly mistakes: Iterable<string>
}

/** Folded while no filter is set, so that the list comes first. */
export const filterForm = ({ asked, filters, mistakes, to }: FilterForm): ComponentChild => {
  const isNarrowed = keptOf(filters, asked).size > 0
  return section(
    "Filters",
    mistakesOf(mistakes),
    h(
      "details",
      { open: isNarrowed },
      h("summary", null, isNarrowed ? "Change them" : "Narrow the list down"),
      h(
        "form",
        { method: "get", action: to, class: "filters" },
        inputsOf(filters, asked),
        h("button", { type: "submit", class: "strong" }, "Search"),
        isNarrowed ? h("p", { class: "field" }, link(to, "Without filters")) : null
      )
    )
  )
}

/** Below a list: the link to the next page, which keeps the filters, and to the file of all matching rows. */
export const listEnd = (way: {
  readonly to: string
  readonly kept: URLSearchParams
  /** The place after which the next page begins; null on the last page. */
  readonly next: string | null
  readonly older?: string
  readonly hasFile?: boolean
  /** The address of the file, where it differs from that of the list. */
  readonly file?: string
}): ComponentChild => {
  const { hasFile = true, kept, next, older = "Older ones", to, file = `${to}.csv` } = way
  const query = (members: URLSearchParams) => (members.size === 0 ? "" : `?${members}`)
  return h(
    "p",
    { class: "pager" },
    hasFile ? link(`${file}${query(kept)}`, "What fits, as CSV") : null,
    next === null ? null : link(`${to}${query(new URLSearchParams([...kept, ["after", next]]))}`, older)
  )
}

/** Where a page of a list by time ended. */
export interface Place {
  readonly at: Instant
  readonly id: string
}
export const placeText = ({ at, id }: Place): string => `${at}.${id}`
/** Null for a text that no page has written: the list then starts from its beginning. */
export const placeOf = (asked: URLSearchParams): Place | null => {
  const [, at, id = ""] = /^(\d{1,15})\.(\w{0,26})$/.exec(asked.get("after") ?? "") ?? []
  return at === undefined || Number(at) > LAST_INSTANT ? null : { at: Number(at), id }
}
