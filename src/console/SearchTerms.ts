import { ExchangeStatus } from "../domain/Exchange.ts"
import { plainText } from "../domain/PartyIdentity.ts"
import { CollectionStatus, FailureCode, PayoutStatus } from "../domain/Payment.ts"
import type { Transaction } from "../domain/Transaction.ts"
import type { RecordFilter } from "../services/ports/Transactions.ts"
import {
  amountFilters,
  corridorFilter,
  currencyFilter,
  type Filter,
  isOn,
  modeFilter,
  oneOf,
  type Place,
  placeOf,
  providerFilter,
  readingOf,
  tenantFilter,
  timeFilters,
  written
} from "./ListFilters.ts"
import { amountCurrencyOf } from "./RecordText.ts"

/**
 * The terms of a search. A `word` names one record; without it the filter narrows the list of all. The filter also applies
 * where the word is a number and names no record, because records store only the last digits of a person's number.
 */
export interface Search {
  readonly word: string | null
  /** The word is a whole number: of a phone, an account or a card. */
  readonly isWhole: boolean
  /** The search is in the audit log: only then is the word compared with everything that a customer may quote. */
  readonly isNoted: boolean
  /** The country of a number that is written without its prefix. */
  readonly country: string | null
  readonly filter: RecordFilter
  /** Where the previous page ended. */
  readonly after: Place | null
  readonly mistakes: ReadonlySet<string>
}

const statuses = [...new Set([...CollectionStatus.literals, ...PayoutStatus.literals, ...ExchangeStatus.literals])]
const LONGEST_WORD = 200

export const wordFilter: Filter<string> = written("q", "", /./u, "")
const created = timeFilters("Created")
const own = {
  country: written("country", "Country of a national number", /^[A-Za-z]{2}$/, "A country is two letters, as UG."),
  kind: oneOf("kind", "Kind", ["payout", "collection", "exchange"] as const),
  status: oneOf("status", "Status", statuses),
  state: oneOf("state", "Open work", ["unknown", "review"] as const, { unknown: "unknown outcome", review: "needs review" }),
  failure: oneOf("failure", "Failure code", FailureCode.literals)
}

/** The filters of the page; `narrowing` are the folded ones. */
export const filtersOf = (providers: ReadonlyArray<string>) => {
  const provider = providerFilter(providers)
  const narrowing = [
    modeFilter,
    own.kind,
    provider,
    corridorFilter,
    own.status,
    own.state,
    own.failure,
    currencyFilter,
    amountFilters.from,
    amountFilters.to,
    created.from,
    created.to,
    own.country
  ] satisfies ReadonlyArray<Filter<unknown>>
  return { provider, narrowing, all: [tenantFilter, ...narrowing] }
}
export type PageFilters = ReturnType<typeof filtersOf>

/** Four characters are the last digits of a number; a longer word is a reference, or a whole number in any spelling. */
export const searchOf = (asked: URLSearchParams, { provider }: PageFilters): Search => {
  const { mistakes, value } = readingOf(asked)
  const word = asked.get("q")?.trim() || null
  const isEnd = word !== null && /^[0-9A-Za-z]{4}$/.test(word)
  const state = value(own.state)
  const filter: RecordFilter = {
    appId: value(tenantFilter),
    mode: value(modeFilter),
    kind: value(own.kind),
    status: value(own.status),
    provider: value(provider),
    corridor: value(corridorFilter),
    failure: value(own.failure),
    currency: value(currencyFilter),
    amountFrom: value(amountFilters.from),
    amountTo: value(amountFilters.to),
    partyEnd: isEnd ? word : word === null ? null : endOfNumber(word),
    needsReview: state === "review",
    isUnknown: state === "unknown",
    createdFrom: value(created.from),
    createdTo: value(created.to)
  }
  return {
    word: isEnd ? null : (word?.slice(0, LONGEST_WORD) ?? null),
    isWhole: word !== null && isWholeNumber(word),
    isNoted: false,
    country: value(own.country)?.toUpperCase() ?? null,
    filter,
    after: placeOf(asked),
    mistakes
  }
}

/** The number of a phone, an account or a card, in any spelling: it must not be in an address. */
export const isWholeNumber = (text: string): boolean => /^[0-9]{7,}$/.test(digitsOf(text))

/** A number without the separators that people write. */
const digitsOf = (text: string): string => plainText(text).replace(/[\s\p{Pd}.()/+]/gu, "")

/** The last four digits of a person's number, which has 15 digits at most. */
const endOfNumber = (text: string): string | null => {
  const digits = digitsOf(text)
  return /^[0-9]{7,15}$/.test(digits) ? digits.slice(-4) : null
}

/** Applies the filter to records that were found by a word. */
export const isWithin =
  (filter: RecordFilter) =>
  (record: Transaction): boolean => {
    const { amountFrom, amountTo, appId, corridor, createdFrom, createdTo, currency, failure, kind, mode } = filter
    const { needsReview, provider, status } = filter
    return (
      (appId === null || record.appId === appId) &&
      (mode === null || record.mode === mode) &&
      (kind === null || record.kind === kind) &&
      (status === null || record.status === status) &&
      (provider === null || record.provider === provider) &&
      (failure === null || record.failure?.code === failure) &&
      (currency === null || amountCurrencyOf(record) === currency) &&
      (amountFrom === null || record.amount >= amountFrom) &&
      (amountTo === null || record.amount <= amountTo) &&
      (createdFrom === null || record.createdAt >= createdFrom) &&
      (createdTo === null || record.createdAt < createdTo) &&
      (!needsReview || record.needsReview) &&
      (corridor === null || (record.kind !== "exchange" && isOn(corridor, record.corridor)))
    )
  }
