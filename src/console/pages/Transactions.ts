import { Effect, Option, Result, Schema } from "effect"
import { type ComponentChild, h } from "preact"
import { Currency, isCurrency } from "../../domain/Currency.ts"
import { ExchangeStatus } from "../../domain/Exchange.ts"
import { AppId, isReference, Mode, type Reference } from "../../domain/Ids.ts"
import { type Instant, instantOf, iso } from "../../domain/Instant.ts"
import { fromDecimal } from "../../domain/Money.ts"
import { plainText } from "../../domain/PartyIdentity.ts"
import { CollectionStatus, PayoutStatus } from "../../domain/Payment.ts"
import { type Transaction } from "../../domain/Transaction.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { type FoundRecords, type RecordFilter, Transactions } from "../../services/ports/Transactions.ts"
import { badge, choice, code, field, link, money, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { partyOf, statusBadge } from "../RecordText.ts"
import { page, redirect, type Visit } from "../Route.ts"

const ROWS_SHOWN = 50
const SEARCHES_WAIT = "Other searches are under way. Search again in a moment."

/** Finding transactions of every tenant: by a reference of either side, or by what is known of them. */
export const makeTransactions = Effect.gen(function* () {
  const transactions = yield* Transactions
  const registry = yield* ProviderRegistry

  /** A provider's own reference may be known to several, and in both modes. */
  const byProvider = Effect.fnUntraced(function* (text: string) {
    const accounts = registry.known.flatMap((provider) => Mode.literals.map((mode) => ({ provider, mode })))
    const found = yield* Effect.forEach(accounts, ({ mode, provider }) => transactions.byProviderReference(provider, mode, text))
    return found.flat().map(({ transaction }) => transaction)
  })

  const byWord = Effect.fnUntraced(function* (word: string): Effect.fn.Return<ReadonlyArray<Transaction>> {
    const upper = word.toUpperCase()
    const own = isReference(upper) ? yield* transactions.byReference(upper) : Option.none()
    return Option.isSome(own) ? [own.value.transaction] : yield* byProvider(word)
  })

  const answer = Effect.fn("TransactionsPage.answer")(function* (visit: Visit) {
    const search = searchOf(visit.query)
    if (search.mistakes.length > 0) return page("Transactions", [searchForm(visit.query, search.mistakes)], { status: 422 })
    if (search.word !== null) {
      const found = yield* byWord(search.word)
      const [only] = found
      if (found.length === 1 && only !== undefined) return redirect(`/transactions/${only.reference}`)
      if (found.length > 1 || search.filter.partyEnd === null)
        return page("Transactions", [searchForm(visit.query, []), results({ items: found, olderThan: null }, search, visit)])
    }
    return yield* transactions.search(search.filter, ROWS_SHOWN).pipe(
      Effect.map((found) => page("Transactions", [searchForm(visit.query, []), results(found, search, visit)])),
      Effect.catchTag("rate_limited", () =>
        Effect.succeed(page("Transactions", [searchForm(visit.query, [SEARCHES_WAIT])], { status: 429 }))
      )
    )
  })

  return {
    place: { to: "/transactions", name: "Transactions" },
    routes: [{ method: "GET", path: "/transactions", permission: "look", answer }]
  } satisfies Room
})

const results = ({ items, olderThan }: FoundRecords, { word }: Search, { query }: Visit): ComponentChild =>
  section(
    "Found",
    recordTable(
      items,
      word === null
        ? "Nothing fits."
        : "Neither a reference of ours nor of a provider. For the end of a number, give four characters."
    ),
    olderThan === null ? null : h("p", { class: "pager" }, link(olderPage(query, olderThan), "Older ones"))
  )

const olderPage = (query: URLSearchParams, before: number): string => {
  const next = new URLSearchParams(query)
  next.set("to", iso(before))
  return `/transactions?${next}`
}

/** One line a record, the newest first. */
const recordTable = (records: ReadonlyArray<Transaction>, none: string): ComponentChild =>
  table(
    "The newest first",
    ["Reference", "Created", "Tenant", "What", "Status", "Amount", "Party", "Provider"],
    records.map((record) => [
      transactionLink(record.reference satisfies Reference),
      time(record.createdAt),
      record.appId,
      `${record.kind}, ${record.mode}`,
      [statusBadge(record), record.needsReview ? [" ", badge("review", "wait")] : null],
      money(record.amount, record.kind === "exchange" ? record.currency : record.amountCurrency),
      code(partyOf(record) ?? "none"),
      record.provider
    ]),
    none
  )

/**
 * The terms of a search. A `word` names one record. Without it the filter narrows all of them; so it does where the word names no record
 * but is a number, because only the end of a person's number is known.
 */
interface Search {
  readonly word: string | null
  readonly filter: RecordFilter
  readonly mistakes: ReadonlyArray<string>
}

const kinds = ["payout", "collection", "exchange"] as const
const statuses = [...new Set([...CollectionStatus.literals, ...PayoutStatus.literals, ...ExchangeStatus.literals])]
const isTenant = Schema.is(AppId)
const LONGEST_WORD = 200
const narrowing = ["mode", "kind", "status", "currency", "amount", "from", "to"]

/** Reads the address of the page. Four characters are the end of a number; anything longer is a reference, or a whole number in any spelling. */
const searchOf = (query: URLSearchParams): Search => {
  const mistakes: Array<string> = []
  const given = (name: string) => query.get(name)?.trim() || null
  const word = given("q")
  const isEnd = word !== null && /^[0-9A-Za-z]{4}$/.test(word)
  const app = given("app")
  if (app !== null && !isTenant(app)) mistakes.push("A tenant has 1 to 40 characters of a-z, 0-9, _ and -.")
  const [currency, amountText] = [given("currency"), given("amount")]
  const known = isCurrency(currency) ? currency : null
  const amount =
    amountText === null || known === null ? null : Result.getOrNull(fromDecimal(amountText.replaceAll(",", ""), known))
  if (amountText !== null && amount === null)
    mistakes.push(known === null ? "An amount needs its currency." : "The amount is not one of that currency, as 1,000 or 12.50.")
  const moment = (name: string): Instant | null => {
    const text = given(name)
    const at = text === null ? null : Option.getOrNull(Option.filter(instantOf(momentText(text)), isSince1970))
    if (text !== null && at === null)
      mistakes.push(`${name === "from" ? "From" : "Before"}: a day and a time, as 2026-01-31T12:00.`)
    return at
  }
  const filter: RecordFilter = {
    appId: app !== null && isTenant(app) ? app : null,
    mode: oneOf(Mode.literals, given("mode")),
    kind: oneOf(kinds, given("kind")),
    status: oneOf(statuses, given("status")),
    provider: given("provider"),
    amount,
    currency: known,
    partyEnd: isEnd ? word : word === null ? null : endOfNumber(word),
    needsReview: given("review") === "yes",
    createdFrom: moment("from"),
    createdTo: moment("to")
  }
  return { word: isEnd ? null : (word?.slice(0, LONGEST_WORD) ?? null), filter, mistakes }
}

const endOfNumber = (text: string): string | null => {
  const digits = plainText(text).replace(/[\s\p{Pd}.()/+]/gu, "")
  return /^[0-9]{7,15}$/.test(digits) ? digits.slice(-4) : null
}

/** Nothing is older, and the database's calendar has no year 0. */
const isSince1970 = (at: Instant): boolean => at >= 0

/** A browser's field for a time says neither seconds nor a zone; it is UTC here, as on every page. */
const momentText = (text: string): string => {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00Z`
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(text) ? `${text}:00Z` : text.endsWith("Z") ? text : `${text}Z`
}

const oneOf = <A extends string>(all: ReadonlyArray<A>, given: string | null): A | null =>
  all.find((one) => one === given) ?? null

const searchForm = (query: URLSearchParams, mistakes: ReadonlyArray<string>): ComponentChild => {
  const value = (name: string) => query.get(name) ?? ""
  const any = (name: string, label: string, all: ReadonlyArray<string>) =>
    choice(name, label, [["", "any"], ...all.map((one) => [one, one.replace("_", " ")] as const)], value(name))
  return section(
    "Search",
    mistakes.map((mistake) => h("p", { class: "warning", role: "alert" }, mistake)),
    h(
      "form",
      { method: "get", action: "/transactions", class: "filters" },
      field({
        name: "q",
        label: "Reference, ours or the provider's, or the number or its last four digits",
        value: value("q"),
        type: "search"
      }),
      field({ name: "app", label: "Tenant", value: value("app"), maxLength: 40 }),
      h("button", { type: "submit", class: "strong" }, "Search"),
      h(
        "details",
        { open: narrowing.some((name) => value(name) !== "") },
        h("summary", null, "Narrow it down"),
        h(
          "div",
          { class: "filters" },
          any("mode", "Mode", Mode.literals),
          any("kind", "Kind", kinds),
          any("status", "Status", statuses),
          any("currency", "Currency", Currency.literals),
          field({ name: "amount", label: "Amount", value: value("amount"), maxLength: 30 }),
          field({ name: "from", label: "Created from (UTC)", value: value("from").slice(0, 16), type: "datetime-local" }),
          field({ name: "to", label: "Created before (UTC)", value: value("to").slice(0, 16), type: "datetime-local" })
        )
      )
    )
  )
}
