import { Effect } from "effect"
import type { CsvValue } from "../domain/CsvText.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import {
  type UnsettledFilter,
  UnsettledKind,
  type UnsettledPlace,
  UnsettledState,
  type UnsettledTransaction,
  type UnsettledWork
} from "../services/ports/UnsettledWork.ts"
import { noteText } from "./HappeningText.ts"
import {
  amountFilters,
  corridorFilter,
  currencyFilter,
  type Filter,
  modeFilter,
  oneOf,
  type Place,
  providerFilter,
  readingOf,
  tenantFilter,
  timeFilters
} from "./ListFilters.ts"

// Shared by the lists of unknown outcomes and of reviews.

const ages: ReadonlyArray<readonly [string, number, string]> = [
  ["1m", 60_000, "a minute"],
  ["1h", 3_600_000, "an hour"],
  ["24h", 86_400_000, "a day"]
]
const created = timeFilters("Created")
const own = {
  kind: oneOf("kind", "Kind", UnsettledKind.literals),
  state: oneOf("state", "State", UnsettledState.literals, { review: "needs review" }),
  age: oneOf(
    "age",
    "Open for longer than",
    ages.map(([name]) => name),
    Object.fromEntries(ages.map(([name, , text]) => [name, text]))
  )
}

/** The filters of unsettled transactions; reviews have no state and no age. */
export const unsettledFilters = (providers: ReadonlyArray<string>) => {
  const provider = providerFilter(providers)
  const common = [
    tenantFilter,
    modeFilter,
    own.kind,
    provider,
    corridorFilter,
    currencyFilter,
    amountFilters.from,
    amountFilters.to,
    created.from,
    created.to
  ] satisfies ReadonlyArray<Filter<unknown>>
  const read = (asked: URLSearchParams, now: Instant) => {
    const { mistakes, value } = readingOf(asked)
    const age = value(own.age)
    const longer = ages.find(([name]) => name === age)
    const ends = [value(created.to), longer === undefined ? null : now - longer[1]].filter((end) => end !== null)
    const filter: UnsettledFilter = {
      provider: value(provider),
      kind: value(own.kind),
      mode: value(modeFilter),
      appId: value(tenantFilter),
      state: value(own.state),
      corridor: value(corridorFilter),
      createdFrom: value(created.from),
      createdBefore: ends.length === 0 ? null : Math.min(...ends),
      currency: value(currencyFilter),
      amountFrom: value(amountFilters.from),
      amountTo: value(amountFilters.to)
    }
    return { filter, mistakes }
  }
  return { all: [own.state, own.age, ...common], common, read }
}

export const unsettledAfter = (place: Place | null): UnsettledPlace | null =>
  place === null ? null : { createdAt: place.at, reference: place.id }

/** The end of a page of `shown` rows, of which one more was read; null on the last page. */
export const unsettledNext = (rows: ReadonlyArray<UnsettledTransaction>, shown: number): Place | null => {
  const last = rows.length > shown ? rows[shown - 1] : undefined
  return last === undefined ? null : { at: last.createdAt, id: last.reference }
}

export const unsettledColumns = (now: Instant): ReadonlyArray<readonly [string, (row: UnsettledTransaction) => CsvValue]> => [
  ["reference", ({ reference }) => reference],
  ["created_at", ({ createdAt }) => iso(createdAt)],
  ["app_id", ({ appId }) => appId],
  ["mode", ({ mode }) => mode],
  ["kind", ({ kind }) => kind],
  ["provider", ({ provider }) => provider],
  ["amount_minor", ({ amount }) => amount],
  ["amount_currency", ({ amountCurrency }) => amountCurrency],
  ["state", ({ state }) => state],
  ["last_asked_at", ({ heardAt }) => iso(heardAt)],
  ["asked_until", ({ askedUntil, state }) => (state === "review" ? null : iso(askedUntil))],
  ["acknowledged_until", ({ acknowledgedUntil: until }) => (until !== null && until > now ? iso(until) : null)],
  ["last_answer", ({ note }) => noteText(note)]
]

export const unsettledPages =
  (work: UnsettledWork["Service"], filter: UnsettledFilter) =>
  ({ after, limit }: { readonly after: Place | null; readonly limit: number }) =>
    Effect.map(work.list(filter, unsettledAfter(after), limit + 1), (rows) => ({
      rows: rows.slice(0, limit),
      next: unsettledNext(rows, limit)
    }))
